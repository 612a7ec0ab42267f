//! Standing in the line: what a backend behind the daemon gets, and what the daemon does when that backend is not there.

use std::time::Instant;

use super::access::{Shown, asks_for_certificates, configured};
use super::delivery::outcome;
use super::kill::calls;
use super::load::metric;
use super::support::{
    Daemon, Export, PATIENCE, Recording, Sender, Transport, free_port, recordings, runtime,
    send_over, until,
};

/// Given recorded runs that reach a daemon over every transport, a daemon behind it over gRPC and another one over HTTP come
/// to the same runs, warnings and scores.
#[test]
fn those_behind_see_the_same() {
    let [over_grpc, over_http] = [(), ()].map(|()| {
        let data = tempfile::tempdir().expect("a temporary directory");
        let daemon = Daemon::start(data.path());
        (data, daemon)
    });
    let (_directory, daemon) = configured(&format!(
        "exporters:\n  otlp_forward/a: {{endpoint: 'http://{}'}}\n  otlp_forward/b: {{endpoint: 'http://{}', protocol: http}}\n",
        over_grpc.1.grpc, over_http.1.http
    ));
    for (recording, transport) in recordings().iter().zip(Transport::ALL.into_iter().cycle()) {
        runtime().block_on(send_over(&daemon, transport, &recording.requests()));
    }
    let on_time = |daemon: &Daemon| {
        let mut runs = outcome(daemon);
        // Several recordings are of one session; what comes later than a window holds counts by its order of arrival, and
        // requests overtake each other on the way.
        runs.retain(|_, run| run["late_events"] == 0);
        runs
    };
    let expected = on_time(&daemon);
    assert!(expected.len() > 50, "{}", expected.len());
    for (_data, behind) in [over_grpc, over_http] {
        let began = Instant::now();
        while on_time(&behind) != expected && began.elapsed() < PATIENCE {
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        assert_eq!(on_time(&behind), expected);
    }
}

/// Given backends that ask for a certificate, one is shown to them where that is configured, and they get what was sent: once the
/// right one is in its place.
#[test]
fn a_backend_may_ask_for_a_certificate() {
    let asking = asks_for_certificates();
    let (_behind, behind) = configured(&format!(
        "receivers: {{otlp: {{protocols: {{grpc: {{{asking}}}, http: {{{asking}}}}}}}}}\n"
    ));
    for (run, protocol, port) in [
        (0, "grpc", behind.grpc.port()),
        (1, "http", behind.http.port()),
    ] {
        let shown = Shown::stranger();
        let (_directory, daemon) = configured(&format!(
            "exporters:\n  otlp_forward:\n    endpoint: https://localhost:{port}\n    protocol: {protocol}\n    {}\n",
            shown.settings()
        ));
        let run_id = format!("{:032x}", run + 1);
        runtime().block_on(async {
            let request = Export::Traces(calls(run, 0, 3));
            let sent = Sender::new(daemon.grpc).send(request).await;
            sent.expect("it is accepted");
            let waits = "could not be passed on; it waits";
            let said = || daemon.stderr.lock().expect("whole").contains(waits);
            until(async || said().then_some(())).await;
            shown.renew();
            let behind = until(async || behind.runs().remove(&run_id)).await;
            assert_eq!(behind["tool_calls"], 3, "{protocol}");
        });
    }
}

/// Given a backend that is not there, everything else goes its way: requests are acknowledged, runs are there, and the
/// daemon leaves in time and says what that backend misses.
#[test]
fn a_dead_backend_is_nobody_elses_trouble() {
    let (_directory, mut daemon) = configured(&format!(
        "exporters: {{otlp_forward: {{endpoint: 'http://{}', queue_mib: 1}}}}\n",
        free_port()
    ));
    let requests: Vec<Export> = recordings()
        .iter()
        .take(3)
        .flat_map(Recording::requests)
        .collect();
    runtime().block_on(async {
        let mut sender = Sender::new(daemon.grpc);
        sender.send_all(&requests).await;
        for nth in 0..40 {
            let request = Export::Traces(calls(7, nth, nth + 1));
            sender.send(request).await.expect("it is accepted");
        }
    });
    let run = &daemon.runs()[&format!("{:032x}", 8)];
    assert_eq!(run["tool_calls"], 40);
    daemon.signal("TERM");
    let began = Instant::now();
    assert!(daemon.wait().success());
    assert!(began.elapsed().as_secs() < 10);
    let said = daemon.stderr.lock().expect("whole");
    let waits = "could not be passed on; it waits";
    assert_eq!(said.matches(waits).count(), 1, "{said}");
    // One of the first and one of the rest, both when it leaves, of which the backend is not to blame.
    let lines = said
        .lines()
        .filter(|line| line.contains("since Eddy stops"));
    let number = |line: &str| {
        let number = line.split_once(" requests=")?.1.split_whitespace().next()?;
        number.parse::<usize>().ok()
    };
    let numbers: Vec<_> = lines.map(number).collect();
    let all = numbers.iter().copied().sum::<Option<usize>>();
    assert_eq!(all, Some(requests.len() + 40), "{said}");
}

/// Given a backend that takes a request but for one span, the page of metrics and the log tell of the span, and of no request that
/// is given up.
#[test]
fn what_a_backend_leaves_out_is_counted() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let behind = Daemon::start(data.path());
    let (_directory, daemon) = configured(&format!(
        "exporters: {{otlp_forward: {{endpoint: 'http://{}'}}}}\n",
        behind.grpc
    ));
    runtime().block_on(async {
        let mut request = calls(1, 0, 3);
        let spans = &mut request.resource_spans[0].scope_spans[0].spans;
        spans[1].span_id.clear();
        let mut sender = Sender::new(daemon.grpc);
        sender.send(Export::Traces(request)).await.expect("taken");
        let sent = async || (metric(&daemon, "eddy_forward_sent_requests_total") > 0).then_some(());
        until(sent).await;
    });
    assert_eq!(metric(&daemon, "eddy_forward_refused_items_total"), 1);
    let said = daemon.stderr.lock().expect("whole");
    assert!(said.contains("passed to  otlp_forward\n"), "{said}");
    assert!(said.contains("but for some items"), "{said}");
    assert!(!said.contains("given up"), "{said}");
}

