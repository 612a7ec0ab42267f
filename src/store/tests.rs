//! The whole store over directories that vanish with their test.

use std::fs::{self, File};
use std::path::Path;

use tempfile::TempDir;

use crate::engine::event::Body;
use crate::engine::policy::Policy;
use crate::engine::warning::Warning;
use crate::engine::{Input, RunState, step};

use super::records::samples;
use super::*;

const TRACE: TraceId = TraceId([7; 16]);

fn options() -> Options {
    Options {
        durability: Durability::Process,
        cache_bytes: 1 << 20,
        ..Options::default()
    }
}

fn open(dir: &Path) -> Store {
    Store::open(dir, &options()).expect("the store opens")
}

/// Opens a store whose journal is changed before anything is written.
fn open_with(dir: &Path, change: impl FnOnce(&mut journal::Journal)) -> Store {
    let opened = open::open(dir, &options()).expect("the store opens");
    Store::start(opened, dir, &options(), change).expect("the store starts")
}

fn idle(run_id: &str, at_ms: u64) -> Turn {
    Turn {
        at_ms,
        policy: 9,
        entries: vec![Entry::Idle {
            run_id: run_id.into(),
            at_ms,
        }],
        ..Turn::default()
    }
}

fn alerting(shard: u16, alerts: usize) -> Turn {
    Turn {
        shard,
        alerts: vec![samples::raised("run"); alerts],
        ..Turn::default()
    }
}

fn removing(run_id: &str) -> Turn {
    Turn {
        entries: vec![Entry::Removed {
            run_id: run_id.into(),
        }],
        removed: vec![key(1, run_id)],
        ..Turn::default()
    }
}

fn key(created_ms: u64, run_id: &str) -> IndexKey {
    IndexKey {
        created_ms,
        run_id: run_id.into(),
    }
}

fn saved(created_ms: u64, run_id: &str, state_bytes: usize) -> SavedRun {
    SavedRun {
        key: key(created_ms, run_id),
        position: created_ms + 1,
        state: vec![run_id.len() as u8; state_bytes],
    }
}

fn replayed(store: &Store) -> Vec<(u64, Vec<Entry>, u64)> {
    store
        .replay()
        .collect::<Result<_, _>>()
        .expect("every record can be read")
}

fn cursors(store: &Store) -> Vec<u64> {
    let alerts = store.alerts_after(0, 1000).expect("alerts can be read");
    alerts.iter().map(|alert| alert.cursor).collect()
}

/// Given a committed turn, everything in it is there after the store has been opened anew.
#[tokio::test]
async fn what_is_committed_is_there_after_reopening() {
    let dir = TempDir::new().unwrap();
    let mut turn = samples::tool_calls(3);
    turn.aliases = vec![(TRACE, "run".into())];
    turn.alerts = vec![samples::raised("run")];
    {
        let store = open(dir.path());
        let committed = store.commit(turn.clone()).await.unwrap();
        assert_eq!(committed.position, 1);
        store.put_policy(9, "{}").unwrap();
        store.set_exporter_cursor("webhook", 1).unwrap();
    }
    let store = open(dir.path());
    assert_eq!(replayed(&store), [(1, turn.entries, turn.policy)]);
    assert_eq!(store.run_ids(None, true, 9).unwrap(), turn.new_runs);
    assert_eq!(store.alias(TRACE).unwrap().as_deref(), Some("run"));
    assert_eq!(store.alias(TraceId([8; 16])).unwrap(), None);
    assert_eq!(
        store.alerts_after(0, 9).unwrap(),
        [Alert {
            cursor: 1,
            ..samples::raised("run")
        }]
    );
    assert_eq!(store.policy(9).unwrap().as_deref(), Some("{}"));
    assert_eq!(store.policy(8).unwrap(), None);
    assert_eq!(store.exporter_cursor("webhook").unwrap(), 1);
    assert_eq!(store.exporter_cursor("file").unwrap(), 0);
}

/// Given a store that syncs for power cuts, a turn is committed like any other.
#[tokio::test]
async fn the_durable_way_commits_too() {
    let dir = TempDir::new().unwrap();
    let store = Store::open(dir.path(), &Options::default()).unwrap();
    assert_eq!(store.commit(idle("run", 1)).await.unwrap().position, 1);
}

