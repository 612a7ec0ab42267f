//! Traces that are named for two runs, of two shards.

use futures_util::poll;
use tokio::task::yield_now;

use super::guard::{ask, start_by_hand, wait_often};
use super::looking_up::working;
use super::{SECOND, calls, hex, kill, listed, moment, settings, start, submit, view};
use crate::engine::event::{Text, TraceId};
use crate::shard::router::shard_of;
use crate::shard::{RunFilter, Settings, Shards};
use crate::store::ByHand;

const SHARDS: u16 = 2;

fn two_shards() -> Settings {
    Settings {
        shards: SHARDS,
        ..settings()
    }
}

/// A name of a run that a shard owns.
fn named(shard: u16, of: &str) -> String {
    let mut names = (0..).map(|number| format!("{of}{number}"));
    let found = names.find(|name| shard_of(name, SHARDS) == shard);
    found.expect("there is no end of them")
}

/// A trace whose own run a shard owns.
fn trace(shard: u16) -> TraceId {
    let mut traces = (1..u128::MAX).map(|number| TraceId((number << 64 | number).to_be_bytes()));
    let found = traces.find(|trace| shard_of(&hex(*trace), SHARDS) == shard);
    found.expect("there is no end of them")
}

/// Lets everything be done that is still to be done after a start.
async fn come_to_rest(hand: &mut ByHand) {
    for _ in 0..10 {
        wait_often().await;
        hand.work();
        tokio::time::sleep(SECOND / 50).await;
    }
}

/// Each run with its calls.
async fn all(shards: &Shards) -> Vec<(String, u64)> {
    let mut all = Vec::new();
    for run_id in listed(shards, &RunFilter::default()).await {
        let calls = view(shards, &run_id).await.tool_calls;
        all.push((run_id, calls));
    }
    all.sort();
    all
}

/// Given a question about a trace, and a view of it, whose digits are in capitals, both are of the run that its spans made.
#[tokio::test(start_paused = true)]
async fn capitals_name_the_same_trace() {
    let dir = tempfile::tempdir().unwrap();
    let shards = start(dir.path(), two_shards()).await;
    let trace = TraceId([0xAB; 16]);
    let capitals = hex(trace).to_uppercase();
    ask(&shards, &capitals).await;
    submit(&shards, calls(trace, None, 0..1)).await;
    assert_eq!(all(&shards).await, [(hex(trace).to_string(), 2)]);
    assert_eq!(view(&shards, &capitals).await.run_id, hex(trace));
    submit(&shards, calls(trace, Some("named"), 1..2)).await;
    assert_eq!(view(&shards, &capitals).await.run_id, "named".into());
}

/// Given traces that are named by their first report, and questions about them by the trace's id at the same time, all are about
/// the named runs: no other run begins, and nothing is asked for nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn questions_about_traces_that_are_being_named_begin_no_runs() {
    const TRACES: u8 = 250;
    let dir = tempfile::tempdir().unwrap();
    let four = Settings {
        shards: 4,
        ..settings()
    };
    let shards = start(dir.path(), four).await;
    for number in 1..=TRACES {
        let trace = TraceId([number; 16]);
        let name = format!("named {number}");
        let asking = async {
            for _ in 0..3 {
                ask(&shards, &hex(trace)).await;
            }
        };
        tokio::join!(submit(&shards, calls(trace, Some(&name), 0..1)), asking);
    }
    // What was asked before a name was known has a run, which moves.
    for _ in 0..500 {
        if shards.run_count() == u64::from(TRACES) {
            break;
        }
        moment().await;
    }
    let all = all(&shards).await;
    assert!(
        all.iter().all(|(run_id, _)| run_id.starts_with("named ")),
        "{all:?}"
    );
}

