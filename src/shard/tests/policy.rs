//! Reports are judged by the policy by which they were read.

use std::sync::Arc;

use super::{
    A, Settings, calls, kill, open, policy, profile, settings, start, still, submit, view,
};
use crate::engine::warning::{Rule, Warning};
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
        .map(|turn| turn.expect("a whole journal").2)
        .collect();
    let [old, new] = [policy(), new.policy].map(|policy| NamedPolicy::new(policy).hash);
    assert_eq!(named, [old, new, old]);
    let all = shards.runs(&RunFilter::default(), 10, None).await.unwrap();
    assert_eq!(all.runs.len(), 3);
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
