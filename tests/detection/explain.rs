//! `eddy explain`: what it says of a warning holds.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{call, checked, eddy, failed, later, said};

/// What `eddy explain` says of each warning of a run of these events, beside what it says to a program.
fn explained(events: &[Value]) -> Vec<(Value, String)> {
    let run =
        json!({"dataset": "made", "run_id": "run", "events": crate::support::numbered(events)});
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("run.events.jsonl");
    fs::write(&file, run.to_string()).expect("written");
    let file = file.to_str().expect("UTF-8");
    let answer = eddy(&["check", "--json", file]);
    let warnings = answer["runs"][0]["warnings"].as_array().expect("warnings");
    let explain = |warning: &Value| {
        let id = warning["id"].as_str().expect("an id");
        let page = Command::new(env!("CARGO_BIN_EXE_eddy"))
            .args(["explain", id, file])
            .output()
            .expect("the program runs");
        let page = String::from_utf8(page.stdout).expect("UTF-8");
        (eddy(&["explain", "--json", id, file]), page)
    };
    warnings.iter().map(explain).collect()
}

/// Given loops of several kinds, each way that is named to silence a warning silences it, and is on the page.
#[test]
fn what_would_silence_a_warning_does() {
    let recaps = [
        "I will now sum up and plan the next step.",
        "Let me recap where we are and decide.",
    ];
    let slow = |seconds: u64| {
        let mut event = later(call("build", "all", "done"), seconds);
        event["duration_ms"] = json!(seconds * 1_500);
        event
    };
    let retry = json!({"kind": "retry", "agent": "a", "tool": "fetch"});
    let errand = |task: usize| {
        let text = format!(
            "Please look into the failing payment service report {task} and write what is wrong with it"
        );
        json!({"kind": "handoff", "agent": "a", "from_agent": "a", "to_agent": "b", "input": text})
    };
    let runs: [Vec<Value>; 7] = [
        [40, 200, 61].map(slow).to_vec(),
        (0..6)
            .flat_map(|_| [failed("fetch", "a", "Timeout"), retry.clone()])
            .collect(),
        (0..5).map(|_| call("list", "src", "a b")).collect(),
        (0..6)
            .map(|i| failed("fetch", &format!("page {i}"), "401 Unauthorized"))
            .collect(),
        (0..6).map(|i| said(recaps[i % 2])).collect(),
        (0..12)
            .map(|i| call(["list", "read", "grep"][i % 3], "x", "the same"))
            .collect(),
        (0..30).map(errand).collect(),
    ];
    for events in runs {
        let all = explained(&events);
        assert!(!all.is_empty());
        for (explanation, page) in all {
            let id = &explanation["warning"]["id"];
            let ways = explanation["silence"].as_array().expect("ways");
            assert!(!ways.is_empty(), "{explanation:#}");
            for way in ways {
                let config = way["config"].as_str().expect("YAML");
                assert!(page.contains(config), "{config}\n{page}");
                let answer = checked(config, &events);
                let warnings = answer["runs"][0]["warnings"].as_array().expect("warnings");
                let left = warnings.iter().any(|warning| warning["id"] == *id);
                assert!(!left, "{config}: {answer:#}");
            }
        }
    }
}

/// Given recordings of all frameworks, whose calls name an agent or do not, each way that is named silences the warning.
#[test]
fn recorded_warnings_can_be_silenced() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded");
    let config = tempfile::NamedTempFile::new().expect("a temporary file");
    let config_path = config.path().to_str().expect("UTF-8");
    let mut tried = 0;
    for file in std::fs::read_dir(directory).expect("recordings") {
        let file = file.expect("a recording").path();
        let file = file.to_str().expect("UTF-8");
        if !file.ends_with("-exact-loop.otlp.binpb") {
            continue;
        }
        let answer = eddy(&["check", "--json", file]);
        let warnings = answer["runs"][0]["warnings"].as_array().expect("warnings");
        // The widest ways are the same everywhere, and tried above.
        for warning in warnings.iter().take(1) {
            let id = warning["id"].as_str().expect("an id");
            let explanation = eddy(&["explain", "--json", id, file]);
            let ways = explanation["silence"].as_array().expect("ways");
            for way in &ways[..ways.len() - 1] {
                let text = way["config"].as_str().expect("YAML");
                std::fs::write(&config, text).expect("it can be written");
                let answer = eddy(&["check", "--json", "--config", config_path, file]);
                let warnings = answer["runs"][0]["warnings"].as_array().expect("warnings");
                let left = warnings.iter().any(|warning| warning["id"] == id);
                assert!(!left, "{file}: {text}");
                tried += 1;
            }
        }
    }
    assert!(tried > 60, "{tried}");
}

/// Given names with an `@` of their own, what is named to silence a warning is taken, and silences it.
#[test]
fn names_with_an_at_can_be_silenced() {
    for (tool, agent) in [
        ("@scope/search", None),
        ("a@b", None),
        ("search", Some("@bob")),
    ] {
        let events: Vec<_> = (0..5)
            .map(|_| {
                let mut event = call(tool, "x", "the same");
                event["agent"] = json!(agent);
                event
            })
            .collect();
        for (explanation, _) in explained(&events) {
            let id = &explanation["warning"]["id"];
            for way in explanation["silence"].as_array().expect("ways") {
                let config = way["config"].as_str().expect("YAML");
                let answer = checked(config, &events);
                let warnings = answer["runs"][0]["warnings"].as_array().expect("warnings");
                let left = warnings.iter().any(|warning| warning["id"] == *id);
                assert!(!left, "{config}: {answer:#}");
            }
        }
    }
}

