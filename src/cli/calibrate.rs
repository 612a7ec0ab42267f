//! `eddy calibrate`: learns from good runs what is usual for each agent, and writes it as configuration of `unusual_run`.
//!
//! Split-conformal: one half of the runs says how much each agent does at most (its calls, and its repeats); the other half
//! says by which factor a good run goes beyond that, and the factor is taken that all but a given share of them stay below.
//! For a further good run of the same kind, the probability that it goes beyond is then at most `1 - k / (n + 1)`, where `n`
//! runs are in the second half and the factor is the `k`th smallest. That holds whatever the runs' lengths are distributed
//! like, over all agents and both measures together, as long as good runs come from where these came from.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::check::Bad;
use super::client::{ApiArgs, Client};
use super::failure::{Failure, answer};
use super::reading::every_run;
use super::running::blocking;
use super::{ConfigArgs, check, doctor};
use crate::json::{RunJson, WarningJson};
use crate::render::text;

/// Fewest good runs: half of them bound the rate of false alarms by one in eleven.
const RUNS_MIN: usize = 20;

/// Fewest runs that set the scale of an agent: one that is met less often may not be met again in the runs that give the factor.
const RUNS_OF_AGENT_MIN: usize = 5;

/// Most agents that are named as too seldom met.
const SELDOM_SHOWN_MAX: usize = 5;

/// What a share may be off by, being a binary fraction.
const ROUNDING: f64 = 1e-9;

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
    /// Share of good runs, above 0 and up to 0.5, that may be warned of
    #[arg(long, value_name = "SHARE", default_value_t = 0.05, allow_negative_numbers = true, value_parser = share)]
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
    let (runs, bad) = if args.from_store {
        args.config.none_for_a_daemon()?;
        let client = Client::new(&args.api)?;
        (blocking(every_run(&client))?, HashMap::new())
    } else {
        check::judged(&args.files, &args.config)?
    };
    let mut good = Vec::new();
    let mut among = Among {
        runs: runs.len(),
        ..Among::default()
    };
    for run in &runs {
        match why_left_out(run, bad.get(&*run.run_id)) {
            Some(why) => *among.left_out.entry(why).or_default() += 1,
            None => good.push(Run::of(run)),
        }
    }
    answer(&fragment(good, &among, args.false_alarms)?)
}

/// Why nothing is learned from a run.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum LeftOut {
    /// There are warnings of it.
    Warned,
    /// More may come of it.
    Open,
    Failed,
    /// Somebody has labelled it as a loop.
    Looping,
    /// Nothing was done in it, or `eddy doctor` sent it: it is no agent's.
    Nobodys,
}

impl LeftOut {
    /// What such runs are.
    fn name(&self) -> &'static str {
        match self {
            Self::Warned => "with open warnings",
            Self::Open => "not over yet",
            Self::Failed => "that failed",
            Self::Looping => "labelled as looping",
            Self::Nobodys => "without work of an agent",
        }
    }
}

fn why_left_out(run: &RunJson, bad: Option<&Bad>) -> Option<LeftOut> {
    if run.work.is_empty() || run.service.as_deref() == Some(doctor::SERVICE) {
        return Some(LeftOut::Nobodys);
    }
    if let Some(bad) = bad {
        return Some(match bad {
            Bad::Looping => LeftOut::Looping,
            Bad::Failed => LeftOut::Failed,
        });
    }
    match run.ended.as_str() {
        "ok" | "idle" => is_warned_of(run).then_some(LeftOut::Warned),
        "failed" => Some(LeftOut::Failed),
        _ => Some(LeftOut::Open),
    }
}

/// Whether a run is stuck by its own verdict, or may be. What was learned before does not count: it is to be learned anew.
fn is_warned_of(run: &RunJson) -> bool {
    let is_grave = |warning: &WarningJson| {
        let is_open = warning.state == "open" && warning.severity != "info";
        is_open && warning.rule != "unusual_run"
    };
    run.status == "likely_stuck" || run.warnings.iter().any(is_grave)
}

/// The runs among which the good ones were found.
#[derive(Default)]
struct Among {
    runs: usize,
    left_out: BTreeMap<LeftOut, usize>,
}

impl Among {
    /// How many were left out, and why; nothing where none was.
    fn left_out(&self) -> Option<String> {
        let some = self.left_out.iter();
        let some: Vec<_> = some
            .map(|(why, count)| format!("{count} {}", why.name()))
            .collect();
        (!some.is_empty()).then(|| some.join(", "))
    }
}

/// What the agents of one run did: calls, and repeats.
struct Run {
    id: String,
    work: BTreeMap<String, [u64; 2]>,
}

impl Run {
    fn of(run: &RunJson) -> Self {
        let work = run.work.iter();
        let work = work.map(|work| (work.agent.to_string(), [work.calls, work.repeats]));
        Self {
            id: run.run_id.clone(),
            work: work.collect(),
        }
    }
}

/// The most that runs do, by agent; repeats count from one, so that there is a factor to none.
struct Scale {
    most: BTreeMap<String, [f64; 2]>,
    /// Agents of too few runs, which count among the others.
    seldom: Vec<String>,
}

