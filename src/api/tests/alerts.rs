//! The tail of alerts, over gRPC and as server-sent events.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use tonic::Code;
use tonic::transport::Channel;

use super::{Fixture, PATIENCE, after, next, tool_call};
use crate::api::v1::tail_alerts_response::Message;
use crate::api::v1::warning_service_client::WarningServiceClient;
use crate::api::{REFUSED, Settings, v1};
use crate::engine::event::TraceId;
use crate::engine::warning::Severity;
use crate::normalize::{Report, RunRef};
use crate::store::Options;

/// A report's alert comes to a tail that was there before, and a tail without a cursor sees nothing older.
#[tokio::test]
async fn a_tail_begins_now() {
    let eddy = Fixture::start().await;
    eddy.commit_alerts("old", Severity::Warning, 3).await;
    let mut tail = eddy.tail(v1::TailAlertsRequest::default()).await;
    eddy.report_loop("new", "scout", 0..4).await;
    let answer = timeout(PATIENCE, tail.message())
        .await
        .expect("in time")
        .expect("no error");
    let Some(Message::Alert(alert)) = answer.expect("an alert").message else {
        panic!("not an alert");
    };
    assert_eq!(
        (alert.cursor, alert.run_id.as_str(), alert.score),
        (4, "new", 75)
    );
    assert_eq!(alert.change(), v1::AlertChange::Raised);
}

/// A tail that says where it stopped misses nothing and sees nothing twice; 0 begins with the oldest.
#[tokio::test]
async fn a_tail_resumes() {
    let eddy = Fixture::start().await;
    eddy.commit_alerts("a", Severity::Warning, 150).await;
    for after_cursor in [0, 1, 97, 150] {
        let mut tail = eddy.tail(after(after_cursor)).await;
        for cursor in after_cursor + 1..=150 {
            assert_eq!(next(&mut tail).await, Some(Ok(cursor)));
        }
    }
    let mut tail = eddy.tail(after(149)).await;
    eddy.commit_alerts("a", Severity::Warning, 1).await;
    assert_eq!(next(&mut tail).await, Some(Ok(150)));
    assert_eq!(next(&mut tail).await, Some(Ok(151)));
}

/// A cursor from another log is refused, instead of being waited for.
#[tokio::test]
async fn a_tail_from_the_future_is_refused() {
    let eddy = Fixture::start().await;
    eddy.commit_alerts("a", Severity::Warning, 2).await;
    let refusal = eddy
        .warnings()
        .await
        .tail_alerts(after(3))
        .await
        .unwrap_err();
    assert_eq!(refusal.code(), Code::OutOfRange);
    let field = refusal.message().split(':').next();
    assert_eq!(field, Some("after_cursor"));
    assert_eq!(eddy.get("/v1/alerts?cursor=3").await.0, 400);
}

/// Given a cursor with the time of its alert, a tail goes on behind it; with another time it is refused, since the cursor is from
/// another log, and so is a time without a cursor.
#[tokio::test]
async fn a_tail_of_another_log_is_refused() {
    let eddy = Fixture::start().await;
    eddy.commit_alerts("a", Severity::Warning, 3).await;
    let place = |cursor, milli: i32| v1::TailAlertsRequest {
        after_cursor: cursor,
        after_commit_time: Some(prost_types::Timestamp {
            seconds: 1_700_000_002,
            nanos: milli * 1_000_000,
        }),
        ..v1::TailAlertsRequest::default()
    };
    let mut tail = eddy.tail(place(Some(2), 0)).await;
    assert_eq!(next(&mut tail).await, Some(Ok(3)));
    let refused = async |request| {
        let refusal = eddy
            .warnings()
            .await
            .tail_alerts(request)
            .await
            .unwrap_err();
        let field = refusal.message().split(':').next().map(str::to_owned);
        (refusal.code(), field.unwrap_or_default())
    };
    let elsewhere = refused(place(Some(2), 1)).await;
    assert_eq!(elsewhere, (Code::OutOfRange, "after_cursor".to_owned()));
    let of_nothing = refused(place(None, 0)).await;
    assert_eq!(
        of_nothing,
        (Code::InvalidArgument, "after_commit_time".to_owned())
    );
    let (status, said) = eddy
        .get("/v1/alerts?cursor=2@2023-11-14T22:13:22.001Z")
        .await;
    assert_eq!(status, 400);
    let said = said["error"].as_str().unwrap_or_default();
    assert!(said.contains("2@2023-11-14T22:13:22.000Z"), "{said}");
}