/// Given many turns at once, each has a position, positions never fall, and a replay gives the turns in the order of
/// their positions.
#[tokio::test]
async fn turns_at_once_are_replayed_in_order() {
    let dir = TempDir::new().unwrap();
    let store = open(dir.path());
    let commits = (0..200).map(|i| store.commit(idle("run", i)));
    let committed = futures_util::future::join_all(commits).await;
    let positions: Vec<u64> = committed
        .into_iter()
        .map(|done| done.unwrap().position)
        .collect();
    assert!(positions.is_sorted());

    let expected: Vec<_> = (0..)
        .zip(&positions)
        .map(|(i, position)| (*position, idle("run", i).entries, 9))
        .collect();
    assert_eq!(replayed(&store), expected);
    assert_eq!(store.counters().turns, 200);
}

/// Given turns that wait when the thread comes to them, one record and one sync serve them all.
#[test]
fn turns_that_wait_are_committed_together() {
    let dir = TempDir::new().unwrap();
    let opened = open::open(dir.path(), &options()).unwrap();
    let shared = Arc::new(Shared::new(opened.db, dir.path().to_owned(), &options()).unwrap());
    let journal = Journal::open(&shared.journal_dir(), false, 0, 0, |_| Ok(())).unwrap();
    let (orders, inbox) = mpsc::channel();
    let answers: Vec<_> = (0..200)
        .map(|i| {
            let mut writer = Box::new(records::TurnWriter::default());
            let keys = writer.write(idle("run", i));
            let (answer, answered) = oneshot::channel();
            let order = Order::Commit {
                writer,
                keys,
                answer,
            };
            orders.send(order).unwrap();
            answered
        })
        .collect();
    drop(orders);
    Writer::new(Arc::clone(&shared), None, journal).run(&inbox);
    for answered in answers {
        assert_eq!(answered.blocking_recv().unwrap().unwrap().position, 1);
    }
    let counters = shared.tally.read();
    assert_eq!((counters.turns, counters.commits), (200, 1));
}

/// Given a turn far larger than one value of the database may be, it comes back whole and is cut whole.
#[tokio::test]
async fn a_large_turn_comes_back_and_is_cut() {
    let dir = TempDir::new().unwrap();
    let turn = samples::tool_calls(2000);
    let store = open(dir.path());
    store.commit(turn.clone()).await.unwrap();
    assert_eq!(replayed(&store)[0].1, turn.entries);
    store.needed_from(0, u64::MAX);
    store.close().await.unwrap();
    let left = raw::keys(dir.path());
    assert_eq!(left, ["!journal", "!runs", "!schema", "i"]);
}

/// Given shards that need the journal from different positions on, it is cut behind the lowest; positions go on where
/// they were, also when nothing is left.
#[tokio::test]
async fn the_journal_is_cut_behind_the_lowest_need() {
    let dir = TempDir::new().unwrap();
    {
        let store = open(dir.path());
        store.needed_from(0, 0);
        store.needed_from(1, 0);
        for i in 0..10 {
            store.commit(idle("run", i)).await.unwrap();
        }
        store.needed_from(0, u64::MAX);
        store.needed_from(1, 4);
        store.close().await.unwrap();
    }
    {
        let store = open(dir.path());
        let positions: Vec<u64> = replayed(&store).iter().map(|turn| turn.0).collect();
        assert_eq!(positions, [4, 5, 6, 7, 8, 9, 10]);
        store.needed_from(0, u64::MAX);
        store.close().await.unwrap();
    }
    let store = open(dir.path());
    assert_eq!(replayed(&store), []);
    assert_eq!(store.commit(idle("run", 1)).await.unwrap().position, 11);
}

/// Given a shard that needed nothing of what was committed when it said so, what is committed later is kept.
#[tokio::test]
async fn nothing_needed_does_not_speak_for_later_turns() {
    let dir = TempDir::new().unwrap();
    let store = open(dir.path());
    store.commit(idle("run", 1)).await.unwrap();
    store.needed_from(0, u64::MAX);
    store.commit(idle("run", 2)).await.unwrap();
    store.needed_from(1, u64::MAX);
    store.clone().close().await.unwrap();
    assert_eq!(replayed(&store).len(), 1);
}

