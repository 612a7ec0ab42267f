//! A defect of the engine ends one run, and so does a state that cannot be read.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::{
    A, B, SECOND, calls, kill, listed, open, pass, settings, start, still, stop, submit, until,
    view,
};
use crate::engine::RunView;
use crate::engine::guard::Verdict;
use crate::engine::view::Status;
use crate::engine::warning::{ChangeKind, Warning, WarningState};
use crate::shard::defect::DEFECTIVE;
use crate::shard::guard::{GuardContext, Spoken};
use crate::shard::{RunFilter, Shards};
use crate::store::SavedRun;

fn says_so(run: &RunView) -> bool {
    run.notes.iter().any(|note| note.contains("began anew"))
}

/// Given a run whose judging panics, its reports are taken all the same, its warnings are taken back once and it begins anew,
/// which it says of itself from then on;
/// other runs, in the same request too, are judged as ever, and so is it when the defect is mended. A start that replays the
/// journal does not end by it either.
#[tokio::test(start_paused = true)]
async fn a_defect_ends_one_run() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let shards = start(dir.path(), settings()).await;
    submit(&shards, calls(A, Some("broken"), 0..3)).await;
    let warned = view(&shards, "broken").await.warnings.len();
    assert!(warned > 0);

    DEFECTIVE.set("broken".to_owned());
    let both = [
        calls(A, Some("broken"), 3..5),
        calls(B, Some("sound"), 0..3),
    ];
    submit(&shards, both.concat()).await;
    let broken = view(&shards, "broken").await;
    assert_eq!((broken.tool_calls, broken.status), (0, Status::Healthy));
    assert!(says_so(&broken), "{:?}", broken.notes);
    assert!(!says_so(&view(&shards, "sound").await));
    assert_eq!(view(&shards, "sound").await.tool_calls, 3);
    let alerts = shards.store().alerts_after(0, 100).unwrap();
    let told = |change| {
        let of_run = alerts.iter().filter(|alert| &*alert.run_id == "broken");
        let told: BTreeSet<_> = of_run
            .filter(|alert| alert.change == change)
            .map(|alert| alert.warning.id)
            .collect();
        told
    };
    let (raised, taken_back) = (told(ChangeKind::Raised), told(ChangeKind::Resolved));
    assert!(!raised.is_empty() && raised.is_subset(&taken_back));
    assert_eq!(shards.counters().runs_broken.value(), 1);
    let who = GuardContext {
        run_id: "broken",
        ..GuardContext::default()
    };
    let answer = shards.message(&who, Spoken::ByUser).await;
    assert_eq!(
        (answer.verdict, answer.degraded),
        (Verdict::default(), false)
    );
    assert_eq!(shards.counters().runs_broken.value(), 2);

    kill(shards).await;
    let shards = start(dir.path(), settings()).await;
    assert_eq!(view(&shards, "broken").await.tool_calls, 0);
    DEFECTIVE.set(String::new());
    submit(&shards, calls(A, Some("broken"), 5..8)).await;
    let mended = view(&shards, "broken").await;
    let revisions = mended.warnings.iter().map(|warning| warning.revision);
    assert_eq!((mended.tool_calls, mended.warnings.len()), (3, warned));
    assert!(revisions.min() > Some(1), "{:?}", mended.warnings);
    assert!(says_so(&mended), "{:?}", mended.notes);
    stop(&shards).await;
}

