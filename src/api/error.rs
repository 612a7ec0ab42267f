//! Why a question was not answered, told the same way over gRPC and over HTTP.
//!
//! The client reads what it can do about it. What went wrong inside goes to the log, at the place where it is found.

use std::borrow::Cow;
use std::time::Duration;

use axum::Json;
use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use tonic::Code;
use tonic_types::{ErrorDetails, StatusExt};

use crate::json::Place;

/// Why a question was not answered.
#[derive(Debug, thiserror::Error)]
pub(super) enum ApiError {
    /// The question is wrong. Asking it again does not help.
    #[error("{field}: {problem}")]
    Invalid {
        /// The field at fault, named as the client named it.
        field: Cow<'static, str>,
        /// What is wrong with it, and what would be right.
        problem: String,
    },
    /// What the guard was told could not be taken in in time. Telling it again may help.
    #[error(
        "not taken in within the guard's deadline: Eddy is busy or stopping; the agent may go on"
    )]
    NotTakenIn,
    /// The cursor is ahead of the log of alerts. Starting over helps.
    #[error(
        "cursor: {asked} is ahead of the newest alert, {newest}: start over with 0, as the log of alerts may have been begun anew"
    )]
    CursorAhead {
        /// What the client asked to begin after.
        asked: u64,
        /// The newest cursor.
        newest: u64,
    },
    /// The cursor is that of another alert here. Starting over helps.
    #[error(
        "cursor: {asked} is of another log of alerts, since {begins} is what lies there here: start over with 0, as the store may have been restored, or be another one"
    )]
    CursorElsewhere {
        /// Where the client asked to begin.
        asked: Place,
        /// What is there.
        begins: Place,
    },
    /// There is no such run.
    #[error(
        "no run `{0}`: either it was never reported, or it is no longer kept; the list of runs shows those that are"
    )]
    NoRun(String),
    /// The run has no such warning.
    #[error(
        "no warning {warning} of run `{run_id}`: `eddy run` and `/v1/runs` show those that there are"
    )]
    NoWarning {
        /// The warning's id, as it was asked for.
        warning: String,
        /// The run.
        run_id: String,
    },
    /// All streams are taken. Trying again later helps.
    #[error("{0} streams are open, which is the limit: close one, or try again later")]
    StreamsTaken(usize),
    /// The store or a shard cannot answer. Trying again may help; the log says why.
    #[error("not able to answer now: Eddy is stopping or cannot read its store; try again")]
    Unavailable,
}

impl ApiError {
    /// An [`ApiError::Invalid`].
    pub(super) fn invalid(field: impl Into<Cow<'static, str>>, problem: impl Into<String>) -> Self {
        Self::Invalid {
            field: field.into(),
            problem: problem.into(),
        }
    }

    /// Whether the client's place is none in this log of alerts.
    pub(super) fn is_of_another_log(&self) -> bool {
        matches!(
            self,
            Self::CursorAhead { .. } | Self::CursorElsewhere { .. }
        )
    }

    fn http_status(&self) -> StatusCode {
        match self {
            Self::Invalid { .. } | Self::CursorAhead { .. } | Self::CursorElsewhere { .. } => {
                StatusCode::BAD_REQUEST
            }
            Self::NoRun(_) | Self::NoWarning { .. } => StatusCode::NOT_FOUND,
            Self::StreamsTaken(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::Unavailable | Self::NotTakenIn => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

impl From<ApiError> for tonic::Status {
    fn from(error: ApiError) -> Self {
        let text = error.to_string();
        let mut details = ErrorDetails::new();
        let (code, text) = match &error {
            ApiError::Unavailable | ApiError::NotTakenIn => return busy(text),
            ApiError::Invalid { field, problem } => {
                details.add_bad_request_violation(field.as_ref(), problem.as_str());
                (Code::InvalidArgument, text)
            }
            // The same under the name that it has there.
            ApiError::CursorAhead { .. } | ApiError::CursorElsewhere { .. } => {
                (Code::OutOfRange, format!("after_{text}"))
            }
            ApiError::NoRun(_) | ApiError::NoWarning { .. } => (Code::NotFound, text),
            ApiError::StreamsTaken(_) => (Code::ResourceExhausted, text),
        };
        Self::with_error_details(code, text, details)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        failure(self.http_status(), &self.to_string())
    }
}

/// When somebody is to come again for whom there is no room now, or whom Eddy cannot answer yet; and the same in seconds, as HTTP
/// has it.
const RETRY_DELAY: Duration = Duration::from_secs(1);
const RETRY_AFTER_SECONDS: HeaderValue = HeaderValue::from_static("1");

/// What is said over gRPC to somebody who is to come again.
pub(super) fn busy(text: impl Into<String>) -> tonic::Status {
    let details = ErrorDetails::with_retry_info(Some(RETRY_DELAY));
    tonic::Status::with_error_details(Code::Unavailable, text, details)
}

/// An answer over HTTP that says what went wrong: `{"error": "…"}`.
pub(super) fn failure(status: StatusCode, text: &str) -> Response {
    let mut response = (status, Json(json!({ "error": text }))).into_response();
    if status == StatusCode::SERVICE_UNAVAILABLE {
        let headers = response.headers_mut();
        headers.insert(RETRY_AFTER, RETRY_AFTER_SECONDS);
    }
    response
}
