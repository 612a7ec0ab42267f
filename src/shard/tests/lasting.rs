//! What was acknowledged is there: after a crash, after an orderly end, with many senders at once.

use super::{
    A, B, C, NOW_MS, call, calls, hex, kill, listed, open, report, settings, start, still, stop,
    submit, until, view,
};
use crate::engine::RunView;
use crate::engine::event::{Text, TraceId};
use crate::engine::warning::ChangeKind;
use crate::shard::residence::Residence;
use crate::shard::{Refusal, RunFilter, Settings};
use crate::store::SavedRun;

/// Given three identical calls, the run is there as soon as the sender is answered, with its warning, and the alert is
/// in the log.
#[tokio::test(start_paused = true)]
async fn what_is_acknowledged_is_effective() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let shards = start(dir.path(), settings()).await;
    submit(&shards, calls(A, Some("r"), 0..3)).await;
    let run = view(&shards, "r").await;
    assert_eq!((run.tool_calls, run.warnings.is_empty()), (3, false));
    assert_eq!(run.service.as_deref(), Some("service"));
    let alerts = shards.store().alerts_after(0, 100).unwrap();
    assert_eq!(alerts.len(), run.warnings.len());
    assert!(
        alerts
            .iter()
            .all(|alert| alert.change == ChangeKind::Raised)
    );
    assert_eq!((alerts[0].score, &*alerts[0].run_id), (run.score, "r"));
    assert_eq!(shards.counters().events.value(), 3);
    assert_eq!(
        (shards.run_count(), shards.run("s").await.unwrap()),
        (1, None)
    );
}

/// Given reports of two services and of none, in any order, at once or one by one, the run has the service whose reports began
/// first, also after a crash.
#[tokio::test(start_paused = true)]
async fn the_first_service_names_the_run() {
    let _still = still();
    let sent = |ns: u64, service: Option<&str>| {
        let mut report = report(A, Some("r"), vec![call(A, ns)]);
        report.run.service = service.map(Text::from);
        report
    };
    let reports = [sent(1, None), sent(5, Some("late")), sent(3, Some("first"))];
    for order in [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ] {
        for at_once in 1..=3 {
            let dir = tempfile::tempdir().unwrap();
            let shards = start(dir.path(), settings()).await;
            for part in order.chunks(at_once) {
                let part = part.iter().map(|place| reports[*place].clone());
                submit(&shards, part.collect()).await;
            }
            let told = view(&shards, "r").await.service;
            assert_eq!(told.as_deref(), Some("first"), "{order:?} by {at_once}");
            kill(shards).await;
            let shards = start(dir.path(), settings()).await;
            assert_eq!(
                view(&shards, "r").await.service,
                told,
                "{order:?} by {at_once}"
            );
        }
    }
}

/// Given reports without events, or without anything to find their run by, no run is shown for them.
#[tokio::test(start_paused = true)]
async fn reports_without_content_make_no_runs() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let shards = start(dir.path(), settings()).await;
    submit(&shards, vec![]).await;
    submit(&shards, vec![report(A, None, vec![])]).await;
    submit(&shards, vec![report(A, Some("r"), vec![])]).await;
    let nobody = TraceId::default();
    submit(&shards, vec![report(nobody, None, vec![call(A, 1)])]).await;
    assert!(listed(&shards, &RunFilter::default()).await.is_empty());
    assert!(shards.run("r").await.unwrap().is_none());
    assert_eq!(shards.counters().unattributed.value(), 1);
    // The trace's run is known all the same, also after a crash.
    submit(&shards, calls(A, None, 0..1)).await;
    assert_eq!(view(&shards, "r").await.tool_calls, 1);
    kill(shards).await;
    let shards = start(dir.path(), settings()).await;
    submit(&shards, calls(A, None, 1..2)).await;
    assert_eq!(listed(&shards, &RunFilter::default()).await, ["r"]);
}