/// Given a journal that is gone, with what runs were told since their states were saved last, those that have none are there all
/// the same and say that they began anew, what was warned of them is over, and they go on.
#[tokio::test(start_paused = true)]
async fn runs_that_the_journal_has_lost_begin_anew() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let shards = start(dir.path(), settings()).await;
    submit(&shards, calls(B, Some("saved"), 0..3)).await;
    stop(&shards).await;
    kill(shards).await;
    let shards = start(dir.path(), settings()).await;
    submit(&shards, calls(A, Some("lost"), 0..3)).await;
    let raised = shards.store().last_cursor();
    kill(shards).await;
    fs::remove_dir_all(dir.path().join("store/journal")).unwrap();

    let shards = start(dir.path(), settings()).await;
    assert!(shards.store().counters().lost_records > 0);
    assert_eq!(view(&shards, "saved").await.tool_calls, 3);
    let lost = view(&shards, "lost").await;
    assert_eq!((lost.tool_calls, lost.warnings.len()), (0, 0));
    assert!(says_so(&lost), "{:?}", lost.notes);
    let alerts = shards.store().alerts_after(raised, 100).unwrap();
    assert!(!alerts.is_empty());
    for alert in alerts {
        assert_eq!(
            (&*alert.run_id, alert.change),
            ("lost", ChangeKind::Resolved)
        );
    }
    submit(&shards, calls(A, Some("lost"), 3..6)).await;
    kill(shards).await;
    let shards = start(dir.path(), settings()).await;
    let again = view(&shards, "lost").await;
    assert_eq!(again.tool_calls, 3);
    assert!(!again.warnings.is_empty() && says_so(&again));
    assert_eq!(shards.store().counters().lost_records, 0);
    stop(&shards).await;
}

/// Given a saved state that cannot be read, the run is there all the same, says that it began anew before and after it is heard
/// of again, goes on in its place, and is counted; the run beside it is as it was.
#[tokio::test(start_paused = true)]
async fn a_state_that_cannot_be_read_begins_anew() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let shards = start(dir.path(), settings()).await;
    let both = [
        calls(A, Some("spoilt"), 0..3),
        calls(B, Some("sound"), 0..3),
    ];
    submit(&shards, both.concat()).await;
    stop(&shards).await;
    kill(shards).await;
    spoil(dir.path(), "spoilt").await;

    let shards = start(dir.path(), settings()).await;
    let spoilt = view(&shards, "spoilt").await;
    assert_eq!(spoilt.tool_calls, 0);
    assert!(says_so(&spoilt), "{:?}", spoilt.notes);
    submit(&shards, calls(A, Some("spoilt"), 3..6)).await;
    let spoilt = view(&shards, "spoilt").await;
    assert_eq!(spoilt.tool_calls, 3);
    assert!(says_so(&spoilt), "{:?}", spoilt.notes);
    assert_eq!(shards.counters().runs_unreadable.value(), 1);
    let sound = view(&shards, "sound").await;
    assert_eq!((sound.tool_calls, says_so(&sound)), (3, false));
    let mut ids = listed(&shards, &RunFilter::default()).await;
    ids.sort();
    assert_eq!(ids, ["sound", "spoilt"]);
    stop(&shards).await;
}

/// Given a run of whose saved record nothing can be read, not even its place in the index, it begins anew at another place when
/// it is heard of again, long after the first walk; the old one goes by itself, also after a crash, and nothing of the run with it.
#[tokio::test(start_paused = true)]
async fn a_run_that_begins_anew_is_listed_once() {
    for is_killed in [false, true] {
        let _still = still();
        let dir = saved().await;
        let store = open(dir.path()).await;
        store.spoil_saved("spoilt");
        store.close().await.unwrap();

        let mut shards = start(dir.path(), settings()).await;
        pass(10, SECOND).await;
        submit(&shards, calls(A, Some("spoilt"), 3..6)).await;
        let twice = shards.store().run_ids_newest_first(None, 9).unwrap();
        assert_eq!((twice.len(), shards.run_count()), (2, 2));
        if is_killed {
            kill(shards).await;
            shards = start(dir.path(), settings()).await;
        }
        until(async || (shards.run_count() == 1).then_some(())).await;
        let once = shards.store().run_ids_newest_first(None, 9).unwrap();
        assert_eq!(once, twice[..1]);
        assert_eq!(listed(&shards, &RunFilter::default()).await, ["spoilt"]);
        assert_eq!(view(&shards, "spoilt").await.tool_calls, 3);
        pass(10, SECOND).await;
        kill(shards).await;
        let shards = start(dir.path(), settings()).await;
        assert_eq!(shards.run_count(), 1);
        assert_eq!(shards.store().run_ids_newest_first(None, 9).unwrap(), once);
        assert_eq!(view(&shards, "spoilt").await.tool_calls, 3);
        kill(shards).await;
    }
}

