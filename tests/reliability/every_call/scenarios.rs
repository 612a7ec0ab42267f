//! The scenarios: what processes do to files, and what has to be so behind them.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use eddy::engine::event::{Text, TraceId};
use eddy::store::alert::Alert;
use eddy::store::{Entry, IndexKey, Options, SavedRun, Store, StoreError, Turn};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::daemon::lives;
use super::{DIRECTORY, Process, SCENARIO, Scenario, copy, directory};

pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// A store with two alerts and no snapshot.
const STORE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/store_formats/7");

/// All scenarios.
pub(super) fn scenarios() -> Vec<Scenario> {
    let filled = directory();
    copy(Path::new(STORE), filled.path());
    // The run that is saved there knows of more than was ever committed.
    let store = open(filled.path(), None);
    let mut run = store.load_run("run").expect("readable").expect("saved");
    run.position = 1;
    let saved = runtime().block_on(store.save_runs(vec![run]));
    saved.expect("it takes writes");
    drop(store);
    (0..2).for_each(|_| work(filled.path(), 2, drop));
    let mut scenarios = starts(filled.path());
    scenarios.push(at_work(filled.path()));
    let (data, copied) = (
        two_directories(filled.path(), "data"),
        two_directories(filled.path(), "copy"),
    );
    scenarios.push(copying("a backup", saving, data, ("data", "copy")));
    scenarios.push(copying("restoring", restoring, copied, ("copy", "data")));
    scenarios.push(entering());
    scenarios.extend(lives());
    scenarios
}

fn copied(from: &Path) -> TempDir {
    let to = directory();
    copy(from, to.path());
    to
}

fn starts(filled: &Path) -> Vec<Scenario> {
    let nothing = |dir: &Path| open(dir, None).last_cursor().to_string();
    let of_the_journal = |dir: &Path| {
        let store = open(dir, None);
        let alerts = store.alerts_after(0, 9).expect("readable");
        format!("{:?} {alerts:?}", told(&store))
    };
    let damaged = copied(filled);
    damage(damaged.path());
    let without_snapshot = copied(Path::new(STORE));
    damage(without_snapshot.path());
    let restored = directory();
    eddy::store::copy(filled, restored.path(), &[PathBuf::new()]).expect("it is copied");
    vec![
        start("a first start", directory(), nothing),
        // sled has written a snapshot of its own, and writes the next one at a start.
        start("a start", copied(filled), worked),
        start("what was restored", restored, worked),
        mending("mending", damaged, worked),
        mending(
            "mending without a snapshot",
            without_snapshot,
            of_the_journal,
        ),
    ]
}

/// A start, behind which the store shows what it shows where nothing ends.
fn start(name: &str, prepared: TempDir, show: fn(&Path) -> String) -> Scenario {
    let expected = show(copied(prepared.path()).path());
    Scenario {
        name: name.to_owned(),
        prepared,
        process: Process::alone(opening),
        check: Box::new(move |dir, _| {
            assert_eq!(show(dir), expected);
            // Nothing is left to be mended.
            assert_eq!(show(dir), expected);
        }),
        is_start: true,
        is_damaged: false,
        may_misread: true,
    }
}

fn mending(name: &str, prepared: TempDir, show: fn(&Path) -> String) -> Scenario {
    Scenario {
        is_damaged: true,
        ..start(name, prepared, show)
    }
}

fn at_work(filled: &Path) -> Scenario {
    let last = |dir: &Path| {
        worked(dir);
        open(dir, None).last_cursor()
    };
    let before = last(copied(filled).path());
    Scenario {
        name: "work".to_owned(),
        prepared: copied(filled),
        process: Process::alone(working),
        check: Box::new(move |dir, said| {
            let lines = said.lines();
            let mut acknowledged = lines.filter_map(|line| line.strip_prefix("acknowledged "));
            let newest = acknowledged
                .next_back()
                .map(|number| number.parse().expect("a number"));
            let (newest, found) = (newest.unwrap_or(before), last(dir));
            assert!(
                found == newest || found == newest + 1,
                "{found} of {newest}"
            );
            work(dir, 1, drop);
            assert_eq!(last(dir), found + 1);
        }),
        is_start: false,
        is_damaged: false,
        may_misread: true,
    }
}

