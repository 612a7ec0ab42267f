//! What is committed is there afterwards, in order and whole, and the journal keeps what is still needed.

use std::fs::File;

use super::*;

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
        store.put_policy(9, "{}".into()).await.unwrap();
        store.set_exporter_cursor("webhook", 1).unwrap();
    }
    let store = open(dir.path());
    assert_eq!(replayed(&store), [(1, turn.entries, turn.policy)]);
    assert_eq!(store.run_ids_newest_first(None, 9).unwrap(), turn.new_runs);
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

/// Given two turns that say different things of a trace, what was said last holds, whoever waited first for the commit.
#[tokio::test]
async fn the_turn_that_was_given_last_holds() {
    let dir = TempDir::new().unwrap();
    let store = open(dir.path());
    let naming = |run_id: &str| Turn {
        aliases: vec![(TRACE, run_id.into())],
        ..idle(run_id, 1)
    };
    let first = store.commit(naming("first"));
    let last = store.commit(naming("last"));
    last.await.unwrap();
    first.await.unwrap();
    assert_eq!(store.alias(TRACE).unwrap().as_deref(), Some("last"));
    drop(store);
    assert_eq!(
        open(dir.path()).alias(TRACE).unwrap().as_deref(),
        Some("last")
    );
}

/// Given turns of many bytes that wait together, they are committed in several records, each of which is read again.
#[tokio::test]
async fn large_turns_share_no_record() {
    let dir = TempDir::new().unwrap();
    let (store, mut hand) = Store::by_hand(dir.path(), &options()).unwrap();
    let turns = [1, 20 << 20, 20 << 20, 1].map(|bytes| Turn {
        entries: vec![Entry::Absorb {
            into: "into".into(),
            from: "from".into(),
            state: vec![7; bytes],
        }],
        ..idle("run", 1)
    });
    let committed = turns.clone().map(|turn| store.commit(turn));
    hand.work();
    let mut positions = Vec::new();
    for committed in committed {
        positions.push(committed.await.unwrap().position);
    }
    assert_eq!(positions, [1, 1, 2, 2]);
    drop((store, hand));
    let entries = replayed(&open(dir.path())).into_iter();
    let entries: Vec<_> = entries.flat_map(|(_, entries, _)| entries).collect();
    assert!(entries == turns.map(|turn| turn.entries).concat());
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
    let shared = Arc::new(Shared::new(opened.db, None, dir.path().to_owned(), &options()).unwrap());
    let journal = Journal::open(&shared.journal_dir(), false, 0, 0, |_| Ok(())).unwrap();
    let (orders, inbox) = mpsc::channel();
    let answers: Vec<_> = (0..200)
        .map(|i| {
            let mut writer = Box::new(records::TurnWriter::default());
            let keys = writer.finish(idle("run", i));
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
    Writer::new(Arc::clone(&shared), journal).run(&inbox);
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
    assert_eq!(left, ["!journal", "!position", "!runs", "!schema", "i"]);
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

/// Given a write or a sync that fails, the turn is refused, and so is every later one.
#[tokio::test]
async fn after_a_failed_commit_nothing_is_committed() {
    let unwritable = File::open("/dev/null").unwrap();
    // A device without a disk behind it cannot be synced.
    let unsynced = File::options().write(true).open("/dev/null").unwrap();
    for file in [unwritable, unsynced] {
        let dir = TempDir::new().unwrap();
        let store = open_with(dir.path(), |journal| journal.divert(file));
        assert!(store.failure().is_none());
        let first = store.commit(alerting(1)).await;
        assert!(matches!(first, Err(StoreError::Failed { .. })), "{first:?}");
        assert!(store.failure().is_some());
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

/// Given a write for which there is no room, those who come later are told so, too: who opens the store may make room for it.
#[tokio::test]
async fn a_lack_of_room_stays_one() {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let dir = TempDir::new().unwrap();
    let store = open_with(dir.path(), |journal| journal.divert(full));
    for _ in 0..2 {
        let error = store.commit(idle("run", 1)).await.unwrap_err();
        assert!(error.is_full() && error.is_disk_trouble(), "{error}");
    }
}

/// Given a closed store, writes are refused as such, and reads still answer.
#[tokio::test]
async fn a_closed_store_can_still_be_read() {
    let dir = TempDir::new().unwrap();
    let store = open(dir.path());
    store.commit(alerting(1)).await.unwrap();
    store.clone().close().await.unwrap();
    assert!(matches!(
        store.commit(idle("run", 1)).await,
        Err(StoreError::Closed)
    ));
    let refused = store.put_policy(1, "{}".into()).await;
    assert!(matches!(refused, Err(StoreError::Closed)));
    assert_eq!(cursors(&store), [1]);
    assert!(store.size_bytes() > 0);
    store.close().await.unwrap();
}
