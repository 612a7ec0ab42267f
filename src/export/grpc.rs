//! What the exporters that speak OTLP over gRPC have in common: where to, with which headers, and what a refusal means.

use std::error::Error;
use std::time::Duration;

use reqwest::Url;
use reqwest::header::CONTENT_TYPE;
use tonic::body::Body;
use tonic::codegen::http::{Response, StatusCode};
use tonic::metadata::MetadataMap;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Code, Status};
use tonic_types::StatusExt;
use tower::util::MapResponse;

use super::tls::Tls;
use super::{Cause, Delivery, NotTaken, SEND_TIMEOUT, http};
use crate::files::Fault;
use crate::handshake::HandshakeFault;
use crate::render::text::clean;
use crate::secret::Secret;
use crate::telemetry::{causes, innermost};

/// After so long without a word in the middle of a request the receiver is asked for a sign of life, and its connection is left
/// when none comes. Both are over before the request is: else the next one would go over the same connection, and a receiver that
/// vanished without a word would be waited for until the system gives up on it, which takes a quarter of an hour.
const PROBE_AFTER: Duration = Duration::from_secs(5);
const PROBE_MAX: Duration = Duration::from_secs(4);

/// Whether an address goes on behind its port, of which gRPC would make nothing.
pub(super) fn has_path(endpoint: &str) -> bool {
    let goes_on = |url: Url| !matches!(url.path(), "" | "/") || url.query().is_some();
    Url::parse(endpoint).is_ok_and(|url| url.has_host() && goes_on(url))
}

/// Whether an address names a user, or a password: these would go out as part of the host's name, which is forbidden (RFC 9113,
/// 8.3.1), and be logged with it.
fn has_user(endpoint: &str) -> bool {
    Url::parse(endpoint).is_ok_and(|url| !url.username().is_empty() || url.password().is_some())
}

/// A receiver at `http://HOST:PORT` or `https://HOST:PORT`.
pub(super) fn endpoint(text: &str, tls: &Tls) -> Result<Endpoint, Fault> {
    let wrong = |problem: String| Fault::new("endpoint", problem);
    let cannot = |error: tonic::transport::Error| {
        wrong(format!("the address cannot be used: {}", causes(&error)))
    };
    let is_tls = text.starts_with("https://");
    if !is_tls && !text.starts_with("http://") {
        return Err(wrong(
            "an address begins with http:// or https://".to_owned(),
        ));
    }
    if has_user(text) {
        let problem = "the address names a user, and gRPC knows none: put what the receiver asks for into `headers`";
        return Err(wrong(problem.to_owned()));
    }
    if has_path(text) {
        let problem = "the address has a path, and gRPC knows none: end it with the port";
        return Err(wrong(problem.to_owned()));
    }
    let endpoint = Endpoint::from_shared(text.to_owned())
        .map_err(cannot)?
        .user_agent(http::USER_AGENT)
        .map_err(cannot)?
        .timeout(SEND_TIMEOUT)
        .connect_timeout(SEND_TIMEOUT)
        .http2_keep_alive_interval(PROBE_AFTER)
        .keep_alive_timeout(PROBE_MAX);
    if is_tls {
        let mut config = match &tls.authorities {
            Some(pem) => ClientTlsConfig::new().ca_certificate(Certificate::from_pem(pem)),
            None => ClientTlsConfig::new().with_enabled_roots(),
        };
        if let Some((certificate, key)) = &tls.identity {
            config = config.identity(Identity::from_pem(certificate, key));
        }
        endpoint.tls_config(config).map_err(cannot)
    } else {
        Ok(endpoint)
    }
}

/// What tonic says where an answer ends before its status has come.
const BROKEN_OFF: [&str; 2] = [
    "Unexpected EOF decoding stream",
    "protocol error: missing grpc-status trailer",
];

/// A connection to a receiver, which is made, and made again, by itself.
pub(super) type Connection = MapResponse<Channel, fn(Response<Body>) -> Response<Body>>;

/// To be called within a runtime.
pub(super) fn connection(endpoint: &Endpoint) -> Connection {
    MapResponse::new(endpoint.connect_lazy(), of_grpc)
}

/// How the message ends of an answer that was none of gRPC's.
const OF_PROXY: &str = ", without gRPC";

/// An answer that is none of gRPC's comes from a proxy in between. Its HTTP status says what it means, as gRPC has it; every
/// failure of a server is one that may pass.
fn of_grpc(answer: Response<Body>) -> Response<Body> {
    let kind = answer.headers().get(CONTENT_TYPE);
    if kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc")) {
        return answer;
    }
    let code = match answer.status() {
        StatusCode::OK if kind.is_none() => return answer,
        StatusCode::BAD_REQUEST => Code::Internal,
        StatusCode::UNAUTHORIZED => Code::Unauthenticated,
        StatusCode::FORBIDDEN => Code::PermissionDenied,
        StatusCode::NOT_FOUND => Code::Unimplemented,
        StatusCode::TOO_MANY_REQUESTS => Code::Unavailable,
        status if status.is_server_error() => Code::Unavailable,
        _ => Code::Unknown,
    };
    let status = Status::new(code, format!("HTTP {}{OF_PROXY}", answer.status()));
    status.into_http()
}

