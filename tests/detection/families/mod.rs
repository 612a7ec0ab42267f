//! Runs that no threshold was fitted to: kinds of loops and of work that looks like them, each in many variants that a seed
//! chooses. What the default profile finds of them is held to bars kind by kind.

mod anew;
mod as_spans;
mod benches;
mod complaints;
mod counters;
mod crews;
mod desks;
mod doubles;
mod each_rule;
mod guarded;
mod inquiries;
mod lookalikes;
mod loops;
mod made;
mod offices;
mod pauses;
mod plants;
mod remarks;
mod repairs;
mod rounds;
mod scores;
mod screens;
mod services;
mod shell_runs;
mod stations;
mod terminals;
mod trades;
mod trials;
mod workshops;

use std::fmt::Write as _;
use std::fs;

use serde_json::{Value, json};

use crate::retold::{OTHERWISE, WITH_LESS};
use crate::support::eddy;
use made::Made;

/// Runs of each kind.
const VARIANTS: u64 = 12;

/// All kinds of loops.
fn all_loops() -> Vec<loops::Loop> {
    [
        loops::LOOPS,
        shell_runs::LOOPS,
        trades::LOOPS,
        desks::LOOPS,
        crews::LOOPS,
        services::LOOPS,
        benches::LOOPS,
        screens::LOOPS,
        counters::LOOPS,
        plants::LOOPS,
        stations::LOOPS,
        terminals::LOOPS,
        repairs::LOOPS,
        inquiries::LOOPS,
        complaints::LOOPS,
        anew::LOOPS,
        pauses::LOOPS,
        doubles::LOOPS,
        rounds::LOOPS,
        remarks::LOOPS,
        trials::LOOPS,
        offices::LOOPS,
        workshops::LOOPS,
    ]
    .concat()
}

/// All kinds of work that looks like them.
fn all_work() -> Vec<lookalikes::Work> {
    [
        lookalikes::WORK,
        shell_runs::WORK,
        trades::WORK,
        desks::WORK,
        crews::WORK,
        services::WORK,
        benches::WORK,
        screens::WORK,
        counters::WORK,
        plants::WORK,
        stations::WORK,
        terminals::WORK,
        repairs::WORK,
        inquiries::WORK,
        complaints::WORK,
        anew::WORK,
        pauses::WORK,
        doubles::WORK,
        rounds::WORK,
        remarks::WORK,
        trials::WORK,
        offices::WORK,
        workshops::WORK,
    ]
    .concat()
}

/// What the program says of runs, in their order.
fn verdicts(runs: &[Value]) -> Vec<Value> {
    verdicts_under("{}", runs)
}