/// Given alerts of several shards, over two lives of the store, cursors have no gap and follow the order of commits.
#[tokio::test]
async fn cursors_have_no_gap_across_shards_and_reopening() {
    let dir = TempDir::new().unwrap();
    for life in 0..2 {
        let store = open(dir.path());
        let published = store.published();
        let commits = (0..20).map(|i| store.commit(alerting(i % 4, usize::from(i % 3))));
        futures_util::future::join_all(commits).await;
        let last = 19 * (life + 1);
        assert_eq!((store.first_cursor(), store.last_cursor()), (1, last));
        assert_eq!(*published.borrow(), last);
        assert_eq!(cursors(&store), (1..=last).collect::<Vec<_>>());
    }
    let store = open(dir.path());
    let some = store.alerts_after(5, 3).unwrap();
    assert_eq!(
        some.iter().map(|alert| alert.cursor).collect::<Vec<_>>(),
        [6, 7, 8]
    );
    assert_eq!(store.alerts_after(38, 3).unwrap(), []);
}

/// Given more alerts than are kept, the newest one of each warning stays, however old it is, until a newer one comes or its run
/// is forgotten; where an exporter has not had it then, it is counted as lost.
#[tokio::test]
async fn the_newest_alert_of_a_warning_stays() {
    let dir = TempDir::new().unwrap();
    let keep = Options {
        alerts_max: 5,
        ..options()
    };
    let of = |run_id: &str, warning: u64| Turn {
        alerts: vec![Alert {
            warning: Warning {
                id: warning,
                ..samples::raised(run_id).warning
            },
            ..samples::raised(run_id)
        }],
        ..Turn::default()
    };
    {
        let store = Store::open(dir.path(), &keep).unwrap();
        for warning in 1..=3 {
            store.commit(of("old", warning)).await.unwrap();
        }
        store.commit(of("gone", 4)).await.unwrap();
        store.commit(of("delivered", 5)).await.unwrap();
        for _ in 0..10 {
            store.commit(of("busy", 6)).await.unwrap();
        }
        assert_eq!(cursors(&store), [1, 2, 3, 4, 5, 11, 12, 13, 14, 15]);
        assert_eq!((store.first_cursor(), store.last_cursor()), (11, 15));
        // A newer alert of an old warning takes its place.
        store.commit(of("old", 2)).await.unwrap();
        assert_eq!(cursors(&store), [1, 3, 4, 5, 12, 13, 14, 15, 16]);
    }
    let store = Store::open(dir.path(), &keep).unwrap();
    assert_eq!(cursors(&store), [1, 3, 4, 5, 12, 13, 14, 15, 16]);
    let read = |cursor, limit| {
        let alerts = store.alerts_after(cursor, limit).unwrap();
        alerts.iter().map(|alert| alert.cursor).collect::<Vec<_>>()
    };
    assert_eq!(read(1, 2), [3, 4]);
    assert_eq!(read(5, 2), [12, 13]);
    store.commit(removing("gone")).await.unwrap();
    assert_eq!(store.counters().alerts_lost, 0, "there is no exporter");
    store.set_exporter_cursor("pager", 6).unwrap();
    store.commit(removing("delivered")).await.unwrap();
    assert_eq!(store.counters().alerts_lost, 0, "the exporter has had it");
    store.set_exporter_cursor("pager", 2).unwrap();
    store.commit(removing("old")).await.unwrap();
    assert_eq!(store.counters().alerts_lost, 1, "it has had the first");
    assert_eq!(cursors(&store), [12, 13, 14, 15, 16]);
    // What is announced with the removal of its run does not stay.
    let last = Turn {
        alerts: of("busy", 6).alerts,
        ..removing("busy")
    };
    store.commit(last).await.unwrap();
    for warning in 10..20 {
        store.commit(of("new", warning)).await.unwrap();
    }
    assert_eq!(cursors(&store), (18..=27).collect::<Vec<_>>());
}

