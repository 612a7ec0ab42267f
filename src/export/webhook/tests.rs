//! A webhook as its receiver sees it: what is posted, what is tried again, and where nothing is posted to.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::Response;
use bytes::Bytes;
use futures_util::stream;
use http_body_util::BodyExt;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::*;
use crate::export::samples::{Log, alert, publish, resolved, store, wait_for};
use crate::export::scripted::start_all;
use crate::export::{Cause, ExporterSettings, Kind, NotTaken, Retry, SEND_TIMEOUT, TlsFiles};
use crate::json::hex_id;
use crate::secret::Secret;

/// A receiver that answers everything in one way and keeps what it was sent.
struct Receiver {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<(HeaderMap, serde_json::Value)>>>,
    server: JoinHandle<()>,
}

impl Receiver {
    async fn serve(address: &str, reply: fn() -> Response<Body>) -> Self {
        let requests = Arc::<Mutex<Vec<_>>>::default();
        let kept = requests.clone();
        let handle = move |request: Request| async move {
            let (parts, body) = request.into_parts();
            let bytes = body.collect().await.expect("a body").to_bytes();
            let json = serde_json::from_slice(&bytes).expect("json");
            kept.lock().expect("no panic").push((parts.headers, json));
            reply()
        };
        let app = Router::new().fallback(handle);
        let listener = TcpListener::bind(address).await.expect("bound");
        let address = listener.local_addr().expect("bound");
        let server = tokio::spawn(async move { axum::serve(listener, app).await.expect("served") });
        Self {
            address,
            requests,
            server,
        }
    }

    fn settings(&self) -> WebhookSettings {
        WebhookSettings {
            allow_private: true,
            ..WebhookSettings::new(format!("http://{}/hook", self.address))
        }
    }

    fn bodies(&self) -> Vec<serde_json::Value> {
        self.requests
            .lock()
            .expect("no panic")
            .iter()
            .map(|(_, body)| body.clone())
            .collect()
    }
}

fn reply(status: u16, header: (&str, &str), body: &'static str) -> Response<Body> {
    let reply = Response::builder()
        .status(status)
        .header(header.0, header.1);
    reply.body(Body::from(body)).expect("a reply")
}

/// What becomes of one alert that is posted to a receiver with this reply.
async fn posted(reply: fn() -> Response<Body>) -> Delivery {
    let receiver = Receiver::serve("127.0.0.1:0", reply).await;
    let mut webhook = Webhook::new("pager", "", &receiver.settings()).expect("settings that work");
    webhook.send(&[alert(1, 1)], &[]).await
}

fn later(reason: &str, cause: Cause, seconds: Option<u64>) -> Delivery {
    Delivery::Later {
        reason: NotTaken::of(reason, cause),
        after: seconds.map(Duration::from_secs),
    }
}

fn refused(reason: &str) -> Delivery {
    Delivery::Refused {
        reason: reason.into(),
    }
}

// Given replies of all kinds; what may pass is tried again when the receiver says, the rest is final.
#[tokio::test]
async fn replies_decide_what_comes_next() {
    assert_eq!(
        posted(|| reply(204, ("x-a", "b"), "")).await,
        Delivery::Taken
    );
    let busy = posted(|| reply(429, ("retry-after", "7"), "slow down")).await;
    assert_eq!(
        busy,
        later(
            "the receiver answered 429 Too Many Requests: slow down",
            Cause::Busy,
            Some(7)
        )
    );
    let away = posted(|| reply(503, ("retry-after", "120"), "")).await;
    assert_eq!(
        away,
        later(
            "the receiver answered 503 Service Unavailable",
            Cause::Busy,
            Some(120)
        )
    );
    let broken = posted(|| reply(500, ("retry-after", "120"), "")).await;
    assert_eq!(
        broken,
        later(
            "the receiver answered 500 Internal Server Error",
            Cause::Unknown,
            None
        )
    );
    let slow = posted(|| reply(408, ("x-a", "b"), "")).await;
    assert_eq!(
        slow,
        later(
            "the receiver answered 408 Request Timeout",
            Cause::Unknown,
            None
        )
    );
    let stranger = posted(|| reply(401, ("x-a", "b"), "")).await;
    assert_eq!(
        stranger,
        later(
            "the receiver answered 401 Unauthorized",
            Cause::Unauthenticated,
            None
        )
    );
    let bad = posted(|| reply(400, ("x-a", "b"), "no\x1b[2J")).await;
    assert_eq!(
        bad,
        refused("the receiver answered 400 Bad Request: no\\x1b[2J")
    );
    let moved = posted(|| reply(302, ("location", "/elsewhere"), "")).await;
    assert_eq!(
        moved,
        refused("the receiver answered 302 Found; redirects are not followed")
    );
}

