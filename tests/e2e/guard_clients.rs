//! The clients of the guard: the hooks of coding agents, as those programs run them (an event on standard input, an answer on
//! standard output), the proxy before an MCP server, and the library's own client.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

use eddy::guard::{CheckToolCallRequest, Client, Verdict};
use serde_json::{Value, json};

use super::support::{Daemon, eddy, free_port, runtime, until};

#[allow(dead_code, reason = "its `main` is for a terminal")]
#[path = "../../examples/guarded_agent.rs"]
mod example;

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

/// Given an address or a token's file that cannot work, or a file of settings and nothing to do with it, that is said, and
/// nothing is entered.
#[test]
fn what_cannot_work_is_not_installed() {
    let directory = tempfile::tempdir().expect("a directory");
    let settings = directory.path().join("settings.json");
    let path = settings.to_str().expect("UTF-8");
    for (arguments, expected) in [
        (
            &["--install", "--api", "foo:bar"][..],
            "`foo:bar` is not an address",
        ),
        (
            &["--install", "--token-file", "/nowhere"][..],
            "/nowhere, which `--token-file`",
        ),
        (&[], "--install"),
    ] {
        let arguments = [&["claude-code", "--settings", path], arguments].concat();
        let output = hook(&arguments, "");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && said.contains(expected),
            "{said}"
        );
        assert!(!settings.exists());
    }
}

/// Given settings with members and hooks of the user's own, installing twice adds one entry an event, shows it, and keeps
/// the file as it was before the first time; uninstalling gives back the settings to the letter.
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
    let undo = format!(
        "hook claude-code --uninstall --settings {}\n",
        settings.display()
    );
    assert!(said.ends_with(&undo), "{said}");
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

    assert!(said.starts_with("Entered into"), "{said}");
    let said = change("claude-code", "--install", &settings);
    assert!(said.starts_with("Already in"), "{said}");
    assert_eq!(fs::read_to_string(&settings).expect("it is there"), first);
    change("claude-code", "--uninstall", &settings);
    assert_eq!(fs::read_to_string(&settings).expect("it is there"), before);
    assert_eq!(fs::read_to_string(&backup).expect("it is kept"), before);
    let said = change("claude-code", "--uninstall", &settings);
    assert!(said.contains("nothing is changed"), "{said}");
}

/// Given the command entered, entered otherwise and taken out, with changes of the user's in between, the copy is the file as it
/// was before the command came; where that made the file, there is no copy of it, and it goes with the command.
#[test]
fn the_file_is_kept_as_it_was_before_the_command() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let settings = dir.path().join("settings.json");
    let backup = dir.path().join("settings.json.before-eddy");
    let path = settings.to_str().expect("temporary names are plain");
    let elsewhere = || {
        let arguments = ["--install", "--api", "127.0.0.1:5", "--settings", path];
        let output = hook(&[&["claude-code"], &arguments[..]].concat(), "");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    change("claude-code", "--install", &settings);
    let said = elsewhere();
    assert!(!said.contains("before-eddy") && !backup.exists(), "{said}");
    change("claude-code", "--uninstall", &settings);
    assert!(!settings.exists() && !backup.exists());

    let first = r#"{"model": "a"}"#;
    fs::write(&settings, first).expect("it can be written");
    let kept = || fs::read_to_string(&backup).expect("it is kept");
    change("claude-code", "--install", &settings);
    assert_eq!(kept(), first);
    let text = fs::read_to_string(&settings).expect("it is there");
    fs::write(&settings, text.replace("\"a\"", "\"b\"")).expect("it can be written");
    elsewhere();
    assert_eq!(kept(), first);
    change("claude-code", "--uninstall", &settings);
    assert_eq!(kept(), first);

    let second = fs::read_to_string(&settings).expect("it is there");
    assert!(second.contains("\"b\""), "{second}");
    change("claude-code", "--install", &settings);
    assert_eq!(kept(), second);
}

/// Given a program that has another name where it lies, installing twice adds no more than once, and uninstalling takes it out.
#[cfg(unix)]
#[test]
fn installing_knows_its_own_name() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let program = dir.path().join("eddy-1.2-linux");
    if fs::hard_link(eddy().get_program(), &program).is_err() {
        fs::copy(eddy().get_program(), &program).expect("there is room");
    }
    let settings = dir.path().join("settings.json");
    let path = settings.to_str().expect("temporary names are plain");
    let hooks = |flag: &str| {
        let mut command = Command::new(&program);
        let output = ended(
            command.args(["hook", "codex", flag, "--settings", path]),
            "",
        );
        assert!(output.status.success(), "{output:?}");
        // What has nothing but our command goes with it.
        let text = fs::read_to_string(&settings).unwrap_or_default();
        text.matches("eddy-1.2-linux").count()
    };
    let first = hooks("--install");
    assert!(first > 0);
    assert_eq!(hooks("--install"), first);
    assert_eq!(hooks("--uninstall"), 0);
}

