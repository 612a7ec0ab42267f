//! The page *Loop Detection* of attocode.
//!
//! The first half is about what spans tell, the second about what the guard answers. What the last tier announces is done:
//! from the seventh identical call on, it is refused.

use std::time::{Duration, Instant};

use eddy::config::profile::Name;
use serde_json::{Value, json};

use super::guarded::{Guarded, asked, shown};
use super::support::{advice, call, check, command, failing, text, times, user, watch, with};

const ATTOCODE: Name = Name::Attocode;

fn read(path: &str) -> Value {
    call("read_file", json!({"path": path}))
}

/// Exact detection: three equal calls in a row, whatever they bring; two are none, and another call ends the row.
#[test]
fn exact_repeats() {
    check(ATTOCODE, &times(2, read("a.rs")), &[]);
    check(
        ATTOCODE,
        &times(3, read("a.rs")),
        &["doom_loop 3 warning read_file"],
    );
    let mut broken = times(2, read("a.rs"));
    broken.push(read("b.rs"));
    broken.extend(times(2, read("a.rs")));
    check(ATTOCODE, &broken, &[]);
    let turns: Vec<Value> = (0..8).map(|i| read(["a.rs", "b.rs"][i % 2])).collect();
    check(ATTOCODE, &turns, &[]);
    let orders = [
        r#"{"path":"a.rs","limit":5}"#,
        r#"{"limit":5,"path":"a.rs"}"#,
        r#"{"path":"a.rs","limit":5}"#,
    ];
    let reordered: Vec<Value> = orders.map(|input| call("read_file", json!(input))).to_vec();
    check(ATTOCODE, &reordered, &["doom_loop 3 warning read_file"]);
    let results: Vec<Value> = (0..3)
        .map(|i| with(read("a.rs"), "output", json!(i)))
        .collect();
    check(ATTOCODE, &results, &["doom_loop 3 warning read_file"]);
}

/// Arguments that were not recorded equal nothing.
#[test]
fn unknown_arguments_are_no_loop() {
    let unknown = json!({"kind": "tool_call", "tool": "read_file"});
    check(ATTOCODE, &times(12, unknown), &[]);
}

/// Fuzzy detection: four calls in a row whose primary arguments are equal, other ones ignored; three are none.
#[test]
fn fuzzy_repeats() {
    let optional = |i: u32| call("read_file", json!({"path": "a.rs", "encoding": i}));
    let run: Vec<Value> = (0..4).map(optional).collect();
    check(ATTOCODE, &run[..3], &[]);
    check(ATTOCODE, &run, &["doom_loop 4 warning read_file"]);
}

/// Each worker has a detector of its own: what others do in between neither ends nor feeds its row.
#[test]
fn workers_have_rows_of_their_own() {
    let by = |worker: &str, path: &str| with(read(path), "worker", json!(worker));
    let turns = [
        by("w1", "a"),
        by("w2", "b"),
        by("w1", "a"),
        by("w2", "c"),
        by("w1", "a"),
    ];
    check(ATTOCODE, &turns, &["doom_loop 3 warning read_file"]);
    let spread = ["w1", "w2", "w3"].map(|worker| by(worker, "a"));
    check(ATTOCODE, &spread, &[]);
}

/// Each of the ten primary keys tells calls apart; a key that is not among them does not.
#[test]
fn primary_keys() {
    let keys = [
        "path",
        "file_path",
        "command",
        "pattern",
        "query",
        "url",
        "content",
        "filename",
        "offset",
        "limit",
    ];
    for key in keys {
        let differs = |i: usize| call("tool", json!({key: i, "note": i}));
        let run: Vec<Value> = (0..6).map(differs).collect();
        check(ATTOCODE, &run, &[]);
        let same = |i: usize| call("tool", json!({key: "same", "note": i}));
        let run: Vec<Value> = (0..4).map(same).collect();
        check(ATTOCODE, &run, &["doom_loop 4 warning tool"]);
    }
    // Without a primary key all arguments count.
    let run: Vec<Value> = (0..6).map(|i| call("tool", json!({"note": i}))).collect();
    check(ATTOCODE, &run, &[]);
}

