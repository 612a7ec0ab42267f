//! An OTLP backend or collector that takes requests as they are, over gRPC or HTTP.
//!
//! Redirects are off, little is read of a reply, and which failures are repeated is what OTLP says of each transport.

use std::io::Write;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use bytes::{Buf, BufMut, Bytes};
use flate2::write::GzEncoder;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use prost::Message;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Client, Response, StatusCode, Url};
use tokio::sync::Mutex;
use tonic::client::Grpc;
use tonic::codec::{Codec, CompressionEncoding, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::codegen::http::uri::PathAndQuery;
use tonic::metadata::MetadataMap;
use tonic::transport::Endpoint;
use tonic::{Extensions, Request, Status};

use crate::export::settings::{Compression, ForwardProtocol, ForwardSettings, SettingsError};
use crate::export::tls::{Certificates, Tls};
use crate::export::{Delivery, NotTaken, REPLY_BYTES_MAX, grpc, http};
use crate::files::Fault;
use crate::otlp::Signal;
use crate::render::text::{clean, counted};

/// Where requests go.
pub(super) struct Upstream {
    settings: ForwardSettings,
    certificates: Mutex<Certificates>,
    transport: RwLock<Arc<Transport>>,
}

impl Upstream {
    pub(super) fn new(settings: &ForwardSettings) -> Result<Self, SettingsError> {
        let wrong = |fault| SettingsError::new(&settings.name, fault);
        let certificates = Certificates::read(&settings.tls).map_err(wrong)?;
        let transport = Transport::new(settings, certificates.tls()).map_err(wrong)?;
        Ok(Self {
            settings: settings.clone(),
            certificates: Mutex::new(certificates),
            transport: RwLock::new(Arc::new(transport)),
        })
    }

    /// One whose client panics.
    #[cfg(test)]
    pub(super) fn panicking(settings: &ForwardSettings) -> Self {
        let upstream = Self::new(settings).expect("settings that work");
        let transport = RwLock::new(Arc::new(Transport::Panicking));
        Self {
            transport,
            ..upstream
        }
    }

    pub(super) async fn send(&self, signal: Signal, request: &Bytes) -> Delivery {
        let transport = self.transport();
        let answer = transport.send(signal, request).await;
        if matches!(answer, Delivery::Taken) {
            return answer;
        }
        let renew = |tls: &Tls| {
            if let Ok(renewed) = Transport::new(&self.settings, tls) {
                let transport = self.transport.write();
                *transport.unwrap_or_else(PoisonError::into_inner) = Arc::new(renewed);
            }
        };
        let mut certificates = self.certificates.lock().await;
        if !Arc::ptr_eq(&transport, &self.transport()) {
            // Others have found them renewed meanwhile.
            return answer.again();
        }
        certificates.looked_at_again(answer, renew).await
    }

    fn transport(&self) -> Arc<Transport> {
        let transport = self.transport.read();
        Arc::clone(&transport.unwrap_or_else(PoisonError::into_inner))
    }
}

/// How it is spoken to.
enum Transport {
    Grpc(Box<OverGrpc>),
    Http(Box<OverHttp>),
    #[cfg(test)]
    Panicking,
}

impl Transport {
    fn new(settings: &ForwardSettings, tls: &Tls) -> Result<Self, Fault> {
        Ok(match settings.protocol {
            ForwardProtocol::Grpc => Self::Grpc(Box::new(OverGrpc::new(settings, tls)?)),
            ForwardProtocol::Http => Self::Http(Box::new(OverHttp::new(settings, tls)?)),
        })
    }

    async fn send(&self, signal: Signal, request: &Bytes) -> Delivery {
        match self {
            Self::Grpc(grpc) => grpc.send(signal, request.clone()).await,
            Self::Http(http) => http.send(signal, request).await,
            #[cfg(test)]
            Self::Panicking => panic!("as the test has it"),
        }
    }
}

/// OTLP/gRPC, without decoding what is sent.
struct OverGrpc {
    endpoint: Endpoint,
    metadata: MetadataMap,
    compression: Compression,
    /// Made by the first request, because a channel needs a runtime.
    connection: OnceLock<grpc::Connection>,
}

impl OverGrpc {
    fn new(settings: &ForwardSettings, tls: &Tls) -> Result<Self, Fault> {
        if grpc::has_path(&settings.endpoint) {
            return Err(Fault::new(
                "endpoint",
                "the address has a path, and gRPC knows none: end it with the port, or set `protocol: http`",
            ));
        }
        Ok(Self {
            endpoint: grpc::endpoint(&settings.endpoint, tls)?,
            metadata: grpc::metadata(&settings.headers)?,
            compression: settings.compression,
            connection: OnceLock::new(),
        })
    }

    async fn send(&self, signal: Signal, message: Bytes) -> Delivery {
        let bytes = message.len();
        let request = Request::from_parts(self.metadata.clone(), Extensions::default(), message);
        match self.call(signal, request).await {
            Ok(reply) => taken(&reply, bytes),
            Err(status) => grpc::refused(&status, &self.endpoint),
        }
    }

    async fn call(&self, signal: Signal, request: Request<Bytes>) -> Result<Bytes, Status> {
        let connection = self
            .connection
            .get_or_init(|| grpc::connection(&self.endpoint));
        let mut client = Grpc::new(connection.clone()).max_decoding_message_size(REPLY_BYTES_MAX);
        if self.compression == Compression::Gzip {
            client = client.send_compressed(CompressionEncoding::Gzip);
        }
        let ready = client.ready().await;
        ready.map_err(|error| Status::from_error(error.into()))?;
        let method = PathAndQuery::from_static(signal.grpc_method());
        let reply = client.unary(request, method, Verbatim).await?;
        Ok(reply.into_inner())
    }
}

/// Messages as the bytes that they are.
struct Verbatim;

impl Codec for Verbatim {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Verbatim {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, message: Bytes, out: &mut EncodeBuf<'_>) -> Result<(), Status> {
        out.put(message);
        Ok(())
    }
}

impl Decoder for Verbatim {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, message: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(message.copy_to_bytes(message.remaining())))
    }
}

