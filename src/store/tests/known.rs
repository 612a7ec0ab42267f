//! What the store surely lacks is known without asking the database.

use std::sync::atomic::AtomicBool;

use super::*;
use crate::store::known::Known;

const OTHER: TraceId = TraceId([8; 16]);

fn lacks(store: &Store, run_id: &str) -> bool {
    store.inner.shared.known.lacks(&keys::run(run_id))
}

fn lacks_trace(store: &Store, trace: TraceId) -> bool {
    store.inner.shared.known.lacks(&keys::alias(trace))
}

fn learn(store: &Store) {
    let leave = AtomicBool::new(false);
    store.inner.shared.learn_keys(&leave).unwrap();
}

/// Puts a run with a state and an alias into a store.
async fn put(store: &Store, run_id: &str) {
    let turn = Turn {
        new_runs: vec![key(1, run_id)],
        aliases: vec![(TRACE, run_id.into())],
        ..Turn::default()
    };
    store.commit(turn).await.unwrap();
    store.save_runs(vec![saved(1, run_id, 10)]).await.unwrap();
    store.inner.shared.settle().unwrap();
}

fn is_found(store: &Store, run_id: &str) -> bool {
    let alias = store.alias(TRACE).unwrap();
    alias.as_deref() == Some(run_id) && store.load_run(run_id).unwrap().is_some()
}

/// Given a store that was empty, what it lacks is known at once, and what comes is found.
#[tokio::test]
async fn of_an_empty_store_all_is_known() {
    let dir = TempDir::new().unwrap();
    let store = open(dir.path());
    assert!(lacks(&store, "run") && lacks_trace(&store, TRACE));
    put(&store, "run").await;
    assert!(is_found(&store, "run"));
    assert!(lacks(&store, "other") && lacks_trace(&store, OTHER));
}

/// Given a store with runs, nothing is taken for absent before they have been listed, and then hardly anything that is absent
/// is looked for, and all that is there is found.
#[tokio::test]
async fn what_is_listed_is_found() {
    let dir = TempDir::new().unwrap();
    {
        let store = open(dir.path());
        put(&store, "run").await;
        store.close().await.unwrap();
    }
    let store = open(dir.path());
    assert!(!lacks(&store, "other") && !lacks_trace(&store, OTHER));
    assert!(is_found(&store, "run"));
    learn(&store);
    assert!(is_found(&store, "run"));
    assert!(lacks_trace(&store, OTHER));
    let absent = (0..1_000).filter(|number| lacks(&store, &format!("other {number}")));
    assert!(absent.count() > 980);
}

/// Given a run whose place in the index is lost, its state is found all the same, and it is listed again.
#[tokio::test]
async fn a_state_that_is_not_listed_is_found() {
    let dir = TempDir::new().unwrap();
    let store = open(dir.path());
    put(&store, "run").await;
    store.close().await.unwrap();
    let store = open(dir.path());
    let shared = &store.inner.shared;
    // The journal has told of it again.
    shared.settle().unwrap();
    let index = keys::index(&key(1, "run"));
    shared.write(|db| db.remove(index)).unwrap();
    assert!(!store.is_listed(&key(1, "run")).unwrap());
    learn(&store);
    assert!(is_found(&store, "run"));
    assert!(lacks(&store, "other"));
    shared.list_again(&AtomicBool::new(false)).unwrap();
    assert_eq!(
        store.run_ids_newest_first(None, 9).unwrap(),
        [key(1, "run")]
    );
}

/// Given a filter that has had too many keys, it is made anew with what is there, and once more only when that is too much.
#[tokio::test]
async fn a_crowded_filter_is_made_anew() {
    let dir = TempDir::new().unwrap();
    let store = open(dir.path());
    put(&store, "run").await;
    let known = &store.inner.shared.known;
    let gone = |number: u32| keys::run(&format!("gone {number}"));
    assert!(!known.is_wanted());
    known.add((0..200_000).map(gone));
    assert!(known.is_wanted());
    learn(&store);
    assert!(!known.is_wanted());
    assert!(is_found(&store, "run"));
    assert!(
        (0..1_000)
            .filter(|number| known.lacks(&gone(*number)))
            .count()
            > 980
    );
    assert!(Known::default().is_wanted() && !Known::nothing().is_wanted());
}

/// Given far more traces than runs, the filter is made with room for them, and not once more.
#[tokio::test]
async fn a_filter_has_room_for_many_traces() {
    let dir = TempDir::new().unwrap();
    let store = open(dir.path());
    put(&store, "run").await;
    let trace = |number: u128| TraceId(number.to_be_bytes());
    let shared = &store.inner.shared;
    let aliases = (0..200_000).map(trace).map(keys::alias);
    let write = |db: &sled::Db| {
        aliases
            .clone()
            .try_for_each(|key| db.insert(key, "run").map(drop))
    };
    shared.write(write).unwrap();
    shared.known.add(aliases.clone());
    assert!(shared.known.is_wanted());
    learn(&store);
    assert!(!shared.known.is_wanted());
    assert!(!lacks_trace(&store, trace(7)));
    let absent = (200_000..201_000).filter(|number| lacks_trace(&store, trace(*number)));
    assert!(absent.count() > 980);
}

/// Given a run whose place in the index is lost together with the number of runs, it is listed before the runs are counted.
#[tokio::test]
async fn runs_that_are_not_listed_are_counted() {
    let dir = TempDir::new().unwrap();
    let store = open(dir.path());
    put(&store, "run").await;
    store.close().await.unwrap();
    // The journal does not tell of it again.
    raw::put(dir.path(), keys::JOURNAL_START, &9_u64.to_be_bytes());
    raw::put(dir.path(), keys::RUNS, b"nothing that can be read");
    raw::remove(dir.path(), b"i");
    let store = open(dir.path());
    assert_eq!(store.run_count(), 1);
    assert_eq!(
        store.run_ids_newest_first(None, 9).unwrap(),
        [key(1, "run")]
    );
}