/// The exact count goes before the fuzzy one; where the fuzzy one is greater, it takes its place in the same warning.
#[test]
fn exact_goes_before_fuzzy() {
    let mut run = times(3, read("a.rs"));
    check(ATTOCODE, &run, &["doom_loop 3 warning read_file"]);
    run.push(call(
        "read_file",
        json!({"path": "a.rs", "encoding": "utf8"}),
    ));
    check(ATTOCODE, &run, &["doom_loop 4 warning read_file"]);
    run.rotate_right(1);
    check(ATTOCODE, &run, &["doom_loop 4 warning read_file"]);
}

/// Reading one file with cat, head or tail is one fingerprint; pipes, redirects and semicolons make it another.
#[test]
fn file_reads_are_normalised() {
    let reads = [
        "cat foo.ts",
        "head foo.ts",
        "tail -n 5 foo.ts",
        "cat foo.ts",
    ]
    .map(command);
    check(ATTOCODE, &reads, &["doom_loop 4 warning bash"]);
    for complex in ["cat foo.ts | wc", "cat foo.ts > x", "cat foo.ts; ls"] {
        let run = ["cat foo.ts", "head foo.ts", "tail foo.ts", complex].map(command);
        check(ATTOCODE, &run, &[]);
    }
    let full = |i: u32| call("bash", json!({"command": "cat a | wc", "timeout": i}));
    let run: Vec<Value> = (0..6).map(full).collect();
    check(ATTOCODE, &run, &[]);
    let others = ["cat foo.ts", "cat bar.ts", "head foo.ts", "tail bar.ts"].map(command);
    check(ATTOCODE, &others, &[]);
}

/// Three repeats are a first warning, four and five a more urgent one, six and more critical; the count goes on after ten.
#[test]
fn tiers_escalate() {
    for (count, severity) in [
        (3, "warning"),
        (4, "warning"),
        (5, "warning"),
        (6, "critical"),
        (7, "critical"),
        (12, "critical"),
    ] {
        let expected = format!("doom_loop {count} {severity} read_file");
        check(ATTOCODE, &times(count, read("a.rs")), &[&expected]);
    }
    let said = [3, 4, 6].map(|count| advice(ATTOCODE, &times(count, read("a.rs"))));
    assert!(said[0].contains("task is done"), "{}", said[0]);
    assert!(!said[1].contains("task is done"), "{}", said[1]);
    assert!(said[2].starts_with("Stop calling"), "{}", said[2]);
    let view = watch(&ATTOCODE.policy(), &times(5, read("a.rs")));
    assert!(
        view.warnings[0]
            .what_happened
            .contains("`read_file` was called 5 times")
    );
}

/// Failing test runs in a row, with edits in between; one that passes ends the row, and no other command counts.
#[test]
fn test_fix_cycle() {
    let edit = |i: u32| call("edit_file", json!({"path": "a.rs", "content": i}));
    let failed = |i: u32| {
        let run = call("bash", json!({"command": format!("cargo test part{i}")}));
        with(
            run,
            "output",
            json!("test result: FAILED. 1 passed; 2 failed"),
        )
    };
    let passed = with(
        call("bash", json!({"command": "cargo test"})),
        "output",
        json!("test result: ok. 3 passed; 0 failed"),
    );
    let cycle = [failed(1), edit(1), failed(2), edit(2), failed(3)];
    check(ATTOCODE, &cycle[..4], &[]);
    check(ATTOCODE, &cycle, &["test_fix_cycle 3 warning bash"]);
    assert!(advice(ATTOCODE, &cycle).contains("error messages again"));
    let mended = [failed(1), failed(2), passed, failed(3), failed(4)];
    check(ATTOCODE, &mended, &[]);
    let by_two = (1..=4).map(|i| with(failed(i), "worker", json!(format!("w{}", i % 2))));
    check(ATTOCODE, &by_two.collect::<Vec<_>>(), &[]);
    let logs = ["a.log", "b.log", "c.log"].map(|file| {
        let read = call("bash", json!({"command": format!("cat latest/{file}")}));
        with(read, "output", json!("2 failed"))
    });
    check(ATTOCODE, &logs, &[]);
}

