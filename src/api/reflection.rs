//! `grpc.reflection.v1` and its older `v1alpha`: which services and messages there are, for clients that come without `proto/`.
//! Some know the older one alone, as Python's `grpcio-reflection` does.
//!
//! The service itself is tonic's. A question about something that is not there ends its stream. It has a task for each stream,
//! which ends with the questions. So these end at shutdown, and with the answers: when their client has gone, their deadline is
//! over or their token counts no longer.

use std::future::pending;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use futures_util::StreamExt;
use tonic::Status;
use tonic::service::Routes;
use tonic_reflection::server::Builder;

use super::QUESTION_BYTES_MAX;
use super::deadline::ended_by;
use super::queries::Api;

/// The files of `proto/` and those that they import, as the build script compiled them.
const DESCRIPTORS: &[u8] = tonic::include_file_descriptor_set!("eddy.v1");

/// The service in both versions, which is the same for every tenant.
pub(super) fn service() -> Router {
    const READ: &str = "what a compiler wrote can be read";
    let builder = || {
        Builder::configure()
            .register_encoded_file_descriptor_set(DESCRIPTORS)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    let v1 = builder().build_v1().expect(READ);
    let v1alpha = builder().build_v1alpha().expect(READ);
    Routes::new(v1.max_decoding_message_size(QUESTION_BYTES_MAX))
        .add_service(v1alpha.max_decoding_message_size(QUESTION_BYTES_MAX))
        .into_axum_router()
        .reset_fallback()
}

/// The service with the bounds of a tenant's streams.
pub(super) fn bounded(service: Router, api: Api) -> Router {
    service.route_layer(from_fn(move |request, next| {
        bound(api.clone(), request, next)
    }))
}

async fn bound(api: Api, request: Request, next: Next) -> Response {
    let permit = match api.stream_permit() {
        Ok(permit) => permit,
        Err(error) => return Status::from(error).into_http(),
    };
    let over = api.readiness.shutdown.child_token();
    let answers_end = over.clone().drop_guard();
    let request = request.map(|body| {
        let questions = body.into_data_stream();
        Body::from_stream(questions.take_until(over.cancelled_owned()))
    });
    let response = next.run(request).await;
    let held = async move {
        let _held = (permit, answers_end);
        pending().await
    };
    response.map(|body| Body::new(ended_by(held, tonic::body::Body::new(body), true)))
}
