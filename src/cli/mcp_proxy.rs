//! `eddy mcp-proxy -- COMMAND`: the guard in front of an MCP server.
//!
//! MCP over standard input and output is one JSON-RPC message a line. Lines go through as they are, both ways, but for two
//! kinds: a request `tools/call` is checked before the server sees it, and its answer is reported before the client sees
//! it. A refused call is answered here, as a result of the tool, since that is what the model reads; a nudge is one more
//! piece of text behind the result, or behind the words of an error. Whatever cannot be read or asked goes through: an agent
//! without its tools is worse off than one that is not guarded, so a token's file that is just being written stops no server.
//!
//! A batch, which revisions before 2025-06-18 know, goes on as its messages, a line each, so that each call in it is guarded
//! like any other. Both sides find what an answer answers by its id.
//!
//! A refusal says that it is an error, since clients refuse a result without structured content of a tool that declares some,
//! unless it is one. A call that asks for input is made again with that, which is the same call: it is not checked
//! again, and what it comes to is its result. A call that is cancelled has none.
//!
//! (Model Context Protocol, revisions 2024-11-05 to 2026-07-28: transports, tools, cancellation, input.)

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::client::ApiArgs;
use super::failure::{Failure, remark};
use super::guard_client::{Call, GuardClient};
use crate::engine::guard::verdict::VerdictKind;
use crate::json::VerdictJson;

/// Calls under way that are remembered. Their answers would have to be kept apart for ever from a server that never
/// answers; the calls beyond are checked, and not reported.
const UNDER_WAY_MAX: usize = 10_000;

#[derive(Clone, Debug, Args)]
pub(super) struct McpProxyArgs {
    /// The run that the calls belong to, where a call does not name its trace; without one, a run of this process
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    run_id: Option<String>,
    /// The agent that uses the server, where it has a profile of its own
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// The server's command
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
    // Whatever stood behind them would be listed among them.
    #[command(flatten)]
    api: ApiArgs,
}

/// A call that the server is working on.
struct UnderWay {
    call: Call,
    nudge: Option<String>,
}

/// A message, as far as it concerns us. What goes on is the line in which it came, so that nothing in it becomes another: a
/// number read and written again may not be what it was.
#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: Option<String>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// The parameters of a message that takes a request back.
#[derive(Deserialize)]
struct Cancelled<'a> {
    #[serde(borrow, rename = "requestId")]
    request_id: &'a RawValue,
}

/// What is read of an answer: the texts of a result, or the words of an error.
#[derive(Deserialize)]
struct Words<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
}

/// Most that is said to be wrong before something goes well again.
const COMPLAINTS_MAX: usize = 16;

/// What both directions share.
struct Proxy {
    guard: GuardClient,
    run_id: String,
    agent: Option<String>,
    /// By the request's id (`key`).
    under_way: Mutex<HashMap<String, UnderWay>>,
    /// Two write to it, a line at a time: the server's answers and our own.
    client: Mutex<io::Stdout>,
    /// What was said to be wrong.
    trouble: Mutex<Vec<String>>,
}

pub(super) fn run(args: &McpProxyArgs) -> Result<(), Failure> {
    // What can never work is said before there is a server, which nobody would end.
    let (guard, unusable) = GuardClient::patient(&args.api)?;
    let mut server = start(&args.command)?;
    #[cfg(unix)]
    pass_signals_on(&server)
        .map_err(|error| Failure::Other(format!("listening for signals: {error}")))?;
    let to_server = server.stdin.take();
    let from_server = server.stdout.take();
    let run_id = args.run_id.clone();
    let proxy = Arc::new(Proxy {
        guard,
        run_id: run_id.unwrap_or_else(|| format!("mcp-{}-{}", std::process::id(), seconds())),
        agent: args.agent.clone(),
        under_way: Mutex::default(),
        client: Mutex::new(io::stdout()),
        trouble: Mutex::default(),
    });
    if let Some(reason) = unusable {
        proxy.complain_of_unguarded(&reason);
    }
    let forth = Arc::clone(&proxy);
    // It waits for the client as long as that lives, and ends with this process.
    thread::spawn(move || to_server.map(|server| forth.requests(server)));
    if let Some(server) = from_server {
        proxy.answers(server);
    }
    let ended = server.wait();
    let ended =
        ended.map_err(|error| Failure::Other(format!("waiting for the server: {error}")))?;
    if ended.success() {
        return Ok(());
    }
    let code = ended.code().or_else(|| code_of_signal(ended));
    let code = code.and_then(|code| u8::try_from(code).ok());
    Err(Failure::Server(code.unwrap_or(1)))
}

/// The exit code by which a shell tells that a signal has ended a program.
#[cfg(unix)]
fn code_of_signal(ended: ExitStatus) -> Option<i32> {
    use std::os::unix::process::ExitStatusExt;
    ended.signal().map(|signal| 128 + signal)
}

