//! What becomes of a damaged data directory: it opens, what is damaged lies aside, and what is still good is there.

mod anywhere;
mod snapshots;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::*;

/// Everything that a store shows.
#[derive(Debug, PartialEq)]
struct Shown {
    runs: Vec<IndexKey>,
    states: Vec<Option<State>>,
    aliases: Vec<Option<Text>>,
    /// The traces and the newest alerts of each run.
    belongings: Vec<(Vec<TraceId>, Vec<u64>)>,
    alerts: Vec<u64>,
    policy: Option<String>,
    exporter: u64,
    replayed: Vec<Vec<Entry>>,
}

/// A state in short: the run, its position, and the hash of its bytes.
type State = (Text, u64, u64);

fn state(store: &Store, run: u64) -> Result<Option<State>, StoreError> {
    let saved = store.load_run(&run_id(run))?;
    let short = |saved: SavedRun| {
        let hash = xxhash_rust::xxh3::xxh3_64(&saved.state);
        (saved.key.run_id, saved.position, hash)
    };
    Ok(saved.map(short))
}

const RUNS: u64 = 12;

fn run_id(run: u64) -> Text {
    format!("run {run}").into()
}

fn trace(run: u64) -> TraceId {
    TraceId([run as u8 + 1; 16])
}

fn belongings(store: &Store, run: u64) -> (Vec<TraceId>, Vec<u64>) {
    let traces = aliases_of(store, &run_id(run));
    let alerts = store.newest_alerts_of(&run_id(run)).unwrap();
    (traces, alerts.iter().map(|alert| alert.cursor).collect())
}

fn shown(store: &Store) -> Shown {
    let each = 0..RUNS;
    Shown {
        runs: store.run_ids_oldest_first(None, 99).unwrap(),
        states: each.clone().map(|run| state(store, run).unwrap()).collect(),
        aliases: each
            .clone()
            .map(|run| store.alias(trace(run)).unwrap())
            .collect(),
        belongings: each.map(|run| belongings(store, run)).collect(),
        alerts: cursors(store),
        policy: store.policy(9).unwrap(),
        exporter: store.exporter_cursor("file").unwrap(),
        replayed: replayed(store).into_iter().map(|turn| turn.1).collect(),
    }
}

fn with_snapshots() -> Options {
    Options {
        snapshot_every: Some(Duration::from_millis(5)),
        ..options()
    }
}

async fn commit(store: &Store, run: u64) {
    let turn = Turn {
        new_runs: vec![key(run, &run_id(run))],
        aliases: vec![(trace(run), run_id(run))],
        alerts: vec![samples::raised(&run_id(run))],
        ..idle(&run_id(run), run)
    };
    let position = store.commit(turn).await.unwrap().position;
    // Some are longer than what sled is given at once.
    let mut state = saved(run, &run_id(run), 10_000 * run as usize);
    state.position = position;
    store.save_runs(vec![state]).await.unwrap();
}

/// A directory with a store of some runs, and what it showed last.
async fn filled(options: &Options) -> (TempDir, Shown) {
    let dir = TempDir::new().unwrap();
    let store = Store::open(dir.path(), options).unwrap();
    store.put_policy(9, "{}".into()).await.unwrap();
    store.set_exporter_cursor("file", 3).unwrap();
    for run in 0..RUNS {
        commit(&store, run).await;
    }
    if options.snapshot_every.is_some() {
        // Both that are kept have it all.
        snapshot_after_now(&store).await;
        snapshot_after_now(&store).await;
    }
    let shown = shown(&store);
    store.close().await.unwrap();
    (dir, shown)
}

