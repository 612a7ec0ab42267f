//! Saved states of runs and their index.

use super::*;
use crate::store::removal::ALIASES_TOGETHER;

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
    let oldest = |after: Option<&IndexKey>| store.run_ids_oldest_first(after, 2).unwrap();
    let newest = |after: Option<&IndexKey>| store.run_ids_newest_first(after, 2).unwrap();
    assert_eq!(oldest(None), runs[..2]);
    assert_eq!(oldest(Some(&runs[1])), runs[2..]);
    assert_eq!(newest(None), [runs[3].clone(), runs[2].clone()]);
    assert_eq!(newest(Some(&runs[2])), [runs[1].clone(), runs[0].clone()]);
    assert_eq!(newest(Some(&runs[0])), []);
    assert_eq!(oldest(Some(&runs[3])), []);
}

/// Given deleted runs, one of which had been larger before, nothing of them is left, in the database or in memory; aliases that
/// went over to another run stay with it.
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
    let smaller = vec![saved(1, "old", 9_000)];
    store.save_runs(smaller).await.unwrap();
    assert!(store.inner.shared.begun().is_empty());
    store.commit(removing("old")).await.unwrap();

    assert_eq!(
        store.run_ids_newest_first(None, 9).unwrap(),
        [key(1, "old2")]
    );
    assert_eq!(store.load_run("old").unwrap(), None);
    assert!(store.load_run("old2").unwrap().is_some());
    assert_eq!(store.alias(TRACE).unwrap(), None);
    assert_eq!(store.alias(moved).unwrap().as_deref(), Some("old2"));
    store.commit(removing("old2")).await.unwrap();
    store.needed_from(0, u64::MAX);
    store.close().await.unwrap();
    assert_eq!(
        raw::keys(dir.path()),
        ["!journal", "!position", "!runs", "!schema"]
    );
}

/// Given a run with two places in the index, one of which is taken away before the database has it or after that: the other one,
/// the state and the traces stay, the run counts once, and so it is after a crash.
#[tokio::test]
async fn a_place_goes_alone() {
    for is_settled in [false, true] {
        let dir = TempDir::new().unwrap();
        let check = |store: &Store| {
            assert_eq!(
                store.run_ids_newest_first(None, 9).unwrap(),
                [key(5, "run")]
            );
            assert_eq!(store.run_count(), 1);
            assert_eq!(store.load_run("run").unwrap(), Some(saved(5, "run", 10)));
            assert_eq!(store.alias(TRACE).unwrap().as_deref(), Some("run"));
        };
        {
            let store = open(dir.path());
            store.commit(of_traces("run", &[TRACE])).await.unwrap();
            if is_settled {
                settled(&store).await;
            }
            let anew = Turn {
                new_runs: vec![key(5, "run")],
                ..Turn::default()
            };
            store.commit(anew).await.unwrap();
            store.save_runs(vec![saved(5, "run", 10)]).await.unwrap();
            let stale = Turn {
                unlisted: vec![key(1, "run")],
                ..Turn::default()
            };
            store.commit(stale).await.unwrap();
            check(&store);
        }
        check(&open(dir.path()));
    }
}

/// Given a trace that went over to a run which is removed before the database knows of that, it does not come back to the run
/// to which it belonged before.
#[tokio::test]
async fn a_trace_does_not_come_back() {
    let dir = TempDir::new().unwrap();
    let (store, mut hand) = Store::by_hand(dir.path(), &options()).unwrap();
    let of = |run_id: &str| Turn {
        new_runs: vec![key(1, run_id)],
        aliases: vec![(TRACE, run_id.into())],
        ..Turn::default()
    };
    for (turn, owner) in [
        (of("before"), Some("before")),
        (of("gone"), Some("gone")),
        (removing("gone"), None),
    ] {
        let (committed, _) = tokio::join!(store.commit(turn), async { hand.work() });
        committed.unwrap();
        assert_eq!(store.alias(TRACE).unwrap().as_deref(), owner);
        if owner == Some("before") {
            hand.settle();
        }
    }
    hand.settle();
    assert_eq!(store.alias(TRACE).unwrap(), None);
    assert_eq!(aliases_of(&store, "before"), []);
}

/// Given a run that is removed before the database has come to have it, nothing of it is found from then on, and what else
/// waits goes on waiting.
#[tokio::test]
async fn a_run_that_waits_is_removed_at_once() {
    const OTHER: TraceId = TraceId([8; 16]);
    let dir = TempDir::new().unwrap();
    let (store, mut hand) = Store::by_hand(dir.path(), &options()).unwrap();
    let begun = |run_id: &str, trace: TraceId| Turn {
        new_runs: vec![key(1, run_id)],
        aliases: vec![(trace, run_id.into())],
        ..Turn::default()
    };
    let turns = [
        begun("gone", TRACE),
        begun("stays", OTHER),
        removing("gone"),
    ];
    for turn in turns {
        let (committed, _) = tokio::join!(store.commit(turn), async { hand.work() });
        committed.unwrap();
    }
    let check = || {
        assert_eq!(
            store.run_ids_newest_first(None, 9).unwrap(),
            [key(1, "stays")]
        );
        assert_eq!(store.alias(TRACE).unwrap(), None);
        assert_eq!(aliases_of(&store, "gone"), []);
        assert_eq!(aliases_of(&store, "stays"), [OTHER]);
    };
    assert!(!store.inner.shared.is_settled());
    check();
    hand.settle();
    check();
}