/// Given a trace with calls of its own that two requests name, the second at any moment, and a process that is killed at any
/// moment behind that: when both have been sent again, what was kept of the trace is in one of the two runs, and no call is there
/// twice.
#[tokio::test(start_paused = true)]
async fn what_a_trace_had_goes_to_one_of_its_runs() {
    for first_shard in 0..SHARDS {
        for trace_shard in 0..SHARDS {
            for moments in [[0, 1], [1, 0], [1, 1], [2, 1]] {
                check_killed([first_shard, trace_shard], moments, &[]).await;
            }
        }
    }
}

/// Given the same, and a next process that is killed at any moment of its start, the same holds.
#[tokio::test(start_paused = true)]
async fn what_a_run_has_absorbed_is_known_after_a_start_that_is_cut_short() {
    for moment in 0..12 {
        check_killed([0, 0], [1, 1], &[moment]).await;
    }
}

/// With so many commits between what is sent; then processes that are killed after so many moments, and one that comes to rest.
async fn check_killed(
    [first_shard, trace_shard]: [u16; 2],
    [before_second, before_end]: [usize; 2],
    starts: &[usize],
) {
    let dir = tempfile::tempdir().unwrap();
    let trace = trace(trace_shard);
    let (first, second) = (named(first_shard, "r"), named(1 - first_shard, "s"));
    let (shards, mut hand) = start_by_hand(dir.path(), two_shards()).await;
    working(&mut hand, submit(&shards, calls(trace, None, 0..3))).await;
    let naming = [(&first, before_second, 3), (&second, before_end, 4)];
    let mut waiting = Vec::new();
    for (name, commits, call) in naming {
        let mut sending = Box::pin(submit(&shards, calls(trace, Some(name), call..call + 1)));
        let _ = poll!(&mut sending);
        waiting.push(sending);
        for _ in 0..commits {
            wait_often().await;
            hand.work();
        }
    }
    drop(waiting);
    kill(shards).await;
    drop(hand);
    wait_often().await;
    for moments in starts {
        let (shards, mut hand) = start_by_hand(dir.path(), two_shards()).await;
        for _ in 0..*moments {
            yield_now().await;
        }
        hand.work();
        kill(shards).await;
        drop(hand);
        wait_often().await;
    }

    let (shards, mut hand) = start_by_hand(dir.path(), two_shards()).await;
    come_to_rest(&mut hand).await;
    for (name, _, call) in naming {
        let again = calls(trace, Some(name), call..call + 1);
        working(&mut hand, submit(&shards, again)).await;
    }
    come_to_rest(&mut hand).await;
    let found = all(&shards).await;
    let [one, other] = [[4, 1], [1, 4]].map(|[calls, more]| {
        let all = [(first.clone(), calls), (second.clone(), more)];
        all.to_vec()
    });
    let moments = (first_shard, trace_shard, before_second, before_end, starts);
    assert!([one, other].contains(&found), "{moments:?}: {found:?}");
}

/// Given a trace that two requests name before either is committed, the trace belongs to the run that was named last, also after
/// a start.
#[tokio::test(start_paused = true)]
async fn a_trace_belongs_to_the_run_that_was_named_last() {
    for first_shard in 0..SHARDS {
        let dir = tempfile::tempdir().unwrap();
        let trace = trace(0);
        let names = [named(first_shard, "r"), named(1 - first_shard, "s")];
        let (shards, mut hand) = start_by_hand(dir.path(), two_shards()).await;
        let [first, second] = &names;
        let mut first = Box::pin(submit(&shards, calls(trace, Some(first), 0..1)));
        let mut second = Box::pin(submit(&shards, calls(trace, Some(second), 0..1)));
        assert!(poll!(&mut first).is_pending() && poll!(&mut second).is_pending());
        working(&mut hand, first).await;
        working(&mut hand, second).await;
        let belongs = |shards: &Shards| shards.store().alias(trace).unwrap();
        let last: Option<Text> = Some((&*names[1]).into());
        assert_eq!(belongs(&shards), last);
        kill(shards).await;
        drop(hand);
        wait_often().await;
        let (shards, _hand) = start_by_hand(dir.path(), two_shards()).await;
        assert_eq!(belongs(&shards), last);
    }
}
