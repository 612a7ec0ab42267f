//! The address as a whole: health, what is not offered, and its end.

use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::time::{Instant, sleep, timeout};
use tonic::Code;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus::Serving;
use tonic_health::pb::health_client::HealthClient;
use tonic_types::StatusExt;

use super::{Fixture, Options, PATIENCE, Settings, next};
use crate::api::v1;

/// Streams end when Eddy stops, without an error, and then the address is done, although clients stay connected.
#[tokio::test]
async fn streams_end_at_shutdown() {
    let eddy = Fixture::start().await;
    let mut tail = eddy.tail(v1::TailAlertsRequest::default()).await;
    let mut events = eddy.events("/v1/alerts", "").await;
    let mut health = HealthClient::new(eddy.channel().await);
    let watch = health.watch(HealthCheckRequest::default()).await;
    let mut watch = watch.expect("health is watched").into_inner();
    // It is not ready from the moment on at which nothing is received any more, and answers as long as there is something to say.
    eddy.stopping.cancel();
    let (status, said) = eddy.get("/readyz").await;
    assert_eq!(
        (status, &said["reasons"][0]),
        (503, &"Eddy is stopping".into())
    );
    let serving = async {
        while watch
            .message()
            .await
            .expect("no error")
            .expect("health")
            .status()
            == Serving
        {}
    };
    timeout(PATIENCE, serving).await.expect("in time");
    eddy.shutdown.cancel();
    assert_eq!(next(&mut tail).await, None);
    assert_eq!(events.next().await, None);
    // The health watch tells that Eddy is leaving, and ends too.
    while timeout(PATIENCE, watch.message())
        .await
        .expect("in time")
        .expect("no error")
        .is_some()
    {}
    timeout(PATIENCE, eddy.served)
        .await
        .expect("in time")
        .expect("no panic")
        .expect("served to the end");
}

/// Alive and ready while it works; not ready, with the reason, once the shards have stopped; `grpc.health.v1` follows.
#[tokio::test]
async fn readiness_is_shown() {
    let eddy = Fixture::start().await;
    assert_eq!(eddy.get("/healthz").await.0, 200);
    assert_eq!(
        eddy.get("/readyz").await,
        (200, serde_json::json!({ "ready": true }))
    );
    let mut client = HealthClient::new(eddy.channel().await);
    for service in [
        "",
        "eddy.v1.RunService",
        "eddy.v1.WarningService",
        "eddy.v1.GuardService",
    ] {
        let request = HealthCheckRequest {
            service: service.into(),
        };
        let answer = client.check(request).await.expect("it is answered");
        let status = answer.into_inner().status();
        assert_eq!(status.as_str_name(), "SERVING", "{service}");
    }
    let watch = client
        .watch(HealthCheckRequest::default())
        .await
        .expect("health is watched");
    let mut watch = watch.into_inner();
    watch.message().await.expect("no error").expect("a message");

    eddy.shards.stop(Instant::now() + PATIENCE).await;
    let (status, json) = eddy.get("/readyz").await;
    assert_eq!(status, 503);
    assert_eq!(
        json["reasons"].as_array().expect("reasons").len(),
        1,
        "{json}"
    );
    assert_eq!(eddy.get("/healthz").await.0, 200);
    let change = timeout(PATIENCE, watch.message())
        .await
        .expect("in time")
        .expect("no error")
        .expect("a message");
    assert_eq!(change.status().as_str_name(), "NOT_SERVING");
}

/// A method or service that is not there is refused in the caller's own language.
#[tokio::test]
async fn what_is_not_offered_is_refused() {
    let eddy = Fixture::start().await;
    let mut socket = eddy.ask("DELETE", "/v1/runs/a", "").await;
    let mut text = String::new();
    socket.read_to_string(&mut text).await.expect("an answer");
    assert!(
        text.contains(" 405 ")
            && text.contains("\"error\"")
            && text.contains("POST for /v1/guard/check"),
        "{text}"
    );

    let mut grpc = tonic::client::Grpc::new(eddy.channel().await);
    grpc.ready().await.expect("the channel is open");
    let path = "/eddy.v1.NoService/Ask".parse().expect("a path");
    let codec = tonic_prost::ProstCodec::<v1::GetRunRequest, v1::GetRunResponse>::default();
    let request = tonic::Request::new(v1::GetRunRequest::default());
    let refusal = grpc.unary(request, path, codec).await.unwrap_err();
    assert_eq!(refusal.code(), Code::Unimplemented);
}

/// Given as many who watch whether Eddy is ready as may, which nobody needs a token for, the questions of others are answered.
#[tokio::test]
async fn watches_of_health_take_no_places_of_others() {
    let settings = Settings {
        questions_max: 2,
        streams_max: 2,
        ..Settings::default()
    };
    let eddy = Fixture::start_with(&Options::default(), settings).await;
    eddy.report_loop("r", "scout", 0..1).await;
    let mut health = HealthClient::new(eddy.channel().await);
    let mut watches = Vec::new();
    for _ in 0..2 {
        let watch = health.watch(HealthCheckRequest::default()).await;
        watches.push(watch.unwrap().into_inner());
    }
    let refused = health.watch(HealthCheckRequest::default()).await;
    let refused = refused.unwrap_err();
    assert_eq!(refused.code(), Code::Unavailable);
    let again = refused.get_error_details().retry_info().cloned();
    let delay = again.and_then(|again| again.retry_delay);
    assert_eq!(delay, Some(Duration::from_secs(1)));
    assert!(health.check(HealthCheckRequest::default()).await.is_ok());
    assert_eq!(eddy.get("/v1/runs/r").await.0, 200);
    drop(watches);
    let deadline = Instant::now() + PATIENCE;
    while health.watch(HealthCheckRequest::default()).await.is_err() {
        assert!(Instant::now() < deadline, "the place was not given back");
        sleep(Duration::from_millis(5)).await;
    }
}