/// Given hooks of other people whose commands look like ours, or have ours within them, they stay; our own is taken out, also
/// where it stands beside another, and the file is kept as it was.
#[test]
fn installing_takes_out_nothing_but_ours() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let theirs = [
        "/home/eddy/bin/otherguard hook claude-code --strict",
        "timeout 2 /usr/bin/eddy hook claude-code",
        "eddy hook claude-code; ./mine.sh",
        "eddy hook claude-codex",
        "./mine.sh",
    ];
    let ours = [
        "eddy hook claude-code",
        "'/opt/my tools/eddy' hook claude-code --api 127.0.0.1:1 --token-file 'a;b'",
    ];
    let command = |command: &str| json!({"type": "command", "command": command});
    let entry = |commands: &[&str]| json!({"matcher": "Bash", "hooks": commands.iter().map(|c| command(c)).collect::<Vec<_>>()});
    for (nth, ours) in ours.into_iter().enumerate() {
        let settings = dir.path().join(format!("{nth}.json"));
        let commands: Vec<&str> = theirs.into_iter().chain([ours]).collect();
        let before = json!({"hooks": {"PreToolUse": [entry(&commands), entry(&[ours])]}});
        let before = before.to_string();
        fs::write(&settings, &before).expect("it can be written");
        let read = || -> Value {
            let text = fs::read_to_string(&settings).expect("it is there");
            serde_json::from_str(&text).expect("it is JSON")
        };
        let said = change("claude-code", "--install", &settings);
        let kept = read()["hooks"]["PreToolUse"].clone();
        assert_eq!(kept[0], entry(&theirs), "{ours}");
        assert_eq!(kept.as_array().map(Vec::len), Some(2), "{kept}");
        assert!(said.contains(".json.before-eddy\n"), "{said}");
        let backup = dir.path().join(format!("{nth}.json.before-eddy"));
        assert_eq!(fs::read_to_string(&backup).expect("it is kept"), before);

        fs::write(&settings, &before).expect("it can be written");
        change("claude-code", "--uninstall", &settings);
        let left = json!({"hooks": {"PreToolUse": [entry(&theirs)]}});
        assert_eq!(read(), left, "{ours}");
    }
}

/// Given a symbolic link to settings that are not there yet, they are made where it leads; where they cannot be written, nothing
/// unfinished stays.
#[cfg(unix)]
#[test]
fn installing_follows_links_and_leaves_nothing_unfinished() {
    let directory = tempfile::tempdir().expect("a directory");
    let link = directory.path().join("settings.json");
    std::os::unix::fs::symlink("dotfiles/claude.json", &link).expect("made");
    change("claude-code", "--install", &link);
    assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
    let target = directory.path().join("dotfiles/claude.json");
    let text = fs::read_to_string(target).expect("it is there");
    assert!(text.contains("PreToolUse"), "{text}");
    // A directory in the place of the copy that is to be kept.
    let settings = directory.path().join("other.json");
    fs::write(&settings, "{}").expect("written");
    fs::create_dir(directory.path().join("other.json.before-eddy")).expect("made");
    let path = settings.to_str().expect("UTF-8");
    let refused = hook(&["claude-code", "--install", "--settings", path], "");
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    assert_eq!(fs::read_to_string(&settings).expect("there"), "{}");
    assert!(!directory.path().join("other.json.new-eddy").exists());
}