fn copying(
    name: &str,
    command: fn(&Path) -> Command,
    prepared: TempDir,
    (from, to): (&'static str, &'static str),
) -> Scenario {
    let expected = worked(copied(&prepared.path().join(from).join(TENANTS[1])).path());
    Scenario {
        name: name.to_owned(),
        prepared,
        process: Process::alone(command),
        check: Box::new(move |dir, _| {
            let is_there = |name: &str| dir.join(to).join(name).exists();
            if is_there("UNFINISHED") {
                let opened = Store::open(&dir.join(to), &Options::default());
                assert!(opened.is_err(), "what is not finished is no data directory");
            }
            if is_there("UNFINISHED") || !is_there("FORMAT") {
                let again = command(dir).output().expect("it starts");
                assert!(again.status.success(), "{again:?}");
            }
            assert!(!is_there("UNFINISHED"));
            for tenant in TENANTS {
                assert_eq!(worked(&dir.join(to).join(tenant)), expected);
                assert_eq!(worked(&dir.join(from).join(tenant)), expected);
            }
        }),
        is_start: false,
        is_damaged: false,
        may_misread: true,
    }
}

fn entering() -> Scenario {
    const SETTINGS: &str = "{\"model\": \"a\"}\n";
    let prepared = directory();
    fs::write(prepared.path().join("settings.json"), SETTINGS).expect("it can be written");
    Scenario {
        name: "entering a hook".to_owned(),
        prepared,
        process: Process::alone(hooking),
        check: Box::new(move |dir, _| {
            let read = |name: &str| fs::read_to_string(dir.join(name)).expect("it is there");
            let now = read("settings.json");
            assert!(now.contains("eddy") || now == SETTINGS, "{now}");
            let again = hooking(dir).output().expect("it starts");
            assert!(again.status.success(), "{again:?}");
            let now = read("settings.json");
            assert!(
                now.contains("eddy") && now.contains("\"model\": \"a\""),
                "{now}"
            );
            assert_eq!(read("settings.json.before-eddy"), SETTINGS);
            assert_eq!(fs::read_dir(dir).expect("it is there").count(), 2);
        }),
        is_start: false,
        is_damaged: false,
        may_misread: true,
    }
}

/// The data directory itself, and the one of a tenant in it.
pub(super) const TENANTS: [&str; 2] = ["", "tenants/one"];

/// A directory with one of this name that has the stores of two tenants.
fn two_directories(filled: &Path, name: &str) -> TempDir {
    let dir = directory();
    for tenant in TENANTS {
        copy(filled, &dir.path().join(name).join(tenant));
    }
    dir
}

fn runtime() -> Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().expect("a runtime starts")
}

fn open(dir: &Path, snapshot_every: Option<Duration>) -> Store {
    let options = Options {
        snapshot_every,
        reserve_bytes: 100_000,
        ..Options::default()
    };
    // Another test may begin a process meanwhile, which holds what is open here until it is the program that it is to be.
    let patient_until = Instant::now() + PATIENCE;
    loop {
        match Store::open(dir, &options) {
            Ok(store) => return store,
            Err(StoreError::Held { .. }) if Instant::now() < patient_until => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(error) => panic!("it does not open: {error}"),
        }
    }
}

fn open_and_close(dir: &Path) {
    let store = open(dir, None);
    runtime().block_on(store.close()).expect("it closes");
}

fn run_id(number: u64) -> Text {
    format!("run {number}").into()
}

fn key(number: u64) -> IndexKey {
    IndexKey {
        created_ms: number,
        run_id: run_id(number),
    }
}

fn trace(number: u64) -> TraceId {
    TraceId([number as u8; 16])
}

/// A turn that tells of a run, with everything that a turn may change.
fn turn(number: u64, alert: &Alert) -> Turn {
    Turn {
        at_ms: number,
        policy: 9,
        entries: vec![Entry::Idle {
            run_id: run_id(number),
            at_ms: number,
        }],
        new_runs: vec![key(number)],
        aliases: vec![(trace(number), run_id(number))],
        alerts: vec![Alert {
            run_id: run_id(number),
            ..alert.clone()
        }],
        ..Turn::default()
    }
}

/// The state of a run; those of later ones are longer than what sled is given at once.
fn saved(number: u64) -> SavedRun {
    SavedRun {
        key: key(number),
        // Not above what has been committed.
        position: 1,
        state: vec![number as u8; 3_000 * number as usize],
    }
}

/// The runs that a replay tells of.
fn told(store: &Store) -> BTreeSet<Text> {
    let turns = store.replay().map(|turn| turn.expect("whole").entries);
    let runs = turns.flatten().filter_map(|entry| match entry {
        Entry::Idle { run_id, .. } => Some(run_id),
        _ => None,
    });
    runs.collect()
}