// Given a reply without an end; only its beginning is read, whether it is a good or a bad one.
#[tokio::test]
async fn endless_replies_are_cut() {
    static CHUNKS: AtomicUsize = AtomicUsize::new(0);
    fn endless(status: u16) -> Response<Body> {
        let chunk = || {
            CHUNKS.fetch_add(1, Ordering::Relaxed);
            Ok::<_, std::io::Error>(Bytes::from(vec![b'x'; 64 * 1024]))
        };
        let body = Body::from_stream(stream::repeat_with(chunk));
        Response::builder()
            .status(status)
            .body(body)
            .expect("a reply")
    }
    assert_eq!(posted(|| endless(200)).await, Delivery::Taken);
    let Delivery::Refused { reason } = posted(|| endless(400)).await else {
        panic!("refused")
    };
    assert!(reason.what().len() < 300, "{reason}");
    // More than is read fits into the buffers of the sockets, but not without limit.
    let chunks = CHUNKS.load(Ordering::Relaxed);
    assert!(chunks < 512, "{chunks} chunks were sent");
}

// Given a reply that comes a byte at a time; a good one counts at once, and a bad one is tried again in the end.
#[tokio::test(start_paused = true)]
async fn slow_replies_hold_up_nothing() {
    fn slow(status: u16) -> Response<Body> {
        let bytes = stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Some((Ok::<_, std::io::Error>(Bytes::from("x")), ()))
        });
        let reply = Response::builder().status(status);
        reply.body(Body::from_stream(bytes)).expect("a reply")
    }
    let began = tokio::time::Instant::now();
    assert_eq!(posted(|| slow(200)).await, Delivery::Taken);
    assert!(began.elapsed() < Duration::from_secs(1));
    let answer = posted(|| slow(500)).await;
    assert!(matches!(answer, Delivery::Later { .. }), "{answer:?}");
    assert!(began.elapsed() < SEND_TIMEOUT + Duration::from_secs(2));
}

// Given a receiver that accepts a connection and never answers, and one that is not there; both are tried again.
#[tokio::test(start_paused = true)]
async fn silence_is_tried_again() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bound");
    let address = listener.local_addr().expect("bound");
    let settings = WebhookSettings {
        allow_private: true,
        ..WebhookSettings::new(format!("http://{address}"))
    };
    let mut webhook = Webhook::new("pager", "", &settings).expect("settings that work");
    let began = tokio::time::Instant::now();
    let answer = webhook.send(&[alert(1, 1)], &[]).await;
    assert!(
        matches!(&answer, Delivery::Later { reason, .. } if reason.what().contains("timed out")),
        "{answer:?}"
    );
    let took = began.elapsed();
    assert!(took < SEND_TIMEOUT + Duration::from_secs(1), "{took:?}");
    drop(listener);
    let expected = format!("cannot post to {address}: ");
    let answer = webhook.send(&[alert(1, 1)], &[]).await;
    assert!(
        matches!(&answer, Delivery::Later { reason, .. } if reason.what().starts_with(&expected)),
        "{answer:?}"
    );
}

// Given a token's file that changes, is taken away and comes back; each request has what was in it last, and what is wrong
// with the file is told of once a minute.
#[tokio::test]
async fn a_token_may_be_changed() {
    let receiver = Receiver::serve("127.0.0.1:0", || reply(200, ("x-a", "b"), "ok")).await;
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("token");
    let settings = WebhookSettings {
        token_file: Some(file.clone()),
        ..receiver.settings()
    };
    let mut webhook = Webhook::new("pager", "", &settings).expect("settings that work");
    let log = Log::default();
    let _reading = log.read();
    let told = || {
        let lines = log.lines();
        let told = lines.iter().filter(|line| line["token_file"].is_string());
        told.map(|line| line["why"].to_string()).collect::<Vec<_>>()
    };
    for token in [Some("one\n"), Some("two\n"), None, Some("")] {
        match token {
            Some(token) => fs::write(&file, token).expect("written"),
            None => fs::remove_file(&file).expect("removed"),
        }
        assert_eq!(webhook.send(&[alert(1, 1)], &[]).await, Delivery::Taken);
    }
    assert_eq!(told().len(), 1, "{:?}", told());
    tokio::time::pause();
    tokio::time::advance(crate::telemetry::TELL_EVERY).await;
    webhook.renew_token().await;
    webhook.renew_token().await;
    assert!(
        told().len() == 2 && told()[1].contains("holds no token"),
        "{:?}",
        told()
    );
    let requests = receiver.requests.lock().expect("no panic").clone();
    let told: Vec<_> = requests
        .iter()
        .map(|(headers, _)| &headers["authorization"])
        .collect();
    assert_eq!(
        told,
        ["Bearer one", "Bearer two", "Bearer two", "Bearer two"]
    );
}