/// How OTLP names protobuf, in requests and in replies.
const PROTOBUF: &str = "application/x-protobuf";

/// OTLP/HTTP, as protobuf.
struct OverHttp {
    client: Client,
    base: String,
    headers: HeaderMap,
    compression: Compression,
}

impl OverHttp {
    fn new(settings: &ForwardSettings, tls: &Tls) -> Result<Self, Fault> {
        let base = checked_base(&settings.endpoint)?;
        let tls = base.starts_with("https:").then_some(tls);
        let client = http::client(true, tls)?;
        let mut headers = http::headers(&settings.headers)?;
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(PROTOBUF));
        if settings.compression == Compression::Gzip {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        Ok(Self {
            client,
            base,
            headers,
            compression: settings.compression,
        })
    }

    async fn send(&self, signal: Signal, message: &Bytes) -> Delivery {
        let url = format!("{}{}", self.base, signal.http_path());
        let posting = self
            .client
            .post(url)
            .headers(self.headers.clone())
            .body(self.body(message));
        match posting.send().await {
            Ok(reply) => answer(reply, message.len()).await,
            Err(error) => Delivery::later(http::unsent(error)),
        }
    }

    fn body(&self, message: &Bytes) -> Bytes {
        match self.compression {
            Compression::None => message.clone(),
            Compression::Gzip => {
                // Telemetry repeats itself so much that more effort gains little.
                let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
                let written = encoder.write_all(message).and_then(|()| encoder.finish());
                written.expect("a Vec takes everything").into()
            }
        }
    }
}

/// The address to which the paths of the signals are added.
fn checked_base(endpoint: &str) -> Result<String, Fault> {
    let wrong = |problem: String| Fault::new("endpoint", problem);
    let url = Url::parse(endpoint)
        .map_err(|error| wrong(format!("the address cannot be read: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") {
        let problem = "an address begins with http:// or https://";
        return Err(wrong(problem.to_owned()));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(wrong("the address must end with its path".to_owned()));
    }
    let base = endpoint.trim_end_matches('/');
    for signal in Signal::ALL {
        if let Some(better) = base.strip_suffix(signal.http_path()) {
            let problem = format!("the address is given without the signal's path: {better}");
            return Err(wrong(problem));
        }
    }
    Ok(base.to_owned())
}

/// What a reply over HTTP means: OTLP has four statuses repeated, and no other. Why it is none that was hoped for stands in a
/// `google.rpc.Status`.
async fn answer(reply: Response, bytes: usize) -> Delivery {
    let status = reply.status();
    let after = http::asked_wait(&reply);
    let is_protobuf = reply
        .headers()
        .get(CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(PROTOBUF.as_bytes()));
    let body = http::read_bounded(reply).await;
    if status.is_success() {
        return taken(&body, bytes);
    }
    let said = if is_protobuf {
        // One that cannot be read says nothing.
        let told = tonic_types::Status::decode(&body[..]).unwrap_or_default();
        http::quote(told.message.as_bytes())
    } else {
        http::quote(&body)
    };
    let reason = http::refusal(status, &said);
    match status {
        StatusCode::TOO_MANY_REQUESTS
        | StatusCode::BAD_GATEWAY
        | StatusCode::SERVICE_UNAVAILABLE
        | StatusCode::GATEWAY_TIMEOUT => Delivery::Later { reason, after },
        _ => Delivery::Refused { reason },
    }
}

/// What the upstream says of a request of so many bytes that it took. The replies of the three signals have the same fields; one
/// that cannot be read says nothing. What it left out is believed as far as a request can have as many items, of which each has
/// at least two bytes.
fn taken(reply: &[u8], bytes: usize) -> Delivery {
    let reply = ExportTraceServiceResponse::decode(reply).unwrap_or_default();
    match reply.partial_success {
        Some(partial) if partial.rejected_spans > 0 => {
            let most = bytes as u64 / 2;
            let refused = partial.rejected_spans.unsigned_abs().min(most);
            Delivery::Partly {
                refused,
                reason: NotTaken::from(format!(
                    "the receiver left out {}: {}",
                    counted(refused, "item"),
                    clean(&partial.error_message)
                )),
            }
        }
        _ => Delivery::Taken,
    }
}
