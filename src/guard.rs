//! A client of the guard, for agents written in Rust.
//!
//! It never holds an agent up and never fails one: where no daemon answers in time, or it does not know the token, the call is
//! allowed, and marked as `degraded`; the reason is logged. The connection is made when it is needed, and made anew when it has
//! broken.
//!
//! ```no_run
//! # async fn agent() -> Result<(), Box<dyn std::error::Error>> {
//! use eddy::guard::{CheckToolCallRequest, Client, Verdict};
//!
//! let mut guard = Client::new("http://127.0.0.1:4319")?;
//! let call = CheckToolCallRequest {
//!     run_id: "my-run".into(),
//!     tool: "search".into(),
//!     arguments: Some(r#"{"query": "rust"}"#.into()),
//!     ..CheckToolCallRequest::default()
//! };
//! let answer = guard.check(call).await?;
//! if matches!(answer.verdict(), Verdict::Allow | Verdict::Nudge) {
//!     // Make the call, report what it brought, and tell the model `answer.message`, if there is one.
//! }
//! # Ok(())
//! # }
//! ```
//!
//! `examples/guarded_agent.rs` is a whole loop.

use std::time::Duration;

use tonic::metadata::errors::InvalidMetadataValue;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::{Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, Request, Response, Status};
use tracing::{debug, warn};

use crate::api::v1::guard_service_client::GuardServiceClient;
pub use crate::api::v1::{
    CheckToolCallRequest, CheckToolCallResponse, MessageKind, ReportMessageRequest,
    ReportToolResultRequest, ResultStatus, Verdict,
};

/// How long a client waits unless it is told otherwise. The daemon itself answers within 50 ms (`guard.deadline_ms`); the
/// rest is for the way.
const DEADLINE: Duration = Duration::from_millis(80);

/// A way to the guard of a daemon. Clones share the connection.
#[derive(Clone, Debug)]
pub struct Client {
    service: GuardServiceClient<Channel>,
    /// What is said of who asks.
    authorization: Option<MetadataValue<Ascii>>,
    deadline: Duration,
}

impl Client {
    /// A client of the daemon whose API has this address, as a URL; where that begins with `https`, the daemon has to show a
    /// certificate of an authority that the system trusts. Nothing is connected yet. Must be called within a Tokio runtime.
    ///
    /// # Errors
    /// When this is no URL.
    pub fn new(api: &str) -> Result<Self, tonic::transport::Error> {
        let mut endpoint = Endpoint::from_shared(api.to_owned())?.tcp_nodelay(true);
        if endpoint.uri().scheme_str() == Some("https") {
            endpoint = endpoint.tls_config(ClientTlsConfig::new().with_enabled_roots())?;
        }
        Ok(Self::over(endpoint.connect_lazy()))
    }

    /// A client over a channel that the caller has made: with an authority of his own, or a certificate to show.
    #[must_use]
    pub fn over(channel: Channel) -> Self {
        Self {
            service: GuardServiceClient::new(channel),
            authorization: None,
            deadline: DEADLINE,
        }
    }

    /// The same client with the token that the daemon asks for (`service.api.auth.tokens`).
    ///
    /// # Errors
    /// When no header can carry it.
    pub fn with_token(mut self, token: &str) -> Result<Self, InvalidMetadataValue> {
        let mut value: MetadataValue<Ascii> = format!("Bearer {token}").parse()?;
        value.set_sensitive(true);
        self.authorization = Some(value);
        Ok(self)
    }

    /// The same client with another longest wait for each of its answers, connecting included.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Asks whether a call should be made. Without an answer in time it may be: the verdict is `ALLOW`, and `degraded` is
    /// set.
    ///
    /// # Errors
    /// When the request is wrong (`INVALID_ARGUMENT`); the status names the field.
    pub async fn check(
        &mut self,
        request: CheckToolCallRequest,
    ) -> Result<CheckToolCallResponse, Status> {
        let request = self.request(request);
        let asked = self.service.check_tool_call(request);
        let answered = in_time(self.deadline, asked).await?;
        Ok(answered.unwrap_or_else(|| CheckToolCallResponse {
            verdict: Verdict::Allow.into(),
            degraded: true,
            ..CheckToolCallResponse::default()
        }))
    }

    /// Tells what a call brought. Answers whether the guard has taken it in.
    ///
    /// # Errors
    /// When the request is wrong, as with [`Client::check`].
    pub async fn report(&mut self, request: ReportToolResultRequest) -> Result<bool, Status> {
        let request = self.request(request);
        let told = self.service.report_tool_result(request);
        Ok(in_time(self.deadline, told).await?.is_some())
    }

    /// Tells of a message of the user, or of the model alone. Answers with a nudge that is owed to the agent, if there is
    /// one.
    ///
    /// # Errors
    /// When the request is wrong, as with [`Client::check`].
    pub async fn message(
        &mut self,
        request: ReportMessageRequest,
    ) -> Result<Option<String>, Status> {
        let request = self.request(request);
        let told = self.service.report_message(request);
        let answered = in_time(self.deadline, told).await?;
        Ok(answered.and_then(|answer| answer.message))
    }

    fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        if let Some(authorization) = &self.authorization {
            let metadata = request.metadata_mut();
            metadata.insert("authorization", authorization.clone());
        }
        request
    }
}

/// An answer, if it comes in time and is one. Only a request that is wrong is an error: sending it again would not help.
async fn in_time<T>(
    deadline: Duration,
    answer: impl Future<Output = Result<Response<T>, Status>>,
) -> Result<Option<T>, Status> {
    match tokio::time::timeout(deadline, answer).await {
        Ok(Ok(answer)) => Ok(Some(answer.into_inner())),
        Ok(Err(status)) if status.code() == Code::InvalidArgument => Err(status),
        Ok(Err(status)) => {
            if matches!(
                status.code(),
                Code::Unauthenticated | Code::PermissionDenied
            ) {
                warn!(
                    status = status.message(),
                    "the guard does not know the token; the agent goes on without it"
                );
            } else {
                debug!(%status, "the guard did not answer; the agent goes on without it");
            }
            Ok(None)
        }
        Err(_) => {
            debug!(
                ?deadline,
                "the guard did not answer in time; the agent goes on without it"
            );
            Ok(None)
        }
    }
}