/// Filters of a tail, and that what they leave out is no gap.
#[tokio::test]
async fn a_tail_is_filtered() {
    let eddy = Fixture::start().await;
    eddy.commit_alerts("a", Severity::Info, 100).await;
    eddy.commit_alerts("b", Severity::Warning, 1).await;
    eddy.commit_alerts("a", Severity::Critical, 1).await;
    let mut grave = eddy
        .tail(v1::TailAlertsRequest {
            min_severity: v1::Severity::Warning.into(),
            ..after(0)
        })
        .await;
    assert_eq!(next(&mut grave).await, Some(Ok(101)));
    assert_eq!(next(&mut grave).await, Some(Ok(102)));
    let mut of_one = eddy
        .tail(v1::TailAlertsRequest {
            run_id: "b".into(),
            ..after(0)
        })
        .await;
    assert_eq!(next(&mut of_one).await, Some(Ok(101)));
}

/// Given a run of a conversation, a tail by the id of its trace gets its alerts.
#[tokio::test]
async fn a_tail_follows_a_trace() {
    let eddy = Fixture::start().await;
    let trace = TraceId(*b"0123456789abcdef");
    let report = Report {
        run: RunRef {
            trace,
            run_id: Some("conversation".into()),
            ..RunRef::default()
        },
        events: (0..4)
            .map(|call| tool_call("conversation", "reader", call))
            .collect(),
    };
    let policy = eddy.shards.policy();
    eddy.shards.submit(vec![report], policy).await.unwrap();
    eddy.commit_alerts("another", Severity::Warning, 1).await;
    let mut tail = eddy
        .tail(v1::TailAlertsRequest {
            run_id: "30313233343536373839616263646566".into(),
            ..after(0)
        })
        .await;
    assert_eq!(next(&mut tail).await, Some(Ok(1)));
}

/// What is no longer kept is shown as left out to a tail that asks for it, not to one that asks for the oldest.
#[tokio::test]
async fn removed_alerts_are_shown_as_left_out() {
    let options = Options {
        alerts_max: 10,
        ..Options::default()
    };
    let eddy = Fixture::start_with(&options, Settings::default()).await;
    for _ in 0..30 {
        eddy.commit_alerts("a", Severity::Warning, 1).await;
    }
    let store = eddy.shards.store();
    let removed = async {
        while store.first_cursor() <= 20 {
            sleep(Duration::from_millis(1)).await;
        }
    };
    let waited = timeout(PATIENCE, removed).await;
    waited.expect("alerts that are too many are removed");
    let first = store.first_cursor();
    // Whether the alert was that one cannot be told any more.
    let whenever = prost_types::Timestamp::default();
    let mut tail = eddy
        .tail(v1::TailAlertsRequest {
            after_commit_time: Some(whenever),
            ..after(5)
        })
        .await;
    assert_eq!(next(&mut tail).await, Some(Err((first - 6, 6, first - 1))));
    assert_eq!(next(&mut tail).await, Some(Ok(first)));
    let mut tail = eddy.tail(after(0)).await;
    assert_eq!(next(&mut tail).await, Some(Ok(first)));
}

