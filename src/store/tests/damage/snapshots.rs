//! Snapshots: what they hold, and what becomes of a store that has nothing else.

use std::sync::atomic::AtomicBool;

use super::*;

/// Given a snapshot and no journal at all, as after a restore, what is committed from then on survives a crash: no state
/// claims to contain it already.
#[tokio::test]
async fn positions_go_on_above_those_of_restored_states() {
    let (dir, before) = filled(&with_snapshots()).await;
    fs::remove_dir_all(database(dir.path())).unwrap();
    let store = Store::open(dir.path(), &options()).unwrap();
    let loss = store.mended().unwrap().told_loss();
    assert!(loss.starts_with("there is no journal: "), "{loss}");
    assert_eq!(shown(&store).states, before.states);
    let newest = before
        .states
        .iter()
        .flatten()
        .map(|state| state.1)
        .max()
        .unwrap();
    let position = store.commit(idle("run 3", 77)).await.unwrap().position;
    assert!(position > newest, "{position} {newest}");
    drop(store);
    let again = open(dir.path());
    let told = again.replay().filter_map(Result::ok).last();
    assert_eq!(told.unwrap().entries, idle("run 3", 77).entries);
}

/// Given snapshots and a journal of which nothing can be read, it is said that all is lost.
#[tokio::test]
async fn a_store_of_which_nothing_can_be_read() {
    let (dir, _) = filled(&with_snapshots()).await;
    let database = database(dir.path());
    for place in [dir.path().join("snapshots"), database.join("journal")] {
        for file in fs::read_dir(place).unwrap() {
            let file = fs::File::options().write(true).open(file.unwrap().path());
            file.unwrap().set_len(50).unwrap();
        }
    }
    fs::remove_file(database.join("db")).unwrap();
    let store = Store::open(dir.path(), &options()).unwrap();
    let loss = store.mended().unwrap().told_loss();
    assert!(loss.ends_with("all that was there is lost"), "{loss}");
}

/// Given a store whose journal is gone, directory and all, a copy has the snapshot, and says what it lacks.
#[tokio::test]
async fn a_copy_tells_of_a_journal_that_is_gone() {
    let (dir, _) = filled(&with_snapshots()).await;
    fs::remove_dir_all(database(dir.path()).join("journal")).unwrap();
    let copies = TempDir::new().unwrap();
    let to = copies.path().join("copy");
    let held = &backup::copy(dir.path(), &to, &[PathBuf::new()]).unwrap()[0];
    assert!(held.snapshot_ms.is_some() && held.records == 0);
    let lacks = held.lacks.unwrap_or_default();
    assert!(lacks.starts_with("there is no journal"), "{lacks}");
}

/// Given a process that is started again and again before it comes to write a snapshot, and then a damaged database: the
/// snapshot of long ago and the journal since still give everything.
#[tokio::test]
async fn many_starts_between_two_snapshots_cost_nothing() {
    const STARTS: u64 = 30;
    let (dir, _) = filled(&with_snapshots()).await;
    let rarely = Options {
        snapshot_every: Some(Duration::from_secs(3_600)),
        ..options()
    };
    for start in 0..STARTS {
        let store = Store::open(dir.path(), &rarely).unwrap();
        store.commit(idle("run", 1_000 + start)).await.unwrap();
        store.needed_from(0, u64::MAX);
        store.close().await.unwrap();
    }
    super::damage(&database(dir.path()), 0);
    let store = Store::open(dir.path(), &rarely).unwrap();
    assert_eq!(store.mended().unwrap().loss, None);
    let told: Vec<_> = replayed(&store).into_iter().map(|turn| turn.1).collect();
    let expected = (0..STARTS).map(|start| idle("run", 1_000 + start).entries);
    assert!(told.ends_with(&expected.collect::<Vec<_>>()));
}

/// Given policies that were put after the newest snapshot, or before there was one, and a damaged database: those that the journal
/// names are there, in a copy too.
#[tokio::test]
async fn policies_behind_the_snapshot_are_there() {
    let rarely = Options {
        snapshot_every: Some(Duration::from_secs(3_600)),
        ..options()
    };
    // Longer than a piece.
    let json = format!("\"{}\"", "x".repeat(15_000));
    let under = |policy, at_ms| Turn {
        policy,
        ..idle("run", at_ms)
    };
    for (dir, before) in [
        (TempDir::new().unwrap(), 0),
        (filled(&with_snapshots()).await.0, 1),
    ] {
        let store = Store::open(dir.path(), &rarely).unwrap();
        store.put_policy(41, json.clone()).await.unwrap();
        store.put_policy(42, json.clone()).await.unwrap();
        store.commit(under(41, 1)).await.unwrap();
        store.close().await.unwrap();
        // The next process finds it there.
        let store = Store::open(dir.path(), &rarely).unwrap();
        store.put_policy(41, json.clone()).await.unwrap();
        store.commit(under(41, 2)).await.unwrap();
        store.needed_from(0, u64::MAX);
        store.close().await.unwrap();
        let copies = TempDir::new().unwrap();
        let to = copies.path().join("copy");
        backup::copy(dir.path(), &to, &[PathBuf::new()]).unwrap();
        super::damage(&database(dir.path()), 0);
        for dir in [dir.path(), &to] {
            let store = Store::open(dir, &rarely).unwrap();
            assert!(store.mended().is_some());
            assert_eq!(store.policy(41).unwrap().as_ref(), Some(&json));
            assert_eq!(store.policy(42).unwrap(), None, "nothing names it");
            assert_eq!(store.policy(9).unwrap().is_some(), before == 1);
            let told: Vec<_> = replayed(&store).into_iter().map(|turn| turn.2).collect();
            assert!(told.ends_with(&[41, 41]), "{told:?}");
        }
    }
}