// Given a batch; the request is what Alertmanager would send, with a token and a key that tells repeats.
#[tokio::test]
async fn requests_are_alertmanagers() {
    let receiver = Receiver::serve("127.0.0.1:0", || reply(200, ("x-a", "b"), "ok")).await;
    let settings = WebhookSettings {
        bearer_token: Some(Secret::from("hunter2".to_owned())),
        external_url: Some("http://eddy.example:4319/".to_owned()),
        ..receiver.settings()
    };
    let mut webhook = Webhook::new("pager", "", &settings).expect("settings that work");
    assert_eq!(webhook.send(&[alert(0xab, 2)], &[]).await, Delivery::Taken);
    assert_eq!(
        webhook
            .send(&[resolved(0xab, 3), alert(0xcd, 1)], &[])
            .await,
        Delivery::Taken
    );
    let requests = receiver.requests.lock().expect("no panic").clone();
    let [(first, one), (second, two)] = &requests[..] else {
        panic!("two requests")
    };
    assert_eq!(first["authorization"], "Bearer hunter2");
    assert_eq!(first["idempotency-key"], "00000000000000ab:2:0");
    assert_eq!(second["idempotency-key"].len(), 32);
    let group = r#"{}:{incident="00000000000000ab", run_id="4bf92f3577b34da6a3ce929d0e0e4736"}"#;
    let expected = serde_json::json!({
        "version": "4", "groupKey": group, "truncatedAlerts": 0, "status": "firing", "receiver": "pager",
        "groupLabels": {
            "run_id": "4bf92f3577b34da6a3ce929d0e0e4736", "incident": "00000000000000ab",
        },
        "commonLabels": one["alerts"][0]["labels"],
        "commonAnnotations": one["alerts"][0]["annotations"],
        "externalURL": "http://eddy.example:4319",
        "alerts": [{
            "status": "firing",
            "labels": {
                "alertname": "repeated_tool_call_exact_input", "severity": "warning", "service": "research-bot",
                "agent": "researcher", "tool": "web_search", "run_id": "4bf92f3577b34da6a3ce929d0e0e4736",
                "incident": "00000000000000ab",
            },
            "annotations": {
                "summary":
                    "repeated_tool_call_exact_input of web_search ×5 in run 4bf92f3577b34da6a3ce929d0e0e4736",
                "description": "web_search was called 4 times with the same arguments and gave the same result.",
                "reason": "The same question gets the same answer.",
                "advice": "Give the agent the earlier result.",
                "change": "updated", "count": "5", "revision": "2", "score": "75", "tokens": "12440",
                "cost_usd": "0.0812", "warning_id": "00000000000000ab",
            },
            "startsAt": "2026-11-21T14:01:02.000Z", "endsAt": "0001-01-01T00:00:00Z",
            "generatorURL": "http://eddy.example:4319/#run=4bf92f3577b34da6a3ce929d0e0e4736",
            "fingerprint": "00000000000000ab",
        }],
    });
    assert_eq!(*one, expected);
    assert_eq!(two["status"], "firing");
    assert_eq!(two["alerts"][0]["status"], "resolved");
    assert_eq!(two["alerts"][0]["endsAt"], "2026-11-21T14:03:22.600Z");
    assert_eq!(two["commonAnnotations"].get("revision"), None);
    // Its alerts are of several incidents, which is nothing that they share.
    let group = group.replace(r#"incident="00000000000000ab", "#, "");
    assert_eq!(two["groupKey"], group);
}

// Given an alert of a tenant; it says whose it is, and cannot be taken for another tenant's alert of the same run.
#[tokio::test]
async fn tenants_are_told_apart() {
    let receiver = Receiver::serve("127.0.0.1:0", || reply(200, ("x-a", "b"), "ok")).await;
    for tenant in ["blue", "red", ""] {
        let webhook = Webhook::new("pager", tenant, &receiver.settings());
        let mut webhook = webhook.expect("settings that work");
        assert_eq!(webhook.send(&[alert(0xab, 2)], &[]).await, Delivery::Taken);
    }
    let requests = receiver.requests.lock().expect("no panic").clone();
    let keys: Vec<_> = requests
        .iter()
        .map(|(headers, _)| &headers["idempotency-key"])
        .collect();
    assert_eq!(
        keys,
        [
            "blue:00000000000000ab:2:0",
            "red:00000000000000ab:2:0",
            "00000000000000ab:2:0"
        ]
    );
    let of = |place: usize| &requests[place].1["alerts"][0];
    assert_eq!(of(0)["labels"]["tenant"], "blue");
    assert_eq!(of(2)["labels"].get("tenant"), None);
    for place in 0..3 {
        assert_eq!(of(place)["annotations"]["warning_id"], "00000000000000ab");
    }
    assert_ne!(of(0)["fingerprint"], of(1)["fingerprint"]);
    assert_ne!(requests[0].1["groupKey"], requests[1].1["groupKey"]);
}

// Given a receiver that does not want what it is sent; it is sent again, once, if the certificates have been renewed.
#[tokio::test]
async fn a_refusal_may_be_of_the_certificate() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tls");
    let directory = tempfile::tempdir().expect("a directory");
    let ca_file = directory.path().join("ca.crt");
    let install = |name: &str| fs::copy(fixtures.join(name), &ca_file).expect("copied");
    install("ca.crt");
    let receiver = Receiver::serve("127.0.0.1:0", || reply(400, ("x-a", "b"), "no")).await;
    let settings = WebhookSettings {
        tls: TlsFiles {
            ca_file: Some(ca_file.clone()),
            identity: None,
        },
        ..receiver.settings()
    };
    let mut webhook = Webhook::new("pager", "", &settings).expect("settings that work");
    let refused = |answer| matches!(answer, Delivery::Refused { .. });
    assert!(refused(webhook.send(&[alert(1, 1)], &[]).await));
    install("other-ca.crt");
    assert!(!refused(webhook.send(&[alert(1, 1)], &[]).await));
    assert!(refused(webhook.send(&[alert(1, 1)], &[]).await));
    fs::write(&ca_file, "half of it").expect("written");
    assert!(refused(webhook.send(&[alert(1, 1)], &[]).await));
}

