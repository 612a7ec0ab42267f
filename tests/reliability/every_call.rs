//! A process whose last call is any of those by which it changes files: right before the call, or in the middle of a write. And
//! one of which any such call fails, once or from then on, or any reading of a file, once. The next start finds all that was
//! acknowledged, takes nothing for damaged that is sound, unless it could not be read, and leaves nothing behind that was not
//! finished; a command is run again as it was.
//!
//! Random moments do not reach a window of one call. `fate.c`, a small library that is loaded into the process, counts the calls.
//! `EDDY_CALLS` sets how many of them are the last one in each scenario, evenly spread, at most: 3 by default, 1000 are all; each
//! other fate meets a third as many. `EDDY_SCENARIO` names one scenario.

mod daemon;
mod scenarios;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Instant;

use tempfile::TempDir;

use scenarios::{go, opening, scenarios};

/// Names its scenario and its directory to a process of the tests that is to end.
const SCENARIO: &str = "EDDY_TEST_SCENARIO";
const DIRECTORY: &str = "EDDY_TEST_DIRECTORY";

/// What becomes of a call.
const FATES: [&str; 5] = ["before", "within", "fails", "full", UNREAD];

/// A reading of a file fails once.
const UNREAD: &str = "unread";

/// What a process does, and what has to be so whenever it ended.
struct Scenario {
    name: String,
    /// What it finds.
    prepared: TempDir,
    /// What does it, in a copy of that.
    process: Process,
    check: Check,
    /// Whether it is a start, after which the next one may meet a fate too.
    is_start: bool,
    /// Whether a database is to be set aside.
    is_damaged: bool,
    /// Whether it ends well, too, where a reading fails: where there is a snapshot or the whole journal, since sled takes what it
    /// cannot read for damaged, and has changed the file by then.
    may_misread: bool,
}

/// What has to be so in a directory, given what the process said.
type Check = Box<dyn Fn(&Path, &str)>;

/// A process, and what others do beside it.
struct Process {
    /// What it is in a directory.
    command: fn(&Path) -> Command,
    /// What is done until it has ended, in that directory and where its fate has this name.
    beside: Beside,
}

type Beside = Box<dyn Fn(Child, &Path, &str) -> Output>;

fn directory() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("it can be made");
    for entry in fs::read_dir(from).expect("it is there").flatten() {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(from, to).expect("it can be copied");
        }
    }
}