/// Failing commands in a row; where they are file operations, the advice names the right tool.
#[test]
fn command_failure_cascade() {
    let found = &["command_failure_cascade 3 warning bash"];
    let builds = ["make", "make all", "make install"].map(failing);
    check(ATTOCODE, &builds[..2], &[]);
    check(ATTOCODE, &builds, found);
    assert!(!advice(ATTOCODE, &builds).contains("read_file"));
    for (lines, tool) in [
        (["cat a", "cat b", "head c"], "read_file"),
        (["echo a > b", "echo c > d", "cat > e"], "write_file"),
        (
            ["sed -i s/a/b/ c", "sed -i s/d/e/ f", "sed -n 1p g"],
            "edit_file",
        ),
    ] {
        let run = lines.map(failing);
        check(ATTOCODE, &run, found);
        assert!(advice(ATTOCODE, &run).contains(tool), "{tool}");
    }
    let mixed = ["cat a", "echo b > c", "sed -i s/a/b/ c"].map(failing);
    let said = advice(ATTOCODE, &mixed);
    assert!(
        ["read_file", "write_file", "edit_file"]
            .iter()
            .all(|tool| said.contains(tool))
    );
    let worked = [
        failing("make"),
        failing("make a"),
        command("ls"),
        failing("make b"),
    ];
    check(ATTOCODE, &worked, &[]);
    let long = ["cat a", "cat b", "cat c", "make", "make x"].map(failing);
    check(ATTOCODE, &long, &["command_failure_cascade 5 warning bash"]);
}

/// Text-only turns in a row; a tool call or a user's message ends the row.
#[test]
fn summary_loop() {
    let talk = [text("I looked"), text("I will look")];
    check(ATTOCODE, &talk[..1], &[]);
    check(ATTOCODE, &talk, &["summary_loop 2 warning -"]);
    assert!(advice(ATTOCODE, &talk).contains("tool call"));
    check(ATTOCODE, &[text("a"), read("a.rs"), text("b")], &[]);
    check(ATTOCODE, &[text("a"), user(), text("b")], &[]);
    let cut_off = with(text("b"), "error", json!("overloaded"));
    check(ATTOCODE, &[text("a"), cut_off], &[]);
}

/// Ten calls of one fingerprint by several workers, in a row or not; one worker alone is none.
#[test]
fn global_doom_loop() {
    let by = |worker: &str, i: usize| {
        let fetch = call(
            "fetch",
            json!({"url": "https://example.org/a", "attempt": i}),
        );
        with(fetch, "worker", json!(worker))
    };
    let other = |i: usize| call("note", json!({"text": i}));
    let swarm = |workers: &[&str], count: usize| -> Vec<Value> {
        let one = |i: usize| {
            let worker = workers[i % workers.len()];
            [by(worker, i), with(other(i), "worker", json!(worker))]
        };
        (0..count).flat_map(one).collect()
    };
    check(ATTOCODE, &swarm(&["w1", "w2", "w3"], 9), &[]);
    let found = &["global_doom_loop 10 critical fetch"];
    check(ATTOCODE, &swarm(&["w1", "w2", "w3"], 10), found);
    check(ATTOCODE, &swarm(&["w1"], 20), &[]);
    let mut one_helps = swarm(&["w1"], 19);
    one_helps.extend(swarm(&["w2"], 1));
    check(
        ATTOCODE,
        &one_helps,
        &["global_doom_loop 20 critical fetch"],
    );
}

/// Agents are workers where no worker is named.
#[test]
fn agents_are_workers() {
    let by = |i: usize| {
        let agent = ["planner", "coder"][i % 2];
        [
            with(call("fetch", json!({"url": "a"})), "agent", json!(agent)),
            with(call("note", json!({"text": i})), "agent", json!(agent)),
        ]
    };
    let run: Vec<Value> = (0..10).flat_map(by).collect();
    check(ATTOCODE, &run, &["global_doom_loop 10 critical fetch"]);
}

