//! The log of alerts: cursors without gaps, and which alerts stay.

use std::collections::BTreeSet;

use super::*;
use crate::engine::warning::{ChangeKind, Warning, WarningState};
use crate::store::belongings::Belongings;

/// Given alerts of many turns, over two lives of the store, cursors have no gap and follow the order of commits.
#[tokio::test]
async fn cursors_have_no_gap_across_turns_and_reopening() {
    let dir = TempDir::new().unwrap();
    for life in 0..2 {
        let store = open(dir.path());
        let published = store.published();
        let commits = (0..20).map(|i| store.commit(alerting(i % 3)));
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

/// A turn with an alert of a warning.
fn of(run_id: &str, warning: u64) -> Turn {
    let raised = samples::raised(run_id);
    Turn {
        alerts: vec![Alert {
            warning: Warning {
                id: warning,
                ..raised.warning
            },
            ..raised
        }],
        ..Turn::default()
    }
}

/// Given alerts that are committed, they are read the same before the database has them and after, from any cursor on and by
/// their run; and those that it never came to have are there when the store is opened again.
#[tokio::test]
async fn alerts_are_read_before_the_database_has_them() {
    let dir = TempDir::new().unwrap();
    let (store, mut hand) = Store::by_hand(dir.path(), &options()).unwrap();
    let ids = |store: &Store, run_id: &str| {
        let alerts = store.newest_alerts_of(run_id).unwrap();
        let alerts = alerts.iter().map(|alert| (alert.warning.id, alert.cursor));
        alerts.collect::<Vec<_>>()
    };
    let seen = |store: &Store| {
        let parts = (0..8).flat_map(|after| (0..8).map(move |limit| (after, limit)));
        let parts: Vec<_> = parts
            .map(|(after, limit)| store.alerts_after(after, limit).unwrap())
            .collect();
        (parts, ids(store, "a"), ids(store, "b"))
    };
    let turns = [("a", 1), ("b", 2), ("a", 1), ("a", 3), ("b", 2), ("a", 1)];
    for (number, (run_id, warning)) in (1..).zip(turns) {
        let (committed, ()) = tokio::join!(store.commit(of(run_id, warning)), async {
            assert!(hand.work(), "the turn has been handed over");
        });
        committed.unwrap();
        assert_eq!(cursors(&store), (1..=number).collect::<Vec<_>>());
        if number == 2 {
            hand.settle();
        }
    }
    assert!(!store.inner.shared.is_settled());
    let before = seen(&store);
    assert_eq!(before.1, [(1, 6), (3, 4)]);
    assert_eq!(before.2, [(2, 5)]);
    hand.settle();
    assert!(store.inner.shared.is_settled());
    assert_eq!(seen(&store), before);
    let (committed, _) = tokio::join!(store.commit(of("b", 4)), async { hand.work() });
    committed.unwrap();
    let before = seen(&store);
    drop((store, hand));
    assert_eq!(seen(&open(dir.path())), before);
}

/// Given a run that is forgotten right after an alert of it was committed, no alert of it stays.
#[tokio::test]
async fn an_alert_that_waits_does_not_outstay_its_run() {
    let dir = TempDir::new().unwrap();
    let (store, mut hand) = Store::by_hand(dir.path(), &options()).unwrap();
    for turn in [of("gone", 1), removing("gone")] {
        let (committed, _) = tokio::join!(store.commit(turn), async { hand.work() });
        committed.unwrap();
    }
    assert_eq!(store.newest_alerts_of("gone").unwrap(), []);
    hand.settle();
    assert_eq!(store.newest_alerts_of("gone").unwrap(), []);
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
        settled(&store).await;
        assert_eq!(cursors(&store), [1, 2, 3, 4, 5, 11, 12, 13, 14, 15]);
        assert_eq!((store.first_cursor(), store.last_cursor()), (11, 15));
        // A newer alert of an old warning takes its place.
        store.commit(of("old", 2)).await.unwrap();
        settled(&store).await;
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
    store
        .set_exporter_cursor("of an earlier configuration", 1)
        .unwrap();
    store.set_exporters(["pager"].into_iter()).unwrap();
    store.commit(removing("delivered")).await.unwrap();
    assert_eq!(store.counters().alerts_lost, 0, "the exporter has had it");
    store.set_exporter_cursor("pager", 2).unwrap();
    store.commit(removing("old")).await.unwrap();
    settled(&store).await;
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
    settled(&store).await;
    assert_eq!(cursors(&store), (18..=27).collect::<Vec<_>>());
}

/// Given an exporter that lacks more than all alerts that are kept, and a run that is forgotten then: as they leave, each alert of
/// it counts as lost, also those that only the last one had to replace. Nothing tells any more which of them was the last.
#[tokio::test]
async fn of_a_forgotten_run_each_alert_counts_as_lost() {
    let dir = TempDir::new().unwrap();
    let keep = Options {
        alerts_max: 5,
        ..options()
    };
    let store = Store::open(dir.path(), &keep).unwrap();
    store.set_exporter_cursor("pager", 1).unwrap();
    for _ in 0..3 {
        store.commit(of("gone", 1)).await.unwrap();
    }
    store.commit(removing("gone")).await.unwrap();
    settled(&store).await;
    assert_eq!(
        store.counters().alerts_lost,
        0,
        "the exporter may have them"
    );
    for _ in 0..10 {
        store.commit(of("busy", 2)).await.unwrap();
    }
    settled(&store).await;
    // One would be true.
    assert_eq!(store.counters().alerts_lost, 3);
}

/// Given a run that has had ever more warnings, the alerts that stay for it have a bound: the warning that was resolved longest ago
/// leaves for a new one, and those that are open stay.
#[tokio::test]
async fn few_alerts_stay_for_a_run() {
    let dir = TempDir::new().unwrap();
    let keep = Options {
        alerts_max: 5,
        ..options()
    };
    let store = Store::open(dir.path(), &keep).unwrap();
    let said = |warning: u64, change: ChangeKind, state: WarningState| Turn {
        alerts: vec![Alert {
            change,
            warning: Warning {
                id: warning,
                state,
                ..samples::raised("long").warning
            },
            ..samples::raised("long")
        }],
        ..Turn::default()
    };
    for warning in 0..300 {
        let raised = said(warning, ChangeKind::Raised, WarningState::Open);
        store.commit(raised).await.unwrap();
        if warning >= 3 {
            let resolved = said(warning, ChangeKind::Resolved, WarningState::Resolved);
            store.commit(resolved).await.unwrap();
        }
    }
    settled(&store).await;
    let kept = store.alerts_after(0, 1_000).unwrap();
    let ids: BTreeSet<u64> = kept.iter().map(|alert| alert.warning.id).collect();
    let newest = 300 - (96 - 3)..300;
    assert_eq!(ids, (0..3).chain(newest).collect());
}

/// Given a record that lacks its end: of an alert that has been removed meanwhile it says nothing, of one that is there that it
/// cannot be read.
#[tokio::test]
async fn what_is_removed_while_it_is_read_is_no_damage() {
    let dir = TempDir::new().unwrap();
    let store = open(dir.path());
    store.commit(alerting(1)).await.unwrap();
    settled(&store).await;
    let shared = &store.inner.shared;
    let cut = [0x0a, 0x7f];
    assert_eq!(shared.readable(2, &cut), None);
    assert_eq!(store.counters().unreadable, 0);
    assert_eq!(shared.readable(1, &cut), None);
    assert_eq!(store.counters().unreadable, 1);
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
        store.commit(alerting(4)).await.unwrap();
        assert_eq!(cursors(&store), [1, 2, 3, 4]);
        store.commit(alerting(3)).await.unwrap();
        settled(&store).await;
        assert_eq!(cursors(&store), [3, 4, 5, 6, 7]);
        store.commit(alerting(8)).await.unwrap();
        settled(&store).await;
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
    store.commit(alerting(1)).await.unwrap();
    settled(&store).await;
    assert_eq!(cursors(&store), [15, 16]);
}

/// Given a run that was removed and began anew, its newest alert is still known after a crash, also once its state was saved; those
/// from before the removal are not.
#[tokio::test]
async fn a_run_that_begins_anew_has_its_newest_alert_after_a_crash() {
    let dir = TempDir::new().unwrap();
    let newest = |store: &Store| {
        let alerts = store.newest_alerts_of("run").unwrap();
        let alerts = alerts.iter().map(|alert| (alert.warning.id, alert.cursor));
        alerts.collect::<Vec<_>>()
    };
    {
        let (store, mut hand) = Store::by_hand(dir.path(), &options()).unwrap();
        for turn in [of("run", 1), of("run", 2), removing("run"), of("run", 2)] {
            let (committed, _) = tokio::join!(store.commit(turn), async { hand.work() });
            committed.unwrap();
            hand.settle();
        }
        assert_eq!(newest(&store), [(2, 3)]);
    }
    for _ in 0..2 {
        let (store, mut hand) = Store::by_hand(dir.path(), &options()).unwrap();
        assert_eq!(newest(&store), [(2, 3)]);
        let saving = store.save_runs(vec![saved(8, "run", 10)]);
        let (saved, _) = tokio::join!(saving, async { hand.work() });
        saved.unwrap();
    }
}

/// Given a log that has been thinned, its next opening looks only at what came to be too many since the orderly end; after a crash,
/// which may have come between the note of a newest alert and the leaving of the one before, it looks at all of it.
#[tokio::test]
async fn what_is_thinned_is_not_looked_at_again() {
    let dir = TempDir::new().unwrap();
    let keep = |alerts_max| Options {
        alerts_max,
        ..options()
    };
    let looked_at = |store: &Store| store.inner.shared.looked_at.value();
    let store = Store::open(dir.path(), &keep(5)).unwrap();
    for warning in 1..=20 {
        store.commit(of("run", warning)).await.unwrap();
        settled(&store).await;
    }
    assert_eq!(looked_at(&store), 15);
    store.close().await.unwrap();
    // With fewer that are kept, and with more.
    for (alerts_max, looks) in [(5, 0), (5, 0), (3, 2), (10, 0), (3, 7)] {
        let store = Store::open(dir.path(), &keep(alerts_max)).unwrap();
        assert_eq!(looked_at(&store), looks, "{alerts_max}");
        assert_eq!(cursors(&store), (1..=20).collect::<Vec<_>>());
        store.close().await.unwrap();
    }
    {
        let (store, hand) = Store::by_hand(dir.path(), &keep(5)).unwrap();
        let noted = store.inner.shared.write(|db| {
            let mut belongings = Belongings::first(db, "run")?;
            belongings.note_newest(2, 21);
            belongings.put_first(db, "run")
        });
        noted.unwrap();
        drop(hand);
    }
    let store = Store::open(dir.path(), &keep(5)).unwrap();
    assert_eq!(looked_at(&store), 15);
    assert_eq!(cursors(&store), [vec![1], (3..=20).collect()].concat());
}
