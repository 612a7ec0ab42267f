//! `eddy hook NAME`: the guard, for coding agents that run a command around each of their tool calls.
//!
//! The program runs us once an event and writes the event, as JSON, to our standard input. We ask the daemon, and answer
//! in the program's own form (`programs`). Silence means "go on as if I were not here", so it is also what we say when
//! anything is wrong: no daemon, a late answer, an event that we do not know. The reason is on standard error then, which
//! these programs keep in their logs. Nothing here is ever the cause of a refusal but a verdict of the guard.

mod install;
mod programs;
mod settings_file;

use std::io::{self, Read};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::blocking;
use super::client::{Client, Unanswered};
use super::failure::{Failure, answer};
use super::reading::ApiArgs;
use programs::{Moment, Program};

/// Longest that a call is held up, the start of this process aside. The daemon itself answers within its deadline, which
/// is shorter by far; the rest is for a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(1);

/// Longest event that is read, in bytes. A longer one is passed over: it could not be told to the daemon.
const EVENT_MAX: u64 = 4 << 20;

#[derive(Clone, Debug, Args)]
pub(super) struct HookArgs {
    /// The program whose hook this is
    #[arg(value_name = "NAME", value_enum)]
    program: Program,
    /// Enter this command into the program's settings
    #[arg(long, conflicts_with = "uninstall")]
    install: bool,
    /// Take it out again
    #[arg(long)]
    uninstall: bool,
    /// The program's settings file; without one, that of this user
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    #[command(flatten)]
    api: ApiArgs,
}

/// What the program tells, as far as we need it. The three programs name these alike.
#[derive(Debug, Deserialize)]
struct Told {
    session_id: String,
    hook_event_name: String,
    #[serde(default)]
    turn_id: Option<String>,
    #[serde(default)]
    tool_name: Option<String>,
    #[serde(default)]
    tool_use_id: Option<String>,
    #[serde(default)]
    tool_input: Value,
    #[serde(default)]
    tool_response: Value,
    #[serde(default)]
    error: Option<Value>,
    #[serde(default)]
    prompt: Option<String>,
}

/// `POST /v1/guard/check`.
#[derive(Serialize)]
struct Check<'a> {
    run_id: &'a str,
    tool: &'a str,
    arguments: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    call_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn_id: Option<&'a str>,
}

/// `POST /v1/guard/report`.
#[derive(Serialize)]
struct Report<'a> {
    run_id: &'a str,
    tool: &'a str,
    arguments: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    call_id: Option<&'a str>,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a Value>,
}

/// `POST /v1/guard/message`.
#[derive(Serialize)]
struct Message<'a> {
    run_id: &'a str,
    kind: &'static str,
    text: &'a str,
}

/// What the guard answers to a check; to a message, at most the message.
#[derive(Debug, Default, Deserialize)]
struct Answer {
    #[serde(default)]
    verdict: Verdict,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    previous_result: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "UPPERCASE")]
enum Verdict {
    Nudge,
    Skip,
    Abort,
    /// Also one that a newer daemon may give.
    #[default]
    #[serde(other)]
    Allow,
}

impl Answer {
    /// What the agent is told in place of the tool's result, or in addition to it.
    fn text(&self) -> Option<String> {
        let message = self.message.as_deref()?;
        Some(match &self.previous_result {
            Some(result) => format!("{message}\n\nThe earlier result:\n{result}"),
            None => message.to_owned(),
        })
    }
}

pub(super) fn run(args: &HookArgs) -> Result<(), Failure> {
    if args.install || args.uninstall {
        let path = match &args.settings {
            Some(path) => path.clone(),
            None => args.program.settings()?,
        };
        return if args.install {
            install::install(args.program, &path, &args.api)
        } else {
            install::uninstall(args.program, &path)
        };
    }
    match said(args) {
        Ok(Some(said)) => answer(&format!("{said}\n")),
        Ok(None) => Ok(()),
        Err(reason) => {
            eprintln!("eddy hook: the call goes on unguarded: {reason}");
            Ok(())
        }
    }
}

/// What the program is told, if anything.
fn said(args: &HookArgs) -> Result<Option<Value>, String> {
    let mut text = String::new();
    let mut input = io::stdin().lock().take(EVENT_MAX);
    input
        .read_to_string(&mut text)
        .map_err(|error| format!("reading the event from standard input: {error}"))?;
    let told: Told = serde_json::from_str(&text)
        .map_err(|error| format!("what came over standard input is no event of a hook: {error}"))?;
    let Some(moment) = args.program.moment(&told.hook_event_name) else {
        return Ok(None);
    };
    let client = Client::new(&args.api).map_err(|failure| failure.to_string())?;
    let asked = async {
        let asked = tokio::time::timeout(PATIENCE, ask(&client, moment, &told)).await;
        let asked = asked.map_err(|_| "the daemon took too long".to_owned());
        Ok(asked.and_then(|asked| asked))
    };
    let asked: Result<Answer, String> = blocking(asked).map_err(|failure| failure.to_string())?;
    let answered = asked?;
    Ok(args.program.says(moment, &told, &answered))
}

/// Asks the daemon, or tells it what has happened.
async fn ask(client: &Client, moment: Moment, told: &Told) -> Result<Answer, String> {
    let run_id = told.session_id.as_str();
    let tool = told.tool_name.as_deref();
    let call_id = told.tool_use_id.as_deref();
    let answered = match (moment, tool) {
        (Moment::Prompt, _) => {
            let text = told.prompt.as_deref().unwrap_or_default();
            let message = Message {
                run_id,
                kind: "user",
                text,
            };
            client.post(&["v1", "guard", "message"], &message).await
        }
        (Moment::Before, Some(tool)) => {
            let check = Check {
                run_id,
                tool,
                arguments: &told.tool_input,
                call_id,
                turn_id: told.turn_id.as_deref(),
            };
            client.post(&["v1", "guard", "check"], &check).await
        }
        (Moment::After, Some(tool)) => {
            let error = told.failure();
            let report = Report {
                run_id,
                tool,
                arguments: &told.tool_input,
                call_id,
                status: if error.is_some() { "error" } else { "success" },
                result: error.is_none().then_some(&told.tool_response),
                error,
            };
            client.post(&["v1", "guard", "report"], &report).await
        }
        (_, None) => return Err(format!("`{}` names no tool_name", told.hook_event_name)),
    };
    answered.map_err(|(Unanswered::Unreachable(reason) | Unanswered::Refused(reason))| reason)
}

impl Told {
    /// Why the call failed, where it did: Claude Code has an event of its own for that with an `error`; Gemini CLI has an
    /// `error` within its response; Codex has an exit code there.
    fn failure(&self) -> Option<&Value> {
        let within = |key| self.tool_response.get(key);
        let error = self.error.as_ref().or_else(|| within("error"));
        let error = error.filter(|error| !matches!(error, Value::Null | Value::Bool(false)));
        let code = within("exit_code").and_then(Value::as_i64).unwrap_or(0);
        error.or_else(|| (code != 0).then_some(&self.tool_response))
    }
}
