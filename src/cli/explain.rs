//! `eddy explain`: why a warning was raised, and what would silence it.
//!
//! Asks a daemon, which looks the run up by the warning; or, given files, judges them as `eddy check` does.

use std::io;
use std::path::PathBuf;

use clap::Args;
use serde::Deserialize;

use super::client::Client;
use super::failure::{Failure, answer, answer_json};
use super::reading::ApiArgs;
use super::render::explain::explanation_page;
use super::render::text::Look;
use super::{ConfigArgs, blocking, check};
use crate::json::{ExplanationJson, RunJson};

/// Most pages of runs that are looked through for a warning: a hundred thousand runs.
const PAGES_MAX: usize = 100;

/// Runs asked for at a time: the API gives no more at once.
const PAGE: &str = "1000";

#[derive(Clone, Debug, Args)]
pub(super) struct ExplainArgs {
    /// The warning's id, as pages and alerts show it
    #[arg(value_name = "WARNING")]
    warning: String,
    /// Recorded telemetry to judge, instead of asking a daemon
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The run, where it is known: without it the daemon's runs are looked through
    #[arg(long, value_name = "ID", conflicts_with = "files")]
    run: Option<String>,
    #[command(flatten)]
    config: ConfigArgs,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    api: ApiArgs,
}

#[derive(Deserialize)]
struct Page {
    runs: Vec<RunJson>,
    next_page_token: Option<String>,
}

pub(super) fn run(args: &ExplainArgs) -> Result<(), Failure> {
    let explanation = if args.files.is_empty() {
        blocking(asked(args))?
    } else {
        judged(args)?
    };
    if args.json {
        return answer_json(&explanation);
    }
    answer(&explanation_page(Look::of(&io::stdout()), &explanation))
}

async fn asked(args: &ExplainArgs) -> Result<ExplanationJson, Failure> {
    let client = Client::new(&args.api)?;
    let run_id = match &args.run {
        Some(run_id) => run_id.clone(),
        None => run_of(&client, &args.warning).await?,
    };
    let path = ["v1", "warnings", &args.warning];
    Ok(client.get(&path, &[("run_id", &run_id)]).await?)
}

/// The run that has a warning.
async fn run_of(client: &Client, warning: &str) -> Result<String, Failure> {
    let mut token = String::new();
    for _ in 0..PAGES_MAX {
        let mut query = vec![("limit", PAGE)];
        if !token.is_empty() {
            query.push(("page_token", &token));
        }
        let page: Page = client.get(&["v1", "runs"], &query).await?;
        let has = |run: &&RunJson| run.warnings.iter().any(|known| known.id == warning);
        if let Some(run) = page.runs.iter().find(has) {
            return Ok(run.run_id.clone());
        }
        match page.next_page_token {
            Some(next) => token = next,
            None => break,
        }
    }
    Err(Failure::Other(format!(
        "no run has the warning {warning}: `eddy runs` and `eddy run ID` show which there are"
    )))
}

/// The same from files.
fn judged(args: &ExplainArgs) -> Result<ExplanationJson, Failure> {
    let none = || {
        Failure::Other(format!(
            "no run of these files has the warning {}",
            args.warning
        ))
    };
    let id = u64::from_str_radix(&args.warning, 16).map_err(|_| none())?;
    let (runs, policy) = check::states(&args.files, &args.config)?;
    let explained = runs.iter().find_map(|state| {
        let explanation = state.explain(id, &policy)?;
        Some(ExplanationJson::new(state.id(), &explanation, &policy))
    });
    explained.ok_or_else(none)
}