/// Given more alerts than are kept, the oldest leave and are counted; a smaller limit holds from the next opening on.
#[tokio::test]
async fn the_oldest_alerts_leave_and_are_counted() {
    let dir = TempDir::new().unwrap();
    let keep = |alerts_max| Options {
        alerts_max,
        ..options()
    };
    {
        let store = Store::open(dir.path(), &keep(5)).unwrap();
        store.commit(alerting(0, 4)).await.unwrap();
        assert_eq!(cursors(&store), [1, 2, 3, 4]);
        store.commit(alerting(0, 3)).await.unwrap();
        assert_eq!(cursors(&store), [3, 4, 5, 6, 7]);
        store.commit(alerting(0, 8)).await.unwrap();
        assert_eq!(cursors(&store), [11, 12, 13, 14, 15]);
        assert_eq!(
            (store.first_cursor(), store.counters().alerts_removed),
            (11, 10)
        );
    }
    let store = Store::open(dir.path(), &keep(2)).unwrap();
    assert_eq!(cursors(&store), [14, 15]);
    assert_eq!(
        (store.first_cursor(), store.counters().alerts_removed),
        (14, 3)
    );
    store.commit(alerting(0, 1)).await.unwrap();
    assert_eq!(cursors(&store), [15, 16]);
}

/// Given saved states of any size, the newest of each run comes back, also after reopening.
#[tokio::test]
async fn the_newest_saved_state_comes_back() {
    let dir = TempDir::new().unwrap();
    {
        let store = open(dir.path());
        let runs = (0..300)
            .map(|i| saved(i, &format!("run {i}"), 100 * i as usize))
            .collect();
        store.save_runs(runs).await.unwrap();
        let again = vec![saved(7, "run 7", 60_000), saved(7, "run 7", 10)];
        store.save_runs(again).await.unwrap();
        assert_eq!(store.counters().runs_saved, 301);
    }
    let store = open(dir.path());
    assert_eq!(
        store.load_run("run 7").unwrap(),
        Some(saved(7, "run 7", 10))
    );
    assert_eq!(
        store.load_run("run 299").unwrap(),
        Some(saved(299, "run 299", 29_900))
    );
    assert_eq!(store.load_run("run").unwrap(), None);
}

/// Given runs in the index, they are listed by age from both ends, and from the middle on.
#[tokio::test]
async fn the_index_is_listed_from_both_ends() {
    let dir = TempDir::new().unwrap();
    let store = open(dir.path());
    let runs = [key(1, "b"), key(2, "a"), key(2, "aa"), key(300, "c")];
    store
        .commit(Turn {
            new_runs: runs.to_vec(),
            ..Turn::default()
        })
        .await
        .unwrap();
    let listed =
        |after: Option<&IndexKey>, newest_first| store.run_ids(after, newest_first, 2).unwrap();
    assert_eq!(listed(None, false), runs[..2]);
    assert_eq!(listed(Some(&runs[1]), false), runs[2..]);
    assert_eq!(listed(None, true), [runs[3].clone(), runs[2].clone()]);
    assert_eq!(
        listed(Some(&runs[2]), true),
        [runs[1].clone(), runs[0].clone()]
    );
    assert_eq!(listed(Some(&runs[0]), true), []);
    assert_eq!(listed(Some(&runs[3]), false), []);
}

/// Given deleted runs, nothing of them is left; aliases that went over to another run stay with it.
#[tokio::test]
async fn deleted_runs_leave_nothing_behind() {
    let dir = TempDir::new().unwrap();
    let store = open(dir.path());
    let moved = TraceId([8; 16]);
    let turn = |run_id: &str, traces: &[TraceId]| Turn {
        new_runs: vec![key(1, run_id)],
        aliases: traces.iter().map(|trace| (*trace, run_id.into())).collect(),
        ..Turn::default()
    };
    store.commit(turn("old", &[TRACE, moved])).await.unwrap();
    store.commit(turn("old2", &[moved])).await.unwrap();
    store
        .save_runs(vec![saved(1, "old", 60_000), saved(1, "old2", 1)])
        .await
        .unwrap();
    store.commit(removing("old")).await.unwrap();

    assert_eq!(store.run_ids(None, true, 9).unwrap(), [key(1, "old2")]);
    assert_eq!(store.load_run("old").unwrap(), None);
    assert!(store.load_run("old2").unwrap().is_some());
    assert_eq!(store.alias(TRACE).unwrap(), None);
    assert_eq!(store.alias(moved).unwrap().as_deref(), Some("old2"));
    store.commit(removing("old2")).await.unwrap();
    store.needed_from(0, u64::MAX);
    store.close().await.unwrap();
    assert_eq!(raw::keys(dir.path()), ["!journal", "!runs", "!schema"]);
}

