//! The language of the services of gRPC: who speaks another one is told so, and a refusal says whose mistake it is.
//!
//! tonic answers a request that cannot be read with `INTERNAL`, which blames the server, one that is too large with
//! `OUT_OF_RANGE`, which is said of cursors here, and one for a method that its service has not without a word. All are
//! corrected where they are seen: every refusal of ours has details ([`ApiError`]), so one without is tonic's.

use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::Response;
use tonic::{Code, Status};

use super::error::{ApiError, failure};
use crate::listener::is_grpc;

/// Hands a request to its service, if it is one of gRPC (*gRPC over HTTP2*, "Requests").
pub(super) async fn speak(request: Request, next: Next) -> Response {
    if !is_grpc(&request) {
        return failure(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "gRPC is spoken here (content-type application/grpc); JSON is taken and given under /v1/",
        );
    }
    let response = next.run(request).await;
    // Only a refusal has its status in the headers.
    match Status::from_header_map(response.headers()) {
        Some(status) => corrected(status).into_http(),
        None => response,
    }
}

/// A refusal, with the code that says whose mistake it is.
pub(super) fn corrected(status: Status) -> Status {
    let text = status.message().trim_start_matches("Error, ");
    match status.code() {
        _ if !status.details().is_empty() => status,
        Code::Internal => ApiError::invalid("request", format!("cannot be read: {text}")).into(),
        Code::OutOfRange => Status::resource_exhausted(format!("request: {text}")),
        Code::Unimplemented if text.is_empty() => {
            Status::unimplemented("no such method of this service; see proto/eddy/v1")
        }
        _ => status,
    }
}