/// Given a backend for the daemon's own spans, it gets turns with their commits and attempts to deliver alerts, with numbers
/// and without anything that telemetry said.
#[test]
fn own_spans_are_sent_where_asked() {
    let backend = tempfile::tempdir().expect("a temporary directory");
    let received = backend.path().join("spans");
    let collector = super::support::Collector::start();
    let (_directory, mut daemon) = configured(&format!(
        "exporters: {{file: {{path: '{}'}}}}\nservice: {{telemetry: {{traces: {{sampling_ratio: 1, otlp: {{endpoint: 'http://{}', headers: {{x-key: hunter2}}}}}}}}}}\n",
        received.display(),
        collector.address
    ));
    runtime().block_on(async {
        let mut sender = Sender::new(daemon.grpc);
        let mut request = calls(1, 0, 3);
        for span in &mut request.resource_spans[0].scope_spans[0].spans {
            for attribute in &mut span.attributes {
                if attribute.key.ends_with("arguments") || attribute.key.ends_with("result") {
                    attribute.value = calls(1, 0, 1).resource_spans[0].scope_spans[0].spans[0]
                        .attributes
                        .iter()
                        .find(|first| first.key == attribute.key)
                        .and_then(|first| first.value.clone());
                }
            }
        }
        sender.send(Export::Traces(request)).await.expect("taken");
    });
    daemon.signal("TERM");
    assert!(daemon.wait().success());
    let spans = collector.spans();
    let named = |name: &str| spans.iter().find(|span| span.name == name);
    // A turn that only takes time in has nothing to commit.
    let commit = named("commit").expect("a commit");
    let turn = spans
        .iter()
        .find(|span| span.span_id == commit.parent_span_id);
    let turn = turn.expect("its turn");
    assert_eq!((&*turn.name, &turn.trace_id), ("turn", &commit.trace_id));
    assert!(commit.end_time_unix_nano > commit.start_time_unix_nano);
    assert!(named("export").is_some(), "{spans:?}");
    let text = format!("{spans:?}");
    for said in ["search", "item", "found"] {
        assert!(!text.contains(said), "{text}");
    }
}