/// Compiles the library that is loaded into processes.
fn library(dir: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reliability/fate.c");
    let library = dir.join("fate.so");
    let compiled = Command::new("cc")
        .args(["-O1", "-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .status();
    assert!(compiled.expect("there is a C compiler").success());
    library
}

impl Process {
    /// One beside which nobody does anything.
    fn alone(command: fn(&Path) -> Command) -> Self {
        Self {
            command,
            beside: Box::new(|child, _, _| child.wait_with_output().expect("it ends")),
        }
    }

    /// Has it meet this fate at its call of this number. Answers what it said, and the call, if there were so many.
    fn meet(
        &self,
        library: &Path,
        dir: &Path,
        fate: &str,
        number: u64,
    ) -> (String, Option<String>) {
        let child = (self.command)(dir)
            .env("LD_PRELOAD", library)
            .env("EDDY_FATE", format!("{fate} {number}"))
            .env("RUST_BACKTRACE", "0")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        let ended = (self.beside)(child.expect("it starts"), dir, fate);
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        let met = said.lines().find_map(|line| line.strip_prefix("met at "));
        let met = met.map(str::to_owned);
        let is_last = matches!(fate, "before" | "within") && met.is_some();
        assert_eq!(ended.status.code().is_none(), is_last, "{said}");
        assert!(met.is_some() || ended.status.success(), "{said}");
        // Who fails says what was being done, and who only leaves does not fail.
        let says_why = ["cannot ", "changing ", "writing ", "reading ", "is damaged"];
        let is_told = says_why.iter().any(|words| said.contains(words));
        assert!(is_last || ended.status.success() || is_told, "{said}");
        (said, met)
    }
}

/// How many calls a process makes in this scenario, how many of them are writes, and how often it reads.
fn calls(library: &Path, scenario: &Scenario) -> [u64; 3] {
    let dir = directory();
    copy(scenario.prepared.path(), dir.path());
    let (said, _) = scenario
        .process
        .meet(library, dir.path(), "before", u64::MAX >> 1);
    let counted = said
        .lines()
        .find_map(|line| line.strip_prefix("there were "));
    let counted = counted.expect("they are counted").replace(',', " ");
    let numbers: Vec<u64> = counted
        .split(' ')
        .filter_map(|word| word.parse().ok())
        .collect();
    numbers.try_into().expect("three numbers")
}

/// Given any of these scenarios, whichever call meets whichever fate, and whether or not the next start meets one too, what has to
/// be so is so.
#[test]
fn any_call_may_be_the_last() {
    if let Some(scenario) = std::env::var_os(SCENARIO) {
        let dir = std::env::var_os(DIRECTORY).expect("it is named");
        return go(&scenario.to_string_lossy(), Path::new(&dir));
    }
    let most = std::env::var("EDDY_CALLS")
        .ok()
        .and_then(|number| number.parse().ok());
    let most: u64 = most.unwrap_or(3);
    let only = std::env::var("EDDY_SCENARIO").unwrap_or_default();
    let dir = directory();
    let library = library(dir.path());
    let (mut met_calls, mut again) = (0, 0);
    for scenario in scenarios()
        .iter()
        .filter(|scenario| scenario.name.contains(&only))
    {
        let [calls, writes, readings] = calls(&library, scenario);
        let began = Instant::now();
        for fate in FATES {
            if fate == UNREAD && !scenario.may_misread {
                continue;
            }
            let of = match fate {
                "within" => writes,
                UNREAD => readings,
                _ => calls,
            };
            let samples = of.min(if fate == "before" {
                most
            } else {
                most.div_ceil(3)
            });
            for sample in 0..samples {
                let number = 1 + (2 * sample + 1) * of / (2 * samples);
                let dir = directory();
                copy(scenario.prepared.path(), dir.path());
                let (said, met) = scenario.process.meet(&library, dir.path(), fate, number);
                println!(
                    "{}, {fate} {}",
                    scenario.name,
                    met.as_deref().unwrap_or("nothing")
                );
                met_calls += u64::from(met.is_some());
                if sample % 2 == 1 && scenario.is_start {
                    let next = Process::alone(opening);
                    let (_, met) = next.meet(&library, dir.path(), fate, 1 + 7 * number % of);
                    println!("and then {}", met.as_deref().unwrap_or("nothing"));
                    again += u64::from(met.is_some());
                }
                (scenario.check)(dir.path(), &said);
                if dir.path().join("FORMAT").exists() {
                    assert_eq!(left_over(dir.path()), Vec::<PathBuf>::new());
                    let aside = set_aside(dir.path()).len();
                    let misread = if fate == UNREAD { 2 } else { 0 };
                    assert!(
                        aside <= usize::from(scenario.is_damaged) + misread,
                        "{aside} set aside"
                    );
                }
            }
        }
        println!(
            "{}: {calls} calls, {writes} writes, {readings} readings, {:?}",
            scenario.name,
            began.elapsed()
        );
    }
    println!("{met_calls} calls met a fate, and {again} of the start behind them");
}

/// What lies in a data directory that nobody needs.
fn left_over(dir: &Path) -> Vec<PathBuf> {
    type Fits = fn(&str) -> bool;
    let fitting: [(&str, Fits); 4] = [
        ("", |name| {
            let known = [
                "FORMAT",
                "LOCK",
                "RESERVE",
                "COPIED",
                "store",
                "snapshots",
                "tenants",
            ];
            known.contains(&name) || name.starts_with("damaged-")
        }),
        ("store", |name| {
            let is_snapshot = name.starts_with("snap.") && !name.ends_with("generating");
            ["conf", "db", "blobs", "journal"].contains(&name) || is_snapshot
        }),
        ("store/journal", |name| name.contains(".log")),
        ("snapshots", |name| name.contains(".snapshot")),
    ];
    let mut left = Vec::new();
    for (part, fits) in fitting {
        let entries = fs::read_dir(dir.join(part)).into_iter().flatten().flatten();
        let others = entries.filter(|entry| !fits(&entry.file_name().to_string_lossy()));
        left.extend(others.map(|entry| entry.path()));
    }
    let aside = set_aside(dir)
        .into_iter()
        .map(|aside| aside.join("journal"));
    left.extend(aside.filter(|journal| journal.exists()));
    left
}

fn set_aside(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).expect("it is there").flatten();
    let aside = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("damaged-"));
    aside.map(|entry| entry.path()).collect()
}
