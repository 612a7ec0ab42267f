//! What belongs to a run: found whatever happened in between, under few keys, and gone with the run.

use std::collections::BTreeSet;

use super::*;
use crate::engine::warning::{Warning, WarningState};
use crate::store::belongings::{self, Belongings};

/// Traces that lie under a first key and some further ones.
fn many_traces() -> Vec<TraceId> {
    let numbers = 1..=1_000_u128;
    let traces = numbers.map(|number| TraceId((number * 0x9e37_79b9_7f4a_7c15).to_be_bytes()));
    traces.collect()
}

fn alert(run_id: &str, warning: u64, state: WarningState) -> Alert {
    let raised = samples::raised(run_id);
    let warning = Warning {
        id: warning,
        state,
        ..raised.warning
    };
    Alert { warning, ..raised }
}

/// A turn that begins a run with these traces and alerts of so many warnings.
fn begun(run_id: &str, traces: &[TraceId], warnings: u64) -> Turn {
    Turn {
        new_runs: vec![key(1, run_id)],
        aliases: traces.iter().map(|trace| (*trace, run_id.into())).collect(),
        alerts: (1..=warnings)
            .map(|warning| alert(run_id, warning, WarningState::Open))
            .collect(),
        ..Turn::default()
    }
}

async fn commit(store: &Store, hand: &mut ByHand, turn: Turn) {
    let (committed, _) = tokio::join!(store.commit(turn), async { hand.work() });
    committed.unwrap();
}

/// Warnings of a run with their newest alerts.
fn newest(store: &Store, run_id: &str) -> Vec<(u64, u64)> {
    let alerts = store.newest_alerts_of(run_id).unwrap();
    let alerts = alerts.iter().map(|alert| (alert.warning.id, alert.cursor));
    alerts.collect()
}

fn aliases(store: &Store, run_id: &str) -> BTreeSet<TraceId> {
    aliases_of(store, run_id).into_iter().collect()
}

/// Traces under each of a run's keys.
fn traces_by_key(store: &Store, run_id: &str) -> Vec<usize> {
    let count = |db: &sled::Db| {
        let parts = belongings::all(db, run_id);
        parts
            .map(|part| part.map(|(_, part)| part.traces.len()))
            .collect()
    };
    store.inner.shared.read(count).unwrap()
}

/// What kinds of keys the database has, with a letter for each key.
fn kinds(store: &Store) -> String {
    let kinds = |db: &sled::Db| {
        db.iter()
            .keys()
            .map(|key| key.map(|key| key[0] as char))
            .collect()
    };
    let kinds: String = store.inner.shared.read(kinds).unwrap();
    kinds.replace('!', "")
}

/// Given runs of one trace and some warnings each, which is what most are, each takes one key of the index, one for its trace, and
/// one more, and these stay as many when more revisions of the warnings come.
#[tokio::test]
async fn a_short_run_has_three_keys() {
    let dir = TempDir::new().unwrap();
    let (store, mut hand) = Store::by_hand(dir.path(), &options()).unwrap();
    let traces = many_traces();
    for _ in 0..3 {
        for run in 0..3 {
            let turn = begun(&format!("run {run}"), &traces[run..=run], 4);
            commit(&store, &mut hand, turn).await;
        }
        hand.settle();
        let of_runs = kinds(&store).replace('a', "");
        assert_eq!(of_runs, "iiioooxxx");
    }
    assert_eq!(
        newest(&store, "run 1"),
        [(1, 29), (2, 30), (3, 31), (4, 32)]
    );
    commit(&store, &mut hand, removing("run 1")).await;
    assert_eq!(kinds(&store).replace('a', ""), "iiooxx");
}

/// Given a run that gets more traces than lie under one key, in any pieces and some of them again, each is found and lies in one
/// place, before and after a crash of which the journal tells everything once more.
#[tokio::test]
async fn many_traces_are_found_once_each() {
    let dir = TempDir::new().unwrap();
    let traces = many_traces();
    let all: BTreeSet<_> = traces.iter().copied().collect();
    {
        let (store, mut hand) = Store::by_hand(dir.path(), &options()).unwrap();
        let mut told = 0;
        for (number, more) in [1, 126, 1, 1, 300, 2, 569].into_iter().enumerate() {
            let again = told / 2;
            commit(
                &store,
                &mut hand,
                begun("run", &traces[again..told + more], 2),
            )
            .await;
            told += more;
            if number % 2 == 0 {
                hand.settle();
            }
            let expected: BTreeSet<_> = traces[..told].iter().copied().collect();
            assert_eq!(aliases(&store, "run"), expected);
        }
        assert_eq!(told, traces.len());
    }
    for _ in 0..3 {
        let (store, hand) = Store::by_hand(dir.path(), &options()).unwrap();
        hand.settle();
        assert_eq!(aliases(&store, "run"), all);
        let by_key = traces_by_key(&store, "run");
        assert_eq!(by_key.iter().sum::<usize>(), traces.len(), "{by_key:?}");
        assert!(by_key.len() >= traces.len() / 128 && by_key.iter().all(|traces| *traces <= 128));
        assert_eq!(newest(&store, "run"), [(1, 13), (2, 14)]);
    }
}