/// The three tiers: the check of the third identical call in a row is nudged, that of the fourth and fifth more urgently, that
/// of the sixth as critical; from the seventh on it is refused, as was announced. Another call ends the row.
#[test]
fn nudges_in_three_tiers() {
    let guard = Guarded::by(ATTOCODE);
    let read = asked("read_file", json!({"path": "a.rs"}));
    let done = json!({"result": "x"});
    for count in 1..=9 {
        let answer = guard.answer(&read);
        let message = answer["message"].as_str().unwrap_or_default().to_owned();
        let (verdict, words) = match count {
            1 | 2 => ("ALLOW".to_owned(), ""),
            3 => ("NUDGE doom_loop 3".to_owned(), "task is done"),
            4 | 5 => (format!("NUDGE doom_loop {count}"), "WARNING"),
            6 => (
                "NUDGE doom_loop 6".to_owned(),
                "Further identical calls will be rejected",
            ),
            _ => (format!("SKIP doom_loop {count}"), "rejected"),
        };
        assert_eq!(shown(&answer), verdict);
        assert!(message.contains(words), "{message}");
        assert!(count < 3 || message.contains("read_file") && message.contains(&count.to_string()));
        if count < 7 {
            guard.report(&read, &done);
        }
    }
    let other = asked("read_file", json!({"path": "b.rs"}));
    assert_eq!(guard.call(&other, &done), "ALLOW");
    assert_eq!(guard.call(&read, &done), "ALLOW");
    assert_eq!(guard.run()["skipped_calls"], json!(3));
}

/// Fuzzy: the fourth call with the same primary arguments; reading one file with cat, head or tail is one fingerprint.
#[test]
fn nudges_by_fingerprint() {
    let guard = Guarded::by(ATTOCODE);
    let done = json!({"result": "x"});
    for n in 1..=4 {
        let call = asked("read_file", json!({"path": "a.rs", "encoding": n}));
        let expected = if n < 4 { "ALLOW" } else { "NUDGE doom_loop 4" };
        assert_eq!(guard.call(&call, &done), expected);
    }
    let reads = ["cat foo.ts", "head foo.ts", "tail foo.ts", "cat foo.ts"];
    let verdicts = reads.map(|line| guard.call(&asked("bash", json!({"command": line})), &done));
    assert_eq!(verdicts, ["ALLOW", "ALLOW", "ALLOW", "NUDGE doom_loop 4"]);
}

/// After the third failed test run in a row the next check, whatever the call, carries the nudge, once; after another failure
/// again.
#[test]
fn failed_tests_are_nudged_with_the_next_check() {
    let guard = Guarded::by(ATTOCODE);
    let edit = |n: u32| asked("edit_file", json!({"path": "a.rs", "content": n}));
    let test = |n: u32| asked("bash", json!({"command": format!("cargo test part{n}")}));
    let failed = json!({"result": "test result: FAILED. 1 passed; 2 failed"});
    for n in 0..3 {
        assert_eq!(guard.call(&edit(n), &json!({"result": "ok"})), "ALLOW");
        assert_eq!(guard.call(&test(n), &failed), "ALLOW");
    }
    let answer = guard.answer(&edit(3));
    assert_eq!(shown(&answer), "NUDGE test_fix_cycle 3");
    assert!(
        answer["message"]
            .as_str()
            .unwrap()
            .contains("3 times in a row")
    );
    assert_eq!(guard.call(&test(3), &failed), "ALLOW");
    assert_eq!(guard.check(&edit(4)), "NUDGE test_fix_cycle 4");
    assert_eq!(guard.check(&edit(5)), "ALLOW");
}

/// Failing shell commands: the nudge points to the file tools.
#[test]
fn failed_commands_are_nudged() {
    let guard = Guarded::by(ATTOCODE);
    for line in ["cat a", "sed -i s/a/b/ c", "echo x > y"] {
        let call = asked("bash", json!({"command": line}));
        assert_eq!(guard.call(&call, &json!({"error": "exit code 1"})), "ALLOW");
    }
    let answer = guard.answer(&asked("bash", json!({"command": "ls"})));
    assert_eq!(shown(&answer), "NUDGE command_failure_cascade 3");
    assert!(answer["message"].as_str().unwrap().contains("read_file"));
}

