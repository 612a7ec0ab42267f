//! A client of the guard, for agents written in Rust.
//!
//! It never holds an agent up and never fails one: where no daemon answers in time the call is allowed, and marked as
//! `degraded`. The connection is made when it is needed, and made anew when it has broken.
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

use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Response, Status};

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
    deadline: Duration,
}

impl Client {
    /// A client of the daemon whose API has this address, as a URL. Nothing is connected yet. Must be called within a Tokio
    /// runtime.
    ///
    /// # Errors
    /// When this is no URL.
    pub fn new(api: &str) -> Result<Self, tonic::transport::Error> {
        let channel = Endpoint::from_shared(api.to_owned())?
            .tcp_nodelay(true)
            .connect_lazy();
        Ok(Self {
            service: GuardServiceClient::new(channel),
            deadline: DEADLINE,
        })
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
        let told = self.service.report_message(request);
        let answered = in_time(self.deadline, told).await?;
        Ok(answered.and_then(|answer| answer.message))
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
        Ok(Err(_)) | Err(_) => Ok(None),
    }
}