/// What a shard does: saves what a replay tells of, commits and saves some runs, whose number is the cursor of their alert, and
/// has the journal cut, beside a snapshot. A small journal: each store begins a file, and reuses those before.
fn work(dir: &Path, runs: u64, mut acknowledged: impl FnMut(u64)) {
    let store = open(dir, Some(Duration::from_millis(5)));
    let alert = store.alerts_after(0, 1).expect("readable").remove(0);
    store.needed_from(0, 0);
    let worked: Result<(), StoreError> = runtime().block_on(async {
        store.put_policy(9, "{}".into()).await?;
        let is_told = told(&store);
        let again = (1..=store.last_cursor()).filter(|number| is_told.contains(&run_id(*number)));
        store.save_runs(again.map(saved).collect()).await?;
        for _ in 0..runs {
            let number = store.last_cursor() + 1;
            store.commit(turn(number, &alert)).await?;
            acknowledged(number);
            store.save_runs(vec![saved(number)]).await?;
            store.needed_from(0, u64::MAX);
        }
        let deadline = Instant::now() + PATIENCE;
        // A store that takes no more writes makes none.
        while store.counters().snapshots + store.counters().snapshots_failed == 0
            && store.failure().is_none()
        {
            assert!(Instant::now() < deadline, "no snapshot is written");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        store.set_exporter_cursor("webhook", 1)?;
        store.close().await
    });
    worked.unwrap_or_else(|error| panic!("it does not take writes: {error}"));
}

/// What a process of the tests does that is to end.
pub(super) fn go(scenario: &str, dir: &Path) {
    match scenario {
        "open" => open_and_close(dir),
        _ => (0..2).for_each(|_| {
            work(dir, 2, |number| {
                // In one piece, whatever else is said.
                let line = format!("acknowledged {number}\n");
                std::io::stderr()
                    .write_all(line.as_bytes())
                    .expect("it is read");
            });
        }),
    }
}

fn process_of_the_tests(scenario: &str, dir: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("it runs"));
    command
        .args([
            "--exact",
            "every_call::any_call_may_be_the_last",
            "--nocapture",
        ])
        .env(SCENARIO, scenario)
        .env(DIRECTORY, dir);
    command
}

pub(super) fn opening(dir: &Path) -> Command {
    process_of_the_tests("open", dir)
}

fn working(dir: &Path) -> Command {
    process_of_the_tests("work", dir)
}

pub(super) fn eddy(dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_eddy"));
    command.current_dir(dir).args(arguments);
    command
}

fn saving(dir: &Path) -> Command {
    eddy(dir, &["backup", "copy", "--data-dir", "data"])
}

fn restoring(dir: &Path) -> Command {
    eddy(dir, &["restore", "copy", "--data-dir", "data"])
}

fn hooking(dir: &Path) -> Command {
    eddy(
        dir,
        &[
            "hook",
            "claude-code",
            "--install",
            "--settings",
            "settings.json",
        ],
    )
}

/// What a store shows that [`work`] was done in; and what it has of each run is whole.
fn worked(dir: &Path) -> String {
    let store = open(dir, None);
    let last = store.last_cursor();
    let alerts = store.alerts_after(0, 1000).expect("readable");
    assert_eq!(alerts.len() as u64, last);
    let told = told(&store);
    for number in 3..=last {
        assert_eq!(alerts[number as usize - 1].run_id, run_id(number));
        let alias = store.alias(trace(number)).expect("readable");
        assert_eq!(alias, Some(run_id(number)));
        let state = store.load_run(&run_id(number)).expect("readable");
        let is_known = told.contains(&run_id(number));
        assert!(
            is_known || state.as_ref() == Some(&saved(number)),
            "run {number}"
        );
    }
    assert_eq!(store.policy(9).expect("readable").as_deref(), Some("{}"));
    assert_eq!(store.counters().lost_records, 0);
    let runs = store.run_ids_oldest_first(None, 99).expect("readable");
    format!("{last} {runs:?}")
}

/// Spoils the beginning of a database, and removes sled's snapshots, which would hide that.
fn damage(dir: &Path) {
    let log = dir.join("store/db");
    let mut bytes = fs::read(&log).expect("it is there");
    bytes[..64].iter_mut().for_each(|byte| *byte ^= 0x5a);
    fs::write(&log, bytes).expect("it can be written");
    for entry in fs::read_dir(dir.join("store"))
        .expect("it is there")
        .flatten()
    {
        if entry.file_name().to_string_lossy().starts_with("snap.") {
            fs::remove_file(entry.path()).expect("it can be removed");
        }
    }
}