/// Given a crash between any two of the writes of what belongs to a run, all of it is found at the next start, and nothing is left
/// of it once the run is removed.
#[tokio::test]
async fn a_crash_between_any_two_writes_costs_nothing() {
    let traces = &many_traces()[..300];
    let all: BTreeSet<_> = traces.iter().copied().collect();
    let dir = TempDir::new().unwrap();
    let before = {
        let (store, mut hand) = Store::by_hand(dir.path(), &options()).unwrap();
        commit(&store, &mut hand, begun("run", &traces[..100], 2)).await;
        hand.settle();
        let before = store
            .inner
            .shared
            .read(|db| db.get(keys::belongings("run")));
        commit(&store, &mut hand, begun("run", &traces[100..], 2)).await;
        hand.settle();
        assert_eq!(traces_by_key(&store, "run"), [44, 128, 128]);
        before.unwrap().expect("it is there")
    };
    let first = keys::belongings("run");
    let further = [1, 2].map(|number| keys::further_belongings("run", number));
    let some = Belongings {
        traces: traces[..128].to_vec(),
        ..Belongings::default()
    };
    // What is written is written in this order: further keys, the first one, the others, the alerts.
    let undone: [&dyn Fn(&Path); 5] = [
        &|dir| raw::remove(dir, b"aix"),
        &|dir| {
            raw::remove(dir, b"aix");
            raw::put(dir, &first, &before);
        },
        &|dir| {
            raw::remove(dir, b"aixo");
            raw::put(dir, &first, &before);
            raw::put(dir, &further[0], &some.encode());
        },
        &|dir| raw::remove(dir, b"aixo"),
        &|_| {},
    ];
    for (number, undo) in undone.into_iter().enumerate() {
        let copied = TempDir::new().unwrap();
        copy(dir.path(), copied.path());
        undo(copied.path());
        for _ in 0..2 {
            let (store, hand) = Store::by_hand(copied.path(), &options()).unwrap();
            hand.settle();
            assert_eq!(aliases(&store, "run"), all, "{number}");
            assert_eq!(newest(&store, "run"), [(1, 3), (2, 4)], "{number}");
        }
        let store = open(copied.path());
        store.commit(removing("run")).await.unwrap();
        store.needed_from(0, u64::MAX);
        store.close().await.unwrap();
        let left = raw::keys(copied.path());
        let left: Vec<_> = left.iter().filter(|key| !key.starts_with('a')).collect();
        assert_eq!(
            left,
            ["!journal", "!position", "!runs", "!schema"],
            "{number}"
        );
    }
}

/// Given a run with many traces whose removal a crash cuts short at any point, and which begins anew, it has the traces and the
/// alerts that it got since.
#[tokio::test]
async fn a_removal_may_be_cut_short_anywhere() {
    let traces = many_traces();
    let again = &traces[990..];
    for pieces in 0..5 {
        let dir = TempDir::new().unwrap();
        {
            let (store, mut hand) = Store::by_hand(dir.path(), &options()).unwrap();
            commit(&store, &mut hand, begun("run", &traces, 3)).await;
            hand.settle();
            commit(&store, &mut hand, removing("run")).await;
            for _ in 0..pieces {
                hand.work();
            }
            commit(&store, &mut hand, begun("run", again, 1)).await;
            if pieces % 2 == 0 {
                hand.settle();
            }
        }
        let (store, mut hand) = Store::by_hand(dir.path(), &options()).unwrap();
        while hand.work() || store.inner.shared.is_removing() {}
        hand.settle();
        assert_eq!(aliases(&store, "run"), again.iter().copied().collect());
        assert_eq!(
            traces_by_key(&store, "run").iter().sum::<usize>(),
            again.len()
        );
        assert_eq!(newest(&store, "run"), [(1, 4)]);
    }
}

/// Given far more warnings of a run than it remembers, raised at once, those of which too many alerts would stay leave, and those
/// that are open stay.
#[tokio::test]
async fn few_alerts_are_noted_for_a_run() {
    let dir = TempDir::new().unwrap();
    let (store, mut hand) = Store::by_hand(dir.path(), &options()).unwrap();
    for number in 0..2 {
        let state = |warning: u64| match warning % 10 {
            0 => WarningState::Open,
            _ => WarningState::Resolved,
        };
        let warnings = number * 300..(number + 1) * 300;
        let turn = Turn {
            alerts: warnings
                .map(|warning| alert("run", warning, state(warning)))
                .collect(),
            ..Turn::default()
        };
        commit(&store, &mut hand, turn).await;
        hand.settle();
    }
    let newest: BTreeSet<_> = newest(&store, "run")
        .into_iter()
        .map(|(warning, _)| warning)
        .collect();
    let open = (0..600).step_by(10);
    let resolved = (0..600)
        .rev()
        .filter(|warning| warning % 10 != 0)
        .take(96 - 60);
    assert_eq!(newest, open.chain(resolved).collect());
    assert_eq!(
        store.alerts_after(0, 1_000).unwrap().len(),
        600,
        "they are in the log all the same"
    );
}

/// Given an alias that cannot be read, nothing is known of its trace, and what belongs to its run is found: nobody waits for it for
/// ever.
#[tokio::test]
async fn an_alias_that_cannot_be_read_is_none() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let traces = &many_traces()[..2];
    store.commit(begun("run", traces, 0)).await.unwrap();
    settled(&store).await;
    let spoilt = |db: &sled::Db| db.insert(keys::alias(traces[0]), b"\xff");
    store.inner.shared.write(spoilt).unwrap();
    assert_eq!(store.alias(traces[0]).unwrap(), None);
    assert_eq!(aliases(&store, "run"), BTreeSet::from([traces[1]]));
}
