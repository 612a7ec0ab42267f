//! `eddy guard`: a tool call from a script, asked about before and told of afterwards.
//!
//! `check` prints the verdict and, below it, what the agent is to be told; its exit code is 3 where the call is not to be made,
//! so that `eddy guard check … && tool` does what it says. Where the daemon cannot be asked, whatever the reason, `check` allows
//! the call, and both say why on standard error: the guard must not become the reason that an agent stops.

use std::io::{self, Read as _};

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};
use serde_json::Value;

use super::client::ApiArgs;
use super::failure::{Failure, answer, answer_json, remark};
use super::guard_client::{Call, GuardClient, Outcome};
use crate::json::VerdictJson;
use crate::render::text::clean;

#[derive(Clone, Debug, Subcommand)]
pub(super) enum GuardCommand {
    /// Ask whether a call should be made
    #[command(after_help = "\
Examples:
  eddy guard check --run r --tool search --arguments '\"rust\"' && search rust
  eddy guard check --run r --tool search --json

Exit codes: 0 make the call, 3 do not make it, 2 wrong usage. Where the daemon does not answer within a second, or refuses the \
question, the code is 0 as well, and standard error says why.")]
    Check(CheckArgs),
    /// Tell what a call brought
    #[command(
        override_usage = "eddy guard report [OPTIONS] --run <ID> --tool <NAME> --status <STATUS>",
        after_help = "\
Examples:
  eddy guard report --run \"$RUN\" --tool search --status success --result '[]'
  eddy guard report --run r --tool search --status error --error 'no such index'
  eddy guard report --run r --tool sh --status success --result - < output.txt

Exit codes: 0 told, 2 wrong usage. Where the daemon does not answer within a second, or refuses what it is told, the code is 0 as \
well, and standard error says why."
    )]
    Report(ReportArgs),
}

#[derive(Clone, Debug, Args)]
pub(super) struct CallArgs {
    // Whatever an agent, a shell or a person said stands here, and the first sign of that may be a hyphen.
    /// The run's id, as in the telemetry
    #[arg(long, value_name = "ID", allow_hyphen_values = true, value_parser = NonEmptyStringValueParser::new())]
    run: String,
    /// The tool
    #[arg(long, value_name = "NAME", allow_hyphen_values = true, value_parser = NonEmptyStringValueParser::new())]
    tool: String,
    /// Its arguments as JSON, or a text; `-` reads them from standard input
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    arguments: Option<String>,
    /// The id that the model gave the call
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    call_id: Option<String>,
    /// The agent
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    agent: Option<String>,
    /// The worker of a swarm
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    worker: Option<String>,
}

#[derive(Clone, Debug, Args)]
pub(super) struct CheckArgs {
    #[command(flatten)]
    call: CallArgs,
    /// The session, where it is named apart from the run
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    session: Option<String>,
    /// The turn: what follows from one message of a user
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    turn: Option<String>,
    /// The round: calls of one answer of the model
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    round: Option<String>,
    /// Print the answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    api: ApiArgs,
}

#[derive(Clone, Debug, Args)]
pub(super) struct ReportArgs {
    #[command(flatten)]
    call: CallArgs,
    /// How the call ended
    #[arg(long, value_name = "STATUS", value_parser = ["success", "success_no_data", "error"])]
    status: String,
    /// The result as JSON, or a text; with `success`; `-` reads it from standard input
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    result: Option<String>,
    /// The tool's own words about there being nothing; with `success_no_data`
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    message: Option<String>,
    /// Why the call failed; with `error`; `-` reads it from standard input
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    error: Option<String>,
    #[command(flatten)]
    api: ApiArgs,
}

pub(super) fn run(command: &GuardCommand) -> Result<(), Failure> {
    match command {
        GuardCommand::Check(args) => check(args),
        GuardCommand::Report(args) => report(args),
    }
}