/// Given no settings yet, they are made for each program, and go again with the command; a file that cannot be read is left alone,
/// and named.
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
        let said = change(program, "--install", &settings);
        assert!(!said.contains("as it was before"), "{said}");
        let files = || fs::read_dir(dir.path().join(program)).expect("it is there");
        assert_eq!(files().count(), 1, "no copy of what is our own");
        let said = change(program, "--uninstall", &settings);
        assert!(said.contains("the file is gone"), "{said}");
        assert_eq!(files().count(), 0);
    }
    let broken = dir.path().join("broken.json");
    for (text, advice) in [
        (
            "{\"a\": 1, // a comment\n}",
            "take out what is not JSON, such as comments",
        ),
        ("[]", "mend that first"),
        (r#"{"hooks": 3}"#, "mend that first"),
        (r#"{"a":1,"a":2}"#, "mend that first"),
    ] {
        fs::write(&broken, text).expect("it can be written");
        let path = broken.to_str().expect("temporary names are plain");
        let output = hook(&["claude-code", "--install", "--settings", path], "");
        assert_eq!(output.status.code(), Some(1), "{text}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("broken.json is left as it is"), "{said}");
        assert!(said.trim_end().ends_with(advice), "{said}");
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
    let too_long = " ".repeat((64 << 20) + 1);
    for (event, reason) in [("[]", "expected an object"), (&too_long, "is longer than")] {
        let output = hook(&["claude-code", "--api", nobody], event);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(reason), "{said}");
    }
    let output = hook(&["claude-code", "--api", nobody], &known.to_string());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("no daemon answers"), "{said}");
    // A variable that is set to nothing is not set; of wrong usage, the code is not the one by which these programs refuse a call.
    for (variable, value, code) in [
        ("EDDY_API_TOKEN_FILE", "", 0),
        ("EDDY_API_CERT_FILE", "", 0),
        ("EDDY_API_CERT_FILE", "alone", 1),
    ] {
        let mut command = eddy();
        command.args(["hook", "claude-code", "--api", nobody]);
        let output = ended(command.env(variable, value), &known.to_string());
        assert_eq!(output.status.code(), Some(code), "{output:?}");
    }
    let output = hook(&["claude-code", "--no-such-option"], &known.to_string());
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}

/// Given whatever keeps the guard from answering (nobody is there, the daemon has stopped, it or another server refuses, a token
/// cannot be read), a script is let go on within seconds, and is told why in a line; usage that is wrong is refused.
#[test]
fn a_script_goes_on_whatever_happens() {
    let call = ["--run", "r", "--tool", "search"];
    let refusal = |status: &str| {
        let body = r#"{"error":"so it is"}"#;
        let length = body.len();
        format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}")
    };
    let other = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\n[]";
    let stopped = TcpListener::bind("127.0.0.1:0").expect("a port");
    let silent = stopped.local_addr().expect("it has one").to_string();
    let nobody = "127.0.0.1:9".to_owned();
    for (api, more, reason) in [
        (nobody.clone(), &[][..], "no daemon answers"),
        (silent, &[], "the daemon took too long"),
        (answering(other.into()), &[], "to be Eddy"),
        (answering(refusal("503 Busy")), &[], "so it is"),
        (answering(refusal("401 Who")), &[], "asks for a token"),
        (answering(refusal("400 Long")), &[], "so it is"),
        (answering("nonsense\r\n\r\n".into()), &[], "broke"),
        (
            nobody,
            &["--token-file", "/nowhere"],
            "/nowhere, which `--token-file`",
        ),
    ] {
        for (arguments, said) in [
            (&["check"][..], "ALLOW (degraded)\n"),
            (&["report", "--status", "success"], ""),
        ] {
            let mut command = eddy();
            let command = command.arg("guard").args(arguments).args(call);
            let began = Instant::now();
            let output = ended(command.args(["--api", &api]).args(more), "");
            assert!(began.elapsed() < Duration::from_secs(5), "{reason}");
            assert_eq!(output.status.code(), Some(0), "{output:?}");
            assert_eq!(String::from_utf8_lossy(&output.stdout), said, "{reason}");
            let why = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(why.contains(reason), "{reason}: {why}");
            assert_eq!(why.lines().count(), 1, "{why}");
        }
    }
    for (arguments, expected) in [
        (&["check", "--run", "r"][..], "--tool <NAME>"),
        (&["check", "--run", "", "--tool", "t"], "'--run <ID>'"),
        (
            &[
                "report", "--run", "r", "--tool", "t", "--status", "success", "--error", "e",
            ],
            "eddy: `--error` is given only with `--status error`",
        ),
    ] {
        let wrong = ended(eddy().arg("guard").args(arguments), "");
        assert_eq!(wrong.status.code(), Some(2), "{wrong:?}");
        let said = String::from_utf8_lossy(&wrong.stderr).into_owned();
        assert!(said.contains(expected), "{said}");
    }
}

/// Given values that begin with a hyphen, as what agents and shells say may, and one on standard input that is longer than the
/// system allows as an argument, they are what they are.
#[test]
fn a_script_may_say_anything() {
    let data = tempfile::tempdir().expect("a directory");
    let daemon = Daemon::start_unhurried(data.path(), &[]);
    let api = daemon.api.to_string();
    let call = ["--run", "-r", "--tool", "sh", "--api", &api];
    let long = "-".repeat(300 << 10);
    for (arguments, input) in [
        (&["check", "--arguments", "-la /tmp"][..], ""),
        (&["check", "--arguments", "-"], &*long),
        (
            &[
                "report",
                "--status",
                "error",
                "--error",
                "-bash: foo: command not found",
            ],
            "",
        ),
        (&["report", "--status", "success", "--result", "-1"], ""),
        (&["report", "--status", "success", "--result", "-"], &long),
    ] {
        let mut command = eddy();
        let command = command.arg("guard").args(arguments).args(call);
        let output = ended(command, input);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
    }
    let twice = ["--status", "success", "--arguments", "-", "--result", "-"];
    let mut command = eddy();
    let command = command.args(["guard", "report"]).args(twice).args(call);
    let output = ended(command, "");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(daemon.runs().contains_key("-r"), "{:?}", daemon.runs());
}