/// A tail that has caught up and then falls too far behind is moved to the present, and told what it missed; what it
/// asked for in the beginning is given however much it is.
#[tokio::test]
async fn a_lagging_tail_is_moved_to_the_present() {
    let settings = Settings {
        tail_lag_max: 20,
        ..Settings::default()
    };
    let eddy = Fixture::start_with(&Options::default(), settings).await;
    eddy.commit_alerts("a", Severity::Warning, 50).await;
    let mut tail = eddy.tail(after(0)).await;
    for cursor in 1..=50 {
        assert_eq!(next(&mut tail).await, Some(Ok(cursor)));
    }
    // More than the limit becomes visible at once, so that no reader, however quick, could have kept up.
    eddy.commit_alerts("a", Severity::Warning, 30).await;
    assert_eq!(next(&mut tail).await, Some(Err((30, 51, 80))));
    eddy.commit_alerts("a", Severity::Warning, 1).await;
    assert_eq!(next(&mut tail).await, Some(Ok(81)));
}

/// No more streams than the limit; a stream that ends makes room for another.
#[tokio::test]
async fn streams_are_limited() {
    let settings = Settings {
        streams_max: 1,
        ..Settings::default()
    };
    let eddy = Fixture::start_with(&Options::default(), settings).await;
    let tail = eddy.tail(v1::TailAlertsRequest::default()).await;
    let mut client = eddy.warnings().await;
    let refusal = client
        .tail_alerts(v1::TailAlertsRequest::default())
        .await
        .unwrap_err();
    assert_eq!(refusal.code(), Code::ResourceExhausted);
    let before = REFUSED.streams.value();
    assert_eq!(eddy.get("/v1/alerts").await.0, 429);
    assert!(REFUSED.streams.value() > before);
    drop(tail);
    let deadline = Instant::now() + PATIENCE;
    while client
        .tail_alerts(v1::TailAlertsRequest::default())
        .await
        .is_err()
    {
        assert!(Instant::now() < deadline, "the stream was not given back");
        sleep(Duration::from_millis(5)).await;
    }
}

/// The server-sent stream: an alert is an event with its cursor as id, and a client goes on where it stopped, by its
/// last event id rather than by the address with which it began.
#[tokio::test]
async fn server_sent_alerts_resume() {
    let eddy = Fixture::start().await;
    eddy.commit_alerts("a", Severity::Warning, 3).await;
    let mut events = eddy.events("/v1/alerts?cursor=0", "").await;
    let first = events.next().await.expect("an event");
    let id = "1@2023-11-14T22:13:22.000Z";
    assert_eq!((first.id.as_str(), first.event.as_str()), (id, ""));
    let alert: crate::json::AlertJson =
        serde_json::from_str(&first.data).expect("an alert in JSON");
    assert_eq!(
        (alert.cursor, alert.run_id.as_str(), alert.change.as_str()),
        (1, "a", "raised")
    );
    drop(events);

    let mut events = eddy
        .events(
            "/v1/alerts?cursor=0",
            "last-event-id: 2@2023-11-14T22:13:22.000Z\r\n",
        )
        .await;
    assert_eq!(
        events.next().await.expect("an event").id,
        "3@2023-11-14T22:13:22.000Z"
    );
    eddy.commit_alerts("a", Severity::Warning, 1).await;
    let newest = "4@2023-11-14T22:13:22.000Z";
    assert_eq!(events.next().await.expect("an event").id, newest);
    // Of another log, an event source begins with the oldest: what is refused it never asks for again.
    let mut events = eddy
        .events(
            "/v1/alerts",
            "last-event-id: 2@2023-11-14T22:13:23.000Z\r\n",
        )
        .await;
    let anew = events.next().await.expect("an event");
    assert_eq!((anew.id.as_str(), anew.event.as_str()), ("0", "anew"));
    assert!(anew.data.contains("another log"), "{}", anew.data);
    let first = events.next().await.expect("an event");
    assert_eq!(first.id, "1@2023-11-14T22:13:22.000Z");
    // Whoever has seen none knows where to go on.
    let mut events = eddy.events("/v1/alerts", "").await;
    assert_eq!(events.next_line().await, Some(format!("id: {newest}")));
}