/// Given a store to which nothing is told, no further snapshot is written of it.
#[tokio::test]
async fn nothing_new_is_no_reason_for_a_snapshot() {
    let dir = TempDir::new().unwrap();
    let store = Store::open(dir.path(), &with_snapshots()).unwrap();
    snapshot_after_now(&store).await;
    // What was committed while that was written is in the next one, which may take a while.
    for _ in 0..20 {
        let written = store.counters().snapshots;
        tokio::time::sleep(Duration::from_millis(200)).await;
        if store.counters().snapshots == written {
            return;
        }
    }
    panic!("snapshots are written again and again");
}

/// Given a newest snapshot that is damaged, the one before it serves.
#[tokio::test]
async fn a_damaged_snapshot_is_passed_over() {
    let (dir, before) = filled(&with_snapshots()).await;
    let snapshots = snapshot::list(&snapshot::dir_of(dir.path())).unwrap();
    assert_eq!(snapshots.len(), 2, "two are kept");
    let newest = &snapshots[0].1;
    let middle = fs::metadata(newest).unwrap().len() / 2;
    let mut bytes = fs::read(newest).unwrap();
    bytes[middle as usize] ^= 1;
    fs::write(newest, bytes).unwrap();
    super::damage(&database(dir.path()), 0);
    let store = Store::open(dir.path(), &options()).unwrap();
    assert_eq!(shown(&store).states, before.states);
}

/// Given a damaged database and `FORMAT`, and snapshots of another format, nothing is made of what would be read wrongly.
#[tokio::test]
async fn a_snapshot_of_another_format_is_left_alone() {
    let (dir, _) = filled(&with_snapshots()).await;
    fs::remove_file(dir.path().join("FORMAT")).unwrap();
    super::damage(&database(dir.path()), 0);
    for (_, path) in snapshot::list(&snapshot::dir_of(dir.path())).unwrap() {
        let mut bytes = fs::read(&path).unwrap();
        let record = bytes
            .windows(keys::SCHEMA.len())
            .position(|key| key == keys::SCHEMA);
        let record = record.unwrap();
        let end = record + keys::SCHEMA.len() + 4;
        bytes[end - 1] += 1;
        let hash = xxhash_rust::xxh3::xxh3_64(&bytes[record..end]);
        bytes[record - 8..record].copy_from_slice(&hash.to_le_bytes());
        fs::write(path, bytes).unwrap();
    }
    let Err(StoreError::OtherFormat { found, known, .. }) = Store::open(dir.path(), &options())
    else {
        panic!("something was made of it");
    };
    assert_eq!((found, known), (open::SCHEMA_KNOWN + 1, open::SCHEMA_KNOWN));
    assert_eq!(set_aside(dir.path()), 0);
}

/// Given a damaged database and a snapshot, or a directory of them, that the system does not let us read, nothing is made of what
/// is older: once it can be read, all is there.
#[tokio::test]
async fn a_snapshot_that_cannot_be_read_is_waited_for() {
    let (dir, before) = filled(&with_snapshots()).await;
    let snapshots = snapshot::dir_of(dir.path());
    let newest = snapshot::list(&snapshots).unwrap().remove(0).1;
    super::damage(&database(dir.path()), 0);
    let aside = dir.path().join("aside");
    for unread in [newest, snapshots] {
        fs::rename(&unread, &aside).unwrap();
        // What leads to itself can be read by nobody, however many rights they have.
        std::os::unix::fs::symlink(&unread, &unread).unwrap();
        let refused = Store::open(dir.path(), &options()).err();
        let told = refused.map(|error| error.to_string());
        assert!(told.is_some_and(|told| told.contains("snapshots")));
        fs::remove_file(&unread).unwrap();
        fs::rename(&aside, &unread).unwrap();
    }
    let store = Store::open(dir.path(), &options()).unwrap();
    assert_eq!(shown(&store).states, before.states);
}

