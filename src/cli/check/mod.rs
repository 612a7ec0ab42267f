//! `eddy check`: recorded telemetry through the daemon's own normalizing and engine, without a daemon.
//!
//! Files are read into reports (`files.rs`), all of them one stream; the reports go through the shard's own routing into
//! one state a run, in the order of their times (`replay.rs`); at the end every run counts as over. `--shuffle` permutes the
//! reports first: the answer stays the same, and this is how anybody can try.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use clap::Args;
use serde::Serialize;

use super::ConfigArgs;
use super::failure::{Failure, answer, answer_json, read_or_not, remark};
use crate::config;
use crate::engine::RunState;
use crate::engine::event::Text;
use crate::engine::health::{HEALTHY_FROM, WARNING_FROM};
use crate::engine::policy::Policy;
use crate::engine::view::Status;
use crate::json::RunJson;
use crate::render::run::run_page;
use crate::render::table::runs_table;
use crate::render::text::{Look, clean, counted, wrap};

mod content;
mod files;
mod replay;

use files::Unread;

pub(super) use content::{BYTE_ORDER_MARK, STANDARD_INPUT, wrong};
pub(super) use files::Bad;

/// Most runs that are shown one by one to a person; a table lists them all.
const PAGES_MAX: usize = 10;

#[derive(Clone, Debug, Args)]
pub(super) struct CheckArgs {
    /// Recorded telemetry
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    config: ConfigArgs,
    /// Exit with code 3 if any run scores less than N, 0 to 100, is called worse than a run of that score, or is blind, and with 1
    /// if there is no run, or not all could be read; with 80, only healthy runs pass
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(0..=100))]
    fail_below: Option<u32>,
    /// Show every run that has warnings or is blind, not the first ten alone
    #[arg(long)]
    all: bool,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
    /// Permute spans and log records before they are read, always the same way for the same number
    #[arg(long, value_name = "SEED", allow_negative_numbers = true)]
    shuffle: Option<u64>,
}

#[derive(Serialize)]
struct Answer {
    runs: Vec<RunJson>,
    left_out: Unread,
}

pub(super) fn run(args: &CheckArgs) -> Result<(), Failure> {
    let (reader, runs) = replayed(args)?;
    read_or_not(show(args, &reader, &runs))?;
    if let Some(late) = too_late(&runs) {
        remark(late);
    }
    judge(args, &runs, reader.told_unread())
}

/// How many reports came too late to count, for what is more than can be held; nothing where none did.
fn too_late(runs: &[RunJson]) -> Option<String> {
    let late: u64 = runs.iter().map(|run| run.late_events).sum();
    let told = || counted(late, "report") + " too late to count: give fewer files at a time";
    (late > 0).then(told)
}

/// Every run of the files, and what was in them.
fn replayed(args: &CheckArgs) -> Result<(files::Reader, Vec<RunJson>), Failure> {
    let (reader, replay) = read(&args.files, &args.config, args.shuffle)?;
    Ok((reader, replay.finish()))
}

/// The states of every run of the files, now over, also of those that are not listed, and the policy by which they were judged.
pub(super) fn states(
    files: &[PathBuf],
    config: &ConfigArgs,
) -> Result<(Vec<RunState>, Arc<Policy>), Failure> {
    let (_, replay) = read(files, config, None)?;
    Ok(replay.into_states())
}

/// Every run of the files, now over, in the order in which they began, and what their source says against some.
pub(super) fn judged(
    files: &[PathBuf],
    config: &ConfigArgs,
) -> Result<(Vec<RunJson>, HashMap<Text, Bad>), Failure> {
    let (reader, replay) = read(files, config, None)?;
    Ok((replay.finish(), reader.into_bad()))
}

/// Reads the files, in an order of their own where there is a seed for it.
fn read(
    files: &[PathBuf],
    config: &ConfigArgs,
    seed: Option<u64>,
) -> Result<(files::Reader, replay::Replay), Failure> {
    let settings = config::load_to_judge(&config.sources())?.settings;
    let mut replay = replay::Replay::new(Arc::clone(&settings.policy));
    let mut reader = files::Reader::new(settings.normalize, settings.policy);
    let mut shuffled = Vec::new();
    for file in files {
        reader.read(file, &mut |report| match seed {
            Some(_) => shuffled.push(report),
            None => replay.report(report),
        })?;
    }
    if let Some(seed) = seed {
        shuffle(&mut shuffled, seed);
    }
    for report in shuffled {
        replay.report(report);
    }
    Ok((reader, replay))
}

