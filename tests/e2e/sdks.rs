//! What others' programs make of a daemon: OpenTelemetry's own exporters, with lost answers, and the examples of the guard
//! within the frameworks that they are for. All of them are downloaded, so this runs only when `EDDY_SDKS` is set
//! (`tests/sdks/README.md`).

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::support::Daemon;

/// The calls that each script makes.
const CALLS: u64 = 6;

/// Answers that are lost for each exporter.
const LOSSES: usize = 2;

fn sdks() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sdks")
}

fn run(command: &mut Command) -> String {
    let output = command.output().expect("the command is there");
    assert!(
        output.status.success(),
        "{command:?}\n{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The Python of an environment that has the packages of a folder.
fn python(directory: &Path, packages: &Path) -> PathBuf {
    let environment = directory.join("python");
    run(Command::new("python3")
        .args(["-m", "venv"])
        .arg(&environment));
    let python = environment.join("bin/python");
    let requirements = packages.join("requirements.txt");
    run(Command::new(&python)
        .args(["-m", "pip", "install", "--quiet", "-r"])
        .arg(requirements));
    python
}

/// A copy of a folder's script beside the packages that it needs.
fn script_of_node(directory: &Path, folder: &Path, script: &str) -> PathBuf {
    let project = directory.join("node");
    fs::create_dir(&project).expect("it can be made");
    for name in ["package.json", script] {
        fs::copy(folder.join(name), project.join(name)).expect("it can be copied");
    }
    run(Command::new("npm")
        .args(["install", "--no-audit", "--no-fund", "--silent"])
        .current_dir(&project));
    project.join(script)
}

/// A way to the daemon on which requests arrive and the first answers get lost.
struct Lossy {
    address: SocketAddr,
    lost: Arc<AtomicUsize>,
}

impl Lossy {
    /// `is_answer` says of what the daemon has sent over a connection so far whether an answer has begun.
    fn open(to: SocketAddr, is_answer: fn(&[u8]) -> bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("bound");
        let lost = Arc::<AtomicUsize>::default();
        let losses = Arc::clone(&lost);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let daemon = TcpStream::connect(to).expect("the daemon listens");
                let (from, into) = (client.try_clone(), daemon.try_clone());
                let (mut from, mut into) = (from.expect("open"), into.expect("open"));
                std::thread::spawn(move || std::io::copy(&mut from, &mut into));
                let losses = Arc::clone(&losses);
                std::thread::spawn(move || back(daemon, client, &losses, is_answer));
            }
        });
        Self { address, lost }
    }
}

/// Carries what the daemon says back to the client, or cuts the line where an answer begins.
fn back(
    mut daemon: TcpStream,
    mut client: TcpStream,
    lost: &AtomicUsize,
    is_answer: fn(&[u8]) -> bool,
) {
    let mut said = Vec::new();
    let mut piece = [0; 16 << 10];
    while let Ok(read @ 1..) = daemon.read(&mut piece) {
        said.extend_from_slice(&piece[..read]);
        let may_lose = lost.load(Ordering::SeqCst) < LOSSES;
        if may_lose && is_answer(&said) {
            lost.fetch_add(1, Ordering::SeqCst);
            break;
        }
        if client.write_all(&piece[..read]).is_err() {
            break;
        }
    }
    // The other direction ends with the sockets.
    let _ = client.shutdown(Shutdown::Both);
    let _ = daemon.shutdown(Shutdown::Both);
}

fn is_asked_for() -> bool {
    let is_set = std::env::var_os("EDDY_SDKS").is_some();
    if !is_set {
        eprintln!("not run: it downloads packages, and EDDY_SDKS is not set");
    }
    is_set
}

/// Whether there is a frame of headers among the frames of HTTP/2, which is how an answer begins.
fn has_headers(mut said: &[u8]) -> bool {
    const HEADERS: u8 = 1;
    while let [a, b, c, kind, rest @ ..] = said {
        if *kind == HEADERS {
            return true;
        }
        let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
        // Flags and the stream's number take five bytes more.
        said = rest.get(5 + length..).unwrap_or_default();
    }
    false
}

