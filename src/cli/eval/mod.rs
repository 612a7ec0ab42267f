//! `eddy eval`: how well a profile tells stuck runs from others, on runs of which somebody knows it.
//!
//! Every run of the events files is told to the engine event by event (`watch.rs`), as a daemon would hear of it, and counts as
//! flagged once any warning of severity warning or worse was raised, whatever came later. The verdicts are counted
//! against the labels per data set (`score.rs`). A run without a label cannot be right or wrong, but a flag on one that
//! succeeded is shown, because it is most likely a false alarm.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use super::ConfigArgs;
use super::check::{BYTE_ORDER_MARK, STANDARD_INPUT, wrong};
use super::failure::{Failure, answer, answer_json, remark};
use crate::config;
use crate::normalize::events_file;
use crate::render::text::{Look, wrap};

mod labels;
mod score;
mod watch;

use score::Score;
use watch::Verdict;

/// In place of a file to write: standard output.
const STANDARD_OUTPUT: &str = "-";

#[derive(Clone, Debug, Args)]
pub(super) struct EvalArgs {
    /// Labelled runs in the events format; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    config: ConfigArgs,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
    /// Write a line of JSON for each run; with `-`, print these in place of the table
    #[arg(long, value_name = "OUT.jsonl")]
    verdicts: Option<PathBuf>,
}

#[derive(Serialize)]
struct Answer {
    profile: String,
    datasets: Vec<Score>,
}

pub(super) fn run(args: &EvalArgs) -> Result<(), Failure> {
    let settings = config::load_to_judge(&args.config.sources())?.settings;
    let prints_verdicts = args.verdicts.as_deref() == Some(Path::new(STANDARD_OUTPUT));
    if prints_verdicts && args.json {
        let text = "`--json` and `--verdicts -` both print to standard output: name a file";
        return Err(Failure::Usage(text.to_owned()));
    }
    if let Some(out) = args.verdicts.as_ref().filter(|_| !prints_verdicts) {
        refuse_input(out, args)?;
    }
    let mut verdicts = Vec::new();
    for file in &args.files {
        let bytes =
            opened(file).map_err(|error| wrong(file, format!("cannot be read: {error}")))?;
        let runs =
            events_file::runs(bytes, &settings.policy).map_err(|error| wrong(file, error))?;
        for run in runs {
            let run = run.map_err(|error| wrong(file, error))?;
            verdicts.push(watch::judge(run, &settings.policy));
        }
    }
    if verdicts.is_empty() {
        let text = "there is no run to measure: have runs been written to these files?";
        return Err(Failure::Other(text.to_owned()));
    }
    let look = Look::of(&io::stderr());
    for doubt in labels::doubts(&verdicts) {
        remark(wrap(&doubt, look.room()).join("\n"));
    }
    if prints_verdicts {
        return answer(&lines(&verdicts));
    }
    if let Some(out) = &args.verdicts {
        write_verdicts(out, &verdicts)?;
    }
    let datasets = score::of_datasets(&verdicts);
    let profile = settings.policy.profile.as_str();
    if args.json {
        return answer_json(&Answer {
            profile: profile.to_owned(),
            datasets,
        });
    }
    let width = Look::of(&std::io::stdout()).width;
    answer(&score::table(width, profile, &datasets))
}

/// A file, or standard input, without the mark of its byte order that some editors put before a text.
fn opened(path: &Path) -> io::Result<Box<dyn BufRead>> {
    let mut bytes: Box<dyn BufRead> = if path == Path::new(STANDARD_INPUT) {
        Box::new(io::stdin().lock())
    } else {
        Box::new(BufReader::new(File::open(path)?))
    };
    if bytes.fill_buf()?.starts_with(BYTE_ORDER_MARK) {
        bytes.consume(BYTE_ORDER_MARK.len());
    }
    Ok(bytes)
}

/// Refuses to write over what is read: nobody has the labels a second time.
fn refuse_input(out: &Path, args: &EvalArgs) -> Result<(), Failure> {
    let mut inputs = args.files.iter().chain(&args.config.file.config);
    match inputs.find(|input| is_same_file(input, out)) {
        Some(input) => Err(Failure::Other(format!(
            "the verdicts would be written over {}, which is read: name another file with `--verdicts`",
            input.display()
        ))),
        None => Ok(()),
    }
}

/// Whether two paths lead to one file, by whatever links.
#[cfg(unix)]
fn is_same_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let place = |path: &Path| {
        let found = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        Some((found.dev(), found.ino()))
    };
    place(one).is_some_and(|one| place(other) == Some(one))
}

/// Whether two paths lead to one file.
#[cfg(not(unix))]
fn is_same_file(one: &Path, other: &Path) -> bool {
    let place = |path: &Path| fs::canonicalize(path).ok();
    place(one).is_some_and(|one| place(other) == Some(one))
}

fn write_verdicts(path: &Path, verdicts: &[Verdict]) -> Result<(), Failure> {
    let written = fs::write(path, lines(verdicts));
    written.map_err(|error| Failure::Other(format!("writing {}: {error}", path.display())))
}

/// A line for each run.
fn lines(verdicts: &[Verdict]) -> String {
    let line = |verdict| serde_json::to_string(verdict).expect("a verdict is plain data") + "\n";
    verdicts.iter().map(line).collect()
}
