//! The guard over its own address: answers before calls, from one truth with the stream, and never in the way.

use serde_json::{Value, json};

use super::support::Daemon;

/// Asks a path of the guard, and gives status and body.
fn post(daemon: &Daemon, path: &str, body: &str) -> (u16, Value) {
    daemon.post(&format!("/v1/guard/{path}"), body)
}

fn check(daemon: &Daemon, body: &Value) -> Value {
    let (status, answer) = post(daemon, "check", &body.to_string());
    assert_eq!(status, 200, "{answer}");
    answer
}

fn call(run: &str, n: u32) -> Value {
    json!({"run_id": run, "tool": "search", "arguments": {"q": n}})
}

/// Given agentium's profile, three calls are allowed and the fourth is answered, with the rule, the count and a message; the
/// run shows it as skipped, and its warning counts the attempt.
#[test]
fn the_fourth_call_is_answered() {
    let data = tempfile::tempdir().unwrap();
    let daemon = Daemon::start_with(
        data.path(),
        super::support::free_port(),
        &["--profile", "agentium"],
    );
    for _ in 0..3 {
        assert_eq!(
            check(&daemon, &call("r", 1)),
            json!({"verdict": "ALLOW", "degraded": false})
        );
        assert_eq!(check(&daemon, &call("r", 2))["verdict"], json!("ALLOW"));
    }
    for repeats in 4..7 {
        let answer = check(&daemon, &call("r", 1));
        assert_eq!(answer["verdict"], json!("SKIP"), "{answer}");
        assert_eq!(answer["rule"], json!("duplicate_call"));
        assert_eq!(answer["repeats"], json!(repeats));
        assert!(answer["message"].as_str().unwrap().contains("search"));
    }
    let (_, run) = daemon.get("/v1/runs/r");
    assert_eq!(run["tool_calls"], json!(6));
    assert_eq!(run["skipped_calls"], json!(3));
    assert_eq!(run["warnings"][0]["count"], json!(6), "{run}");
    let id = check(&daemon, &call("r", 1))["warning_id"].clone();
    assert_eq!(run["warnings"][0]["id"], id);
}
