//! `eddy check`: recorded telemetry through the daemon's own normalizing and engine, without a daemon.
//!
//! Files are read into reports (`files.rs`), all of them one stream; the reports go through the shard's own routing into
//! one state a run (`replay.rs`); at the end every run counts as over. `--shuffle` permutes the reports first: promise P3
//! says that the answer stays the same, and this is how anybody can try.

use std::io;
use std::path::PathBuf;
use std::time::SystemTime;

use clap::Args;
use serde::Serialize;

use super::ConfigArgs;
use super::failure::{Failure, answer, answer_json};
use super::render::run::run_page;
use super::render::table::runs_table;
use super::render::text::{Look, clean};
use crate::config;
use crate::json::RunJson;

mod files;
mod replay;

/// Most runs that are shown one by one to a person; a table lists them all.
const PAGES_MAX: usize = 10;

#[derive(Clone, Debug, Args)]
pub(super) struct CheckArgs {
    /// Recorded telemetry
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    config: ConfigArgs,
    /// Exit with code 3 if any run scores less than N, 0 to 100
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=100))]
    fail_below: Option<u32>,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
    /// Permute spans and log records before they are read, always the same way for the same number
    #[arg(long, value_name = "SEED")]
    shuffle: Option<u64>,
}

#[derive(Serialize)]
struct Answer {
    runs: Vec<RunJson>,
}

pub(super) fn run(args: &CheckArgs) -> Result<(), Failure> {
    let loaded = config::load(&args.config.sources())?;
    let mut replay = replay::Replay::new(loaded.settings.policy);
    let mut reader = files::Reader::default();
    if let Some(seed) = args.shuffle {
        let mut reports = Vec::new();
        for file in &args.files {
            reader.read(file, &mut |report| reports.push(report))?;
        }
        shuffle(&mut reports, seed);
        reports.into_iter().for_each(|report| replay.report(report));
    } else {
        for file in &args.files {
            reader.read(file, &mut |report| replay.report(report))?;
        }
    }
    let runs: Vec<RunJson> = replay.finish().iter().map(RunJson::from).collect();
    show(args, &reader, &runs)?;
    judge(args, &runs)
}

fn show(args: &CheckArgs, reader: &files::Reader, runs: &[RunJson]) -> Result<(), Failure> {
    if args.json {
        let runs = runs.to_vec();
        return answer_json(&Answer { runs });
    }
    let look = Look::of(&io::stdout());
    let mut page = runs_table(look, runs, SystemTime::now());
    let warned: Vec<&RunJson> = runs.iter().filter(|run| !run.warnings.is_empty()).collect();
    for run in warned.iter().take(PAGES_MAX) {
        page.push('\n');
        page.push_str(&run_page(look, run));
    }
    if warned.len() > PAGES_MAX {
        let rest = warned.len() - PAGES_MAX;
        page.push_str(&format!(
            "\n… and {rest} more runs with warnings; --json shows all of them.\n"
        ));
    }
    page.push_str(&format!("\n{}\n", reader.summary(runs.len())));
    answer(&page)
}

fn judge(args: &CheckArgs, runs: &[RunJson]) -> Result<(), Failure> {
    let Some(least) = args.fail_below else {
        return Ok(());
    };
    let low: Vec<&RunJson> = runs.iter().filter(|run| run.score < least).collect();
    let Some(worst) = low.iter().min_by_key(|run| run.score) else {
        return Ok(());
    };
    let runs = if low.len() == 1 {
        "1 run scores".to_owned()
    } else {
        format!("{} runs score", low.len())
    };
    let worst = format!(
        "the lowest is {} with {}",
        clean(&worst.run_id),
        worst.score
    );
    Err(Failure::Unhealthy(format!("{runs} below {least}; {worst}")))
}

/// Permutes in a way that depends on the seed alone (Fisher and Yates, with splitmix64).
fn shuffle<T>(items: &mut [T], seed: u64) {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    for last in (1..items.len()).rev() {
        let other = (next() % (last as u64 + 1)) as usize;
        items.swap(last, other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Given a seed, the same permutation comes out every time; given another, another.
    #[test]
    fn shuffling_depends_on_the_seed_alone() {
        let shuffled = |seed| {
            let mut items: Vec<u32> = (0..100).collect();
            shuffle(&mut items, seed);
            items
        };
        assert_eq!(shuffled(7), shuffled(7));
        assert_ne!(shuffled(7), shuffled(8));
        let mut sorted = shuffled(7);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..100).collect::<Vec<u32>>());
    }
}
