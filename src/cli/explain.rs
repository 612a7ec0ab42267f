//! `eddy explain`: why a warning was raised, and what would silence it.
//!
//! Asks a daemon, which looks the run up by the warning; or, given files, judges them as `eddy check` does.

use std::io;
use std::path::PathBuf;
use std::time::SystemTime;

use clap::Args;

use super::client::{ApiArgs, Client};
use super::failure::{Failure, answer, answer_json};
use super::reading::every_run;
use super::running::blocking;
use super::{ConfigArgs, check};
use crate::engine::RunState;
use crate::json::{ExplanationJson, RunJson, hex_id, warning_id};
use crate::render::explain::explanation_page;
use crate::render::text::{Look, clean};

#[derive(Clone, Debug, Args)]
pub(super) struct ExplainArgs {
    /// The warning's id, as pages and alerts show it
    #[arg(value_name = "WARNING")]
    warning: String,
    /// Recorded telemetry to judge, instead of asking a daemon
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The run, where it is known: without it all runs are looked through
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    #[command(flatten)]
    config: ConfigArgs,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    api: ApiArgs,
}

pub(super) fn run(args: &ExplainArgs) -> Result<(), Failure> {
    let Some(warning) = warning_id(&args.warning) else {
        return Err(Failure::Usage(format!(
            "`{}` is no warning's id: it has sixteen hexadecimal digits, which `eddy run ID` and each alert show",
            clean(&args.warning)
        )));
    };
    let explanation = if args.files.is_empty() {
        args.config.none_for_a_daemon()?;
        blocking(asked(args, warning))?
    } else {
        judged(args, warning)?
    };
    if args.json {
        return answer_json(&explanation);
    }
    let look = Look::of(&io::stdout());
    answer(&explanation_page(look, &explanation, SystemTime::now()))
}

async fn asked(args: &ExplainArgs, warning: u64) -> Result<ExplanationJson, Failure> {
    let client = Client::new(&args.api)?;
    let run_id = match &args.run {
        Some(run_id) => run_id.clone(),
        None => run_of(&client, &hex_id(warning)).await?,
    };
    let path = ["v1", "warnings", &hex_id(warning)];
    Ok(client.get(&path, &[("run_id", &run_id)]).await?)
}

/// The run that has a warning.
async fn run_of(client: &Client, warning: &str) -> Result<String, Failure> {
    let has = |run: &RunJson| run.warnings.iter().any(|known| known.id == warning);
    if let Some(run) = every_run(client).await?.into_iter().find(has) {
        return Ok(run.run_id);
    }
    Err(Failure::Other(format!(
        "no run has the warning {warning}: `eddy runs` and `eddy run ID` show which there are"
    )))
}

/// The same from files.
fn judged(args: &ExplainArgs, warning: u64) -> Result<ExplanationJson, Failure> {
    let (runs, policy) = check::states(&args.files, &args.config)?;
    let none = || {
        Failure::Other(format!(
            "no run of these files has the warning {}, as the profile {} judges them",
            args.warning,
            policy.profile.as_str()
        ))
    };
    let is_asked = |state: &&RunState| args.run.as_deref().is_none_or(|run| &**state.id() == run);
    let explained = runs.iter().filter(is_asked).find_map(|state| {
        let explanation = state.explain(warning, &policy)?;
        // Whoever has the files has the arguments.
        let shown = ExplanationJson::new(state.id(), &explanation, &policy);
        Some(shown.with_samples(&explanation))
    });
    explained.ok_or_else(none)
}