fn check(args: &CheckArgs) -> Result<(), Failure> {
    let mut input = Input::default();
    let call = Call {
        session_id: args.session.clone(),
        turn_id: args.turn.clone(),
        round_id: args.round.clone(),
        ..args.call.call(&mut input)?
    };
    let verdict = guard(&args.api).and_then(|guard| guard.check(&call));
    let verdict = verdict.unwrap_or_else(|reason| {
        remark(format_args!(
            "eddy guard check: the call goes on unguarded: {reason}"
        ));
        VerdictJson {
            degraded: true,
            ..VerdictJson::default()
        }
    });
    let shown = if args.json {
        answer_json(&verdict)
    } else {
        answer(&page(&verdict))
    };
    // The code follows the verdict, whoever reads what is shown.
    if let Err(failure @ Failure::Other(_)) = shown {
        remark(format_args!(
            "eddy guard check: the verdict is not shown: {failure}"
        ));
    }
    if verdict.verdict.refuses() {
        let rule = verdict.rule.unwrap_or_default();
        return Err(Failure::Unhealthy(format!(
            "the call is not to be made ({rule})"
        )));
    }
    Ok(())
}

fn report(args: &ReportArgs) -> Result<(), Failure> {
    let mut input = Input::default();
    let call = args.call.call(&mut input)?;
    let mut told = |field: &str, text: Option<&String>, status: &str| {
        if text.is_some() && args.status != status {
            return Err(Failure::Usage(format!(
                "`--{field}` is given only with `--status {status}`"
            )));
        }
        input.named(text)
    };
    let result = told("result", args.result.as_ref(), "success")?.map(Value::from);
    let message = told("message", args.message.as_ref(), "success_no_data")?;
    let error = told("error", args.error.as_ref(), "error")?.map(Value::from);
    let outcome = Outcome {
        status: &args.status,
        result: result.as_ref(),
        message: message.as_deref(),
        error: error.as_ref(),
    };
    if let Err(reason) = guard(&args.api).and_then(|guard| guard.report(&call, outcome)) {
        remark(format_args!(
            "eddy guard report: the result is not reported: {reason}"
        ));
    }
    Ok(())
}

/// The daemon's guard, or in words why it cannot be asked.
fn guard(api: &ApiArgs) -> Result<GuardClient, String> {
    GuardClient::new(api).map_err(|failure| failure.to_string())
}

/// The verdict, and below it what the agent is to be told.
fn page(verdict: &VerdictJson) -> String {
    let degraded = if verdict.degraded { " (degraded)" } else { "" };
    let head = format!("{}{degraded}", verdict.verdict.name());
    let message = verdict.message.as_deref().unwrap_or_default();
    let lines = message.lines().map(|line| clean(line).into_owned());
    let lines: Vec<String> = std::iter::once(head).chain(lines).collect();
    lines.join("\n") + "\n"
}

/// Standard input, in the place of the one value that is `-`: a longer text than the system allows as an argument.
#[derive(Default)]
struct Input {
    is_read: bool,
}

impl Input {
    /// The value that a text names.
    fn named(&mut self, text: Option<&String>) -> Result<Option<String>, Failure> {
        if text.is_none_or(|text| text != "-") {
            return Ok(text.cloned());
        }
        if std::mem::replace(&mut self.is_read, true) {
            return Err(Failure::Usage(
                "standard input, `-`, is one value and not two".to_owned(),
            ));
        }
        let mut bytes = Vec::new();
        // What was read so far says more than nothing.
        if let Err(error) = io::stdin().lock().read_to_end(&mut bytes) {
            remark(format_args!(
                "eddy guard: standard input broke off: {error}"
            ));
        }
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    }
}

impl CallArgs {
    fn call(&self, input: &mut Input) -> Result<Call, Failure> {
        Ok(Call {
            run_id: self.run.clone(),
            tool: self.tool.clone(),
            arguments: input.named(self.arguments.as_ref())?.into(),
            id: self.call_id.clone(),
            agent: self.agent.clone(),
            worker: self.worker.clone(),
            ..Call::default()
        })
    }
}
