//! Policies that nobody needs any more.

use super::*;

/// The policy under which `idle` commits is 9.
async fn put_policies(store: &Store, hashes: impl Iterator<Item = u64>) {
    for hash in hashes {
        // Longer than a piece, as they are.
        let json = format!("\"{}\"", "x".repeat(15_000));
        store.put_policy(hash, json).await.unwrap();
    }
}

fn kept(store: &Store) -> Vec<u64> {
    let kept = (0..100).filter(|hash| store.policy(*hash).unwrap().is_some());
    kept.collect()
}

/// Given many policies, those that no record of the journal names which may be told again are gone after the next start; what such
/// a record names stays, and goes when the journal is cut behind it.
#[tokio::test]
async fn what_no_record_names_goes() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    put_policies(&store, 0..60).await;
    for policy in [9, 41, 9] {
        let turn = Turn {
            policy,
            ..idle("r", 1)
        };
        store.commit(turn).await.unwrap();
    }
    assert_eq!(kept(&store).len(), 60);
    store.close().await.unwrap();
    let store = open(dir.path());
    assert_eq!(kept(&store), [9, 41]);
    assert_eq!(replayed(&store).len(), 3);
    put_policies(&store, 50..60).await;
    store.needed_from(0, 2);
    store.close().await.unwrap();
    assert_eq!(kept(&open(dir.path())), [9, 41]);

    let store = open(dir.path());
    put_policies(&store, 50..60).await;
    store.needed_from(0, 3);
    store.close().await.unwrap();
    assert_eq!(kept(&open(dir.path())), [9]);
}

/// Given no more policies than may stay, all of them do: the one at work need not be written again at every start.
#[tokio::test]
async fn a_few_stay() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    put_policies(&store, 0..8).await;
    store.close().await.unwrap();
    let store = open(dir.path());
    assert_eq!(kept(&store).len(), 8);
    put_policies(&store, 8..9).await;
    store.close().await.unwrap();
    assert_eq!(kept(&open(dir.path())), [0; 0]);
}