// Given addresses that must not be called; they are found before anything is sent, however they are written.
#[tokio::test]
async fn private_addresses_are_refused() {
    for (url, problem) in [
        ("http://127.0.0.1/", "private address 127.0.0.1"),
        ("http://2130706433/", "private address 127.0.0.1"),
        ("http://0x7f.1/", "private address 127.0.0.1"),
        ("http://user@[::1]:80/", "private address ::1"),
        ("http://[::ffff:10.0.0.1]/", "private address"),
        (
            "http://169.254.169.254/latest",
            "private address 169.254.169.254",
        ),
        ("http://0177.0.0.1/", "private address"),
        ("http://127.1/", "private address"),
        ("http://0/", "private address"),
        ("http://0.0.0.0/", "private address"),
        ("http://[::]/", "private address"),
        ("http://10.1.2.3/", "private address"),
        ("http://172.16.0.1/", "private address"),
        ("http://172.31.255.255/", "private address"),
        ("http://192.168.1.1/", "private address"),
        ("http://100.64.0.1/", "private address"),
        ("http://[fe80::1]/", "private address"),
        ("http://[fc00::1]/", "private address"),
        ("http://[fd12::1]/", "private address"),
        ("http://[::ffff:127.0.0.1]/", "private address"),
        ("http://[::ffff:7f00:1]/", "private address"),
        ("http://[64:ff9b::7f00:1]/", "private address"),
        ("http://[2002:7f00:1::]/", "private address"),
        ("http://127.0.0.1./", "private address"),
        ("http://１２７.0.0.1/", "private address"),
        ("http://127。0。0。1/", "private address"),
        ("http://public.example:80@127.0.0.1/", "private address"),
        ("http://224.0.0.1/", "private address"),
        ("http://255.255.255.255/", "private address"),
        ("http://198.18.0.1/", "private address"),
        ("http://192.0.0.1/", "private address"),
        ("HTTP://127.0.0.1/", "private address"),
        ("http:\\\\127.0.0.1\\", "private address"),
        ("http://0x7f000001/", "private address"),
        ("http://017700000001/", "private address"),
        (
            "https://[::1]:443/hook?next=http://public.example",
            "private address",
        ),
        ("http://localhost:9/", "names this machine, localhost;"),
        ("http://LOCALHOST./", "names this machine"),
        ("https://alerts.localhost/", "names this machine"),
        ("file:///etc/passwd", "begins with http"),
        ("gopher://127.0.0.1/", "begins with http"),
        ("ftp://127.0.0.1/", "begins with http"),
        ("unix:/run/x.sock", "begins with http"),
        ("pager", "cannot be read"),
    ] {
        let kind = Kind::Webhook(WebhookSettings::new(url));
        let error = ExporterSettings::new("pager", kind).check().expect_err(url);
        assert!(error.to_string().contains(problem), "{url}: {error}");
    }
    let receiver = Receiver::serve("127.0.0.1:0", || reply(200, ("x-a", "b"), "")).await;
    let url = format!("http://localhost:{}/", receiver.address.port());
    let client = client(false, None).expect("a client");
    let refused = client
        .post(url)
        .send()
        .await
        .expect_err("a private address");
    assert!(unsent(refused).what().contains("allow_private"));
    assert!(receiver.bodies().is_empty());
}