/// Given a directory that is open, a second opening says who holds it; once it is let go, it opens.
#[tokio::test]
async fn a_second_holder_is_told_who_holds_the_directory() {
    let dir = TempDir::new().unwrap();
    let store = open(dir.path());
    let Err(StoreError::Held { holder, .. }) = Store::open(dir.path(), &options()) else {
        panic!("the second opening is refused as held");
    };
    assert_eq!(holder, format!("pid {}", std::process::id()));
    drop(store);
    open(dir.path());
}

/// Given a lock file that a dead process left, the directory opens.
#[test]
fn a_stale_lock_file_does_not_block() {
    let dir = TempDir::new().unwrap();
    fs::write(
        dir.path().join("LOCK"),
        "pid 1, and some more text than we would write",
    )
    .unwrap();
    let _store = open(dir.path());
    let text = fs::read_to_string(dir.path().join("LOCK")).unwrap();
    assert_eq!(text, format!("pid {}\n", std::process::id()));
}

/// Given a directory with other people's files, it is refused and left as it was.
#[test]
fn a_foreign_directory_is_left_alone() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("thesis.txt"), "precious").unwrap();
    let Err(StoreError::Foreign { found, .. }) = Store::open(dir.path(), &options()) else {
        panic!("the directory is refused as foreign");
    };
    assert_eq!(found, "thesis.txt");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

/// Given a database that another program wrote, it is refused and not changed.
#[test]
fn a_foreign_database_is_left_alone() {
    let dir = TempDir::new().unwrap();
    raw::put(dir.path(), b"theirs", b"data");
    assert!(matches!(
        Store::open(dir.path(), &options()),
        Err(StoreError::Foreign { .. })
    ));
    assert_eq!(raw::keys(dir.path()), ["theirs"]);
}

/// Given a store of a newer format, it is refused with both numbers and not changed.
#[test]
fn a_newer_format_is_left_alone() {
    let dir = TempDir::new().unwrap();
    drop(open(dir.path()));
    raw::put(dir.path(), keys::SCHEMA, &7_u32.to_be_bytes());
    let Err(StoreError::SchemaNewer { found, known, .. }) = Store::open(dir.path(), &options())
    else {
        panic!("the store is refused as newer");
    };
    assert_eq!((found, known), (7, open::SCHEMA_KNOWN));
    assert_eq!(raw::keys(dir.path()), ["!journal", "!runs", "!schema"]);

    // A format that is not even a database of ours any more is known by the file.
    fs::remove_dir_all(dir.path().join("store")).unwrap();
    fs::write(dir.path().join("FORMAT"), "eddy store format 8\n").unwrap();
    let refused = Store::open(dir.path(), &options()).err();
    assert!(
        matches!(refused, Some(StoreError::SchemaNewer { found: 8, .. })),
        "{refused:?}"
    );
    assert!(!dir.path().join("store").exists());
}

/// Given a store of a format that was never released, it is refused with both numbers and not changed.
#[test]
fn a_format_that_is_too_old_is_left_alone() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("FORMAT"), "eddy store format 1\n").unwrap();
    let Err(StoreError::SchemaOlder { found, known, .. }) = Store::open(dir.path(), &options())
    else {
        panic!("the store is refused as older");
    };
    assert_eq!((found, known), (1, open::SCHEMA_OLDEST));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

/// Given a path that is a file, the refusal names it.
#[test]
fn a_path_that_is_no_directory_is_refused() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("file");
    fs::write(&path, "").unwrap();
    let Err(error) = Store::open(&path, &options()) else {
        panic!("a file is refused");
    };
    assert!(matches!(error, StoreError::Io { .. }), "{error}");
    assert!(error.to_string().contains("file"), "{error}");
}

