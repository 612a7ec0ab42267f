//! What a crash leaves behind, and what the store makes of it.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::*;

fn segments(dir: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(dir.join("store/journal")).unwrap();
    let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    paths.sort();
    paths
}

fn change(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}

/// Positions that can be replayed, and the number of those that are reported as lost.
fn positions(store: &Store) -> (Vec<u64>, usize) {
    let (found, lost): (Vec<_>, Vec<_>) = store.replay().partition(Result::is_ok);
    for error in &lost {
        assert!(
            matches!(error, Err(StoreError::Unreadable { .. })),
            "{error:?}"
        );
    }
    let positions = found
        .into_iter()
        .map(|turn| turn.unwrap().position)
        .collect();
    (positions, lost.len())
}

/// A store with so many committed turns, all in one segment, and where each record begins.
async fn filled(dir: &Path, turns: u64) -> Vec<usize> {
    let store = open(dir);
    let mut starts = Vec::new();
    for turn in 1..=turns {
        let length = segments(dir)
            .first()
            .map_or(8, |path| fs::metadata(path).unwrap().len());
        starts.push(length as usize - 8);
        store.commit(idle("run", turn)).await.unwrap();
    }
    starts
}

/// Given a last record of which a crash left a part, it is left out and counted, and its position is given again.
#[tokio::test]
async fn a_torn_end_is_left_out() {
    let dir = TempDir::new().unwrap();
    let starts = filled(dir.path(), 3).await;
    change(&segments(dir.path())[0], |bytes| {
        let middle = starts[2].midpoint(bytes.len());
        bytes[middle..].fill(0);
    });
    raw::remove_position(dir.path());
    for _ in 0..2 {
        let store = open(dir.path());
        assert_eq!(positions(&store), (vec![1, 2], 0));
        assert_eq!(store.counters().torn, 1);
    }
    let store = open(dir.path());
    assert_eq!(store.commit(idle("run", 4)).await.unwrap().position, 3);
    drop(store);
    let store = open(dir.path());
    assert_eq!(positions(&store), (vec![1, 2, 3], 0));
    assert_eq!(replayed(&store)[2].1, idle("run", 4).entries);
}

/// Given a journal that has lost its end, in part or as a whole, of which the database knows, as many commits are counted as lost,
/// and their positions are not given again: states that were saved may be of them.
#[tokio::test]
async fn a_lost_end_is_counted() {
    for (left, lost) in [(3, 0), (2, 1), (0, 3)] {
        let dir = TempDir::new().unwrap();
        let starts = filled(dir.path(), 3).await;
        let journal = &segments(dir.path())[0];
        if left == 0 {
            fs::remove_file(journal).unwrap();
        } else {
            change(journal, |bytes| {
                let end = starts.get(left).map_or(bytes.len(), |start| *start);
                bytes[end..].fill(0);
            });
        }
        let store = open(dir.path());
        assert_eq!(positions(&store).0.len(), left);
        assert_eq!(store.counters().lost_records, lost, "{left}");
        assert_eq!(store.commit(idle("run", 4)).await.unwrap().position, 4);
    }
}

/// Given a store at work whose newest file of the journal is removed, replaced by a copy or cut, it goes on in another one when it
/// has looked, and what is committed from then on is found again.
#[tokio::test]
async fn a_file_that_is_gone_is_left() {
    let spoil: [fn(&Path); 3] = [
        |path| fs::remove_file(path).unwrap(),
        |path| {
            let copy = path.with_extension("copy");
            fs::copy(path, &copy).unwrap();
            fs::rename(copy, path).unwrap();
        },
        |path| fs::write(path, []).unwrap(),
    ];
    for spoil in spoil {
        let dir = TempDir::new().unwrap();
        let store = open(dir.path());
        let commit = async |turn| store.commit(idle("run", turn)).await.unwrap();
        commit(1).await;
        store.look();
        commit(2).await;
        assert_eq!(segments(dir.path()).len(), 1);
        spoil(&segments(dir.path())[0]);
        store.look();
        commit(3).await;
        commit(4).await;
        assert!(store.failure().is_none());
        drop(store);
        let (found, _) = positions(&open(dir.path()));
        assert_eq!(found[found.len() - 2..], [3, 4]);
    }
}

