//! `eddy runs` and `eddy run`: what a daemon knows of runs.

use std::fmt::Write as _;
use std::io;
use std::time::SystemTime;

use clap::Args;
use clap::builder::{
    NonEmptyStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser,
};
use serde::Deserialize;

use super::client::{ApiArgs, Client};
use super::failure::{Failure, answer, answer_json, remark};
use super::running::blocking;
use crate::engine::view::Status;
use crate::json::RunJson;
use crate::render::run::run_page;
use crate::render::table::runs_table;
use crate::render::text::{Look, shell_word};

/// Most runs that one request asks for: the API gives no more at once.
const PAGE_MAX: usize = 1000;

#[derive(Clone, Debug, Args)]
pub(super) struct RunsArgs {
    /// How many
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// Only runs of these statuses, separated by commas
    #[arg(long, value_name = "STATUS", value_delimiter = ',', value_parser = statuses())]
    status: Vec<String>,
    /// Only runs in which this agent took part, as one of the first sixteen
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    agent: Option<String>,
    /// Print a JSON list
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    api: ApiArgs,
}

#[derive(Clone, Debug, Args)]
pub(super) struct RunArgs {
    /// The run's id
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    id: String,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    api: ApiArgs,
}

/// The statuses, of which the one of two words may be written as it is shown.
fn statuses() -> impl TypedValueParser<Value = String> {
    let statuses = Status::ALL.map(|status| {
        let value = PossibleValue::new(status.name());
        match status {
            Status::LikelyStuck => value.aliases(["likely stuck", "likely-stuck"]),
            _ => value,
        }
    });
    PossibleValuesParser::new(statuses).map(|status| status.replace([' ', '-'], "_"))
}

impl RunsArgs {
    /// The command that shows more of the same runs.
    fn for_more(&self) -> Result<String, Failure> {
        let mut command = format!("eddy runs --limit {}", self.limit.saturating_mul(5));
        if !self.status.is_empty() {
            let _ = write!(command, " --status {}", shell_word(&self.status.join(",")));
        }
        if let Some(agent) = &self.agent {
            // A name may begin like an option.
            let _ = write!(command, " --agent={}", shell_word(agent));
        }
        Ok(command + &self.api.flags()?)
    }
}

#[derive(Deserialize)]
struct Page {
    runs: Vec<RunJson>,
    next_page_token: Option<String>,
}

pub(super) fn runs(args: &RunsArgs) -> Result<(), Failure> {
    let client = Client::new(&args.api)?;
    let (runs, more) = blocking(newest(&client, args))?;
    if args.json {
        answer_json(&runs)?;
    } else {
        let look = Look::of(&io::stdout());
        answer(&runs_table(look, &runs, SystemTime::now()))?;
    }
    if runs.is_empty() && args.status.is_empty() && args.agent.is_none() {
        remark(format_args!(
            "In the shell from which an agent is started, `eddy doctor{}` says whether its telemetry comes here.",
            args.api.flags()?
        ));
    }
    if more {
        remark(format_args!("There are more: {}", args.for_more()?));
    }
    Ok(())
}

pub(super) fn run(args: &RunArgs) -> Result<(), Failure> {
    let client = Client::new(&args.api)?;
    let run = blocking(one(&client, &args.id))?;
    if args.json {
        return answer_json(&run);
    }
    answer(&run_page(Look::of(&io::stdout()), &run))
}

async fn one(client: &Client, id: &str) -> Result<RunJson, Failure> {
    if ![".", ".."].contains(&id) {
        return Ok(client.get(&["v1", "runs", id], &[]).await?);
    }
    // In a URL, these would be places in it.
    let runs = every_run(client).await?;
    let run = runs.into_iter().find(|run| run.run_id == id);
    run.ok_or_else(|| Failure::Other(format!("no run `{id}`: `eddy runs` shows which there are")))
}

/// Pages of runs that are looked through where all runs are asked for: a hundred thousand runs.
const PAGES_MAX: usize = 100;

/// Every run that the daemon remembers, newest first; the first hundred thousand of them.
pub(super) async fn every_run(client: &Client) -> Result<Vec<RunJson>, Failure> {
    let size = PAGE_MAX.to_string();
    let (mut runs, mut token) = (Vec::new(), String::new());
    for _ in 0..PAGES_MAX {
        let mut query = vec![("limit", size.as_str())];
        if !token.is_empty() {
            query.push(("page_token", &token));
        }
        let page: Page = client.get(&["v1", "runs"], &query).await?;
        runs.extend(page.runs);
        match page.next_page_token {
            Some(next) => token = next,
            None => break,
        }
    }
    Ok(runs)
}

/// The newest runs, page by page, and whether there are more. A page may be short, or empty, before the last.
async fn newest(client: &Client, args: &RunsArgs) -> Result<(Vec<RunJson>, bool), Failure> {
    let limit = args.limit as usize;
    let mut runs = Vec::new();
    let mut token = String::new();
    while runs.len() < limit {
        let page = page(client, args, limit - runs.len(), &token).await?;
        runs.extend(page.runs);
        match page.next_page_token {
            Some(next) => token = next,
            None => return Ok((runs, false)),
        }
    }
    // A full page has a token also where nothing is behind it.
    let behind = page(client, args, 1, &token).await?;
    let more = !behind.runs.is_empty() || behind.next_page_token.is_some();
    Ok((runs, more))
}

async fn page(client: &Client, args: &RunsArgs, most: usize, token: &str) -> Result<Page, Failure> {
    let (size, statuses) = (most.min(PAGE_MAX).to_string(), args.status.join(","));
    let mut query = vec![("limit", size.as_str())];
    let optional = [
        ("page_token", token),
        ("status", statuses.as_str()),
        ("agent", args.agent.as_deref().unwrap_or_default()),
    ];
    query.extend(optional.into_iter().filter(|(_, value)| !value.is_empty()));
    Ok(client.get(&["v1", "runs"], &query).await?)
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, Parser as _};

    use crate::cli::{Cli, Command};

    /// Given a list that was cut, the command that shows more asks the same daemon for the same runs.
    #[test]
    fn more_are_more_of_the_same() {
        for (asked, expected) in [
            ("runs", "eddy runs --limit 100"),
            (
                "runs --limit 3 --api 127.0.0.1:1 --status failed,blind --agent=-it's",
                r"eddy runs --limit 15 --status failed,blind --agent='-it'\''s' --api 127.0.0.1:1",
            ),
            (
                "runs --status likely-stuck",
                "eddy runs --limit 100 --status likely_stuck",
            ),
            (
                "runs --api https://[::1]:1 --ca-file /a/ca.pem",
                "eddy runs --limit 100 --api 'https://[::1]:1' --ca-file /a/ca.pem",
            ),
        ] {
            let asked = ["eddy"].into_iter().chain(asked.split(' '));
            let Some(Command::Runs(args)) = Cli::parse_from(asked).command else {
                panic!("{expected}");
            };
            assert_eq!(args.for_more().unwrap(), expected);
        }
    }

    /// Given that runs are listed by another time than the one shown, the help says by which.
    #[test]
    fn the_order_is_told() {
        let mut cli = Cli::command();
        let help = cli.find_subcommand_mut("runs").unwrap().render_long_help();
        let help = help.to_string();
        assert!(help.contains("first heard of last"), "{help}");
    }
}
