//! A process that is killed while it takes over a store of an older format. `EDDY_MIGRATIONS` sets how often, for each format: 10
//! times by default, 50 in the long form.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use eddy::engine::event::TraceId;
use eddy::store::{Options, Store};

/// The formats before the present one, as directories of `tests/store_formats`.
const OLDER: [&str; 4] = ["2", "3", "4", "5"];

/// Where a store of every supported format lies.
pub(crate) fn formats() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/store_formats")
}

/// Names the directory to a process that is to be killed while it opens it.
const TO_OPEN: &str = "EDDY_TEST_OPENS";

const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn copy(from: &Path, to: &Path) {
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

/// What the directory says its format is.
fn said(dir: &Path) -> String {
    fs::read_to_string(dir.join("FORMAT")).unwrap_or_default()
}

fn open(dir: &Path) -> Store {
    Store::open(dir, &Options::default()).expect("the store opens")
}

/// Everything that a store of `tests/store_formats` shows.
pub(crate) fn shown(dir: &Path) -> String {
    let store = open(dir);
    let replayed: Vec<_> = store.replay().map(|turn| turn.expect("whole")).collect();
    let read = "it can be read";
    let runs = store.run_ids(None, true, 9).expect(read);
    let saved = store.load_run("run").expect(read);
    let alias = store.alias(TraceId([7; 16])).expect(read);
    let traces = store.aliases_of("run").expect(read);
    let alerts = store.alerts_after(0, 9).expect(read);
    let newest = ["run", "other"].map(|run_id| store.newest_alerts_of(run_id).expect(read));
    let cursor = store.exporter_cursor("webhook").expect(read);
    assert!(saved.is_some() && alias.is_some() && alerts.len() == 2);
    assert_eq!(traces.len(), 1);
    format!("{replayed:?} {runs:?} {saved:?} {alias:?} {traces:?} {alerts:?} {newest:?} {cursor}")
}

/// Kills a process that opens the directory: so long after it began, or after the directory says another format than before.
fn kill_while_it_opens(dir: &Path, at: Duration, once_it_says_so: bool) {
    let (before, began) = (said(dir), Instant::now());
    let mut child = Command::new(std::env::current_exe().expect("it runs"))
        .args(["--exact", "migration::a_migration_may_be_killed"])
        .env(TO_OPEN, dir)
        .stdout(Stdio::null())
        .spawn()
        .expect("it starts");
    while once_it_says_so && said(dir) == before {
        assert!(began.elapsed() < PATIENCE, "it keeps the old format");
    }
    if at > Duration::ZERO {
        std::thread::sleep(at);
    }
    child.kill().expect("it still runs");
    child.wait().expect("it ends");
}

/// Given a store of each older format and a process that is killed while it takes it over, half way, at any time or just when the
/// directory gets its new format, the next opening finds all that one finds that nobody killed, and nothing is set aside.
#[test]
fn a_migration_may_be_killed() {
    if let Some(dir) = std::env::var_os(TO_OPEN) {
        let _store = open(Path::new(&dir));
        std::thread::sleep(2 * PATIENCE);
        return;
    }
    let kills = std::env::var("EDDY_MIGRATIONS").ok();
    let kills: u32 = kills.and_then(|number| number.parse().ok()).unwrap_or(10);
    let mut half_way = 0;
    for format in OLDER {
        let older = formats().join(format);
        let sound = tempfile::tempdir().expect("a directory");
        copy(&older, sound.path());
        let expected = shown(sound.path());
        // The directory says the new format and the database the old one; or the directory was just to say it.
        for half in [said(sound.path()), String::new()] {
            let directory = tempfile::tempdir().expect("a directory");
            copy(&older, directory.path());
            fs::write(directory.path().join("FORMAT"), half).expect("it can be written");
            assert_eq!(shown(directory.path()), expected, "format {format}");
        }
        for kill in 0..kills {
            let directory = tempfile::tempdir().expect("a directory");
            let dir = directory.path();
            copy(&older, dir);
            // Times that are spread: some tenths of a second go by until a process has opened it.
            let part = kill * 7 % 16;
            if kill % 2 == 0 {
                // Half of them at once, before the database has it too.
                let later = Duration::from_micros(100) * (part % 4);
                kill_while_it_opens(dir, later, true);
            } else {
                kill_while_it_opens(dir, Duration::from_millis(20) * part, false);
            }
            half_way += u32::from(said(dir) != said(&older));
            assert_eq!(shown(dir), expected, "format {format}, kill {kill}");
            assert_eq!(said(dir), said(sound.path()));
            let names = fs::read_dir(dir).expect("it is there").flatten();
            let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
            let aside: Vec<_> = names.filter(|name| name.starts_with("damaged")).collect();
            assert!(aside.is_empty(), "{aside:?}");
        }
    }
    println!("{kills} kills for each format, {half_way} of them after it said the new one");
}