/// Given senders who say what looks like records of the journal, it is not taken for any where it lies behind the newest one, in
/// a segment that is written anew.
#[tokio::test]
async fn what_is_said_is_never_taken_for_a_record() {
    const FAR: u64 = 1 << 20;
    let payload = [7; 16];
    let hash = xxhash_rust::xxh3::xxh3_64_with_seed(&payload, FAR);
    let head = [payload.len() as u64, hash, FAR].map(u64::to_le_bytes);
    let forged = [head.as_flattened(), &payload].concat();
    // Wherever a multiple of eight is.
    let said: Vec<u8> = (0..8)
        .flat_map(|more| [&forged[..], &vec![7; more]].concat())
        .collect();
    let dir = TempDir::new().unwrap();
    let store = open_with(dir.path(), |journal| journal.set_segment_bytes(9_000));
    let mut newest = 0;
    for number in 0..100 {
        let mut turn = idle("run", number);
        turn.entries.push(Entry::Absorb {
            into: "run".into(),
            from: "other".into(),
            state: said.repeat(1 + number as usize * 7 % 11),
        });
        newest = store.commit(turn).await.unwrap().position;
        store.needed_from(0, newest.saturating_sub(3));
    }
    drop(store);
    let written = segments(dir.path()).into_iter();
    let forged_in = written.map(|path| {
        fs::read(path)
            .unwrap()
            .windows(forged.len())
            .filter(|said| *said == forged)
            .count()
    });
    assert!(forged_in.sum::<usize>() > 8, "they are there");
    let (found, lost) = positions(&open(dir.path()));
    assert_eq!((found.last(), lost), (Some(&newest), 0));
    assert!(found.len() >= 3 && found.is_sorted_by(|one, next| one + 1 == *next));
}

/// Given damage to one record, be it to what it says or to its length, that one is reported and the others are replayed,
/// whether they follow in the same file or in another.
#[tokio::test]
async fn damage_costs_what_it_hits() {
    for place in [0, 8, 16, 40] {
        let dir = TempDir::new().unwrap();
        let starts = filled(dir.path(), 5).await;
        change(&segments(dir.path())[0], |bytes| {
            bytes[starts[1] + place] ^= 0x5a;
        });
        let store = open(dir.path());
        assert_eq!(positions(&store), (vec![1, 3, 4, 5], 1));
        store.commit(idle("run", 6)).await.unwrap();
        drop(store);
        change(&segments(dir.path())[0], |bytes| {
            bytes[starts[4] + place] ^= 0x5a;
        });
        let store = open(dir.path());
        assert_eq!(positions(&store), (vec![1, 3, 4, 6], 2));
    }
}

/// Given damage anywhere in a long journal, nothing panics, nothing wrong is replayed, and what is missing is said.
#[tokio::test]
async fn damage_is_an_answer_and_not_a_panic() {
    let turn = samples::tool_calls(1500);
    let dir = TempDir::new().unwrap();
    {
        let store = open(dir.path());
        for _ in 0..20 {
            store.commit(turn.clone()).await.unwrap();
        }
    }
    for quarter in 1..4 {
        let copied = TempDir::new().unwrap();
        copy(dir.path(), copied.path());
        change(&segments(copied.path())[0], |bytes| {
            let place = bytes.len() / 4 * quarter;
            bytes[place..place + 64]
                .iter_mut()
                .for_each(|byte| *byte ^= 0x5a);
        });
        let store = open(copied.path());
        let replayed: Vec<_> = (1..).zip(store.replay()).collect();
        assert_eq!(replayed.len(), 20);
        assert_eq!(replayed.iter().filter(|(_, turn)| turn.is_err()).count(), 1);
        for (position, replayed) in replayed {
            if let Ok(replayed) = replayed {
                assert_eq!(replayed.position, position);
                assert!(replayed.entries == turn.entries && replayed.policy == turn.policy);
            }
        }
    }
}

