//! `eddy calibrate`: learns from good runs what is usual for each agent, and writes it as configuration of `unusual_run`.
//!
//! Split-conformal: one half of the runs says how much each agent does at most (its calls, and its repeats); the other half
//! says by which factor a good run goes beyond that, and the factor is taken that all but a given share of them stay below.
//! For a further good run of the same kind, the probability that it goes beyond is then at most `1 - k / (n + 1)`, where `n`
//! runs are in the second half and the factor is the `k`th smallest. That holds whatever the runs' lengths are distributed
//! like, over all agents and both measures together, as long as good runs come from where these came from.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::client::{ApiArgs, Client};
use super::failure::{Failure, answer};
use super::reading::every_run;
use super::{ConfigArgs, blocking, check};
use crate::json::RunJson;

/// Fewest good runs: half of them bound the rate of false alarms by one in eleven.
const RUNS_MIN: usize = 20;

/// The entry for agents that are not named.
const OTHERS: &str = "*";

#[derive(Clone, Debug, Args)]
pub(super) struct CalibrateArgs {
    /// Recorded telemetry of good runs
    #[arg(value_name = "FILE", required_unless_present = "from_store")]
    files: Vec<PathBuf>,
    /// Learn from the runs that a daemon remembers and that ended well
    #[arg(long, conflicts_with = "files")]
    from_store: bool,
    /// Share of good runs, 0 to 0.5, that may be warned of
    #[arg(long, value_name = "SHARE", default_value_t = 0.05, value_parser = share)]
    false_alarms: f64,
    #[command(flatten)]
    config: ConfigArgs,
    #[command(flatten)]
    api: ApiArgs,
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok();
    let share = share.filter(|share| *share > 0.0 && *share <= 0.5);
    share.ok_or_else(|| "expected a share above 0 and up to 0.5".to_owned())
}

pub(super) fn run(args: &CalibrateArgs) -> Result<(), Failure> {
    let runs = if args.from_store {
        let client = Client::new(&args.api)?;
        blocking(every_run(&client))?
    } else {
        check::judged(&args.files, &args.config)?
    };
    let good: Vec<Run> = runs.iter().filter_map(Run::good).collect();
    answer(&fragment(good, runs.len(), args.false_alarms)?)
}

/// What the agents of one run did: calls, and repeats.
struct Run {
    id: String,
    work: BTreeMap<String, [u64; 2]>,
}

impl Run {
    /// A run that did not fail and is over; nothing is learned from others.
    fn good(run: &RunJson) -> Option<Self> {
        let is_good = matches!(run.ended.as_str(), "ok" | "idle") && !run.work.is_empty();
        let work = run.work.iter();
        is_good.then(|| Self {
            id: run.run_id.clone(),
            work: work
                .map(|work| (work.agent.to_string(), [work.calls, work.repeats]))
                .collect(),
        })
    }
}

/// The most that runs do, by agent; repeats count from one, so that there is a factor to none.
struct Scale(BTreeMap<String, [f64; 2]>);

impl Scale {
    fn of(runs: &[Run]) -> Self {
        let mut scale: BTreeMap<String, [f64; 2]> = BTreeMap::new();
        for (agent, measures) in runs.iter().flat_map(|run| &run.work) {
            for name in [agent.as_str(), OTHERS] {
                let most = scale.entry(name.to_owned()).or_insert([1.0; 2]);
                for (most, measure) in most.iter_mut().zip(counted(*measures)) {
                    *most = most.max(measure);
                }
            }
        }
        Self(scale)
    }

    /// By which factor a run goes beyond the scale, in whatever measure it does most.
    fn factor(&self, run: &Run) -> f64 {
        let others = [1.0; 2];
        let of_agent = |(agent, measures): (&String, &[u64; 2])| {
            let scale = self.0.get(agent).or_else(|| self.0.get(OTHERS));
            let scale = scale.unwrap_or(&others);
            let measures = counted(*measures);
            (measures[0] / scale[0]).max(measures[1] / scale[1])
        };
        run.work.iter().map(of_agent).fold(0.0, f64::max)
    }
}

fn counted([calls, repeats]: [u64; 2]) -> [f64; 2] {
    [calls as f64, (repeats + 1) as f64]
}

/// The configuration that good runs give, and what it promises.
fn fragment(mut good: Vec<Run>, all: usize, false_alarms: f64) -> Result<String, Failure> {
    if good.len() < RUNS_MIN {
        return Err(Failure::Other(format!(
            "{} good runs of {all} are too few to learn from: at least {RUNS_MIN} are needed to bound false alarms",
            good.len()
        )));
    }
    // The halves must not depend on what the runs did, nor on the order in which they came.
    good.sort_by_cached_key(|run| xxhash_rust::xxh3::xxh3_64(run.id.as_bytes()));
    let bounding = good.split_off(good.len() / 2);
    let scale = Scale::of(&good);
    let mut factors: Vec<f64> = bounding.iter().map(|run| scale.factor(run)).collect();
    factors.sort_by(f64::total_cmp);
    let n = factors.len();
    let k = (((n + 1) as f64 * (1.0 - false_alarms)).ceil() as usize).clamp(1, n);
    let bound = 1.0 - k as f64 / (n + 1) as f64;
    let mut text = format!(
        "# Learned by `eddy calibrate` from {} good runs: {} set the scale, {n} the bound.\n\
         # A good run of the same kind goes beyond this with a probability of at most {:.1} % (split-conformal, {n} runs).\n",
        good.len() + n,
        good.len(),
        bound * 100.0
    );
    if bound > false_alarms {
        let needed = 2 * (1.0 / false_alarms).ceil() as usize;
        let _ = writeln!(
            text,
            "# For {:.1} % there must be about {needed} good runs.",
            false_alarms * 100.0
        );
    }
    text.push_str("detectors:\n  rules:\n    unusual_run:\n      alarm: { severity: warning, penalty: 20 }\n      agents:\n");
    for (agent, most) in &scale.0 {
        let [calls, repeats] = most.map(|most| (most * factors[k - 1]).floor() as u64);
        let repeats = repeats.saturating_sub(1);
        let _ = writeln!(
            text,
            "        {}: {{ calls: {calls}, repeats: {repeats} }}",
            json!(agent)
        );
    }
    Ok(text)
}