// Given Alertmanager's address, with a path before it or not; alerts of several incidents arrive together where it takes them.
#[tokio::test]
async fn alertmanager_itself_gets_alerts() {
    let paths = Arc::<Mutex<Vec<(String, serde_json::Value)>>>::default();
    let kept = paths.clone();
    let handle = move |request: Request| async move {
        let path = request.uri().path().to_owned();
        let bytes = request.into_body().collect().await.expect("a body");
        let json = serde_json::from_slice(&bytes.to_bytes()).expect("json");
        kept.lock().expect("no panic").push((path, json));
    };
    let app = Router::new().fallback(handle);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bound");
    let address = listener.local_addr().expect("bound");
    tokio::spawn(async move { axum::serve(listener, app).await.expect("served") });
    for (below, path) in [
        ("", ALERTS),
        ("/", ALERTS),
        ("/api/v2/alerts", ALERTS),
        ("/am/", "/am/api/v2/alerts"),
    ] {
        let lasts = Duration::from_secs(60);
        let settings = WebhookSettings {
            form: Form::Alertmanager { lasts },
            allow_private: true,
            ..WebhookSettings::new(format!("http://{address}{below}"))
        };
        let kind = Kind::Webhook(settings.clone());
        assert_eq!((kind.name(), kind.by_incident()), ("alertmanager", false));
        let mut sink = Webhook::new("pager", "", &settings).expect("settings that work");
        let answer = sink.send(&[alert(1, 1), alert(2, 1)], &[]).await;
        assert_eq!(answer, Delivery::Taken);
        let (posted_to, json) = paths.lock().expect("no panic").pop().expect("a request");
        assert_eq!(
            (posted_to.as_str(), json.as_array().map(Vec::len)),
            (path, Some(2))
        );
    }
}

// Given settings; printing them does not tell the token.
#[test]
fn tokens_are_not_printed() {
    let token = Some(Secret::from("hunter2".to_owned()));
    let settings = WebhookSettings {
        bearer_token: token,
        ..WebhookSettings::new("http://h")
    };
    assert!(!format!("{settings:?}").contains("hunter2"));
}

// Given incidents that are told of together, and resolved together, when an earlier report of another service has come; each
// has requests of its own, all with one `groupKey`.
#[tokio::test]
async fn an_incident_has_one_group_key() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = store(dir.path());
    let receiver = Receiver::serve("127.0.0.1:0", || reply(200, ("x-a", "b"), "")).await;
    let exporter = ExporterSettings::new("pager", Kind::Webhook(receiver.settings()));
    let exporters = start_all(&store, vec![exporter]);
    let mut sibling = alert(3, 1);
    sibling.warning.incident = 2;
    publish(&store, vec![alert(1, 1), alert(2, 1), sibling]).await;
    let are_told = || exporters.status()[0].queue == 0;
    wait_for("an empty queue", are_told).await;
    let mut resolutions = [resolved(1, 2), resolved(2, 2)];
    for alert in &mut resolutions {
        alert.service = Some("frontend".into());
    }
    publish(&store, resolutions.into()).await;
    wait_for("an empty queue", are_told).await;
    let mut keys = BTreeMap::<String, BTreeSet<String>>::new();
    for body in receiver.bodies() {
        for told in body["alerts"].as_array().expect("alerts") {
            let of_incident = keys.entry(told["labels"]["incident"].to_string());
            let key = body["groupKey"].to_string();
            of_incident.or_default().insert(key);
        }
    }
    let each: Vec<_> = keys.values().map(BTreeSet::len).collect();
    assert_eq!(each, [1, 1], "{keys:?}");
    assert_ne!(keys.values().next(), keys.values().last());
}