/// Waits for a snapshot of all that is committed.
async fn snapshot_after_now(store: &Store) {
    let now = snapshot::now_ms();
    let deadline = Instant::now() + Duration::from_secs(20);
    let mut told = 100;
    while store.snapshot_ms() <= now {
        assert!(Instant::now() < deadline, "no snapshot is written");
        told += 1;
        store.commit(idle("another", told)).await.unwrap();
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn database(dir: &Path) -> PathBuf {
    dir.join("store")
}

fn set_aside(dir: &Path) -> usize {
    let names = fs::read_dir(dir).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name());
    names
        .filter(|name| name.to_string_lossy().starts_with("damaged-"))
        .count()
}

type Harm = fn(&Path);

/// Ways of damaging a database that nothing can be read from afterwards.
const HARMS: &[(&str, Harm)] = &[
    ("its beginning", |database| super::damage(database, 0)),
    ("one byte of a segment", |database| {
        change_byte(&database.join("db"), 30);
    }),
    ("its configuration", |database| {
        fs::write(database.join("conf"), [0x5a; 64]).unwrap();
    }),
    ("it is empty", |database| {
        fs::write(database.join("db"), []).unwrap();
        without_snap(database);
    }),
    ("it is not there", |database| {
        fs::remove_file(database.join("db")).unwrap();
    }),
    ("it is another file", |database| {
        fs::copy(database.join("conf"), database.join("db")).unwrap();
        without_snap(database);
    }),
];

fn change_byte(path: &Path, place: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[place] ^= 0x5a;
    fs::write(path, bytes).unwrap();
    without_snap(path.parent().unwrap());
}

fn without_snap(database: &Path) {
    for entry in fs::read_dir(database).unwrap() {
        let path = entry.unwrap().path();
        if path.to_string_lossy().contains("snap.") {
            fs::remove_file(path).unwrap();
        }
    }
}

/// Given a database that is damaged in any of these ways, and snapshots: it is set aside, everything is there again, and
/// goes on; the next opening finds nothing to mend.
#[tokio::test]
async fn nothing_is_lost_where_there_is_a_snapshot() {
    let (dir, before) = filled(&with_snapshots()).await;
    for (what, harm) in HARMS {
        let copied = TempDir::new().unwrap();
        copy(dir.path(), copied.path());
        harm(&database(copied.path()));
        let store = Store::open(copied.path(), &with_snapshots()).expect(what);
        let mended = store
            .mended()
            .unwrap_or_else(|| panic!("{what}: not noticed"))
            .clone();
        assert_eq!(mended.loss, None, "{what}: {mended:?}");
        let mut after = shown(&store);
        // What the journal says again is known already.
        after.replayed.clone_from(&before.replayed);
        assert_eq!(after, before, "{what}");
        commit(&store, 11).await;
        drop(store);
        assert_eq!(
            set_aside(copied.path()),
            usize::from(mended.set_aside.is_some())
        );
        let store = Store::open(copied.path(), &with_snapshots()).expect(what);
        assert!(store.mended().is_none(), "{what}");
        assert_eq!(store.last_cursor(), before.alerts.len() as u64 + 1);
    }
}

/// Given a database whose end is lost, which sled takes for one torn by a crash: where the journal behind it was cut, the
/// snapshot takes its place.
#[tokio::test]
async fn a_lost_end_is_noticed() {
    let dir = TempDir::new().unwrap();
    let opened = open::open(dir.path(), &with_snapshots()).unwrap();
    let shorten = |journal: &mut journal::Journal| journal.set_segment_bytes(1_000);
    let store = Store::start(opened, dir.path(), &with_snapshots(), shorten).unwrap();
    let early = TempDir::new().unwrap();
    for run in 0..RUNS {
        commit(&store, run).await;
        if run == 3 {
            store.inner.shared.read(|db| db.flush()).unwrap();
            copy(dir.path(), early.path());
        }
    }
    store.needed_from(0, u64::MAX);
    snapshot_after_now(&store).await;
    // A snapshot that needs nothing of what is cut, and a cut after it.
    snapshot_after_now(&store).await;
    for told in 1000..1020 {
        store.commit(idle("another", told)).await.unwrap();
    }
    store.needed_from(0, u64::MAX);
    snapshot_after_now(&store).await;
    let before = shown(&store);
    store.close().await.unwrap();
    for name in ["db", "conf"] {
        fs::copy(
            database(early.path()).join(name),
            database(dir.path()).join(name),
        )
        .unwrap();
    }
    without_snap(&database(dir.path()));
    let store = Store::open(dir.path(), &options()).unwrap();
    let mended = store.mended().expect("it is noticed");
    assert!(mended.reason.contains("end of the database"), "{mended:?}");
    assert_eq!(
        (shown(&store).states, shown(&store).runs),
        (before.states, before.runs)
    );
}

/// Given no snapshot, what the journal still has is there, and what is lost is said.
#[tokio::test]
async fn without_a_snapshot_the_journal_is_what_there_is() {
    let (dir, before) = filled(&options()).await;
    super::damage(&database(dir.path()), 0);
    let store = open(dir.path());
    let mended = store.mended().expect("it is noticed");
    assert_eq!(mended.loss, None);
    assert!(
        mended
            .set_aside
            .as_ref()
            .is_some_and(|path| path.join("db").is_file())
    );
    let after = shown(&store);
    assert_eq!(
        (
            &after.runs,
            &after.aliases,
            &after.belongings,
            &after.alerts,
            &after.replayed
        ),
        (
            &before.runs,
            &before.aliases,
            &before.belongings,
            &before.alerts,
            &before.replayed
        )
    );
    drop(store);
    for file in fs::read_dir(dir.path().join("store/journal")).unwrap() {
        fs::remove_file(file.unwrap().path()).unwrap();
    }
    super::damage(&database(dir.path()), 0);
    let store = open(dir.path());
    assert_eq!(shown(&store).runs, []);
    let loss = store.mended().expect("it is noticed").told_loss();
    assert!(loss.ends_with("all that was there is lost"), "{loss}");
    commit(&store, 1).await;
}

/// Given a store of which nothing is left but what says its format, or beside that the database's directory, the loss is told and
/// counted: it is not taken for a new one.
#[tokio::test]
async fn what_is_gone_is_told() {
    for keeps_directory in [false, true] {
        let (dir, _) = filled(&options()).await;
        fs::remove_dir_all(database(dir.path())).unwrap();
        if keeps_directory {
            fs::create_dir(database(dir.path())).unwrap();
        }
        let store = open(dir.path());
        let loss = store.mended().expect("it is noticed").told_loss();
        assert!(loss.ends_with("all that was there is lost"), "{loss}");
        assert_eq!(store.counters().lost_records, 1);
        commit(&store, 1).await;
        store.close().await.unwrap();
        let store = open(dir.path());
        assert!(store.mended().is_none());
        assert_eq!(store.counters().lost_records, 0);
    }
}

/// Given copies of a store, one of which had nothing when it was copied, nothing is lost; given one whose journal has been cut or
/// removed, it is told and counted how much, as far as that is known.
#[tokio::test]
async fn what_copies_have_lost_is_counted() {
    let copy_of = |dir: &TempDir| {
        let to = TempDir::new().unwrap();
        backup::copy(dir.path(), &to.path().join("copy"), &[PathBuf::new()]).unwrap();
        to
    };
    let found = |dir: &Path| {
        let store = open(dir);
        let loss = store.mended().and_then(|mended| mended.loss.clone());
        (loss.unwrap_or_default(), store.counters().lost_records)
    };
    let empty = TempDir::new().unwrap();
    drop(open(empty.path()));
    assert_eq!(
        found(&copy_of(&empty).path().join("copy")),
        (String::new(), 0)
    );
    let (dir, _) = filled(&options()).await;
    let whole = copy_of(&dir);
    assert_eq!(found(&whole.path().join("copy")), (String::new(), 0));
    let cut = copy_of(&dir);
    for file in fs::read_dir(cut.path().join("copy/store/journal")).unwrap() {
        fs::write(file.unwrap().path(), "").unwrap();
    }
    let (loss, records) = found(&cut.path().join("copy"));
    assert!(
        loss.starts_with("the journal has been cut: its last "),
        "{loss}"
    );
    assert!(
        loss.contains(&format!(" {records} commits")) && records >= RUNS,
        "{loss}"
    );
    let (dir, _) = filled(&with_snapshots()).await;
    let gutted = copy_of(&dir);
    fs::remove_dir_all(gutted.path().join("copy/store/journal")).unwrap();
    let (loss, records) = found(&gutted.path().join("copy"));
    assert!(
        loss.starts_with("there is no journal") && records > 0,
        "{loss}"
    );
}

/// Given a journal whose first files were given up, the loss is told in commits, and cursors go on where they were.
#[tokio::test]
async fn a_loss_is_told() {
    let dir = TempDir::new().unwrap();
    let store = open_with(dir.path(), |journal| journal.set_segment_bytes(1_000));
    for run in 0..RUNS {
        commit(&store, run).await;
    }
    store.close().await.unwrap();
    let files = fs::read_dir(database(dir.path()).join("journal")).unwrap();
    let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    for gone in &files[..files.len() - 3] {
        fs::remove_file(gone).unwrap();
    }
    super::damage(&database(dir.path()), 0);
    let store = open(dir.path());
    let loss = store.mended().expect("it is noticed").told_loss();
    assert!(loss.starts_with("there was no snapshot: what "), "{loss}");
    assert_eq!(store.last_cursor(), RUNS);
    assert!(store.first_cursor() > 1);
    assert_eq!(
        store.commit(idle("run", 1)).await.unwrap().position,
        RUNS + 1
    );
}

/// Given a process that ended in the middle of mending, at any step, the next one ends up with everything.
#[tokio::test]
async fn mending_may_be_interrupted() {
    let (dir, before) = filled(&with_snapshots()).await;
    // Before the damaged one was set aside: what there is of the new one counts for nothing.
    let first = TempDir::new().unwrap();
    copy(dir.path(), first.path());
    super::damage(&database(first.path()), 0);
    fs::create_dir_all(first.path().join("store.new/journal")).unwrap();
    // After it: the new one is complete.
    let second = TempDir::new().unwrap();
    copy(dir.path(), second.path());
    fs::rename(database(second.path()), second.path().join("store.new")).unwrap();
    // What was restored had no database: its directory has left its place, and is half removed.
    let third = TempDir::new().unwrap();
    copy(second.path(), third.path());
    fs::create_dir_all(third.path().join("store.old/journal")).unwrap();
    // The damaged one was set aside, and the journal is still in it, too.
    fs::create_dir_all(third.path().join("damaged-2026/journal")).unwrap();
    // And it had lost its format.
    fs::remove_file(third.path().join("FORMAT")).unwrap();
    for dir in [first, second, third] {
        let dir = dir.path();
        fs::create_dir_all(dir.join("snapshots")).unwrap();
        fs::write(dir.join("snapshots/00000099.unfinished"), "eddy").unwrap();
        let store = Store::open(dir, &options()).unwrap();
        assert_eq!(shown(&store).states, before.states);
        for gone in [
            "store.new",
            "store.old",
            "damaged-2026/journal",
            "snapshots/00000099.unfinished",
        ] {
            assert!(!dir.join(gone).exists(), "{gone}");
        }
    }
}

/// Given a process that ended while sled wrote a snapshot of its own, with however much of it written, the next one finds
/// everything, and nothing that is damaged.
#[tokio::test]
async fn the_databases_own_snapshot_may_be_unfinished() {
    let (dir, _) = filled(&options()).await;
    // It writes one when it opens a database that has content.
    let before = shown(&open(dir.path()));
    let snap = fs::read_dir(database(dir.path())).unwrap();
    let mut snap = snap.map(|entry| entry.unwrap().path());
    let finished = snap.find(|path| path.to_string_lossy().contains("snap."));
    let finished = finished.expect("there is one");
    let bytes = fs::read(&finished).unwrap();
    for written in [0, 12, bytes.len() / 2, bytes.len()] {
        for is_first in [false, true] {
            let copied = TempDir::new().unwrap();
            copy(dir.path(), copied.path());
            if is_first {
                without_snap(&database(copied.path()));
            }
            let name = finished.with_extension("FFFF.generating");
            let unfinished = database(copied.path()).join(name.file_name().unwrap());
            fs::write(&unfinished, &bytes[..written]).unwrap();
            let store = open(copied.path());
            assert_eq!(store.mended(), None, "{written} bytes, {is_first}");
            assert_eq!(shown(&store), before);
            assert!(!unfinished.exists());
        }
    }
}

/// Given a doubt about a sound database, it is looked at and stays where it is; given processes that ended three times while
/// they opened one, it is made anew.
#[tokio::test]
async fn doubts_are_looked_into() {
    let (dir, before) = filled(&with_snapshots()).await;
    open::doubt(dir.path(), "a page could not be read");
    let store = open(dir.path());
    assert_eq!((store.mended(), shown(&store)), (None, before));
    drop(store);
    assert!(!database(dir.path()).join("DOUBT").exists());
    fs::write(database(dir.path()).join("OPENING"), "xxx").unwrap();
    let store = open(dir.path());
    let mended = store.mended().expect("it is given up");
    assert!(mended.reason.contains("ended while"), "{mended:?}");
    assert!(!database(dir.path()).join("OPENING").exists());
}

/// Given a lost or spoilt `FORMAT`, the store is known by what else lies there.
#[tokio::test]
async fn the_file_that_says_the_format_may_be_spoilt() {
    let (dir, before) = filled(&with_snapshots()).await;
    for spoilt in [&b"\xff\x00garbage"[..], b""] {
        fs::write(dir.path().join("FORMAT"), spoilt).unwrap();
        assert_eq!(shown(&open(dir.path())), before);
    }
    fs::remove_file(dir.path().join("FORMAT")).unwrap();
    assert_eq!(shown(&open(dir.path())), before);
    let text = fs::read_to_string(dir.path().join("FORMAT")).unwrap();
    assert_eq!(text, format!("eddy store format {}\n", open::SCHEMA_KNOWN));
}