/// The address of a server that gives two who ask the same answer.
fn answering(answer: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("it has one").to_string();
    std::thread::spawn(move || {
        for peer in listener.incoming().take(2) {
            let mut peer = peer.expect("it asks");
            let mut asked = [0; 4096];
            let _ = peer.read(&mut asked).expect("it asks");
            peer.write_all(answer.as_bytes()).expect("it listens");
        }
    });
    address
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
    // Where the proxy can never work, the server does not start: nobody would end it.
    let directory = tempfile::tempdir().expect("a directory");
    let begun = directory.path().join("begun");
    let mut proxy = eddy();
    proxy.args(["mcp-proxy", "--api", "foo:bar"]);
    let server = format!("sleep 1; echo >{}", begun.display());
    let failed = ended(proxy.args(["--", "sh", "-c", &server]), "");
    assert_eq!(failed.status.code(), Some(1), "{failed:?}");
    // It would have the proxy's standard error, to whose end was listened.
    assert!(!begun.exists());
}

/// Given a token's file that is not there, is empty or cannot be read, or such a file of certificates, the server is started, and
/// its tools answer; that calls are not guarded, and why, is said at once, and not again for each call.
#[cfg(unix)]
#[test]
fn files_that_cannot_be_used_keep_no_server_away() {
    let directory = tempfile::tempdir().expect("a directory");
    let (none, empty) = (
        directory.path().join("none"),
        directory.path().join("empty"),
    );
    fs::write(&empty, "\n").expect("it can be written");
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ls"}}"#;
    let said = format!("{call}\n").repeat(2);
    for (option, file, why) in [
        ("--token-file", &none, "cannot be read"),
        ("--token-file", &empty, "it holds no token"),
        ("--ca-file", &none, "cannot be read"),
    ] {
        let mut proxy = eddy();
        proxy.args(["mcp-proxy", option]).arg(file);
        proxy.args(["--", "sh", "-c"]);
        let quiet = ended(proxy.arg("exit 0"), "");
        assert!(quiet.status.success(), "{quiet:?}");
        let told = String::from_utf8_lossy(&quiet.stderr).into_owned();
        assert!(told.contains("unguarded: ") && told.contains(why), "{told}");

        let mut proxy = eddy();
        proxy.args(["mcp-proxy", option]).arg(file);
        let output = ended(proxy.args(["--", "cat"]), &said);
        assert!(output.status.success(), "{output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), said);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(told.matches("unguarded: ").count(), 1, "{told}");
    }
}

/// Given a daemon that has stopped, one call waits for it, and neither the calls behind it nor a `ping`. What is wrong is said
/// once.
#[cfg(unix)]
#[test]
fn a_daemon_that_has_stopped_holds_up_one_call() {
    let stopped = TcpListener::bind("127.0.0.1:0").expect("a port");
    let silent = stopped.local_addr().expect("it has one").to_string();
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ls"}}"#;
    let said = format!(
        "{}{{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}}\n",
        format!("{call}\n").repeat(6)
    );
    let began = Instant::now();
    let output = ended(
        eddy().args(["mcp-proxy", "--api", &silent, "--", "cat"]),
        &said,
    );
    assert!(began.elapsed() < Duration::from_secs(4), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), said);
    let why = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(why.matches("unguarded").count(), 2, "{why}");
}