/// Headers as gRPC has them.
pub(super) fn metadata(headers: &[(String, Secret)]) -> Result<MetadataMap, Fault> {
    // What stands under such a name is bytes, which nobody can write here.
    let is_binary = |name: &str| name.to_ascii_lowercase().ends_with("-bin");
    if let Some((name, _)) = headers.iter().find(|(name, _)| is_binary(name)) {
        return Err(Fault::new(
            "headers",
            format!("`{name}` is not a header's name"),
        ));
    }
    http::headers(headers).map(MetadataMap::from_headers)
}

/// Which failures OTLP says to repeat. A receiver that is overloaded says so with the time to wait; without that, the
/// request is too much for it and will stay so. What fails on our side has a source, and nobody answered; nor is known
/// what an answer was to be that broke off.
pub(super) fn refused(status: &Status, endpoint: &Endpoint) -> Delivery {
    let after = status
        .get_details_retry_info()
        .and_then(|info| info.retry_delay);
    let reason = match Error::source(status) {
        Some(cause) => {
            let place = place(endpoint);
            unsent(cause, endpoint).after(format_args!("cannot send to {place}: "))
        }
        None => answered(status),
    };
    let temporary = match status.code() {
        Code::Cancelled
        | Code::DeadlineExceeded
        | Code::Aborted
        | Code::OutOfRange
        | Code::Unavailable
        | Code::DataLoss => true,
        Code::ResourceExhausted => after.is_some(),
        _ => {
            let broke_off = |text| status.message().starts_with(text);
            Error::source(status).is_some() || BROKEN_OFF.into_iter().any(broke_off)
        }
    };
    if temporary {
        Delivery::Later {
            reason,
            after: after.filter(|after| *after > Duration::ZERO),
        }
    } else {
        Delivery::Refused { reason }
    }
}

/// What an answer is that takes nothing.
fn answered(status: &Status) -> NotTaken {
    let said = clean(status.message());
    let cause = match status.code() {
        Code::Unauthenticated => Cause::Unauthenticated,
        // A proxy's may as well say that there is nobody behind it.
        Code::Unavailable | Code::ResourceExhausted if !said.ends_with(OF_PROXY) => Cause::Busy,
        _ => Cause::Unknown,
    };
    NotTaken::of(
        format!("the receiver answered {:?}: {said}", status.code()),
        cause,
    )
}

/// Why a request could not be sent.
fn unsent(cause: &(dyn Error + 'static), endpoint: &Endpoint) -> NotTaken {
    if let Some(fault) = HandshakeFault::of(cause) {
        let what = fault.what(&innermost(cause));
        return NotTaken::of(clean(&what), Cause::Connection(fault));
    }
    let causes = clean(&causes(cause)).into_owned();
    let is_plain = endpoint.uri().scheme_str() == Some("http");
    // What TLS answers is no frame of HTTP/2.
    if is_plain && causes.contains("http2 error") {
        return NotTaken::of(causes, Cause::Connection(HandshakeFault::Plain));
    }
    causes.into()
}

/// Host and port, without the user that may stand before them.
fn place(endpoint: &Endpoint) -> String {
    let uri = endpoint.uri();
    let host = uri.host().unwrap_or_default();
    match uri.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Given an answer that takes nothing, a receiver's own says that it is busy, or that it does not know who sends; a proxy's may
    /// say that there is no receiver.
    #[test]
    fn answers_of_proxies_are_told_apart() {
        let check = |answer: Response<Body>, expected: Cause| {
            let status = Status::from_header_map(of_grpc(answer).headers());
            let said = answered(&status.expect("a status"));
            assert_eq!(said.cause(), &expected, "{}", said.what());
        };
        let of_proxy = |status: u16| {
            let answer = Response::builder().status(status);
            let answer = answer.header(CONTENT_TYPE, "text/html");
            answer.body(Body::empty()).expect("an answer")
        };
        check(Status::unavailable("away").into_http(), Cause::Busy);
        check(Status::resource_exhausted("full").into_http(), Cause::Busy);
        check(Status::internal("broken").into_http(), Cause::Unknown);
        check(
            Status::unauthenticated("who").into_http(),
            Cause::Unauthenticated,
        );
        check(of_proxy(401), Cause::Unauthenticated);
        check(of_proxy(502), Cause::Unknown);
        check(of_proxy(404), Cause::Unknown);
    }
}