/// Has the saved state of a run say nothing that can be read.
async fn spoil(dir: &Path, run_id: &str) {
    let store = open(dir).await;
    let saved = store.load_run(run_id).unwrap().expect("it was saved");
    let spoilt = SavedRun {
        state: b"\xff\xff".to_vec(),
        ..saved
    };
    store.save_runs(vec![spoilt]).await.unwrap();
    store.close().await.unwrap();
}

/// What those hear who follow the alerts: the last state of each warning, whose revisions only grow.
fn heard(shards: &Shards) -> BTreeMap<u64, (u32, WarningState)> {
    let mut heard = BTreeMap::new();
    for alert in shards.store().alerts_after(0, 100).unwrap() {
        let Warning {
            id,
            revision,
            state,
            ..
        } = alert.warning;
        let before = heard.insert(id, (revision, state));
        assert!(before.is_none_or(|(before, _)| before < revision), "{id}");
    }
    heard
}

/// Given a run that was warned of and whose saved state cannot be read, when it is heard of again or already by the replay:
/// it is said of its warnings that they are over, and when they come again, they go on behind that. When they are over again in
/// the turn in which the run is read from disk, that is said once.
#[tokio::test(start_paused = true)]
async fn warnings_outlive_a_state_that_cannot_be_read() {
    for told_after_the_save in [0, 1] {
        let _still = still();
        let dir = saved().await;
        let shards = start(dir.path(), settings()).await;
        submit(
            &shards,
            calls(A, Some("spoilt"), 3..3 + told_after_the_save),
        )
        .await;
        let raised = heard(&shards);
        assert!(!raised.is_empty());
        assert!(raised.values().all(|last| last.1 == WarningState::Open));
        kill(shards).await;
        spoil(dir.path(), "spoilt").await;

        let shards = start(dir.path(), settings()).await;
        if told_after_the_save == 0 {
            submit(&shards, calls(A, Some("spoilt"), 3..4)).await;
        }
        let over = until_over(&shards).await;
        assert!(over.keys().eq(raised.keys()));
        submit(&shards, calls(A, Some("spoilt"), 4..7)).await;
        let again = heard(&shards);
        let warnings = view(&shards, "spoilt").await.warnings;
        for warning in &warnings {
            assert_eq!(again[&warning.id], (warning.revision, WarningState::Open));
        }
        for (id, (revision, _)) in over {
            let again = warnings.iter().find(|warning| warning.id == id);
            assert!(again.is_some_and(|again| again.revision > revision));
        }
        pass(3, SECOND).await;
        assert_eq!(heard(&shards), again);
        stop(&shards).await;
        kill(shards).await;

        // Read from disk, and said to be over in the same turn.
        let shards = start(dir.path(), settings()).await;
        DEFECTIVE.set("spoilt".to_owned());
        submit(&shards, calls(A, Some("spoilt"), 7..8)).await;
        DEFECTIVE.set(String::new());
        let over = heard(&shards);
        assert!(over.values().all(|last| last.1 == WarningState::Resolved));
        stop(&shards).await;
        kill(shards).await;
    }
}

/// A data directory with the saved state of the run `spoilt`, which was warned of.
async fn saved() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let shards = start(dir.path(), settings()).await;
    submit(&shards, calls(A, Some("spoilt"), 0..3)).await;
    stop(&shards).await;
    kill(shards).await;
    dir
}

/// Waits until all that was announced is over.
async fn until_over(shards: &Shards) -> BTreeMap<u64, (u32, WarningState)> {
    until(async || {
        let heard = heard(shards);
        let are_over = heard.values().all(|last| last.1 == WarningState::Resolved);
        are_over.then_some(heard)
    })
    .await
}