/// Spoils 64 bytes of the log, and removes sled's snapshots, which would hide that.
fn damage(database: &Path, place: usize) {
    let log = database.join("db");
    let mut bytes = fs::read(&log).unwrap();
    for byte in &mut bytes[place..place + 64] {
        *byte ^= 0x5a;
    }
    fs::write(&log, bytes).unwrap();
    for entry in fs::read_dir(database).unwrap() {
        let path = entry.unwrap().path();
        if path.to_string_lossy().contains("snap") {
            fs::remove_file(path).unwrap();
        }
    }
}

/// Given a write or a sync that fails, the turn is refused, and so is every later one.
#[tokio::test]
async fn after_a_failed_commit_nothing_is_committed() {
    let unwritable = File::open("/dev/null").unwrap();
    // A device without a disk behind it cannot be synced.
    let unsynced = File::options().write(true).open("/dev/null").unwrap();
    for file in [unwritable, unsynced] {
        let dir = TempDir::new().unwrap();
        let store = open_with(dir.path(), |journal| journal.divert(file));
        assert!(!store.is_poisoned());
        let first = store.commit(alerting(0, 1)).await;
        assert!(matches!(first, Err(StoreError::Failed { .. })), "{first:?}");
        assert!(store.is_poisoned());
        assert_eq!(
            (store.last_cursor(), cursors(&store).len()),
            (0, 0),
            "nothing was announced"
        );
        let later = store.commit(idle("run", 1)).await;
        assert!(matches!(later, Err(StoreError::Failed { .. })), "{later:?}");
        let saved = store.save_runs(vec![saved(1, "run", 1)]).await;
        assert!(matches!(saved, Err(StoreError::Failed { .. })), "{saved:?}");
        assert!(store.set_exporter_cursor("file", 1).is_err());
        assert!(store.close().await.is_err());
    }
}

/// Given a closed store, writes are refused as such, and reads still answer.
#[tokio::test]
async fn a_closed_store_can_still_be_read() {
    let dir = TempDir::new().unwrap();
    let store = open(dir.path());
    store.commit(alerting(0, 1)).await.unwrap();
    store.clone().close().await.unwrap();
    assert!(matches!(
        store.commit(idle("run", 1)).await,
        Err(StoreError::Closed)
    ));
    assert!(matches!(store.put_policy(1, "{}"), Err(StoreError::Closed)));
    assert_eq!(cursors(&store), [1]);
    assert!(store.size_bytes() > 0);
    store.close().await.unwrap();
}

/// Given a store of every released format, and one that was just written, each shows what was put into it, and says from then
/// on that it has the newest format.
#[tokio::test]
async fn every_released_format_is_read() {
    let new = TempDir::new().unwrap();
    let store = open(new.path());
    fill(&store).await;
    store.close().await.unwrap();
    check(new.path());

    let formats = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/store_formats");
    for format in open::SCHEMA_OLDEST..=open::SCHEMA_KNOWN {
        let dir = TempDir::new().unwrap();
        copy(&formats.join(format.to_string()), dir.path());
        check(dir.path());
        let said = fs::read_to_string(dir.path().join("FORMAT")).unwrap();
        assert_eq!(said, format!("eddy store format {}\n", open::SCHEMA_KNOWN));
    }
}

/// Puts into a store what those in `tests/store_formats` hold; see the page there.
async fn fill(store: &Store) {
    let turn = filling();
    store.put_policy(turn.policy, "{}").unwrap();
    store.commit(turn).await.unwrap();
    let run = SavedRun {
        state: records::encode_run(&run_state()),
        ..saved(5, "run", 0)
    };
    store.save_runs(vec![run]).await.unwrap();
    store.set_exporter_cursor("webhook", 1).unwrap();
}