/// Given requests with ids and answers with numbers that no program could write again as they are: a nudge is added to the texts
/// of a result, or to the words of an error, or in the place where these would be; a refusal has the request's own id, and
/// everything else is to the letter.
#[cfg(unix)]
#[test]
fn what_the_proxy_adds_to_changes_nothing_else() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let daemon = Daemon::start_unhurried(data.path(), &[]);
    let api = daemon.api.to_string();
    let id = "12345678901234567890123";
    for (tool, before, after) in [
        (
            "result",
            r#","result":{"n":123456789012345678901234567890.10,"content":[ {"type":"text","text":"no row of 40 fits, whichever of the columns of the table is taken first"} "#,
            r#"],"f":1.0}}"#,
        ),
        (
            "error",
            r#","error":{"code":-32602,"message":"no \"table\" fits"#,
            r#"","data":1.10}}"#,
        ),
        ("bare", r#","result":{"#, "}}"),
        ("mute", r#","error":{"#, r#""code":-1}}"#),
    ] {
        let head = format!(r#"{{"jsonrpc":"2.0",  "id":{id}"#);
        let server = format!(
            "i=0; while read -r line; do printf '%s%s%s\\n' '{head}' $i '{before}{after}'; i=$((i+1)); done"
        );
        let proxy = ["mcp-proxy", "--run-id", tool, "--api", &api, "--"];
        let mut proxy = Talk::start(eddy().args(proxy).args(["sh", "-c", &server]));
        let answers: Vec<String> = (0..4)
            .map(|nth| proxy.ask(&format!(
                r#"{{"jsonrpc":"2.0","id":{id}{nth},"method":"tools/call","params":{{"name":"{tool}"}}}}"#
            )))
            .collect();
        for (nth, answer) in answers.iter().enumerate().take(3) {
            let added = answer.strip_prefix(&format!("{head}{nth}{before}"));
            let added = added.and_then(|rest| rest.strip_suffix(after));
            let added = added.unwrap_or_else(|| panic!("{tool}: {answer}"));
            assert_eq!(added.contains("call 3"), nth == 2, "{tool}: {added}");
            assert_eq!(added.is_empty(), nth != 2, "{tool}: {added}");
        }
        let refusal = format!(r#"{{"jsonrpc":"2.0","id":{id}3,"result":{{"#);
        assert!(answers[3].starts_with(&refusal), "{}", answers[3]);
    }
}

/// Given results that are longer than the daemon takes, those that are one are a loop, and those that differ at their ends are not.
#[cfg(unix)]
#[test]
fn what_is_too_long_is_told_by_its_hash() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let daemon = Daemon::start_unhurried(data.path(), &[]);
    let api = daemon.api.to_string();
    for (run, nth, skipped) in [("same", "", 1), ("other", "-'$i'", 0)] {
        let server = format!(
            r#"i=0; long=$(head -c 2000000 /dev/zero | tr '\0' x); while read -r line; do
            printf '{{"jsonrpc":"2.0","id":%s,"result":{{"content":[{{"type":"text","text":"%s{nth}"}}]}}}}\n' $i "$long"; i=$((i+1)); done"#
        );
        let proxy = ["mcp-proxy", "--run-id", run, "--api", &api, "--"];
        let mut proxy = Talk::start(eddy().args(proxy).args(["sh", "-c", &server]));
        for nth in 0..4 {
            proxy.ask(&format!(
                r#"{{"jsonrpc":"2.0","id":{nth},"method":"tools/call","params":{{"name":"read"}}}}"#
            ));
        }
        let (_, shown) = daemon.get(&format!("/v1/runs/{run}"));
        assert_eq!(shown["skipped_calls"], skipped, "{shown}");
    }
}

/// Given no id where one is asked for, it is refused; given a server that does not end with its input, it is ended by the signal
/// that its client sends to the proxy.
#[cfg(unix)]
#[test]
fn the_proxy_ends_as_the_server_does() {
    let server = "trap 'exit 5' TERM; echo '{}'; while :; do sleep 0.1; done";
    let unnamed = ["mcp-proxy", "--run-id", "", "--", "sh", "-c", server];
    let unnamed = ended(eddy().args(unnamed), "");
    assert_eq!(unnamed.status.code(), Some(2), "{unnamed:?}");
    for (server, code) in [(server, 5), ("echo '{}'; exec sleep 60", 128 + 15)] {
        let mut proxy = Talk::start(eddy().args(["mcp-proxy", "--", "sh", "-c", server]));
        proxy.hear();
        drop(proxy.input.take());
        let pid = proxy.child.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &pid]).status();
        assert!(sent.expect("there is a `kill`").success());
        let ended = proxy.child.wait().expect("it ends");
        assert_eq!(ended.code(), Some(code), "{ended}");
    }
}

/// A program that is talked with a line at a time.
struct Talk {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Talk {
    fn start(command: &mut Command) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let output = child.stdout.take().expect("its output is ours");
        Self {
            input: child.stdin.take(),
            output: BufReader::new(output),
            child,
        }
    }

    /// The line with which another one is answered.
    fn ask(&mut self, line: &str) -> String {
        let input = self.input.as_mut().expect("it is open");
        writeln!(input, "{line}").expect("it listens");
        self.hear()
    }