/// Given a crash at any moment, the next start shows the same runs, with the same warning ids and revisions, and says
/// nothing twice; also with another number of shards.
#[tokio::test(start_paused = true)]
async fn a_crash_changes_nothing() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let mut before: Vec<(Text, RunView)> = Vec::new();
    for round in 0..4_u16 {
        let settings = Settings {
            shards: 1 + round,
            ..settings()
        };
        let shards = start(dir.path(), settings).await;
        for (run_id, old) in &before {
            assert_eq!(&view(&shards, run_id).await, old);
        }
        let alerts = shards.store().last_cursor();
        let ns = u64::from(round) * 3..u64::from(round) * 3 + 3;
        for trace in [A, B, C] {
            submit(&shards, calls(trace, None, ns.clone())).await;
            submit(&shards, calls(trace, None, ns.clone())).await;
        }
        assert!(shards.store().last_cursor() > alerts);
        before.clear();
        for trace in [A, B, C] {
            let run_id = hex(trace);
            let run = view(&shards, &run_id).await;
            assert_eq!(run.tool_calls, ns.end);
            before.push((run_id, run));
        }
        let alerts = shards.store().last_cursor();
        kill(shards).await;
        assert_eq!(open(dir.path()).await.last_cursor(), alerts);
    }
    let all = {
        let store = open(dir.path()).await;
        store.alerts_after(0, 1_000).unwrap()
    };
    for (_, run) in before {
        for warning in run.warnings {
            let revisions: Vec<u32> = all
                .iter()
                .filter(|alert| alert.warning.id == warning.id)
                .map(|alert| alert.warning.revision)
                .collect();
            let expected: Vec<u32> = (1..=warning.revision).collect();
            assert_eq!(revisions, expected, "{:?}", warning.rule);
        }
    }
}

/// Given an orderly end, everything is in the states and the journal is not needed.
#[tokio::test(start_paused = true)]
async fn an_orderly_end_saves_everything() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let shards = start(dir.path(), settings()).await;
    submit(&shards, calls(A, Some("r"), 0..3)).await;
    let before = view(&shards, "r").await;
    stop(&shards).await;
    assert!(!shards.is_ready());
    assert_eq!(
        shards
            .submit(calls(A, Some("r"), 3..4), shards.policy())
            .await,
        Err(Refusal::Stopping)
    );
    // What is on disk can still be read.
    assert_eq!(view(&shards, "r").await, before);
    kill(shards).await;
    let store = open(dir.path()).await;
    assert!(store.load_run("r").unwrap().is_some());
    drop(store);
    let shards = start(dir.path(), settings()).await;
    assert_eq!(view(&shards, "r").await, before);
}

/// Given what waits when the end comes, it is committed and its sender answered.
#[tokio::test(start_paused = true)]
async fn an_orderly_end_answers_what_waits() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let shards = start(dir.path(), settings()).await;
    let waiting = shards
        .shared
        .admit(calls(A, Some("r"), 0..3), &shards.policy())
        .await
        .unwrap();
    stop(&shards).await;
    for done in waiting {
        done.await.expect("it was committed");
    }
    assert_eq!(view(&shards, "r").await.tool_calls, 3);
}

/// Given a clock that cannot be right, the event counts as happening about its arrival, and that is counted.
#[tokio::test(start_paused = true)]
async fn impossible_times_are_put_right() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let shards = start(dir.path(), settings()).await;
    let mut ahead = call(A, 0);
    ahead.start_ns = u64::MAX / 2;
    ahead.end_ns = ahead.start_ns;
    submit(&shards, vec![report(A, Some("r"), vec![ahead, call(A, 1)])]).await;
    let run = view(&shards, "r").await;
    assert!(run.last_seen_ns / 1_000_000 <= NOW_MS + 300_000);
    assert_eq!(shards.counters().times_settled.value(), 1);
}

/// Given states behind by at most the interval, the journal is cut and the memory of what is unsaved is empty.
#[tokio::test(start_paused = true)]
async fn states_follow_the_journal() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let shards = start(dir.path(), settings()).await;
    for number in 1..30_u8 {
        let trace = TraceId([number; 16]);
        submit(&shards, calls(trace, None, 0..2)).await;
    }
    assert!(shards.store().replay().count() > 0);
    until(async || (shards.store().counters().runs_saved == 29).then_some(())).await;
    for number in 1..30_u8 {
        let run_id = hex(TraceId([number; 16]));
        assert!(shards.store().load_run(&run_id).unwrap().is_some());
    }
    until(async || {
        // The store cuts when it has something to write.
        submit(&shards, calls(A, None, 0..1)).await;
        (shards.store().replay().count() < 10).then_some(())
    })
    .await;
}