fn check(dir: &Path) {
    let store = open(dir);
    let turn = filling();
    assert_eq!(replayed(&store), [(1, turn.entries, turn.policy)]);
    assert_eq!(store.run_ids(None, true, 9).unwrap(), turn.new_runs);
    assert_eq!(store.alias(TRACE).unwrap().as_deref(), Some("run"));
    let alerts = store.alerts_after(0, 9).unwrap();
    let expected = (1..)
        .zip(turn.alerts)
        .map(|(cursor, alert)| Alert { cursor, ..alert });
    assert_eq!(alerts, expected.collect::<Vec<_>>());
    assert_eq!(store.policy(turn.policy).unwrap().as_deref(), Some("{}"));
    assert_eq!(store.exporter_cursor("webhook").unwrap(), 1);

    let run = store.load_run("run").unwrap().expect("the run was saved");
    assert_eq!((run.key, run.position), (key(5, "run"), 6));
    let state = records::decode_run(&run.state).expect("the state can be read");
    let (shown, expected) = (state.view(&policy()), run_state().view(&policy()));
    assert_eq!(shown.tool_calls, 5);
    assert!(!shown.warnings.is_empty());
    assert_eq!(shown.warnings.len(), expected.warnings.len());
    assert_eq!(shown.first_seen_ns, expected.first_seen_ns);
}

fn filling() -> Turn {
    let mut turn = samples::tool_calls(5);
    turn.aliases = vec![(TRACE, "run".into())];
    turn.alerts = vec![samples::raised("run"), samples::raised("other")];
    turn.entries.extend([
        Entry::Idle {
            run_id: "run".into(),
            at_ms: 1,
        },
        Entry::Absorb {
            into: "run".into(),
            from: "other".into(),
            state: vec![1, 2, 3],
        },
        Entry::Removed {
            run_id: "other".into(),
        },
    ]);
    turn
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

fn policy() -> Policy {
    let standard = include_str!("../../config/profiles/standard.yaml");
    serde_saphyr::from_str(standard).expect("the built-in profile is valid")
}

/// A run that has a warning.
fn run_state() -> RunState {
    let mut state = RunState::new("run".into());
    let turn = samples::tool_calls(1);
    let Entry::Reports { at_ms, events, .. } = &turn.entries[0] else {
        panic!("the sample is a report");
    };
    for i in 0..5 {
        let mut event = events[0].clone();
        event.id += i;
        event.start_ns += i * 1_000_000_000;
        event.end_ns += i * 1_000_000_000;
        if let Body::ToolCall(call) = &mut event.body {
            call.call_id = Some(i);
        }
        let input = Input::Reports {
            at_ms: *at_ms,
            session_id: None,
            service: None,
            events: vec![event],
        };
        step(&mut state, &input, &policy());
    }
    state
}

mod churn;
mod crashes;
mod damage;

/// A look at the database without the store.
mod raw {
    use std::path::Path;

    fn database(dir: &Path) -> sled::Db {
        let config = sled::Config::new()
            .path(dir.join("store"))
            .segment_size(super::pieces::SEGMENT_BYTES);
        // The threads of a database that was closed let go of its lock a while after.
        for _ in 0..1_000 {
            match config.open() {
                Err(sled::Error::Io(error)) if error.to_string().contains("acquire lock") => {
                    std::thread::sleep(std::time::Duration::from_millis(10));
                }
                opened => return opened.expect("the database opens"),
            }
        }
        panic!("somebody keeps the database open");
    }

    /// The keys, those of the index without what follows the prefix.
    pub(super) fn keys(dir: &Path) -> Vec<String> {
        let found = database(dir).iter().keys().map(|key| {
            let key = key.expect("the key can be read");
            let shown = if key.starts_with(b"i") {
                &key[..1]
            } else {
                &key
            };
            String::from_utf8_lossy(shown).into_owned()
        });
        found.collect()
    }

    /// Takes away what lies under keys with these prefixes.
    pub(super) fn remove(dir: &Path, prefixes: &[u8]) {
        let database = database(dir);
        for prefix in prefixes {
            for key in database.scan_prefix([*prefix]).keys() {
                let key = key.expect("the key can be read");
                database.remove(key).expect("the key can be removed");
            }
        }
        database.flush().expect("the database can be flushed");
    }

    pub(super) fn put(dir: &Path, key: &[u8], value: &[u8]) {
        let database = database(dir);
        database.insert(key, value).expect("the key can be written");
        database.flush().expect("the database can be flushed");
    }
}