/// Traces of which a removal takes some three pieces.
fn many_traces() -> Vec<TraceId> {
    let numbers = 0..3 * ALIASES_TOGETHER as u128 - 1;
    numbers
        .map(|number| TraceId(number.to_be_bytes()))
        .collect()
}

/// A turn that begins a run with these traces.
fn of_traces(run_id: &str, traces: &[TraceId]) -> Turn {
    Turn {
        new_runs: vec![key(1, run_id)],
        aliases: traces.iter().map(|trace| (*trace, run_id.into())).collect(),
        ..Turn::default()
    }
}

async fn commit_by_hand(store: &Store, hand: &mut ByHand, turn: Turn) {
    let (committed, _) = tokio::join!(store.commit(turn), async { hand.work() });
    committed.unwrap();
}

/// Aliases that the database has.
fn stored_aliases(store: &Store) -> usize {
    let all = keys::all(keys::ALIAS);
    let count = store.inner.shared.read(|db| Ok(db.range(all).count()));
    count.unwrap()
}

/// Given a run with many traces that is removed, its traces belong to nobody from then on; they leave the database piece by
/// piece, between which the store does other things, and the journal is cut behind them.
#[tokio::test]
async fn the_traces_of_a_run_are_removed_piece_by_piece() {
    let dir = TempDir::new().unwrap();
    let (store, mut hand) = Store::by_hand(dir.path(), &options()).unwrap();
    let traces = many_traces();
    commit_by_hand(&store, &mut hand, of_traces("gone", &traces)).await;
    hand.settle();
    store.needed_from(0, u64::MAX);
    commit_by_hand(&store, &mut hand, removing("gone")).await;
    let mut left = traces.len() - ALIASES_TOGETHER;
    assert_eq!(stored_aliases(&store), left);
    for trace in &traces {
        assert_eq!(store.alias(*trace).unwrap(), None);
    }
    assert_eq!(aliases_of(&store, "gone"), []);
    assert_eq!(store.run_ids_newest_first(None, 9).unwrap(), []);
    let start = || store.inner.shared.journal_start.load(Ordering::Acquire);
    store.needed_from(0, u64::MAX);
    while left > 0 {
        assert!(start() <= 2, "the journal says the removal");
        hand.work();
        left = left.saturating_sub(ALIASES_TOGETHER);
        assert_eq!(stored_aliases(&store), left);
    }
    assert_eq!(start(), 3);
}

/// Given a crash before all traces of a removed run have left the database, they leave it after the next start.
#[tokio::test]
async fn a_crash_leaves_no_traces_of_a_removed_run() {
    let dir = TempDir::new().unwrap();
    {
        let (store, mut hand) = Store::by_hand(dir.path(), &options()).unwrap();
        commit_by_hand(&store, &mut hand, of_traces("gone", &many_traces())).await;
        hand.settle();
        store.needed_from(0, u64::MAX);
        commit_by_hand(&store, &mut hand, removing("gone")).await;
        assert!(stored_aliases(&store) > 0);
    }
    let store = open(dir.path());
    store.needed_from(0, u64::MAX);
    store.close().await.unwrap();
    assert_eq!(
        raw::keys(dir.path()),
        ["!journal", "!position", "!runs", "!schema"]
    );
}

/// Given a run that begins anew before all traces of the one that was removed have left the database, it has the traces that it
/// gets and no others.
#[tokio::test]
async fn a_run_that_begins_anew_has_its_own_traces() {
    let dir = TempDir::new().unwrap();
    let (store, mut hand) = Store::by_hand(dir.path(), &options()).unwrap();
    let traces = many_traces();
    let again = &traces[..9];
    commit_by_hand(&store, &mut hand, of_traces("run", &traces)).await;
    hand.settle();
    commit_by_hand(&store, &mut hand, removing("run")).await;
    commit_by_hand(&store, &mut hand, of_traces("run", again)).await;
    assert!(stored_aliases(&store) > 0, "the others go piece by piece");
    assert_eq!(aliases_of(&store, "run"), again);
    hand.settle();
    assert_eq!(aliases_of(&store, "run"), again);
    assert_eq!(store.alias(traces[10]).unwrap(), None);
    while hand.work() || store.inner.shared.is_removing() {}
    assert_eq!(aliases_of(&store, "run"), again);
    assert_eq!(stored_aliases(&store), again.len());
}

/// Given a crash while the traces of a removed run are still in the database and it has begun anew, it has its own at the next
/// start; and none of them where it is removed once more.
#[tokio::test]
async fn a_crash_leaves_a_run_that_begins_anew_its_own_traces() {
    let dir = TempDir::new().unwrap();
    let traces = many_traces();
    let again = &traces[..9];
    {
        let (store, mut hand) = Store::by_hand(dir.path(), &options()).unwrap();
        commit_by_hand(&store, &mut hand, of_traces("run", &traces)).await;
        hand.settle();
        commit_by_hand(&store, &mut hand, removing("run")).await;
        commit_by_hand(&store, &mut hand, of_traces("run", again)).await;
        hand.settle();
        assert!(stored_aliases(&store) > again.len());
    }
    let store = open(dir.path());
    assert_eq!(aliases_of(&store, "run"), again);
    store.commit(removing("run")).await.unwrap();
    assert_eq!(aliases_of(&store, "run"), []);
    store.needed_from(0, u64::MAX);
    store.close().await.unwrap();
    assert_eq!(
        raw::keys(dir.path()),
        ["!journal", "!position", "!runs", "!schema"]
    );
}