/// Given many senders at once, everything is there in the end, and what they were told was true.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_senders_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let shards = start(dir.path(), settings()).await;
    let senders = (1..9_u8).map(|sender| {
        let shards = shards.clone();
        tokio::spawn(async move {
            for n in 0..30 {
                let trace = TraceId([sender; 16]);
                let name = format!("run {}", sender % 4);
                let name = (n == 20).then_some(&*name);
                submit(&shards, calls(trace, name, n..n + 1)).await;
            }
        })
    });
    for sender in futures_util::future::join_all(senders).await {
        sender.unwrap();
    }
    let mut all = listed(&shards, &RunFilter::default()).await;
    all.sort();
    assert_eq!(all, ["run 0", "run 1", "run 2", "run 3"]);
    for run_id in all {
        assert_eq!(view(&shards, &run_id).await.tool_calls, 60);
    }
    assert_eq!(shards.shared.backpressure.behind(), 0);
    stop(&shards).await;
}

/// Given runs in memory where that is short, an eighth of them leaves it each time that has been done, and a hundred stay; where
/// there is memory again, as many may stay as before.
#[tokio::test(start_paused = true)]
async fn fewer_runs_stay_where_memory_is_short() {
    const MOST: usize = 300;
    let dir = tempfile::tempdir().unwrap();
    let one_shard = Settings {
        shards: 1,
        resident_runs_max: MOST,
        ..settings()
    };
    let shards = start(dir.path(), one_shard).await;
    let begin = async |runs: std::ops::Range<u128>| {
        let traces = runs.map(|run| TraceId((run + 1).to_be_bytes()));
        let reports = traces.map(|trace| report(trace, None, vec![call(trace, 1)]));
        submit(&shards, reports.collect()).await;
    };
    let stay = async |many: usize| {
        until(async || (shards.load().resident_runs == many).then_some(())).await;
    };
    begin(0..200).await;
    stay(200).await;
    for (asked, left) in [
        (3, 175),
        (1, 154),
        (1, 135),
        (1, 119),
        (1, 105),
        (3, 100),
        (1, 100),
    ] {
        for _ in 0..asked {
            shards.keep_fewer();
        }
        stay(left).await;
    }
    for _ in 0..20 {
        shards.keep_more();
    }
    begin(200..600).await;
    stay(MOST).await;
    assert_eq!(shards.run_count(), 600);
    stop(&shards).await;
}

/// Given a run that knows more than what is committed whenever states are saved, the others are saved without it, and it is as
/// soon as a turn is committed that holds all that it knows, even where it knows more by then.
#[tokio::test(start_paused = true)]
async fn nobody_waits_for_a_run_that_is_ahead() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let mut residence = Residence::new(open(dir.path()).await);
    let mut slots = Vec::new();
    for (run_id, position) in [("a", 1), ("b", 2), ("c", 3)] {
        let (slot, _) = residence.open(&run_id.into(), NOW_MS).unwrap();
        residence.committed(slot, position);
        slots.push(slot);
    }
    let named = |runs: Vec<SavedRun>| {
        let runs = runs.into_iter();
        let named = runs.map(|run| (run.key.run_id.to_string(), run.position));
        named.collect::<Vec<_>>()
    };
    residence.at(slots[0]).is_ahead = true;
    let saved = residence.take_unsaved(u64::MAX, 10);
    residence.saved();
    assert_eq!(named(saved), [("b".into(), 2), ("c".into(), 3)]);
    assert_eq!((residence.needed_from(), residence.unsaved_len()), (1, 1));
    // Nothing is committed that holds all that it knows.
    assert!(residence.held_up(10).is_empty());
    let saved = residence.take_unsaved(u64::MAX, 10);
    residence.saved();
    assert_eq!(named(saved), []);

    residence.at(slots[0]).is_ahead = false;
    let states = residence.held_up(10);
    residence.at(slots[0]).is_ahead = true;
    residence.committed(slots[0], 4);
    let saved = residence.take_held_up(states, 4);
    assert_eq!(residence.needed_from(), 1);
    residence.saved();
    assert_eq!(named(saved), [("a".into(), 4)]);
    assert_eq!(
        (residence.needed_from(), residence.unsaved_len()),
        (u64::MAX, 0)
    );
    assert!(residence.held_up(10).is_empty());
}
