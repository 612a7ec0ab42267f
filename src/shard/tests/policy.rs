//! Reports are judged by the policy by which they were read.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{
    A, SECOND, Settings, calls, kill, open, pass, policy, profile, settings, start, start_under,
    still, submit, view,
};
use crate::engine::warning::{Rule, Warning, WarningState};
use crate::shard::{NamedPolicy, RunFilter};
use crate::store::{Entry, Turn};

/// Given a policy that changes while requests are under way, those that were read by the old one are judged by it, whatever
/// order they come in, and the journal says so of each turn.
#[tokio::test(start_paused = true)]
async fn what_was_read_by_a_policy_is_judged_by_it() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let one_shard = Settings {
        shards: 1,
        ..settings()
    };
    let shards = start(dir.path(), one_shard).await;
    let old = shards.policy();
    let other = profile::Name::Automatos.policy();
    shards.set_policy(&Arc::new(other)).await.unwrap();
    let new = shards.policy();
    let named = |policy: &NamedPolicy| policy.clone();
    // All of them are in the inbox before the shard wakes.
    let (a, b, c) = tokio::join!(
        shards.submit(calls(A, Some("read by the old"), 0..3), named(&old)),
        shards.submit(calls(A, Some("read by the new"), 0..3), named(&new)),
        shards.submit(calls(A, Some("late"), 0..3), named(&old)),
    );
    assert_eq!((a, b, c), (Ok(()), Ok(()), Ok(())));
    let warned = |run_id| {
        let shards = shards.clone();
        async move {
            let warnings = view(&shards, run_id).await.warnings;
            let is_exact = |warning: &Warning| warning.rule == Rule::RepeatedToolCallExactInput;
            warnings.iter().any(is_exact)
        }
    };
    assert!(warned("read by the old").await && warned("late").await);
    assert!(!warned("read by the new").await);
    let named: Vec<u64> = shards
        .store()
        .replay()
        .map(|turn| turn.expect("a whole journal").policy)
        .collect();
    let [old, new] = [policy(), new.policy].map(|policy| NamedPolicy::new(policy).hash);
    assert_eq!(named, [old, new, old]);
    let all = shards.runs(&RunFilter::default(), 10, None).await.unwrap();
    assert_eq!(all.runs.len(), 3);
}

/// Given a policy that changes behind the last save, and a crash: judged anew by it when the journal is replayed, a run has other
/// warnings than it had, and what others were told of them comes to be what it knows.
#[tokio::test(start_paused = true)]
async fn what_a_replay_judges_otherwise_is_announced() {
    let _still = still();
    let without = || {
        let mut policy = (*policy()).clone();
        policy.rules.repeated_tool_call_exact_input = None;
        Arc::new(policy)
    };
    for (before, behind, is_warned) in [(policy(), without(), false), (without(), policy(), true)] {
        let dir = tempfile::tempdir().unwrap();
        let shards = start(dir.path(), settings()).await;
        shards.set_policy(&before).await.unwrap();
        submit(&shards, calls(A, Some("r"), 0..6)).await;
        pass(10, SECOND).await;
        shards.set_policy(&behind).await.unwrap();
        submit(&shards, calls(A, Some("r"), 6..7)).await;
        kill(shards).await;

        for _ in 0..2 {
            let shards = start_under(behind.clone(), dir.path(), settings()).await;
            pass(3, SECOND).await;
            let run = view(&shards, "r").await;
            let is_exact = |warning: &Warning| {
                warning.rule == Rule::RepeatedToolCallExactInput && is_open(warning)
            };
            assert_eq!(
                run.warnings.iter().any(is_exact),
                is_warned,
                "{:?}",
                run.warnings
            );
            let newest = shards.store().newest_alerts_of("r").unwrap();
            let told: Vec<_> = newest.iter().map(|alert| &alert.warning).collect();
            assert!(
                told.iter()
                    .any(|told| told.rule == Rule::RepeatedToolCallExactInput)
            );
            let brief =
                |warning: &Warning| (warning.id, warning.revision, warning.state, warning.count);
            let mut known: Vec<_> = run.warnings.iter().map(brief).collect();
            known.sort_unstable_by_key(|known| known.0);
            let told = told
                .iter()
                .filter(|told| is_open(told) || known.iter().any(|known| known.0 == told.id));
            assert_eq!(told.map(|told| brief(told)).collect::<Vec<_>>(), known);
            let pairs = shards.store().alerts_after(0, 1_000).unwrap();
            let pairs: Vec<_> = pairs
                .iter()
                .map(|alert| (alert.warning.id, alert.warning.revision))
                .collect();
            let unique: BTreeSet<_> = pairs.iter().collect();
            assert_eq!(unique.len(), pairs.len(), "{pairs:?}");
            kill(shards).await;
        }
    }
}

fn is_open(warning: &Warning) -> bool {
    warning.state == WarningState::Open
}

/// Given a journal that names a policy which is nowhere, the daemon starts all the same, and judges by the present one; one that
/// the database has and cannot read is in the journal.
#[tokio::test(start_paused = true)]
async fn a_policy_that_is_lost_keeps_nobody_from_starting() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let shards = start(dir.path(), settings()).await;
    let other = profile::Name::Automatos.policy();
    shards.set_policy(&Arc::new(other)).await.unwrap();
    submit(&shards, calls(A, Some("r"), 0..2)).await;
    let hash = shards.policy().hash;
    kill(shards).await;
    let store = open(dir.path()).await;
    let kept = store.policy(hash).unwrap();
    store.spoil_policy(hash);
    store.policy(hash).unwrap_err();
    let nowhere = Turn {
        policy: hash ^ 1,
        entries: vec![Entry::Idle {
            run_id: "r".into(),
            at_ms: 0,
        }],
        ..Turn::default()
    };
    store.commit(nowhere).await.unwrap();
    store.close().await.unwrap();

    let store = open(dir.path()).await;
    assert_eq!(store.policy(hash).unwrap(), kept);
    store.close().await.unwrap();
    let shards = start(dir.path(), settings()).await;
    assert_eq!(view(&shards, "r").await.tool_calls, 2);
}