/// A server-sent stream says what it left out, and its id is where to go on.
#[tokio::test]
async fn server_sent_alerts_show_what_is_left_out() {
    let settings = Settings {
        tail_lag_max: 5,
        ..Settings::default()
    };
    let eddy = Fixture::start_with(&Options::default(), settings).await;
    let mut events = eddy.events("/v1/alerts", "").await;
    eddy.commit_alerts("a", Severity::Warning, 9).await;
    let lagged = events.next().await.expect("an event");
    assert_eq!((lagged.id.as_str(), lagged.event.as_str()), ("9", "lagged"));
    assert_eq!(lagged.data, r#"{"from":1,"missed":9,"to":9}"#);
}

/// A quiet server-sent stream is kept alive.
#[tokio::test]
async fn server_sent_alerts_are_kept_alive() {
    let settings = Settings {
        keep_alive: Duration::from_millis(10),
        ..Settings::default()
    };
    let eddy = Fixture::start_with(&Options::default(), settings).await;
    let mut events = eddy.events("/v1/alerts", "").await;
    while !events.next_line().await.expect("a line").starts_with(':') {}
}

/// Given ten readers of which one stops reading, the others have each alert within a second; the one that stopped holds less
/// than a mebibyte back, is told what it missed when it reads again, and gets that by resuming.
#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_stops_holds_up_nobody() {
    const COMMITS: u64 = 200;
    const TOGETHER: u64 = 20;
    let settings = Settings {
        tail_lag_max: 500,
        ..Settings::default()
    };
    let eddy = Fixture::start_with(&Options::default(), settings).await;
    // A client that takes little in advance, or the test would have to send megabytes.
    let narrow = Channel::from_shared(format!("http://{}", eddy.address)).unwrap();
    let narrow = narrow.initial_stream_window_size(64 << 10).connect().await;
    let mut stopped = WarningServiceClient::new(narrow.unwrap())
        .tail_alerts(v1::TailAlertsRequest::default())
        .await
        .unwrap()
        .into_inner();
    let mut reading = Vec::new();
    for _ in 0..9 {
        let mut tail = eddy.tail(v1::TailAlertsRequest::default()).await;
        let (seen, at) = tokio::sync::watch::channel(0);
        tokio::spawn(async move {
            while let Ok(Some(answer)) = tail.message().await {
                if let Some(Message::Alert(alert)) = answer.message {
                    seen.send_replace(alert.cursor);
                }
            }
        });
        reading.push(at);
    }
    for commit in 1..=COMMITS {
        eddy.commit_alerts("a", Severity::Warning, TOGETHER as usize)
            .await;
        for seen in &mut reading {
            let has_all = seen.wait_for(|cursor| *cursor == commit * TOGETHER);
            let in_time = timeout(Duration::from_secs(1), has_all).await;
            assert!(in_time.is_ok_and(|seen| seen.is_ok()), "commit {commit}");
        }
    }
    let mut held = 0;
    let (missed, from, to) = loop {
        match next(&mut stopped).await {
            Some(Ok(_)) => held += 1,
            Some(Err(lagged)) => break lagged,
            None => panic!("it ended"),
        }
    };
    let alert = v1::TailAlertsResponse {
        message: Some(Message::Alert(v1::Alert {
            cursor: 1,
            ..v1::Alert::default()
        })),
    };
    let least = prost::Message::encoded_len(&alert) as u64;
    assert!(
        held * least.max(200) < 1 << 20,
        "{held} alerts were held back"
    );
    assert_eq!((from, to), (held + 1, COMMITS * TOGETHER));
    assert_eq!(missed, to - from + 1);
    let mut resumed = eddy.tail(after(from - 1)).await;
    for cursor in from..=to {
        assert_eq!(next(&mut resumed).await, Some(Ok(cursor)));
    }
}
