//! The hooks of coding agents, as those programs run them: an event on standard input, an answer on standard output.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use super::support::eddy;

/// Runs `eddy hook` with an event.
fn hook(arguments: &[&str], event: &str) -> Output {
    ended(eddy().arg("hook").args(arguments), event)
}

fn ended(command: &mut Command, input: &str) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("its input is ours");
    // A program that needs no event may have ended by now.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    child.wait_with_output().expect("it ends")
}

/// Runs `eddy hook` on a settings file, and gives what it says.
fn change(program: &str, flag: &str, settings: &Path) -> String {
    let settings = settings.to_str().expect("temporary names are plain");
    let output = hook(&[program, flag, "--settings", settings], "");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("it is text")
}

/// Given settings with members and hooks of the user's own, installing twice adds one entry an event, shows it, and keeps
/// the file as it was; uninstalling gives back the settings to the letter.
#[test]
fn installing_leaves_the_rest_alone() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let settings = dir.path().join("settings.json");
    let before = r#"{
  "model": "opus",
  "env": {"B": "1",   "A": "2"},
  "hooks": {
    "PreToolUse": [
      {
        "matcher": "Bash",
        "hooks": [{"type": "command", "command": "./mine.sh"}]
      }
    ],
    "Stop": []
  }
}
"#;
    fs::write(&settings, before).expect("it can be written");
    let said = change("claude-code", "--install", &settings);
    assert!(said.contains("hook claude-code\""), "{said}");
    let first = fs::read_to_string(&settings).expect("it is there");
    assert!(
        first.contains(r#""env": {"B": "1",   "A": "2"}"#),
        "{first}"
    );
    let read: Value = serde_json::from_str(&first).expect("it is JSON");
    assert_eq!(read["hooks"]["PreToolUse"][0]["matcher"], "Bash");
    let ours = &read["hooks"]["PreToolUse"][1]["hooks"][0];
    assert_eq!(ours["timeout"], 5);
    for event in ["PostToolUse", "PostToolUseFailure", "UserPromptSubmit"] {
        assert_eq!(read["hooks"][event][0]["hooks"][0], *ours, "{event}");
    }
    let backup = dir.path().join("settings.json.before-eddy");
    assert_eq!(fs::read_to_string(&backup).expect("it is kept"), before);

    change("claude-code", "--install", &settings);
    assert_eq!(fs::read_to_string(&settings).expect("it is there"), first);
    change("claude-code", "--uninstall", &settings);
    assert_eq!(fs::read_to_string(&settings).expect("it is there"), before);
    let said = change("claude-code", "--uninstall", &settings);
    assert!(said.contains("nothing is changed"), "{said}");
}

/// Given no settings yet, they are made for each program; a file that cannot be read is left alone, and named.
#[test]
fn installing_makes_the_file_or_leaves_it() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for (program, event) in [
        ("claude-code", "PreToolUse"),
        ("codex", "PreToolUse"),
        ("gemini-cli", "BeforeTool"),
    ] {
        let settings = dir.path().join(program).join("file.json");
        change(program, "--install", &settings);
        let text = fs::read_to_string(&settings).expect("it is there");
        let read: Value = serde_json::from_str(&text).expect("it is JSON");
        let command = read["hooks"][event][0]["hooks"][0]["command"].as_str();
        assert!(
            command.is_some_and(|command| command.ends_with(program)),
            "{text}"
        );
    }
    let broken = dir.path().join("broken.json");
    for text in [
        "{\"a\": 1, // a comment\n}",
        "[]",
        r#"{"hooks": 3}"#,
        r#"{"a":1,"a":2}"#,
    ] {
        fs::write(&broken, text).expect("it can be written");
        let path = broken.to_str().expect("temporary names are plain");
        let output = hook(&["claude-code", "--install", "--settings", path], "");
        assert_eq!(output.status.code(), Some(1), "{text}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("broken.json is left as it is"), "{said}");
        assert_eq!(fs::read_to_string(&broken).expect("it is there"), text);
    }
}

/// Given no daemon, a broken event, or one that nobody asked for, the agent goes on: nothing is answered, and the exit
/// code is the one that means so.
#[test]
fn the_agent_goes_on_whatever_happens() {
    let known = json!({
        "session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}
    });
    let unknown = json!({"session_id": "s", "hook_event_name": "Stop"});
    let nobody = "127.0.0.1:9";
    for event in [
        known.to_string(),
        unknown.to_string(),
        String::new(),
        "{".into(),
        "[1]".into(),
    ] {
        for program in ["claude-code", "codex", "gemini-cli"] {
            let output = hook(&[program, "--api", nobody], &event);
            assert_eq!(output.status.code(), Some(0), "{event}");
            assert_eq!(output.stdout, b"", "{event}");
        }
    }
    let output = hook(&["claude-code", "--api", nobody], &known.to_string());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("no daemon answers"), "{said}");
}

/// Given a server behind the proxy and no daemon, what the server says comes through to the letter, and its exit code is
/// the proxy's.
#[cfg(unix)]
#[test]
fn a_server_behind_the_proxy_is_as_it_was() {
    let lines = [
        r#"{"jsonrpc":"2.0",  "id":1,"method":"initialize"}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ls","arguments":{}}}"#,
        "not JSON at all",
    ];
    let said = lines.join("\n") + "\n";
    let proxy = ["mcp-proxy", "--api", "127.0.0.1:9", "--", "sh", "-c"];
    let output = ended(eddy().args(proxy).arg("cat; exit 7"), &said);
    assert_eq!(String::from_utf8_lossy(&output.stdout), said);
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    let missing = ended(eddy().args(["mcp-proxy", "--", "no-such-server"]), "");
    assert_eq!(missing.status.code(), Some(1));
    let said = String::from_utf8_lossy(&missing.stderr).into_owned();
    assert!(said.contains("starting `no-such-server`"), "{said}");
}
