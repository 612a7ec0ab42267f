//! `eddy doctor`: whether telemetry that an agent sends from here comes in, is judged, and is told of.
//!
//! It asks the API whether reports are taken, sends one span as an agent started from this shell would (OpenTelemetry's
//! variables, certificates included, else its default addresses), asks for the run that the span belongs to, and looks whether
//! alerts wait for a receiver, or telemetry for another backend. Each check says what was found and, where that is wrong, what
//! to do.
//!
//! The run stays in the list, as healthy; its id, agent and service say that it is the doctor's. To keep it out, the daemon would
//! have to treat it otherwise than an agent's run, of which the check would then say nothing.

mod environment;
mod exporters;
mod probe;
mod proxies;
mod senders;

use std::fmt::Write as _;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::time::{Duration, Instant};

use clap::Args;
use serde::Serialize;
use serde_json::Value;

use self::senders::{Sender, senders};
use super::client::{ApiArgs, Client, Unanswered};
use super::failure::{Failure, answer, answer_json, read_or_not};
use super::running::blocking;
use crate::render::text::{Look, Paint, clean, columns, pad, wrap};

/// Longest wait for a span to arrive at the API: a collector in between may hold it back for some seconds.
const ARRIVES_WITHIN: Duration = Duration::from_secs(6);

/// Between two looks at what takes its time.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Of what it sends, the service and the agent.
pub(super) const SERVICE: &str = "eddy-doctor";

#[derive(Clone, Debug, Args)]
pub(super) struct DoctorArgs {
    /// Where agents send OTLP over gRPC, whatever the environment says
    #[arg(long, value_name = "ADDR")]
    otlp_grpc: Option<String>,
    /// Where agents send OTLP over HTTP, whatever the environment says
    #[arg(long, value_name = "ADDR")]
    otlp_http: Option<String>,
    /// Print the checks as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    api: ApiArgs,
}

/// What a check came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Outcome {
    Ok,
    /// It works, and somebody should look at it.
    Warning,
    Failed,
}

#[derive(Debug, Serialize)]
struct Check {
    name: String,
    outcome: Outcome,
    found: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<String>,
}

impl Check {
    fn ok(name: &str, found: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            outcome: Outcome::Ok,
            found: found.into(),
            advice: None,
        }
    }

    fn warning(name: &str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            outcome: Outcome::Warning,
            advice: Some(advice.into()),
            ..Self::ok(name, found)
        }
    }

    fn failed(name: &str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            outcome: Outcome::Failed,
            ..Self::warning(name, found, advice)
        }
    }
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Report {
    ok: bool,
    checks: Vec<Check>,
}

pub(super) fn run(args: &DoctorArgs) -> Result<(), Failure> {
    let senders = senders(
        args.otlp_grpc.as_deref(),
        args.otlp_http.as_deref(),
        |name| std::env::var(name).ok(),
    )?;
    let client = Client::new(&args.api)?;
    let checks = blocking(async { Ok(examine(&client, &args.api, &senders).await) })?;
    let failed = checks
        .iter()
        .filter(|check| check.outcome == Outcome::Failed);
    let (failed, of) = (failed.count(), checks.len());
    let report = Report {
        ok: failed == 0,
        checks,
    };
    read_or_not(if args.json {
        answer_json(&report)
    } else {
        answer(&page(Look::of(&io::stdout()), &report))
    })?;
    if report.ok {
        Ok(())
    } else {
        Err(Failure::Other(format!("{failed} of {of} checks failed")))
    }
}

/// All checks, in the order in which a mistake would show: whatever fails first is probably why the others do.
async fn examine(client: &Client, api: &ApiArgs, senders: &[Sender]) -> Vec<Check> {
    let mut checks = vec![readiness(client, api).await];
    let is_answered = checks[0].outcome != Outcome::Failed;
    let run_id = format!("{SERVICE}-{:016x}", RandomState::new().hash_one("run"));
    let mut told = 0;
    for sender in senders {
        let sent = sender.send(&run_id).await;
        told += u64::from(sent.is_ok());
        let there = match (&sent, is_answered) {
            (Ok(()), true) => Some(arrived(client, &run_id, told).await),
            _ => None,
        };
        checks.push(sender.check(&run_id, &sent, there));
    }
    if is_answered {
        checks.extend(exporters::checks(client).await);
    }
    checks
}

/// Whether the daemon answers, knows the token, and takes reports.
async fn readiness(client: &Client, api: &ApiArgs) -> Check {
    const NAME: &str = "API";
    let known: Result<Value, _> = client.get(&["v1", "runs"], &[("limit", "1")]).await;
    if let Err(Unanswered::Unreachable(why) | Unanswered::Unknown(why) | Unanswered::Refused(why)) =
        known
    {
        return Check::failed(NAME, why, "Until it answers, no warning can be read.");
    }
    let ready: Result<Value, _> = client.get(&["readyz"], &[]).await;
    let address = clean(&api.api);
    match ready {
        Ok(ready) => match ready["notes"][0].as_str() {
            None => Check::ok(NAME, format!("{address} answers; reports are taken")),
            Some(note) => Check::warning(
                NAME,
                format!("{address} answers; reports are taken. {}", clean(note)),
                "docs/operation.md says what to do about a damaged database.",
            ),
        },
        Err(unanswered) => Check::failed(
            NAME,
            format!(
                "{address} answers, but takes no reports: {}",
                Failure::from(unanswered)
            ),
            "Senders are told to try again; the daemon's log says more.",
        ),
    }
}

/// Whether the run has so many calls, within the time that it may take.
async fn arrived(client: &Client, run_id: &str, calls: u64) -> bool {
    let began = Instant::now();
    loop {
        let run: Result<Value, _> = client.get(&["v1", "runs", run_id], &[]).await;
        if run.is_ok_and(|run| run["tool_calls"].as_u64() >= Some(calls)) {
            return true;
        }
        if began.elapsed() > ARRIVES_WITHIN {
            return false;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

fn page(look: Look, report: &Report) -> String {
    const OUTCOME: usize = 7;
    let name_width = report.checks.iter().map(|check| columns(&check.name)).max();
    let name_width = name_width.unwrap_or_default();
    let indent = 2 + OUTCOME + 2 + name_width + 2;
    let mut text = "\n".to_owned();
    for check in &report.checks {
        let (paint, outcome) = match check.outcome {
            Outcome::Ok => (Paint::Good, "ok"),
            Outcome::Warning => (Paint::Odd, "warning"),
            Outcome::Failed => (Paint::Bad, "failed"),
        };
        let outcome = look.paint(paint, &pad(outcome, OUTCOME));
        let name = look.paint(Paint::Strong, &pad(&check.name, name_width));
        let lines = |text: &str| wrap(text, look.width.saturating_sub(indent));
        let found = lines(&check.found).join(&format!("\n{:indent$}", ""));
        let _ = writeln!(text, "  {outcome}  {name}  {found}");
        for line in check.advice.iter().flat_map(|advice| lines(advice)) {
            let _ = writeln!(text, "{:indent$}{}", "", look.paint(Paint::Note, &line));
        }
    }
    if report.ok {
        let is_warned = |check: &Check| check.outcome == Outcome::Warning;
        let but = if report.checks.iter().any(is_warned) {
            "; the warnings say what else to look at"
        } else {
            ""
        };
        let _ = writeln!(
            text,
            "\nTelemetry that is sent from here comes in and is judged{but}."
        );
    }
    text
}