/// Given a run that was warned of and whose saved state cannot be read, which the replay finds, and a process that ends right
/// after the replay: it says that the warnings are over when it is told to leave, the next one does when it is killed, and
/// no other one does once more.
#[tokio::test(start_paused = true)]
async fn what_is_owed_outlives_the_process() {
    for is_killed in [true, false] {
        let _still = still();
        let dir = saved().await;
        let shards = start(dir.path(), settings()).await;
        submit(&shards, calls(A, Some("spoilt"), 3..4)).await;
        let raised = heard(&shards);
        kill(shards).await;
        spoil(dir.path(), "spoilt").await;

        let shards = start(dir.path(), settings()).await;
        assert_eq!(heard(&shards), raised);
        if !is_killed {
            stop(&shards).await;
        }
        kill(shards).await;
        let shards = start(dir.path(), settings()).await;
        // Who was told to leave has said so before; else it is said in the background, as fast as the store's thread comes to it.
        let over = if is_killed {
            until_over(&shards).await
        } else {
            heard(&shards)
        };
        assert!(over.keys().eq(raised.keys()));
        assert!(over.values().all(|last| last.1 == WarningState::Resolved));
        stop(&shards).await;
        kill(shards).await;
        let shards = start(dir.path(), settings()).await;
        submit(&shards, calls(A, Some("spoilt"), 4..5)).await;
        pass(3, SECOND).await;
        assert_eq!(heard(&shards), over);
        stop(&shards).await;
    }
}

/// Given a run that was warned of, whose saved state cannot be read and of which nobody hears again, it is said that its
/// warnings are over.
#[tokio::test(start_paused = true)]
async fn a_quiet_run_that_cannot_be_read_is_over() {
    let _still = still();
    let dir = saved().await;
    spoil(dir.path(), "spoilt").await;
    let shards = start(dir.path(), settings()).await;
    let raised = heard(&shards);
    assert!(!raised.is_empty());
    assert!(until_over(&shards).await.keys().eq(raised.keys()));
    assert!(says_so(&view(&shards, "spoilt").await));
    stop(&shards).await;
}

/// Given runs, one of them warned of, and a defect that shows when the guard is asked about them: they begin anew, which outlives
/// a kill and a save; what was announced is over, and goes on behind that.
#[tokio::test(start_paused = true)]
async fn a_defect_of_the_guard_outlives_the_process() {
    for (reports, is_killed) in [(3, true), (3, false), (1, true), (1, false)] {
        let _still = still();
        let dir = tempfile::tempdir().unwrap();
        let shards = start(dir.path(), settings()).await;
        submit(&shards, calls(A, Some("broken"), 0..reports)).await;
        let raised = heard(&shards);
        assert_eq!(raised.is_empty(), reports == 1);
        pass(3, SECOND).await;
        DEFECTIVE.set("broken".to_owned());
        let who = GuardContext {
            run_id: "broken",
            ..GuardContext::default()
        };
        shards.message(&who, Spoken::ByUser).await;
        DEFECTIVE.set(String::new());
        until(async || (view(&shards, "broken").await.tool_calls == 0).then_some(())).await;
        let over = until_over(&shards).await;
        assert!(over.keys().eq(raised.keys()));
        if !is_killed {
            stop(&shards).await;
        }
        kill(shards).await;

        let shards = start(dir.path(), settings()).await;
        let broken = view(&shards, "broken").await;
        assert_eq!(broken.tool_calls, 0);
        assert!(says_so(&broken), "{:?}", broken.notes);
        submit(&shards, calls(A, Some("broken"), 5..8)).await;
        for (id, (revision, _)) in heard(&shards) {
            assert!(over.get(&id).is_none_or(|(over, _)| *over < revision));
        }
        stop(&shards).await;
    }
}

/// Given a run that was warned of, and a defect that shows only when it is replayed, it is said that its warnings are over.
#[tokio::test(start_paused = true)]
async fn a_defect_in_the_replay_is_told() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let shards = start(dir.path(), settings()).await;
    submit(&shards, calls(A, Some("broken"), 0..3)).await;
    let raised = heard(&shards);
    assert!(!raised.is_empty());
    kill(shards).await;
    DEFECTIVE.set("broken".to_owned());
    let shards = start(dir.path(), settings()).await;
    DEFECTIVE.set(String::new());
    assert!(until_over(&shards).await.keys().eq(raised.keys()));
    stop(&shards).await;
}