/// There are no signals.
#[cfg(not(unix))]
fn code_of_signal(_: ExitStatus) -> Option<i32> {
    None
}

/// Whoever asks this process to end means the server, which may not end with its input alone; with it we end.
#[cfg(unix)]
fn pass_signals_on(server: &Child) -> io::Result<()> {
    use rustix::process::{Pid, Signal, kill_process};
    use tokio::signal::unix::{SignalKind, signal};
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let entered = runtime.enter();
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    drop(entered);
    let server = Pid::from_child(server);
    thread::spawn(move || {
        runtime.block_on(async {
            loop {
                let asked = tokio::select! {
                    _ = terminate.recv() => Signal::TERM,
                    _ = interrupt.recv() => Signal::INT,
                };
                // One that has ended by now is no longer to be asked, and its number is nobody else's before we have waited for it.
                let _ = kill_process(server, asked);
            }
        });
    });
    Ok(())
}

fn start(command: &[String]) -> Result<Child, Failure> {
    Command::new(&command[0])
        .args(&command[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| Failure::Other(format!("starting `{}`: {error}", command[0])))
}

/// Seconds since 1970, which keep runs of processes with the same number apart.
fn seconds() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |since| since.as_secs())
}

impl Proxy {
    /// From the client to the server, until either has gone. The server's input is closed then, and it ends.
    fn requests(&self, mut server: ChildStdin) {
        for line in lines(io::stdin().lock()).flat_map(messages) {
            let goes_on = self.is_let_through(&line);
            if goes_on
                && server
                    .write_all(&line)
                    .and_then(|()| server.flush())
                    .is_err()
            {
                return;
            }
        }
    }

    /// From the server to the client, until either has gone.
    fn answers(&self, server: ChildStdout) {
        for line in lines(BufReader::new(server)).flat_map(messages) {
            let line = self.reported(&line).unwrap_or(line);
            if self.say(&line).is_err() {
                return;
            }
        }
    }

    /// Checks a line that is a call of a tool, and answers one that is refused.
    fn is_let_through(&self, line: &[u8]) -> bool {
        let Ok(message) = serde_json::from_slice::<Message>(line) else {
            return true;
        };
        let Some(params) = message.params.map(RawValue::get) else {
            return true;
        };
        match message.method.as_deref() {
            Some("notifications/cancelled") => {
                if let Ok(cancelled) = serde_json::from_str::<Cancelled>(params) {
                    self.under_way().remove(&key(cancelled.request_id));
                }
                true
            }
            Some("tools/call") => {
                let params = serde_json::from_str(params).unwrap_or_default();
                let call = message.id.zip(self.call(&params));
                call.is_none_or(|(id, call)| self.is_to_be_made(id, call, &params))
            }
            _ => true,
        }
    }

    fn is_to_be_made(&self, id: &RawValue, call: Call, params: &Value) -> bool {
        let goes_on = ["inputResponses", "requestState"];
        if goes_on.iter().any(|key| params.get(key).is_some()) {
            self.note(id, UnderWay { call, nudge: None });
            return true;
        }
        let answered = self.guard.check(&call).unwrap_or_else(|reason| {
            self.complain_of_unguarded(&reason);
            VerdictJson::default()
        });
        let text = answered.text().unwrap_or_default();
        if answered.verdict.refuses() {
            let content = [text_content(&text)];
            let result = json!({"content": content, "isError": true, "resultType": "complete"});
            let refusal = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n");
            // A client that has gone is noticed by the thread that reads from it.
            let _ = self.say(refusal.as_bytes());
            return false;
        }
        let nudge = (answered.verdict == VerdictKind::Nudge).then_some(text);
        self.note(id, UnderWay { call, nudge });
        true
    }

    /// Remembers a call until it is answered.
    fn note(&self, id: &RawValue, call: UnderWay) {
        let mut under_way = self.under_way();
        if under_way.len() < UNDER_WAY_MAX {
            under_way.insert(key(id), call);
        }
    }

    /// The call that a request's parameters are.
    fn call(&self, params: &Value) -> Option<Call> {
        let arguments = params.get("arguments").filter(|given| !given.is_null());
        Some(Call {
            run_id: trace(params).unwrap_or_else(|| self.run_id.clone()),
            tool: params.get("name")?.as_str()?.to_owned(),
            // A call without the member has no arguments, which is known of it.
            arguments: arguments.cloned().unwrap_or_else(|| json!({})),
            agent: self.agent.clone(),
            ..Call::default()
        })
    }