/// Given the exporters of two languages over each of their transports, and answers that get lost, so that they send again
/// what has arrived: each of their calls counts once, and the loop is found.
#[test]
fn exporters_of_others_are_understood() {
    if !is_asked_for() {
        return;
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let daemon = Daemon::start(&directory.path().join("data"));
    let python = python(directory.path(), &sdks());
    let script = script_of_node(directory.path(), &sdks(), "send.js");
    let python = (python, sdks().join("send.py"));
    let node = (PathBuf::from("node"), script);
    for ((program, script), protocol) in [
        (&python, "grpc"),
        (&python, "http"),
        (&node, "json"),
        (&node, "protobuf"),
    ] {
        let way = match protocol {
            "grpc" => Lossy::open(daemon.grpc, has_headers),
            _ => Lossy::open(daemon.http, |said| !said.is_empty()),
        };
        let conversation = format!("run-{protocol}");
        let endpoint = format!("http://{}", way.address);
        run(Command::new(program)
            .arg(script)
            .args([protocol, &endpoint, &conversation]));
        assert_eq!(way.lost.load(Ordering::SeqCst), LOSSES, "{protocol}");
        let runs = daemon.runs();
        let run = &runs[&conversation];
        assert_eq!(run["tool_calls"], CALLS, "{protocol}: {run}");
        let warnings = run["warnings"].as_array().expect("a list").iter();
        let mut rules = warnings.map(|warning| &warning["rule"]);
        let expected = "repeated_tool_call_exact_input";
        assert!(rules.any(|rule| rule == expected), "{protocol}: {run}");
    }
    assert_eq!(daemon.runs().len(), 4);
}

/// Given the examples of `examples/`, whose model asks the same thing up to thirty times: the guard leads each of them out
/// after a few calls, and the run shows what was refused, and the agent. Agents that are run asynchronously, and tools with other
/// results than texts, fare alike, and whatever answers in the daemon's place keeps nobody from a call (`guard_cases`).
#[test]
fn the_examples_are_led_out() {
    if !is_asked_for() {
        return;
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let daemon = Daemon::start(&directory.path().join("data"));
    let token = directory.path().join("token");
    fs::write(&token, "nobody asks for it\n").expect("written");
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let python = python(directory.path(), &examples);
    let script = script_of_node(directory.path(), &examples, "vercel_ai_guard.ts");
    let tsx = directory.path().join("node/node_modules/.bin/tsx");
    for (program, script) in [
        (&python, examples.join("langgraph_guard.py")),
        (&python, examples.join("openai_agents_guard.py")),
        (&tsx, script),
    ] {
        let said = run(Command::new(program)
            .arg(&script)
            .env("EDDY_API", format!("http://{}", daemon.api))
            .env("EDDY_API_TOKEN_FILE", &token));
        let made = said.trim_end().rsplit(' ').next().map(str::parse::<u64>);
        let Some(Ok(made)) = made else {
            panic!("{}: {said}", script.display());
        };
        assert!((2..=8).contains(&made), "{}: {said}", script.display());
    }
    let runs = daemon.runs();
    assert_eq!(runs.len(), 3);
    for run in runs.values() {
        assert_eq!(run["skipped_calls"], 1, "{run}");
        assert_eq!(run["agents"], serde_json::json!(["weather"]), "{run}");
    }
    let cases = directory.path().join("node/guard_cases.ts");
    fs::copy(sdks().join("guard_cases.ts"), &cases).expect("it can be copied");
    for (program, script) in [(&python, sdks().join("guard_cases.py")), (&tsx, cases)] {
        run(Command::new(program)
            .arg(script)
            .env("PYTHONPATH", &examples)
            .env("EDDY_API", daemon.api.to_string()));
    }
}