/// Given snapshots that are written while others write, each of them, with the journal, gives what was committed.
#[tokio::test(flavor = "multi_thread")]
async fn snapshots_are_written_beside_the_work() {
    let dir = TempDir::new().unwrap();
    let store = Store::open(dir.path(), &with_snapshots()).unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    let mut round = 0;
    while store.counters().snapshots < 5 {
        assert!(Instant::now() < deadline, "no snapshots are written");
        round += 1;
        for run in 0..RUNS {
            let position = store
                .commit(idle(&run_id(run), round))
                .await
                .unwrap()
                .position;
            let mut state = saved(run, &run_id(run), 60_000);
            state.position = position;
            state.state.fill(round as u8);
            store.save_runs(vec![state]).await.unwrap();
        }
        store.needed_from(0, u64::MAX);
        let copied = TempDir::new().unwrap();
        let snapshots = snapshot::list(&snapshot::dir_of(dir.path())).unwrap();
        let Some((_, newest)) = snapshots.first() else {
            continue;
        };
        let mut states = 0;
        fs::copy(newest, copied.path().join("one")).unwrap();
        snapshot::read(&copied.path().join("one"), |key, value| {
            if key[0] == keys::RUN {
                let state = records::decode_saved("run", value)
                    .expect("a whole state")
                    .state;
                assert!(
                    state.iter().all(|byte| *byte == state[0]),
                    "pieces of two states"
                );
                states += 1;
            }
            Ok(())
        })
        .unwrap();
        assert!(states <= RUNS);
    }
    assert_eq!(store.counters().snapshots_failed, 0);
}

/// Names of what lies in the directory of snapshots.
fn snapshot_files(dir: &Path) -> Vec<String> {
    let files = fs::read_dir(snapshot::dir_of(dir)).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    names.collect()
}

/// Given a disk that is full before a snapshot is finished, what it took of the disk is given back at once, and the next one is
/// written when there is room; given one on which there is no room for another one as large, none is begun.
#[tokio::test]
async fn a_snapshot_that_finds_no_room_leaves_none_of_it() {
    let dir = TempDir::new().unwrap();
    let store = open(dir.path());
    store
        .save_runs(vec![saved(1, &run_id(1), 60_000)])
        .await
        .unwrap();
    let write = || snapshot::write(&store.inner.shared, &AtomicBool::new(false));
    let in_dir = |name: &str| snapshot::dir_of(dir.path()).join(name);
    fs::create_dir_all(in_dir("")).unwrap();
    std::os::unix::fs::symlink("/dev/full", in_dir("00000001.unfinished")).unwrap();
    let error = write().unwrap_err();
    assert!(error.is_full(), "{error}");
    assert!(snapshot_files(dir.path()).is_empty());
    assert!(write().unwrap().is_some());
    assert_eq!(snapshot_files(dir.path()), ["00000001.snapshot"]);

    // It takes nothing of the disk, and says that it is larger than any.
    let file = fs::OpenOptions::new()
        .write(true)
        .open(in_dir("00000001.snapshot"));
    file.unwrap().set_len(8 << 40).unwrap();
    let error = write().unwrap_err();
    assert!(error.is_full(), "{error}");
    assert_eq!(snapshot_files(dir.path()), ["00000001.snapshot"]);
}

/// Given snapshots that cannot be written, they are tried after longer and longer times.
#[tokio::test]
async fn snapshots_that_fail_are_tried_less_often() {
    let every = Duration::from_millis(20);
    let dir = TempDir::new().unwrap();
    let options = Options {
        snapshot_every: Some(every),
        ..options()
    };
    let in_its_place = snapshot::dir_of(dir.path()).join("00000001.unfinished");
    fs::create_dir_all(in_its_place).unwrap();
    let began = Instant::now();
    let store = Store::open(dir.path(), &options).unwrap();
    store.commit(idle("run", 1)).await.unwrap();
    while store.counters().snapshots_failed < 4 {
        assert!(began.elapsed() < Duration::from_secs(20), "they are tried");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(began.elapsed() >= (2 + 4 + 8) * every);
}

/// Given a reserve that was given up for opening the store, it is made again behind a snapshot, when there is room.
#[tokio::test]
async fn the_reserve_comes_back_with_a_snapshot() {
    let dir = TempDir::new().unwrap();
    let options = Options {
        snapshot_every: Some(Duration::from_millis(20)),
        reserve_bytes: 1_000,
        ..options()
    };
    let store = Store::open(dir.path(), &options).unwrap();
    assert!(reserve::spend(dir.path()));
    store.commit(idle("run", 1)).await.unwrap();
    let began = Instant::now();
    while !dir.path().join(reserve::RESERVE).exists() {
        assert!(began.elapsed() < Duration::from_secs(20), "it comes back");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