fn show(args: &CheckArgs, reader: &files::Reader, runs: &[RunJson]) -> Result<(), Failure> {
    if args.json {
        answer_json(&Answer {
            runs: runs.to_vec(),
            left_out: reader.unread(),
        })?;
        if let Some(left_out) = reader.left_out() {
            remark(left_out);
        }
        return Ok(());
    }
    let look = Look::of(&io::stdout());
    let mut page = runs_table(look, runs, SystemTime::now());
    // Why nothing can be seen of a blind run stands on its page.
    let tells = |run: &&RunJson| !run.warnings.is_empty() || run.status == Status::Blind.name();
    let told: Vec<&RunJson> = runs.iter().filter(tells).collect();
    let shown = if args.all { told.len() } else { PAGES_MAX };
    for run in told.iter().take(shown) {
        page.push('\n');
        page.push_str(&run_page(look, run));
    }
    if told.len() > shown {
        let rest = told.len() - shown;
        let _ = writeln!(
            page,
            "\n… and {} with warnings or blind; --all shows them too.",
            counted(rest as u64, "more run")
        );
    }
    let late = too_late(runs).map_or_else(String::new, |late| format!(" · {late}"));
    let summary = reader.summary(runs.len()) + &late;
    let _ = writeln!(page, "\n{}", wrap(&summary, look.room()).join("\n"));
    answer(&page)
}

/// Whether the bar is reached. What could not be read may be the loop itself, so it fails a build, but not in place of a run that
/// fails it.
fn judge(args: &CheckArgs, runs: &[RunJson], unread: Option<String>) -> Result<(), Failure> {
    let Some(least) = args.fail_below else {
        return Ok(());
    };
    if runs.is_empty() {
        return Err(Failure::Other(
            "there is no run to judge: has the telemetry of an agent been written to these files?"
                .to_owned(),
        ));
    }
    let low: Vec<&RunJson> = runs.iter().filter(|run| is_below(run, least)).collect();
    let Some(worst) = low.iter().min_by_key(|run| run.score) else {
        see(runs)?;
        let failed = |unread| {
            Failure::Other(format!(
                "what was read scores {least} or more, and not all could be read: {unread}"
            ))
        };
        return unread.map_or(Ok(()), |unread| Err(failed(unread)));
    };
    let runs = if low.len() == 1 {
        "1 run is".to_owned()
    } else {
        format!("{} runs are", low.len())
    };
    let worst = format!(
        "the lowest is {}, {} with {}",
        clean(&worst.run_id),
        worst.status.replace('_', " "),
        worst.score
    );
    Err(Failure::Unhealthy(format!("{runs} below {least}; {worst}")))
}

/// Whether a run scores less, or is called worse than a run of that score is at best: an open warning may cost so little that the
/// score alone would let its run pass.
fn is_below(run: &RunJson, least: u32) -> bool {
    let is_called = |status: Status| run.status == status.name();
    run.score < least
        || (least >= HEALTHY_FROM && is_called(Status::Warning))
        || (least >= WARNING_FROM && is_called(Status::LikelyStuck))
}