/// Two turns of text alone: the nudge comes with the answer to the message, and is not given twice. A tool call ends the row.
#[test]
fn talk_is_nudged() {
    let guard = Guarded::by(ATTOCODE);
    assert_eq!(
        guard.message("assistant", "I will now look at the state of things."),
        None
    );
    let nudge = guard
        .message("assistant", "Let me sum up what is left to do here.")
        .unwrap();
    assert!(nudge.contains("2 times in a row"), "{nudge}");
    let call = asked("read_file", json!({"path": "a"}));
    assert_eq!(guard.call(&call, &json!({"result": "x"})), "ALLOW");
    assert_eq!(
        guard.message("assistant", "I will now look at the state of things."),
        None
    );
}

/// Ten calls of one fingerprint by two workers: each worker is told at its next check, whatever it asks.
#[test]
fn every_worker_of_a_swarm_is_told() {
    let guard = Guarded::by(ATTOCODE);
    let by = |worker: &str, q: &str| {
        let mut call = asked("search", json!({"query": q}));
        call["worker"] = json!(worker);
        call
    };
    // Each worker does something else in between, so that no row of its own is long enough.
    for n in 0..5 {
        for worker in ["w1", "w2"] {
            assert_eq!(
                guard.call(&by(worker, "same"), &json!({"result": "x"})),
                "ALLOW"
            );
            let other = by(worker, &format!("{worker} {n}"));
            let verdict = guard.call(&other, &json!({"result": "y"}));
            let is_last = (n, worker) == (4, "w2");
            let expected = if is_last {
                "NUDGE global_doom_loop 10"
            } else {
                "ALLOW"
            };
            assert_eq!(verdict, expected);
        }
    }
    let answer = guard.answer(&by("w1", "something else"));
    assert_eq!(shown(&answer), "NUDGE global_doom_loop 10");
    let message = answer["message"].as_str().unwrap();
    assert!(
        message.contains("10 calls") && message.contains("2 workers"),
        "{message}"
    );
    assert_eq!(guard.check(&by("w1", "and more")), "ALLOW");
}

/// The same with a run for each worker: the runs of a session are seen together, in a run of its own that is listed once there
/// is something to say of it. A run of another session hears nothing.
#[test]
fn workers_in_runs_of_one_session_are_a_swarm() {
    let guard = Guarded::by(ATTOCODE);
    let by = |worker: &str, q: &str| {
        let mut call = asked("search", json!({"query": q}));
        call["worker"] = json!(worker);
        call["run_id"] = json!(format!("run of {worker}"));
        call["session_id"] = json!("s");
        call
    };
    let mut nudges = Vec::new();
    for n in 0..5 {
        for worker in ["w1", "w2"] {
            for query in ["same".to_owned(), format!("{worker} {n}")] {
                let verdict = guard.call(&by(worker, &query), &json!({"result": "x"}));
                nudges.extend((verdict != "ALLOW").then_some(verdict));
            }
        }
        if n == 3 {
            assert!(!guard.listed().contains(&"swarm:s".to_owned()));
        }
    }
    let swarm = guard.run_named("swarm:s");
    assert_eq!(swarm["warnings"][0]["rule"], "global_doom_loop", "{swarm}");
    assert_eq!(swarm["warnings"][0]["count"], 10);
    assert_eq!(swarm["session_id"], "s");
    assert!(guard.listed().contains(&"swarm:s".to_owned()));
    let told = |worker: &str| guard.answer(&by(worker, "something else"));
    nudges.extend(["w1", "w2"].map(|worker| shown(&told(worker))));
    nudges.retain(|verdict| verdict != "ALLOW");
    assert_eq!(nudges, ["NUDGE global_doom_loop 10"; 2]);
    assert_eq!(told("w1")["verdict"], "ALLOW");
    let mut stranger = by("w3", "same");
    stranger["session_id"] = json!("t");
    assert_eq!(guard.check(&stranger), "ALLOW");
    // Nobody but Eddy names a swarm. What the guard was asked of workers comes with a later turn: twenty calls, and three that were
    // asked for only.
    let calls = || guard.run_named("swarm:s")["tool_calls"].clone();
    let limit = Instant::now() + Duration::from_secs(10);
    while calls() != 23 {
        assert!(Instant::now() < limit, "{} calls", calls());
    }
    let before = calls();
    stranger["run_id"] = json!("swarm:s");
    guard.call(&stranger, &json!({"result": "x"}));
    assert_eq!(calls(), before);
    assert_eq!(guard.run_named("run:swarm:s")["tool_calls"], 1);
}
