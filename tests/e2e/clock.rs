//! A system whose clock is set while the daemon runs, as by somebody's hand or by a time server after a wrong start.
//!
//! A small library (`clock.c`) is loaded into the daemon and sets the clock for it alone.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::guard::{now_ns, send, span_with};
use super::kill::calls;
use super::load::{metric, send_patiently};
use super::support::{Daemon, Library, Sender, free_port, runtime, until};

const DAY_SECONDS: i64 = 86_400;

/// Calls between two settings: more than a window holds.
const CALLS: u64 = 200;

/// Given a clock that is set back by a day, ahead by two and right again, under a run that goes on: every call counts, none is
/// late, the guard answers, and the run is open. Given one that is a month ahead for a moment, a run that was over is not
/// forgotten.
#[cfg(target_os = "linux")]
#[test]
fn a_clock_that_is_set_harms_no_run() {
    let directory = tempfile::tempdir().expect("a directory");
    let library = Library::compiled("clock", "EDDY_CLOCK", directory.path());
    let file = File::create(&library.file).expect("it can be made");
    let set = |days: i64| {
        let bytes = (days * DAY_SECONDS).to_ne_bytes();
        // The daemon looks at it all the time, so it must never be empty.
        file.write_all_at(&bytes, 0).expect("it can be written");
    };
    set(0);
    let data = directory.path().join("data");
    let daemon = Daemon::start_with_library(&library, &data, free_port(), &[]);
    let runtime = runtime();
    let mut sender = runtime.block_on(async { Sender::new(daemon.grpc) });
    runtime.block_on(send_patiently(&mut sender, &calls(1, 0, 10)));
    for (round, days) in [0, -1, 1, 0].into_iter().enumerate() {
        set(days);
        let from = round as u64 * CALLS;
        for number in (from..from + CALLS).step_by(10) {
            let request = calls(0, number, number + 10);
            runtime.block_on(send_patiently(&mut sender, &request));
        }
        let question = r#"{"run_id": "asked", "tool": "search", "arguments": {}}"#;
        // A machine that is busy may take longer than the guard waits; the clock may not make it do so always.
        runtime.block_on(until(async || {
            let (code, verdict) = daemon.post("/v1/guard/check", question);
            assert_eq!(code, 200, "{verdict}");
            (verdict["degraded"] == false).then_some(())
        }));
        let run = runtime.block_on(until(async || {
            let (_, run) = daemon.get(&format!("/v1/runs/{:032x}", 1));
            (run["tool_calls"] == from + CALLS).then_some(run)
        }));
        assert_eq!(run["ended"], "open", "{days} days: {run}");
        assert_eq!(
            metric(&daemon, "eddy_shard_late_events_total"),
            0,
            "{days} days"
        );
    }
    let over = format!("/v1/runs/{:032x}", 2);
    runtime.block_on(until(async || {
        (daemon.get(&over).1["ended"] == "idle").then_some(())
    }));
    set(30);
    // A second is enough for the walk along the runs, which looks at the age of each.
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(3) {
        assert_eq!(daemon.get(&over).0, 200);
    }
    set(0);
}

/// Given the same loop from machines whose clocks are right or hours off, in one request or in one each, it is seen as often.
#[test]
fn clocks_of_senders_hide_no_loop() {
    const SECOND_NS: u64 = 1_000_000_000;
    const CALLS: u64 = 8;
    let directory = tempfile::tempdir().expect("a directory");
    let daemon = Daemon::start(directory.path());
    let result = r#"{"found":"the same as before, word by word"}"#;
    for hours in [0, 1, 5, -3, 24 * 365] {
        for requests in [1, CALLS] {
            let run = format!("{hours} {requests}");
            let began = now_ns().saturating_add_signed(hours * 3_600 * SECOND_NS as i64);
            let spans: Vec<_> = (0..CALLS)
                .map(|number| {
                    let start = began + number * SECOND_NS;
                    let times = (start, start + SECOND_NS / 10);
                    let id = 1 + number + 100 * requests + 10_000 * hours.unsigned_abs();
                    span_with(&run, 1, id, None, times, result)
                })
                .collect();
            for part in spans.chunks((CALLS / requests) as usize) {
                send(&daemon, part);
            }
            let (_, shown) = daemon.get(&format!("/v1/runs/{}", run.replace(' ', "%20")));
            let warnings = shown["warnings"].as_array().expect("warnings");
            let exact = |warning: &&Value| warning["rule"] == "repeated_tool_call_exact_input";
            let count = warnings.iter().find(exact).map(|warning| &warning["count"]);
            assert_eq!(count, Some(&CALLS.into()), "{run}: {shown}");
        }
    }
}