/// A score says nothing of a run of which the tool calls cannot be seen: it is no reason to let a build pass.
fn see(runs: &[RunJson]) -> Result<(), Failure> {
    let blind = runs.iter().filter(|run| run.status == Status::Blind.name());
    let Some(first) = blind.clone().next() else {
        return Ok(());
    };
    let count = match blind.count() {
        1 => "1 run is".to_owned(),
        count => format!("{count} runs are"),
    };
    Err(Failure::Unhealthy(format!(
        "{count} blind, such as {}: models asked for tools, and the telemetry shows no calls of them; have the framework's spans \
         of tool calls exported, or leave such runs out",
        clean(&first.run_id)
    )))
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
    use std::fs;
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn args(files: &[&str]) -> CheckArgs {
        let recorded = |name: &&str| {
            PathBuf::from(env!("CARGO_MANIFEST_DIR"))
                .join("tests")
                .join(name)
        };
        CheckArgs {
            files: files.iter().map(recorded).collect(),
            config: ConfigArgs::default(),
            fail_below: None,
            all: false,
            json: false,
            shuffle: None,
        }
    }

    fn runs(args: &CheckArgs) -> Vec<RunJson> {
        replayed(args).unwrap().1
    }

    const LOOP: &str = "recorded/langgraph-openinference-exact-loop.otlp.binpb";

    /// Given a recorded loop, its run is over, likely stuck, and `--fail-below` says so with exit code 3.
    #[test]
    fn a_loop_fails_the_check() {
        let mut args = args(&[LOOP]);
        let runs = runs(&args);
        assert_eq!(runs.len(), 1);
        assert_eq!(
            (
                runs[0].status.as_str(),
                runs[0].ended.as_str(),
                runs[0].tool_calls
            ),
            ("likely_stuck", "ok", 6)
        );
        judge(&args, &runs, None).unwrap();
        args.fail_below = Some(80);
        assert_eq!(judge(&args, &runs, None).unwrap_err().code(), 3);
    }

    /// Given a loop that costs so little that its score is one of healthy runs, it fails the bar of these, and no lower one.
    #[test]
    fn a_loop_that_costs_little_fails_the_check() {
        let mut args = args(&["recorded/langgraph-openinference-handoff.otlp.binpb"]);
        let runs = runs(&args);
        assert_eq!((runs[0].status.as_str(), runs[0].score), ("warning", 80));
        for (least, fails) in [(79, false), (80, true), (81, true)] {
            args.fail_below = Some(least);
            let failure = judge(&args, &runs, None).err();
            assert_eq!(failure.is_some(), fails, "{least}");
        }
        let mut run = runs[0].clone();
        run.status = "likely_stuck".to_owned();
        assert!(is_below(&run, 50) && !is_below(&run, 49));
    }

    /// Given telemetry of which some could not be read, a build that asks for a score does not pass, with the code of a run that
    /// fails it where there is one.
    #[test]
    fn what_could_not_be_read_fails_the_check() {
        let unread = || Some("1 file cut off at the end".to_owned());
        let healthy = "recorded/langgraph-openinference-healthy.otlp.binpb";
        for (name, code) in [(healthy, 1), (LOOP, 3)] {
            let mut args = args(&[name]);
            let runs = runs(&args);
            judge(&args, &runs, unread()).unwrap();
            args.fail_below = Some(80);
            let failure = judge(&args, &runs, unread()).unwrap_err();
            assert_eq!(failure.code(), code, "{failure}");
            let is_told = failure.to_string().contains("cut off at the end");
            assert_eq!(is_told, code == 1, "{failure}");
        }
    }

    /// Given telemetry in which there is no run, a build that asks for a score does not pass.
    #[test]
    fn nothing_to_judge_fails_the_check() {
        let mut args = args(&[]);
        judge(&args, &[], None).unwrap();
        args.fail_below = Some(0);
        assert_eq!(judge(&args, &[], None).unwrap_err().code(), 1);
    }

    /// Given a run whose telemetry cannot show its calls, a build that asks for a score does not pass, however high it is.
    #[test]
    fn what_cannot_be_seen_fails_the_check() {
        let mut args = args(&["recorded/bedrock-client-otel-exact-loop.otlp.binpb"]);
        let runs = runs(&args);
        assert_eq!((runs[0].status.as_str(), runs[0].score), ("blind", 100));
        judge(&args, &runs, None).unwrap();
        args.fail_below = Some(0);
        assert_eq!(judge(&args, &runs, None).unwrap_err().code(), 3);
    }

    /// Given files of every kind as one stream, the order in which spans and records arrive changes nothing.
    #[test]
    fn order_of_arrival_changes_nothing() {
        let mut args = args(&[
            LOOP,
            "recorded/gemini-cli-native-exact-loop.logs.otlp.binpb",
            "recorded/gemini-cli-native-exact-loop.otlp.binpb",
            "recorded/pydantic-ai-native-error-retry.otlp.binpb",
            "events/samples.events.jsonl",
        ]);
        let in_order = runs(&args);
        assert!(in_order.len() > 3);
        for seed in 0..5 {
            args.shuffle = Some(seed);
            // How often a warning was announced on the way may differ; what holds in the end may not.
            assert_eq!(
                settled(runs(&args)),
                settled(in_order.clone()),
                "seed {seed}"
            );
        }
    }

    fn settled(mut runs: Vec<RunJson>) -> Vec<RunJson> {
        for run in &mut runs {
            run.lowest_score = 0;
            for warning in &mut run.warnings {
                warning.revision = 0;
            }
        }
        runs
    }

    /// Given the same request as protobuf, as JSON lines and compressed, the same runs come out.
    #[test]
    fn kinds_of_files_are_told_apart() {
        let plain = r#"{"dataset":"d","run_id":"r1","events":[{"i":0,"kind":"tool_call","tool":"t","input":{"a":1},"output":"x"}]}"#;
        let spans = r#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"0102030405060708090a0b0c0d0e0f10","spanId":"0102030405060708","name":"execute_tool t","startTimeUnixNano":"1","endTimeUnixNano":"2","attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"execute_tool"}},{"key":"gen_ai.tool.name","value":{"stringValue":"t"}}]}]}]}]}"#;
        let dir = tempfile::tempdir().unwrap();
        let mut zipped = GzEncoder::new(Vec::new(), Compression::fast());
        zipped.write_all(plain.as_bytes()).unwrap();
        let files: [(&str, Vec<u8>); 8] = [
            ("a.jsonl", plain.into()),
            ("b.jsonl.gz", zipped.finish().unwrap()),
            ("c.jsonl", format!("{spans}\n{spans}\n").into()),
            ("d.json", spans.replace(',', ",\n").into()),
            ("e.json", format!("[{spans},\n {spans}]").into()),
            // As many as there are keys by which objects are told apart.
            ("f.json", format!("[{}]", [spans; 4].join(",")).into()),
            // As some editors begin a text.
            ("g.events.jsonl", format!("\u{feff}{plain}").into()),
            ("h.jsonl", format!("\u{feff}{spans}").into()),
        ];
        for (name, bytes) in files {
            let path = dir.path().join(name);
            fs::write(&path, bytes).unwrap();
            let mut args = args(&[]);
            args.files = vec![path];
            let runs = runs(&args);
            assert_eq!((runs.len(), runs[0].tool_calls), (1, 1), "{name}");
        }
    }

    /// Given the run that the manual of the events format shows, its events are counted as they stand there, also one that is a
    /// hand-off and what was asked with it; where another line has some of them again, that is said.
    #[test]
    fn events_are_counted_as_they_are_written() {
        let manual = include_str!("../../../docs/events.md");
        let run = manual.lines().find(|line| line.starts_with("{\"run_id\""));
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.events.jsonl");
        let run = run.unwrap();
        let mut args = args(&[]);
        args.files = vec![path.clone()];
        for (lines, expected) in [
            (run.to_owned(), "1 run · 12 events read"),
            (
                format!("{run}\n{run}"),
                "1 run · 24 events read · 12 events left out, whose `i` came before in their run",
            ),
        ] {
            fs::write(&path, lines).unwrap();
            let summary = replayed(&args).unwrap().0.summary(1);
            assert_eq!(summary, expected);
        }
    }

    /// Given spans that cannot be used beside one that can, the summary says how many and why.
    #[test]
    fn what_is_refused_is_told_with_reasons() {
        let span = |trace: &str, id: &str| format!(r#"{{"traceId":"{trace}","spanId":"{id}"}}"#);
        let trace = "0102030405060708090a0b0c0d0e0f10";
        let spans = [
            span(trace, "0102030405060708"),
            span(trace, "01"),
            span(trace, "02"),
            span("01", "0102030405060708"),
        ];
        let request = format!(
            r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{}]}}]}}]}}"#,
            spans.join(",")
        );
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.jsonl");
        fs::write(&path, request).unwrap();
        let mut args = args(&[]);
        args.files = vec![path];
        let summary = replayed(&args).unwrap().0.summary(0);
        let expected = "1 span or record read · 3 refused (1 trace id is not 16 bytes or all zero, \
                        2 span ids are not 8 bytes or all zero)";
        assert!(summary.contains(expected), "{summary}");
    }

    /// Given log records and spans in files that are called as the other, or spans of which none can be used, the file is named,
    /// with why, and where the name decides, how it must be.
    #[test]
    fn a_file_of_which_nothing_can_be_used_fails_the_check() {
        let recorded = |name: &str| {
            let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/recorded");
            fs::read(path.join(name)).unwrap()
        };
        let logs = recorded("codex-native-exact-loop.logs.otlp.binpb");
        let spans = recorded("langgraph-openinference-exact-loop.otlp.binpb");
        let span =
            br#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"01","spanId":"01"}]}]}]}"#;
        let dir = tempfile::tempdir().unwrap();
        for (name, bytes, expected) in [
            ("x.otlp.binpb", &logs[..], "`*.logs.otlp.binpb` as log"),
            ("x.logs.otlp.binpb", &spans, "`*.binpb` as spans"),
            ("x.jsonl", span, "1 refused (1 trace id is not 16 bytes"),
        ] {
            let path = dir.path().join(name);
            fs::write(&path, bytes).unwrap();
            let mut args = args(&[LOOP]);
            args.files.push(path);
            let said = replayed(&args).err().unwrap().to_string();
            let head = format!("{name}: nothing in it can be used: ");
            assert!(said.contains(&head) && said.contains(expected), "{said}");
        }
    }

    /// Given a compressed file of which the end is missing, it is said that it was compressed.
    #[test]
    fn what_cannot_be_unpacked_is_told() {
        let mut zipped = GzEncoder::new(Vec::new(), Compression::fast());
        zipped.write_all(&[b' '; 1000]).unwrap();
        let zipped = zipped.finish().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.jsonl.gz");
        fs::write(&path, &zipped[..zipped.len() / 2]).unwrap();
        let mut args = args(&[]);
        args.files = vec![path];
        let said = replayed(&args).err().unwrap().to_string();
        let expected = "a.jsonl.gz: its gzip is cut off or damaged: ";
        assert!(said.contains(expected), "{said}");
    }

    /// Given requests of metrics among spans, they are passed over and counted.
    #[test]
    fn metrics_are_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.jsonl");
        let requests = [r#"{"resourceMetrics":[]}"#, r#"{"resourceSpans":[]}"#];
        fs::write(&path, requests.join("\n")).unwrap();
        let mut args = args(&[]);
        args.files = vec![path];
        let summary = replayed(&args).unwrap().0.summary(0);
        assert!(
            summary.contains("1 request of metrics passed over"),
            "{summary}"
        );
    }

    /// Given events without times, or with times since the run's start, no date is shown; given dates, they are.
    #[test]
    fn times_that_are_not_known_are_not_shown() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.events.jsonl");
        let mut args = args(&[]);
        args.files = vec![path.clone()];
        for (time, expected) in [
            ("", None),
            (r#","t_ms":2000"#, None),
            (r#","t_ms":1763734882000"#, Some("2025-11-21T14:21:22")),
        ] {
            let event = |i: u32| {
                format!(
                    r#"{{"i":{i},"kind":"tool_call","tool":"t","input":{{}},"output":"x"{time}}}"#
                )
            };
            let events: Vec<String> = (1..5).map(event).collect();
            fs::write(
                &path,
                format!(r#"{{"run_id":"r","events":[{}]}}"#, events.join(",")),
            )
            .unwrap();
            let run = runs(&args).remove(0);
            let warning = &run.warnings[0];
            for shown in [
                &run.first_seen,
                &run.last_seen,
                &warning.first_seen,
                &warning.last_seen,
            ] {
                let shown = shown.as_deref().map(|shown| &shown[..19]);
                assert_eq!(shown, expected, "{time}");
            }
        }
    }

    /// Given the example of the manual of the events format, it is judged as its label says, and each kind of event is in it, as in
    /// the manual.
    #[test]
    fn the_example_of_the_manual_is_read() {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/events.md");
        let manual = fs::read_to_string(path).unwrap();
        let (_, example) = manual.split_once("```json\n").unwrap();
        let (example, rest) = example.split_once("```").unwrap();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.jsonl");
        let mut args = args(&[]);
        args.files = vec![path.clone()];
        fs::write(&path, example).unwrap();
        let run = runs(&args).remove(0);
        let shown = (
            run.ended.as_str(),
            run.tool_calls,
            run.model_calls,
            run.tokens,
        );
        assert_eq!(shown, ("failed", 4, 2, 512));
        assert_eq!(run.warnings[0].rule, "repeated_tool_call_exact_input");
        let unknown = example.replace("run_end", "nonsense");
        fs::write(&path, unknown).unwrap();
        let error = replayed(&args).err().unwrap().to_string();
        let (_, kinds) = error.split_once("known are ").unwrap();
        for kind in kinds.replace(" and ", ", ").split(", ") {
            assert!(example.contains(&format!(r#""kind":"{kind}""#)), "{kind}");
            assert!(rest.contains(&format!("`{kind}`")), "{kind}");
        }
    }

    /// Given the example of the manual for agents of one's own, it is a call of the agent, tool and run that it names; called
    /// three times, it is a loop.
    #[test]
    fn the_example_of_an_agent_is_read() {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/agent.md");
        let manual = fs::read_to_string(path).unwrap();
        let (_, example) = manual.split_once("```json\n").unwrap();
        let (example, _) = example.split_once("```").unwrap();
        let again = |number: &str| {
            let again = example.replace("eee19b7ec3c1b174", &format!("eee19b7ec3c1b17{number}"));
            let again = again.replace("call-0", &format!("call-{number}"));
            again.replace("\"1763734882", &format!("\"176373488{number}"))
        };
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.jsonl");
        let mut args = args(&[]);
        args.files = vec![path.clone()];
        fs::write(&path, ["1", "2", "3"].map(again).concat()).unwrap();
        let run = runs(&args).remove(0);
        let agents: Vec<&str> = run.agents.iter().map(|agent| &**agent).collect();
        assert_eq!(
            (&*run.run_id, &*agents, run.tool_calls),
            ("ticket-18", &["helper"][..], 3)
        );
        assert_eq!(run.service.as_deref(), Some("my-service"));
        let mut warnings = run.warnings.iter();
        let warning = warnings.find(|warning| warning.rule == "repeated_tool_call_exact_input");
        assert_eq!(warning.unwrap().tool.as_deref(), Some("search"));
    }

    /// Given a file that cannot be read, the failure names it and the place in it.
    #[test]
    fn broken_files_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let files = [
            (
                "a.jsonl",
                "{\"resourceSpans\":[]}\n{\"x\":1}\n",
                "a.jsonl: line 2: neither OTLP/JSON",
            ),
            (
                "b.jsonl",
                "\n{\"resourceSpans\":[]",
                "b.jsonl: not whole JSON: EOF while parsing",
            ),
            ("c.otlp.binpb", "\u{5}ab", "c.otlp.binpb: request 1: "),
            (
                "c.binpb",
                "\0\0\0\u{5}abcde",
                "; protobuf is read as requests one after another, each behind its length as a varint",
            ),
            ("d.events.jsonl", "{}", "d.events.jsonl: line 1: "),
            ("e.txt", "hello", "e.txt: neither OTLP/JSON"),
            ("f.json", "[{\"x\":1}]", "f.json: line 1: neither OTLP/JSON"),
            (
                "g.jsonl",
                "{\"resource_spans\":[]}",
                "there is no `resourceSpans` in it; there is `resource_spans`",
            ),
            ("g.json", "[[]]", "g.json: line 1: neither OTLP/JSON"),
            ("h.json", "7", "h.json: line 1: neither OTLP/JSON"),
            (
                "i.json",
                "[{\"run_id\":\"r\",\"events\":[]}]",
                "line 1: a run of events stands alone",
            ),
            (
                "j.jsonl",
                "{\"resourceSpans\":[]}\n{\"run_id\":\"r\",\"events\":[]}",
                "j.jsonl: line 2: a run of events (`events`) and OTLP/JSON",
            ),
            (
                "k.jsonl",
                "{\"run_id\":\"r\",\"events\":[]}\n\n{\"resourceSpans\":[]}",
                "k.jsonl: line 3: a run of events (`events`) and OTLP/JSON",
            ),
            (
                "l.jsonl",
                "{\"resourceSpans\":[]}\nhello",
                "l.jsonl: line 2: neither OTLP/JSON",
            ),
            ("m.txt", "hello", "nor other JSON; the name says how"),
        ];
        for (name, text, expected) in files {
            let path = dir.path().join(name);
            fs::write(&path, text).unwrap();
            let mut args = args(&[]);
            args.files = vec![path];
            let failure = replayed(&args).err().unwrap();
            assert!(failure.to_string().contains(expected), "{failure}");
            assert_eq!(failure.code(), 1);
        }
    }

    /// Given a file in a form that is not read, it is said which that is.
    #[test]
    fn what_is_not_read_is_named() {
        let dir = tempfile::tempdir().unwrap();
        for (bytes, expected) in [
            (&[0x28, 0xb5, 0x2f, 0xfd, 0][..], "zstd"),
            (&[0xff, 0xfe, b'{', 0], "UTF-16"),
        ] {
            let path = dir.path().join("a.jsonl");
            fs::write(&path, bytes).unwrap();
            let mut args = args(&[]);
            args.files = vec![path];
            let said = replayed(&args).err().unwrap().to_string();
            assert!(said.contains(expected), "{said}");
        }
    }

    /// Given a directory, it is said that its files are to be named.
    #[test]
    fn a_directory_is_no_file() {
        let dir = tempfile::tempdir().unwrap();
        let mut args = args(&[]);
        args.files = vec![dir.path().to_owned()];
        let failure = replayed(&args).err().unwrap().to_string();
        assert!(
            failure.ends_with("is a directory: name the files in it"),
            "{failure}"
        );
    }

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