/// Given a loop in which arguments differ and results do not, the page tells which are equal, and what was asked: the files have
/// it anyway.
#[test]
fn what_is_equal_is_shown() {
    let answer = "nothing about that in this long answer, which is the same for every question that is asked here";
    let questions = [
        "refund after a strike",
        "who pays hotels",
        "compensation rules",
        "late arrival policy",
    ];
    let events = questions.map(|words| call("search", words, answer));
    let all = explained(&events);
    let found = all
        .iter()
        .find(|(explanation, _)| explanation["warning"]["rule"] == "stagnation");
    let (explanation, page) = found.expect("a warning");
    let shown = |key: &str| -> Vec<Value> {
        let events = explanation["events"].as_array().expect("events");
        events.iter().map(|event| event[key].clone()).collect()
    };
    assert_eq!(shown("arguments"), ["A", "B", "C", "D"]);
    assert_eq!(shown("result"), [1, 1, 1, 1]);
    assert!(
        explanation["settings"]["detectors.rules.stagnation.calls"] == 4,
        "{explanation:#}"
    );
    assert!(
        page.contains("Why they count as the same") && !page.contains("nothing about"),
        "{page}"
    );
    let asked = |letter: &str, words: &str| {
        let sample = explanation["samples"][letter].as_str().expect("a sample");
        assert!(sample.contains(words), "{explanation:#}");
        let line = format!("{letter}  {sample}");
        assert!(page.contains(&line), "{page}");
    };
    ["A", "B", "C", "D"]
        .iter()
        .zip(questions)
        .for_each(|(letter, words)| asked(letter, words));
}

/// Given log records that all bear the span of their turn, a warning about a tool shows its calls and no others.
#[test]
fn calls_told_under_one_span_are_told_from_what_lies_around_them() {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/recorded/claude-code-native-error-retry.logs.otlp.binpb"
    );
    let answer = eddy(&["check", "--json", file]);
    let warnings = answer["runs"][0]["warnings"].as_array().expect("warnings");
    assert!(!warnings.is_empty());
    for warning in warnings {
        let id = warning["id"].as_str().expect("an id");
        let explanation = eddy(&["explain", "--json", id, file]);
        let events = explanation["events"].as_array().expect("events");
        let calls = events.iter().filter(|event| event["what"] == "Bash");
        assert_eq!(calls.count(), events.len(), "{explanation:#}");
    }
}

/// Hand-offs among three agents, round and round.
fn ring(hand_offs: usize) -> Vec<Value> {
    let agents = ["planner", "writer", "critic"];
    let hand_off = |at: usize| json!({"kind": "handoff", "from_agent": agents[at % 3], "to_agent": agents[(at + 1) % 3]});
    (0..hand_offs).map(hand_off).collect()
}

/// Given agents that hand a task round and round, the warning grows with each hand-off, and shows the newest of them.
#[test]
fn a_ring_grows() {
    let answer = checked("", &ring(60));
    let warning = &answer["runs"][0]["warnings"][0];
    assert_eq!(warning["rule"], "handoff_cycle");
    assert_eq!(warning["count"], 60);
    let evidence = warning["evidence"].as_array().expect("spans");
    assert_eq!(evidence.len(), 8, "{warning:#}");
    assert!(warning["revision"].as_u64() > Some(5), "{warning:#}");
}

/// Given loops that go round, the first sentence names the tools of a round, or the agents of a ring, in their order and however
/// far the newest round has come; of a round that is too long to be remembered call by call, how many there are.
#[test]
fn what_goes_round_is_named() {
    let round = |tools: &[&str], calls: usize| -> Vec<Value> {
        let tool = |at: usize| tools[at % tools.len()];
        let place = |at: usize| format!("{}", at % tools.len());
        let answer = |at: usize| format!("what is at {}", place(at));
        (0..calls)
            .map(|at| call(tool(at), &place(at), &answer(at)))
            .collect()
    };
    let eight = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let fourteen = [
        "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n",
    ];
    for (events, rule, expected) in [
        (
            round(&["list", "read", "grep"], 12),
            "tool_cycle",
            "`list` → `read` → `grep` came round again with the same results: 12 calls so far.",
        ),
        (
            round(&["list", "read", "grep"], 14),
            "tool_cycle",
            "`list` → `read` → `grep` came round again with the same results: 14 calls so far.",
        ),
        (
            round(&["read", "read", "edit", "read"], 13),
            "tool_cycle",
            "`read` ×2 → `edit` → `read` came round again with the same results: 13 calls so far.",
        ),
        (
            round(&eight, 26),
            "tool_cycle",
            "`a` → `b` → `c` → `d` → `e` → `f` and 2 more calls came round again with the same results: 26 calls so far.",
        ),
        (
            round(&fourteen, 43),
            "tool_cycle",
            "The same 14 calls came round again with the same results: 43 calls so far.",
        ),
        (
            ring(11),
            "handoff_cycle",
            "Agents handed the task round in a ring, `critic` → `planner` → `writer`: 11 hand-offs and nothing new.",
        ),
    ] {
        let answer = checked("", &events);
        let warnings = answer["runs"][0]["warnings"].as_array().expect("warnings");
        let told = warnings.iter().find(|warning| warning["rule"] == rule);
        let told = told.unwrap_or_else(|| panic!("{rule}: {answer:#}"));
        assert_eq!(told["what_happened"], expected);
    }
}