/// The same under a configuration.
fn verdicts_under(config: &str, runs: &[Value]) -> Vec<Value> {
    let dir = tempfile::tempdir().expect("a directory");
    let [file, out, settings] =
        ["made.events.jsonl", "out.jsonl", "eddy.yaml"].map(|name| dir.path().join(name));
    fs::write(&settings, config).expect("written");
    let lines: Vec<_> = runs.iter().map(Value::to_string).collect();
    fs::write(&file, lines.join("\n")).expect("written");
    if let Some(copy) = std::env::var_os("EDDY_KEEP_RUNS") {
        fs::copy(&file, copy).expect("copied");
    }
    let [made, verdicts, config] =
        [&file, &out, &settings].map(|path| path.to_str().expect("UTF-8"));
    eddy(&[
        "eval",
        "--json",
        made,
        "--verdicts",
        verdicts,
        "--config",
        config,
    ]);
    let told = fs::read_to_string(&out).expect("verdicts");
    told.lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

/// The variants of one kind.
fn variants(kind: u64, build: fn(&mut Made)) -> Vec<Made> {
    variants_of(kind, build, VARIANTS)
}

/// So many variants of one kind.
fn variants_of(kind: u64, build: fn(&mut Made), count: u64) -> Vec<Made> {
    let first = std::env::var("EDDY_FIRST_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or(0);
    let made = |variant: u64| {
        let mut made = Made::new(kind * 1_000_003 + variant);
        build(&mut made);
        made
    };
    (first..first + count).map(made).collect()
}

fn run(kind: &str, variant: usize, made: &Made) -> Value {
    json!({"dataset": "made", "run_id": format!("{kind} {variant}"), "events": made.events})
}

/// All runs of some kinds, one kind after the other.
fn runs(kinds: &[(&str, Vec<Made>)]) -> Vec<Value> {
    let of_kind = |(kind, made): &(&str, Vec<Made>)| -> Vec<Value> {
        let numbered = made.iter().enumerate();
        numbered
            .map(|(variant, made)| run(kind, variant, made))
            .collect()
    };
    kinds.iter().flat_map(of_kind).collect()
}

/// Fewest runs of a kind, of [`VARIANTS`], that are seen, and that are seen in time.
const SEEN_MIN: u64 = 10;
const IN_TIME_MIN: u64 = 6;

/// Given loops of many kinds, nearly every one is seen, and by the repetition that is due; the kinds that are not seen are
/// known, and so are their reasons (`docs/detection.md`). Of a kind that is missed, some runs may be seen; not all of them, or
/// it is missed no more.
#[test]
fn loops_are_seen() {
    let all = all_loops();
    let kinds: Vec<_> = (0..)
        .zip(&all)
        .map(|(number, (kind, _, make))| (*kind, variants(number, *make)))
        .collect();
    let mut verdicts = verdicts(&runs(&kinds)).into_iter();
    let (mut table, mut bad) = (String::new(), Vec::new());
    let (mut seen_all, mut in_time_all) = (0, 0);
    for ((kind, made), (_, due, _)) in kinds.iter().zip(&all) {
        let (mut seen, mut in_time) = (0, 0);
        for made in made {
            let verdict = verdicts.next().expect("a verdict");
            let first = verdict["first_flag_event"].as_u64();
            let begins = made.begins as u64;
            seen += u64::from(first.is_some_and(|first| first >= begins));
            let last = made.again[due - 1] as u64;
            in_time += u64::from(first.is_some_and(|first| (begins..=last).contains(&first)));
        }
        writeln!(table, "| {kind} | {due} | {in_time} | {seen} |").expect("written");
        let is_held = if loops::MISSED.contains(kind) {
            seen < VARIANTS
        } else if loops::PARTLY.contains(kind) {
            seen > 0
        } else {
            seen_all += seen;
            in_time_all += in_time;
            seen >= SEEN_MIN && in_time >= IN_TIME_MIN
        };
        if !is_held {
            bad.push(*kind);
        }
    }
    println!("{table}");
    assert!(bad.is_empty(), "{bad:?}\n{table}");
    let all = VARIANTS * (kinds.len() - loops::MISSED.len() - loops::PARTLY.len()) as u64;
    assert!(
        seen_all * 100 >= all * 99 && in_time_all * 100 >= all * 97,
        "{seen_all}, {in_time_all} of {all}\n{table}"
    );
}

/// The variants of all kinds of work.
fn work() -> Vec<(&'static str, Vec<Made>)> {
    let numbered = (100..).zip(all_work());
    numbered
        .map(|(number, (kind, make))| (kind, variants(number, make)))
        .collect()
}

/// Given the same work without its arguments, or without its results, most of it is warned of no more, and next to none as
/// critical.
#[test]
fn work_of_which_less_is_told_is_hardly_critical() {
    let runs = runs(&work());
    for (name, change) in WITH_LESS {
        if !["arguments not recorded", "results not recorded"].contains(&name) {
            continue;
        }
        let mut told = runs.clone();
        told.iter_mut().for_each(change);
        let verdicts = verdicts(&told);
        let count = |key: &str, verdicts: &[Value]| {
            let is_so = |verdict: &&Value| verdict[key] == true;
            verdicts.iter().filter(is_so).count()
        };
        let (flagged, critical) = (count("flagged", &verdicts), count("critical", &verdicts));
        let all = runs.len();
        println!("| {name} | {flagged} of {all} | {critical} |");
        assert!(flagged * 100 <= all * 15, "{name}: {flagged} of {all}");
        assert!(critical * 100 <= all, "{name}: {critical} of {all}");
    }
}

/// Given the same work with its results in the envelopes of MCP servers, or with the calls of models told as well, it is judged
/// alike.
#[test]
fn work_told_in_another_way_is_the_same_work() {
    let plain = runs(&work());
    let judged = verdicts(&plain);
    let mut other = Vec::new();
    for (name, change) in OTHERWISE {
        if !["results in envelopes", "calls of models told"].contains(&name) {
            continue;
        }
        let mut told = plain.clone();
        told.iter_mut().for_each(change);
        for (plain, told) in judged.iter().zip(verdicts(&told)) {
            if plain["rules"] != told["rules"] {
                let (run, rules) = (&plain["run_id"], &told["rules"]);
                other.push(format!("{name}: {run}: {rules} for {}", plain["rules"]));
            }
        }
    }
    assert!(other.is_empty(), "{}", other.join("\n"));
}

/// Given work that looks like a loop, hardly any is warned of, and none as critical.
#[test]
fn work_is_not_warned_of() {
    let kinds = work();
    let mut verdicts = verdicts(&runs(&kinds)).into_iter();
    let (mut table, mut flagged_all, mut critical) = (String::new(), 0, Vec::new());
    for (kind, made) in &kinds {
        let (mut flagged, mut told) = (0, String::new());
        for (variant, _) in made.iter().enumerate() {
            let verdict = verdicts.next().expect("a verdict");
            if verdict["critical"] == true {
                critical.push(format!("{kind} {variant}"));
            }
            if verdict["flagged"] == true {
                flagged += 1;
                let (at, rules) = (&verdict["first_flag_event"], &verdict["rules"]);
                write!(told, " {variant} at {at}: {rules}").expect("written");
            }
        }
        writeln!(table, "| {kind} | {flagged} |{told}").expect("written");
        flagged_all += flagged;
    }
    println!("{table}");
    assert!(critical.is_empty(), "{critical:?}\n{table}");
    let all = VARIANTS * kinds.len() as u64;
    assert!(flagged_all * 100 <= all, "{flagged_all} of {all}\n{table}");
}
