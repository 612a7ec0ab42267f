//! `eddy hook NAME`: the guard, for coding agents that run a command around each of their tool calls.
//!
//! The program runs us once an event and writes the event, as JSON, to our standard input. We ask the daemon, and answer
//! in the program's own form (`programs`). Silence means "go on as if I were not here", so it is also what we say when
//! anything is wrong: no daemon, a late answer, an event that we do not know. The reason is on standard error then, which
//! these programs keep in their logs. Nothing here is ever the cause of a refusal but a verdict of the guard; so not even wrong
//! usage has the exit code 2 (`cli::misused`), by which these programs would refuse the call.

mod install;
mod programs;
mod settings_file;

use std::io::{self, IsTerminal as _, Read};
use std::path::PathBuf;

use clap::Args;
use serde::Deserialize;
use serde_json::Value;

use super::client::ApiArgs;
use super::failure::{Failure, answer, remark};
use super::guard_client::{Call, GuardClient};
use crate::json::VerdictJson;
use programs::{Moment, Program};

/// Longest event that is read, in bytes. A longer one is passed over.
const EVENT_MAX: usize = 64 << 20;

#[derive(Clone, Debug, Args)]
pub(super) struct HookArgs {
    /// The program whose hook this is
    #[arg(value_name = "NAME", value_enum)]
    program: Program,
    /// Enter this command into the program's settings
    #[arg(long, group = "entry")]
    install: bool,
    /// Take it out again
    #[arg(long, group = "entry")]
    uninstall: bool,
    /// The program's settings file; without one, that of this user
    #[arg(long, value_name = "FILE", requires = "entry")]
    settings: Option<PathBuf>,
    #[command(flatten)]
    api: ApiArgs,
}

/// What the program tells, as far as we need it. The three programs name these alike.
#[derive(Debug, Deserialize)]
#[serde(expecting = "an object")]
struct Told {
    session_id: String,
    hook_event_name: String,
    #[serde(default)]
    turn_id: Option<String>,
    /// The sub-agent within which it happens, for Claude Code and Codex.
    #[serde(default)]
    agent_id: Option<String>,
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
    if io::stdin().is_terminal() {
        // Whoever types the command would wait for an answer that never comes.
        return Err(Failure::Other(format!(
            "standard input is a terminal, where no program writes events; `eddy hook {} --install` sets the hook up",
            args.program.name()
        )));
    }
    match said(args) {
        Ok(Some(said)) => answer(&format!("{said}\n")),
        Ok(None) => Ok(()),
        Err(reason) => {
            remark(format_args!(
                "eddy hook: the call goes on unguarded: {reason}"
            ));
            Ok(())
        }
    }
}

/// What the program is told, if anything.
fn said(args: &HookArgs) -> Result<Option<Value>, String> {
    let mut text = Vec::new();
    let mut input = io::stdin().lock().take(EVENT_MAX as u64 + 1);
    input
        .read_to_end(&mut text)
        .map_err(|error| format!("reading the event from standard input: {error}"))?;
    if text.len() > EVENT_MAX {
        return Err(format!("the event is longer than {EVENT_MAX} bytes"));
    }
    let told: Told = serde_json::from_slice(&text)
        .map_err(|error| format!("what came over standard input is no event of a hook: {error}"))?;
    let Some(moment) = args.program.moment(&told.hook_event_name) else {
        return Ok(None);
    };
    let guard = GuardClient::new(&args.api).map_err(|failure| failure.to_string())?;
    let answered = ask(&guard, moment, &told)?;
    Ok(args.program.says(moment, &told, &answered))
}

/// Asks the daemon, or tells it what has happened.
fn ask(guard: &GuardClient, moment: Moment, told: &Told) -> Result<VerdictJson, String> {
    if moment == Moment::Prompt {
        let text = told.prompt.as_deref().unwrap_or_default();
        return guard.user_message(&told.session_id, text);
    }
    let Some(tool) = told.tool_name.clone() else {
        return Err(format!("`{}` names no tool_name", told.hook_event_name));
    };
    let call = Call {
        run_id: told.session_id.clone(),
        tool,
        arguments: told.tool_input.clone(),
        id: told.tool_use_id.clone(),
        turn_id: told.turn_id.clone(),
        agent: told.agent_id.clone(),
        ..Call::default()
    };
    if moment == Moment::Before {
        return guard.check(&call);
    }
    let result = told.failure().map_or(Ok(&told.tool_response), Err);
    guard
        .report(&call, result.into())
        .map(|()| VerdictJson::default())
}

impl Told {
    /// Why the call failed, where it did: Claude Code has an event of its own for that with an `error`; Gemini CLI has an
    /// `error` within its response. The exit code that Codex has there is read like that of any result.
    fn failure(&self) -> Option<&Value> {
        let within = |key| self.tool_response.get(key);
        let error = self.error.as_ref().or_else(|| within("error"));
        error.filter(|error| !matches!(error, Value::Null | Value::Bool(false)))
    }
}