/// Given segments that are written anew, what was in them before is not replayed, at no point of the round.
#[tokio::test]
async fn what_was_in_a_segment_before_stays_gone() {
    let dir = TempDir::new().unwrap();
    let store = open_with(dir.path(), |journal| journal.set_segment_bytes(1_000));
    store.needed_from(0, 0);
    for position in 1..=200 {
        let committed = store.commit(idle("run", position)).await.unwrap();
        assert_eq!(committed.position, position);
        store.needed_from(0, position.saturating_sub(5));
        let copied = TempDir::new().unwrap();
        if position % 7 == 0 {
            copy(dir.path(), copied.path());
            let (replayed, lost) = positions(&open(copied.path()));
            let first = replayed[0];
            assert!(first <= position.saturating_sub(5).max(1));
            assert_eq!(replayed, (first..=position).collect::<Vec<_>>());
            assert_eq!(lost, 0);
        }
    }
    let files = segments(dir.path()).len();
    assert!(files < 10, "{files} files");
}

/// Given a crash of which the database lost everything that followed the journal, all of it is there again, with the same
/// cursors; what was removed stays removed, and what began anew after that stays.
#[tokio::test]
async fn what_the_database_lost_comes_back() {
    let dir = TempDir::new().unwrap();
    let other = TraceId([8; 16]);
    let turn = |run_id: &str, trace: TraceId, alerts: usize| Turn {
        new_runs: vec![key(1, run_id)],
        aliases: vec![(trace, run_id.into())],
        ..alerting(alerts)
    };
    let store = open(dir.path());
    store.commit(turn("gone", other, 1)).await.unwrap();
    store.commit(turn("run", TRACE, 2)).await.unwrap();
    store.commit(removing("gone")).await.unwrap();
    store.commit(turn("again", other, 0)).await.unwrap();
    store.commit(removing("again")).await.unwrap();
    store.commit(turn("again", other, 3)).await.unwrap();
    let check = |store: &Store| {
        assert_eq!(cursors(store), [1, 2, 3, 4, 5, 6]);
        assert_eq!((store.first_cursor(), store.last_cursor()), (1, 6));
        assert_eq!(store.alias(TRACE).unwrap().as_deref(), Some("run"));
        assert_eq!(store.alias(other).unwrap().as_deref(), Some("again"));
        let runs = store.run_ids_oldest_first(None, 9).unwrap();
        assert_eq!(runs, [key(1, "again"), key(1, "run")]);
    };
    check(&store);
    let copied = TempDir::new().unwrap();
    copy(dir.path(), copied.path());
    fs::remove_file(copied.path().join("LOCK")).unwrap();
    check(&open(copied.path()));
    drop(store);
    raw::remove(dir.path(), b"aiox");
    check(&open(dir.path()));
    check(&open(dir.path()));
}

/// Given a journal that is cut while the store works, what the database holds by then is on disk.
#[tokio::test]
async fn the_journal_is_cut_behind_what_is_on_disk() {
    let dir = TempDir::new().unwrap();
    let store = open_with(dir.path(), |journal| journal.set_segment_bytes(1_000));
    for run in 0..20 {
        let run_id = format!("run {run}");
        let turn = Turn {
            new_runs: vec![key(run, &run_id)],
            aliases: vec![(TraceId([run as u8 + 1; 16]), run_id.as_str().into())],
            ..alerting(1)
        };
        store.commit(turn).await.unwrap();
        store
            .save_runs(vec![saved(run, &run_id, 100)])
            .await
            .unwrap();
    }
    store.needed_from(0, u64::MAX);
    let deadline = Instant::now() + Duration::from_secs(10);
    while store.inner.shared.journal_start.load(Ordering::Acquire) == 1 {
        assert!(Instant::now() < deadline, "the journal is not cut");
        tokio::task::yield_now().await;
    }
    let copied = TempDir::new().unwrap();
    copy(dir.path(), copied.path());
    let crashed = open(copied.path());
    assert_eq!(replayed(&crashed), []);
    assert_eq!(cursors(&crashed), (1..=20).collect::<Vec<_>>());
    for run in 0..20 {
        let run_id = format!("run {run}");
        assert!(crashed.load_run(&run_id).unwrap().is_some());
        let alias = crashed.alias(TraceId([run as u8 + 1; 16])).unwrap();
        assert_eq!(alias.as_deref(), Some(run_id.as_str()));
    }
    assert_eq!(crashed.run_ids_newest_first(None, 99).unwrap().len(), 20);
    assert_eq!(crashed.commit(idle("run", 1)).await.unwrap().position, 21);
}