    fn hear(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("it is text");
        line.trim_end().to_owned()
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        // It may have ended by now.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Given each program's events, an agent that repeats itself is let through three times, as the profile says, and then refused
/// in the form of its program; the calls belong to the run of its session.
#[test]
fn hooks_refuse_in_the_form_of_the_program() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let daemon = Daemon::start_unhurried(data.path(), &["--profile", "agentium"]);
    let api = daemon.api.to_string();
    let refusal = |program: &str, said: &Value| match program {
        "gemini-cli" => said["decision"].clone(),
        _ => said["hookSpecificOutput"]["permissionDecision"].clone(),
    };
    for (program, before, after) in [
        ("claude-code", "PreToolUse", "PostToolUse"),
        ("codex", "PreToolUse", "PostToolUse"),
        ("gemini-cli", "BeforeTool", "AfterTool"),
    ] {
        let event = |name: &str, nth: u32| {
            json!({
                "session_id": program, "hook_event_name": name, "tool_name": "Bash", "tool_use_id": format!("c{nth}"),
                "agent_id": "explorer", "tool_input": {"command": "ls"}, "tool_response": {"stdout": "a b"}
            })
            .to_string()
        };
        for nth in 0..3 {
            let allowed = hook(&[program, "--api", &api], &event(before, nth));
            assert_eq!(allowed.stdout, b"", "{program}: {allowed:?}");
            let told = hook(&[program, "--api", &api], &event(after, nth));
            assert_eq!(
                (&*told.stdout, &*told.stderr),
                (&b""[..], &b""[..]),
                "{told:?}"
            );
        }
        let refused = hook(&[program, "--api", &api], &event(before, 3));
        let said: Value = serde_json::from_slice(&refused.stdout).expect("it answers in JSON");
        assert_eq!(refusal(program, &said), "deny", "{said}");
        let (_, run) = daemon.get(&format!("/v1/runs/{program}"));
        assert_eq!(run["tool_calls"], 3, "{run}");
        assert_eq!(run["skipped_calls"], 1, "{run}");
        assert_eq!(run["agents"], json!(["explorer"]), "{run}");
    }
}

/// Given a nudge that Gemini CLI takes only with the result, it waits outside the daemon's directory, where others cannot read it,
/// and the daemon starts again beside it.
#[cfg(unix)]
#[test]
fn nudges_wait_beside_the_daemons_directory() {
    use std::os::unix::fs::MetadataExt as _;
    let state = tempfile::tempdir().expect("a temporary directory");
    let data = state.path().join("eddy");
    let daemon = Daemon::start_unhurried(&data, &[]);
    let tell = |event: &str, nth: u32| {
        let told = json!({
            "session_id": "s", "hook_event_name": event, "tool_name": "search",
            "tool_input": {"q": "harbour"}, "tool_response": {"llmContent": "the same page of words as before, and no other"},
            "tool_use_id": format!("c{nth}"),
        });
        let api = daemon.api.to_string();
        let mut command = eddy();
        command.args(["hook", "gemini-cli", "--api", &api]);
        let output = ended(
            command.env("XDG_STATE_HOME", state.path()),
            &told.to_string(),
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let mut said = Vec::new();
    for nth in 0..3 {
        said.push(tell("BeforeTool", nth));
        let kept = state.path().join("eddy-hook");
        assert_eq!(kept.exists(), nth == 2, "{said:?}");
        if nth == 2 {
            let mode = std::fs::metadata(kept).expect("it is there").mode();
            assert_eq!(mode & 0o777, 0o700);
        }
        said.push(tell("AfterTool", nth));
    }
    let nudge = said.pop().expect("what was said last");
    assert!(nudge.contains("additionalContext"), "{said:?} {nudge}");
    drop(daemon);
    Daemon::start_unhurried(&data, &[]);
}

/// Given calls that bring the same short answer each time, the fourth is refused, asked over HTTP as by a hook; where the words say
/// no more than that something was done, none is.
#[test]
fn short_answers_are_answers() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let daemon = Daemon::start_unhurried(data.path(), &[]);
    let api = daemon.api.to_string();
    let refused = |tool: &str, arguments: Value, result: Value| {
        let asked =
            json!({"run_id": format!("{tool} {arguments}"), "tool": tool, "arguments": arguments});
        let mut told = asked.clone();
        told["result"] = result;
        told["status"] = json!("success");
        (1..=8).find(|_| {
            let (_, answer) = daemon.post("/v1/guard/check", &asked.to_string());
            let is_refused = answer["verdict"] == "SKIP";
            if !is_refused {
                daemon.post("/v1/guard/report", &told.to_string());
            }
            is_refused
        })
    };
    for (tool, arguments, result) in [
        (
            "forecast",
            json!({"city": "Bergen"}),
            json!("no forecast for Bergen"),
        ),
        ("weather", json!({"city": "Oslo"}), json!("3 °C, cloudy")),
        ("calculator", json!({"expression": "2*3.14"}), json!("6.28")),
        (
            "execute_sql",
            json!({"sql": "select count(*) from t"}),
            json!("[(3,)]"),
        ),
        (
            "account_balance",
            json!({"id": 5}),
            json!({"balance": 12.5}),
        ),
        (
            "wikipedia",
            json!({"query": "Oslo"}),
            json!("Oslo is the capital of Norway."),
        ),
        ("Bash", json!({"command": "ls"}), json!("a.txt")),
        ("get_version", json!({}), json!("1.2.3")),
    ] {
        assert_eq!(refused(tool, arguments, result), Some(4), "{tool}");
    }
    for (tool, arguments, result) in [
        ("forward", json!({"steps": 1}), json!("Moved 1 step")),
        ("press", json!({"key": "Down"}), json!({"key": "Down"})),
        (
            "message",
            json!({"text": "ping"}),
            json!("Message sent to bob"),
        ),
        (
            "end_turn",
            json!({}),
            json!("It is your turn with the ball."),
        ),
        ("get_in_line", json!({}), json!("ok")),
    ] {
        assert_eq!(refused(tool, arguments, result), None, "{tool}");
    }
    let event = |name: &str, nth: u32| {
        json!({
            "session_id": "s", "hook_event_name": name, "tool_name": "Bash", "tool_use_id": format!("c{nth}"),
            "tool_input": {"command": "ls"}, "tool_response": {"stdout": "a.txt", "stderr": "", "interrupted": false}
        })
        .to_string()
    };
    let refused = (1..=8).find(|nth| {
        let said = hook(&["claude-code", "--api", &api], &event("PreToolUse", *nth));
        let said = String::from_utf8_lossy(&said.stdout).contains("\"deny\"");
        if !said {
            hook(&["claude-code", "--api", &api], &event("PostToolUse", *nth));
        }
        said
    });
    assert_eq!(refused, Some(4));
}

/// Given the example for Rust, its agent is led out after a few calls.
#[test]
fn the_example_is_led_out() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let daemon = Daemon::start_unhurried(data.path(), &[]);
    let made = runtime().block_on(example::calls_made(&daemon.api.to_string()));
    assert_eq!(made.expect("the guard answers"), 3);
}

/// Given a server behind the proxy and an agent that repeats itself, the fourth call is answered by the proxy, and the server
/// never sees it. The run shows the agent that the proxy names.
#[cfg(unix)]
#[test]
fn the_proxy_answers_refused_calls() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let daemon = Daemon::start_unhurried(data.path(), &["--profile", "agentium"]);
    let call = |id: u32| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"ls","arguments":{{}}}}}}"#
        )
    };
    let calls: Vec<String> = (0..4).map(call).collect();
    let server = r#"while read -r line; do echo '{"jsonrpc":"2.0","method":"seen"}'; done"#;
    let api = daemon.api.to_string();
    let output = ended(
        eddy().args([
            "mcp-proxy",
            "--run-id",
            "r",
            "--agent",
            "lister",
            "--api",
            &api,
            "--",
            "sh",
            "-c",
            server,
        ]),
        &(calls.join("\n") + "\n"),
    );
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(said.matches("seen").count(), 3, "{said}");
    let refused = said
        .lines()
        .find(|line| line.contains("\"id\":3"))
        .expect("it is answered");
    let refused: Value = serde_json::from_str(refused).expect("it is JSON");
    let text = refused["result"]["content"][0]["text"].as_str();
    assert!(text.is_some_and(|text| text.contains("ls")), "{refused}");
    // Without these, clients do not take it for the result of a tool that declares what it gives.
    assert_eq!(refused["result"]["isError"], true);
    assert_eq!(refused["result"]["resultType"], "complete");
    let (_, run) = daemon.get("/v1/runs/r");
    assert_eq!(run["skipped_calls"], 1, "{run}");
    assert_eq!(run["agents"], json!(["lister"]), "{run}");
}