    /// Reports a line that answers a call, and gives it as the client is to see it where that is another than it was.
    fn reported(&self, line: &[u8]) -> Option<Vec<u8>> {
        let message: Message = serde_json::from_slice(line).ok()?;
        if message.method.is_some() {
            return None;
        }
        let UnderWay { call, nudge } = self.under_way().remove(&key(message.id?))?;
        let answer = message.error.or(message.result)?;
        let told: Value = serde_json::from_str(answer.get()).ok()?;
        if told["resultType"] == "input_required" {
            return None;
        }
        let content = told.get("structuredContent").or(told.get("content"));
        let content = content.unwrap_or(&told);
        let outcome = match message.error {
            Some(_) => Err(&told),
            None if told["isError"] == true => Err(content),
            None => Ok(content),
        };
        match self.guard.report(&call, outcome.into()) {
            Ok(()) => self.trouble().clear(),
            Err(reason) => self.complain(format!("results are not reported: {reason}")),
        }
        with_note(line, &message, &nudge?)
    }

    fn complain_of_unguarded(&self, reason: &str) {
        self.complain(format!("calls go on unguarded: {reason}"));
    }

    /// Says what is wrong, once until results are reported again: clients keep what is said here.
    fn complain(&self, what: String) {
        let mut said = self.trouble();
        if said.len() < COMPLAINTS_MAX && !said.contains(&what) {
            remark(format_args!("eddy mcp-proxy: {what}"));
            said.push(what);
        }
    }

    fn trouble(&self) -> MutexGuard<'_, Vec<String>> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn say(&self, line: &[u8]) -> io::Result<()> {
        let mut client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        client.write_all(line)?;
        client.flush()
    }

    fn under_way(&self) -> MutexGuard<'_, HashMap<String, UnderWay>> {
        self.under_way
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// By what an answer finds its request: a text however it is escaped, anything else as it is written.
fn key(id: &RawValue) -> String {
    let text = serde_json::from_str(id.get()).map(Value::String);
    text.map_or_else(|_| id.to_string(), |text| text.to_string())
}

/// A line with one more piece of text in the result that it has, or at the end of its error's words.
fn with_note(line: &[u8], message: &Message, note: &str) -> Option<Vec<u8>> {
    let answer = message.error.or(message.result)?.get();
    let words: Words = serde_json::from_str(answer).ok()?;
    let place = message.error.map_or(words.content, |_| words.message);
    let Some(place) = place.map(RawValue::get) else {
        let (name, value) = match message.error {
            Some(_) => ("message", Value::from(note)),
            None => ("content", json!([text_content(note)])),
        };
        let comma = if answer[1..].trim_start() == "}" {
            ""
        } else {
            ","
        };
        let member = format!("\"{name}\":{value}{comma}");
        let begin = answer.as_ptr().addr() - line.as_ptr().addr() + 1;
        return Some([&line[..begin], member.as_bytes(), &line[begin..]].concat());
    };
    let note = if let Some(texts) = place.strip_prefix('[') {
        let comma = if texts.trim_start() == "]" { "" } else { "," };
        format!("{comma}{}", text_content(note))
    } else {
        let quoted = Value::from(format!("\n\n{note}")).to_string();
        quoted.strip_prefix('"')?.strip_suffix('"')?.to_owned()
    };
    // Before the bracket or the quote with which the place, a part of the line, ends.
    let end = place.as_bytes().as_ptr_range().end.addr() - line.as_ptr().addr() - 1;
    let is_closed = [b']', b'"'].contains(line.get(end)?);
    is_closed.then(|| [&line[..end], note.as_bytes(), &line[end..]].concat())
}

fn text_content(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// The trace that a call belongs to, which is the run where nothing else names it: `_meta.traceparent`, as W3C Trace Context
/// writes it.
fn trace(params: &Value) -> Option<String> {
    let parent = params.pointer("/_meta/traceparent")?.as_str()?;
    let id = parent.split('-').nth(1)?;
    let is_id = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_id && id.bytes().any(|byte| byte != b'0')).then(|| id.to_ascii_lowercase())
}

/// Lines with their ends, until there are no more.
fn lines(mut from: impl BufRead) -> impl Iterator<Item = Vec<u8>> {
    std::iter::from_fn(move || {
        let mut line = Vec::new();
        let read = from.read_until(b'\n', &mut line).ok()?;
        (read > 0).then_some(line)
    })
}

/// A batch as its messages, a line each, to the letter; any other line as it is.
fn messages(line: Vec<u8>) -> Vec<Vec<u8>> {
    if line.trim_ascii_start().first() != Some(&b'[') {
        return vec![line];
    }
    match serde_json::from_slice::<Vec<&RawValue>>(&line) {
        Ok(batch) if !batch.is_empty() => {
            let message = |message: &&RawValue| format!("{message}\n").into_bytes();
            batch.iter().map(message).collect()
        }
        _ => vec![line],
    }
}