// Given an incident of which one warning is resolved and another is not; the group fires until the other is resolved, too.
// Where a request has no room for what is still open, it says so.
#[tokio::test]
async fn an_incident_is_resolved_when_all_of_it_is() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = store(dir.path());
    let receiver = Receiver::serve("127.0.0.1:0", || reply(200, ("x-a", "b"), "")).await;
    let narrow = WebhookSettings {
        max_alerts: 1,
        ..receiver.settings()
    };
    let exporters = [("wide", receiver.settings()), ("narrow", narrow)]
        .map(|(name, settings)| ExporterSettings::new(name, Kind::Webhook(settings)));
    let exporters = start_all(&store, exporters.into());
    let of_incident = |mut alert: Alert| {
        alert.warning.incident = 1;
        alert
    };
    for alerts in [
        vec![alert(1, 1), of_incident(alert(2, 1)), alert(3, 1)],
        vec![resolved(1, 2)],
        vec![of_incident(resolved(2, 2))],
    ] {
        publish(&store, alerts).await;
        let are_told = || {
            exporters
                .status()
                .iter()
                .all(|exporter| exporter.queue == 0)
        };
        wait_for("empty queues", are_told).await;
    }
    let told = |name: &str| {
        let bodies = receiver.bodies().into_iter();
        let of_it = bodies.filter(|body| body["receiver"] == name);
        let of_it = of_it.filter(|body| body["groupLabels"]["incident"] == hex_id(1));
        let told = of_it.map(|body| {
            let alerts = body["alerts"].as_array().expect("alerts").iter();
            let states: Vec<_> = alerts.map(|alert| alert["status"].to_string()).collect();
            let left_out = &body["truncatedAlerts"];
            format!(
                "{} of {}, {left_out} left out",
                body["status"],
                states.join(" ")
            )
        });
        told.collect::<Vec<_>>().join("; ").replace('"', "")
    };
    assert_eq!(
        told("wide"),
        "firing of firing firing, 0 left out; firing of resolved firing, 0 left out; resolved of resolved, \
             0 left out"
    );
    assert_eq!(
        told("narrow"),
        "firing of firing, 0 left out; firing of firing, 0 left out; firing of resolved, 1 left out; resolved of resolved, \
             0 left out"
    );
}

// Given a receiver that is killed and comes back on the same port; every warning arrives, in bounded requests, and the
// newest revision of it.
#[tokio::test]
async fn everything_arrives_when_a_killed_receiver_returns() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = store(dir.path());
    let receiver = Receiver::serve("127.0.0.1:0", || reply(200, ("x-a", "b"), "")).await;
    let address = receiver.address.to_string();
    let settings = WebhookSettings {
        max_alerts: 4,
        ..receiver.settings()
    };
    let short = Duration::from_millis(20);
    let retry = Retry {
        initial: short,
        max: short,
        max_elapsed: None,
    };
    let exporter = ExporterSettings {
        retry,
        ..ExporterSettings::new("pager", Kind::Webhook(settings))
    };
    let exporters = start_all(&store, vec![exporter]);
    publish(&store, vec![alert(1, 1)]).await;
    wait_for("the first alert", || receiver.bodies().len() == 1).await;
    receiver.server.abort();
    wait_for("its end", || receiver.server.is_finished()).await;
    for id in 1..=9 {
        publish(&store, vec![alert(id, 2), alert(id, 3)]).await;
    }
    wait_for("a failure", || {
        exporters.status()[0].progress.last_error.is_some()
    })
    .await;
    let receiver = Receiver::serve(&address, || reply(200, ("x-a", "b"), "")).await;
    wait_for("an empty queue", || exporters.status()[0].queue == 0).await;
    let bodies = receiver.bodies();
    let alerts: Vec<_> = bodies
        .iter()
        .flat_map(|body| body["alerts"].as_array().expect("alerts"))
        .collect();
    assert!(
        bodies
            .iter()
            .all(|body| body["alerts"].as_array().expect("alerts").len() <= 4)
    );
    for id in 1..=9 {
        let newest = alerts
            .iter()
            .rfind(|alert| alert["fingerprint"] == format!("{id:016x}"));
        assert_eq!(
            newest.expect("arrived")["annotations"]["revision"],
            "3",
            "{id}"
        );
    }
}