/// Given calls in a batch, as revisions before 2025-06-18 allow, each is guarded: the fourth of the same is refused, the others
/// come to the server, and what it answers in a batch is what they came to.
#[cfg(unix)]
#[test]
fn the_proxy_guards_each_call_of_a_batch() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let daemon = Daemon::start_unhurried(data.path(), &["--profile", "agentium"]);
    let call = |id: u32| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "ls", "arguments": {}}});
    let answer = |id: u32| json!({"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": "a"}]}});
    let answers = json!([answer(0), answer(1), answer(2)]);
    let server = format!("read -r a; read -r b; read -r c; echo '{answers}'; cat");
    let said = format!("{}\n", json!([call(0), call(1), call(2), call(3)]));
    let api = daemon.api.to_string();
    let proxy = ["mcp-proxy", "--run-id", "r", "--api", &api, "--"];
    let output = ended(eddy().args(proxy).args(["sh", "-c", &server]), &said);
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut told: Vec<(u64, bool)> = lines
        .lines()
        .map(|line| serde_json::from_str(line).expect("one message a line"))
        .map(|line: Value| {
            let is_refused = line["result"]["isError"] == true;
            (line["id"].as_u64().expect("an id"), is_refused)
        })
        .collect();
    told.sort_unstable();
    assert_eq!(told, [(0, false), (1, false), (2, false), (3, true)]);
    let (_, run) = daemon.get("/v1/runs/r");
    assert_eq!(
        (&run["tool_calls"], &run["skipped_calls"]),
        (&json!(3), &json!(1)),
        "{run}"
    );
}