impl Scale {
    fn of(runs: &[Run]) -> Self {
        let mut most: BTreeMap<String, [f64; 2]> = BTreeMap::new();
        let mut met: BTreeMap<String, usize> = BTreeMap::new();
        for (agent, measures) in runs.iter().flat_map(|run| &run.work) {
            *met.entry(agent.clone()).or_default() += 1;
            for name in [agent.as_str(), OTHERS] {
                let most = most.entry(name.to_owned()).or_insert([1.0; 2]);
                for (most, measure) in most.iter_mut().zip(from_one(*measures)) {
                    *most = most.max(measure);
                }
            }
        }
        met.retain(|agent, runs| *runs < RUNS_OF_AGENT_MIN && agent != OTHERS);
        most.retain(|agent, _| !met.contains_key(agent));
        Self {
            most,
            seldom: met.into_keys().collect(),
        }
    }

    /// Which agents have no entry of their own; nothing where all have.
    fn left_to_others(&self) -> Option<String> {
        let shown: Vec<_> = self.seldom.iter().take(SELDOM_SHOWN_MAX).collect();
        let more = self.seldom.len() - shown.len();
        let names: Vec<_> = shown.iter().map(|name| json!(name).to_string()).collect();
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        (!shown.is_empty()).then(|| {
            format!(
                "# In \"*\", being in fewer than {RUNS_OF_AGENT_MIN} of the runs that set the scale: {}{more}.\n",
                names.join(", ")
            )
        })
    }

    /// By which factor a run goes beyond the scale, in whatever measure it does most.
    fn factor(&self, run: &Run) -> f64 {
        let others = [1.0; 2];
        let of_agent = |(agent, measures): (&String, &[u64; 2])| {
            let scale = self.most.get(agent).or_else(|| self.most.get(OTHERS));
            let scale = scale.unwrap_or(&others);
            let measures = from_one(*measures);
            (measures[0] / scale[0]).max(measures[1] / scale[1])
        };
        run.work.iter().map(of_agent).fold(0.0, f64::max)
    }
}

fn from_one([calls, repeats]: [u64; 2]) -> [f64; 2] {
    [calls as f64, (repeats + 1) as f64]
}

/// The configuration that good runs give, and what it promises.
fn fragment(mut good: Vec<Run>, among: &Among, false_alarms: f64) -> Result<String, Failure> {
    if good.len() < RUNS_MIN {
        let left_out = among.left_out().map(|text| format!("; left out: {text}"));
        return Err(Failure::Other(format!(
            "{} of {} too few to learn from: at least {RUNS_MIN} are needed to bound false alarms{}",
            text::counted(good.len() as u64, "good run"),
            match good.len() {
                1 => format!("{} is", among.runs),
                _ => format!("{} are", among.runs),
            },
            left_out.unwrap_or_default()
        )));
    }
    // The halves must not depend on what the runs did, nor on the order in which they came.
    good.sort_by_cached_key(|run| xxhash_rust::xxh3::xxh3_64(run.id.as_bytes()));
    let bounding = good.split_off(good.len() / 2);
    let scale = Scale::of(&good);
    let mut factors: Vec<f64> = bounding.iter().map(|run| scale.factor(run)).collect();
    factors.sort_by(f64::total_cmp);
    let n = factors.len();
    let allowed = ((n + 1) as f64 * false_alarms + ROUNDING) as usize;
    let beyond = allowed.max(1);
    let k = n + 1 - beyond;
    // A bound is rounded up: less would not be promised.
    let bound = (beyond as f64 / (n + 1) as f64 * 1e3 - ROUNDING).ceil() / 10.0;
    let mut text = format!(
        "# Learned by `eddy calibrate` from {} good runs: {} set the scale, {n} the bound.\n\
         # A good run of the same kind goes beyond this with a probability of at most {bound:.1} % (split-conformal, {n} runs).\n",
        good.len() + n,
        good.len()
    );
    if allowed == 0 {
        let needed = 2.0 * (1.0 / false_alarms - ROUNDING).ceil() - 3.0;
        let share = false_alarms * 100.0;
        let _ = writeln!(
            text,
            "# For {share:.1} % there must be {needed:.0} good runs."
        );
    }
    if let Some(left_out) = among.left_out() {
        let _ = writeln!(text, "# Left out: {left_out}.");
    }
    text.extend(scale.left_to_others());
    text.push_str("detectors:\n  rules:\n    unusual_run:\n      alarm: { severity: warning, penalty: 20 }\n      agents:\n");
    for (agent, most) in &scale.most {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Given runs in number, what is promised is what was asked for, or else it is said how many runs that would take: with so
    /// many it is promised, and with one less it is not.
    #[test]
    fn what_is_promised_agrees_with_what_is_asked_for() {
        let learned = |runs: usize, false_alarms: f64| {
            let run = |id: usize| Run {
                id: id.to_string(),
                work: BTreeMap::from([("a".to_owned(), [5, 1])]),
            };
            let among = Among {
                runs,
                ..Among::default()
            };
            fragment((0..runs).map(run).collect(), &among, false_alarms).unwrap()
        };
        for (runs, share, bound, needed) in [
            (20, 0.05, "9.1", Some("For 5.0 % there must be 37 good")),
            (36, 0.05, "5.3", Some("For 5.0 % there must be 37 good")),
            (37, 0.05, "5.0", None),
            (64, 0.03, "3.1", Some("For 3.0 % there must be 65 good")),
            (65, 0.03, "3.0", None),
            (40, 0.3, "28.6", None),
            (20, 0.5, "45.5", None),
        ] {
            let text = learned(runs, share);
            let promise = format!("of at most {bound} %");
            assert!(text.contains(&promise), "{runs} {share}: {text}");
            assert_eq!(
                needed.is_some(),
                text.contains("there must be"),
                "{runs} {share}: {text}"
            );
            assert!(text.contains(needed.unwrap_or_default()), "{text}");
        }
    }
}