/// Given a call that asks for input and is made again with it, it is one call with the result that it came to.
#[cfg(unix)]
#[test]
fn a_call_that_asks_for_input_is_one_call() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let daemon = Daemon::start_unhurried(data.path(), &["--profile", "agentium"]);
    let call = |id: u32, more: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"ls","arguments":{{}}{more}}}}}"#
        )
    };
    let server = r#"
        read -r line; echo '{"jsonrpc":"2.0","id":0,"result":{"resultType":"input_required","requestState":"s"}}'
        read -r line; echo '{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[{"type":"text","text":"a"}]}}'
        read -r line"#;
    let calls = [call(0, ""), call(1, r#","requestState":"s""#)].join("\n") + "\n";
    let api = daemon.api.to_string();
    let proxy = ["mcp-proxy", "--run-id", "r", "--api", &api, "--"];
    ended(eddy().args(proxy).args(["sh", "-c", server]), &calls);
    let (_, run) = daemon.get("/v1/runs/r");
    assert_eq!(run["tool_calls"], 1, "{run}");
}

/// Given a client of the library and a daemon that is killed, each of its questions is answered within 100 ms, with or without
/// the daemon; a wrong request is an error that names the field.
#[test]
fn the_client_goes_on_without_a_daemon() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let daemon = Daemon::start_unhurried(data.path(), &["--profile", "agentium"]);
    let call = || CheckToolCallRequest {
        run_id: "r".into(),
        tool: "search".into(),
        arguments: Some("{}".into()),
        ..CheckToolCallRequest::default()
    };
    runtime().block_on(async {
        let mut client = Client::new(&format!("http://{}", daemon.api)).expect("an address");
        client = client.with_deadline(Duration::from_secs(5));
        for _ in 0..3 {
            let answer = client.check(call()).await.expect("a good request");
            assert_eq!(answer.verdict(), Verdict::Allow);
            assert!(!answer.degraded);
        }
        let answer = client.check(call()).await.expect("a good request");
        assert_eq!(answer.verdict(), Verdict::Skip);
        let wrong = client.check(CheckToolCallRequest::default()).await;
        let wrong = wrong.expect_err("there is no run");
        assert!(wrong.message().contains("run_id"), "{wrong}");

        client = client.with_deadline(Duration::from_millis(80));
        daemon.kill_9();
        for _ in 0..10 {
            let began = Instant::now();
            let answer = client.check(call()).await.expect("a good request");
            assert!(answer.degraded && answer.verdict() == Verdict::Allow);
            let took = began.elapsed();
            assert!(took < Duration::from_millis(100), "{took:?}");
        }
    });
}

/// Given a client of the library and a daemon that is killed and started again, the same client is answered again, and the new
/// daemon remembers the calls of before.
#[test]
fn the_client_comes_back_with_the_daemon() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let api = free_port();
    let start = || Daemon::start_at(data.path(), api, &["--profile", "agentium"]);
    let call = || CheckToolCallRequest {
        run_id: "r".into(),
        tool: "search".into(),
        arguments: Some("{}".into()),
        ..CheckToolCallRequest::default()
    };
    let daemon = start();
    runtime().block_on(async {
        let client = Client::new(&format!("http://{api}")).expect("an address");
        let mut client = client.with_deadline(Duration::from_millis(500));
        for _ in 0..3 {
            let allowed = client.check(call()).await.expect("a good request");
            assert_eq!(allowed.verdict(), Verdict::Allow);
        }
        until(async || daemon.runs().contains_key("r").then_some(())).await;
        daemon.kill_9();
        let alone = client.check(call()).await.expect("a good request");
        assert!(alone.degraded);
        let _daemon = start();
        let answered = until(async || {
            let answer = client.check(call()).await.expect("a good request");
            (!answer.degraded).then_some(answer)
        });
        assert_eq!(answered.await.verdict(), Verdict::Skip);
    });
}
