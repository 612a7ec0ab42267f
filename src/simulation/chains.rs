//! Worlds of long traces that become one run, which is said of them while everything goes wrong. Each trace is told of in order
//! first, and then which other it continues: what is looked at is that each call is counted once, wherever it is meanwhile.

use std::collections::BTreeMap;

use super::process::yield_often;
use super::workload::{Dice, Request, Run, event, run, shuffle};
use super::{World, hex};
use crate::engine::event::Text;
use crate::normalize::{Report, RunRef};

impl World {
    /// A world of traces that are one run, of which each is told of in order, and then which they belong to.
    pub(super) async fn of_chain(seed: u64) -> Self {
        let mut dice = Dice(seed);
        let (runs, links, id) = chain(&mut dice);
        let mut world = Self::of(dice, runs, Vec::new()).await;
        world.one_run = Some(id);
        for number in 0..world.runs.len() {
            let trace = world.runs[number].trace;
            let events = world.runs[number].events.clone();
            for some in events.chunks(6) {
                let run = RunRef {
                    trace,
                    ..RunRef::default()
                };
                let reports = vec![Report {
                    run,
                    events: some.to_vec(),
                }];
                world.to_send.push(Request {
                    run: number,
                    reports,
                });
                while !(world.to_send.is_empty() && world.process.waiting.is_empty()) {
                    world.send();
                    yield_often(10).await;
                    world.process.hand.work();
                    world.take_answers().await;
                }
            }
        }
        world.to_send = links;
        world
    }

    /// What was acknowledged of a chain is there; a run that moves is there twice for a while.
    pub(super) async fn has_each_call(&mut self, one_run: &Text) {
        let expected: usize = self.acknowledged.values().map(Vec::len).sum();
        // Runs move while they are looked at: who has gone on is where it goes, which is looked at after it.
        let ids = self.runs.iter().rev().map(|run| hex(run.trace));
        let ids: Vec<_> = ids.chain([one_run.to_string()]).collect();
        let mut found = BTreeMap::new();
        for id in ids {
            if let Some(view) = self.process.view(&id).await {
                found.insert(view.run_id.clone(), view.tool_calls + view.model_calls);
            }
        }
        let all: u64 = found.values().sum();
        assert!(all >= expected as u64, "{found:?} of {expected}");
    }

    /// All the traces are one run, with each call once.
    pub(super) async fn is_one_run(&mut self, one_run: &Text) {
        let run = self.process.view(one_run).await.expect("it is there");
        let calls: usize = self.runs.iter().map(|run| run.events.len()).sum();
        assert_eq!(run.tool_calls + run.model_calls, calls as u64);
        assert_eq!(self.process.shards.run_count(), 1);
    }
}

/// Long traces that are one run, of which nobody says so yet: the calls of each lie before, behind or among those of the others.
/// And the requests that say of each which other it continues, or what the run is called; and under which id it is in the end.
fn chain(dice: &mut Dice) -> (Vec<Run>, Vec<Request>, Text) {
    let traces = 2 + dice.below(4) as u8;
    let mut runs: Vec<Run> = (0..traces).map(|number| run(number, dice)).collect();
    let mut links = Vec::new();
    let name = dice.one_in(2).then(|| Text::from("name"));
    for number in 0..runs.len() {
        let (from, calls) = (150 * dice.below(3), 1 + dice.below(120));
        let trace = runs[number].trace;
        let events = (from..from + calls).map(|place| event(trace, place, 3, dice));
        runs[number].events = events.collect();
        runs[number].is_named = false;
        let (continues, run_id) = match number.checked_sub(1) {
            Some(_) => (Some(runs[dice.below(number)].trace), None),
            None => (None, name.clone()),
        };
        let link = Request {
            run: number,
            reports: vec![Report {
                run: RunRef {
                    trace,
                    run_id,
                    continues,
                    ..RunRef::default()
                },
                events: Vec::new(),
            }],
        };
        if dice.one_in(4) {
            links.push(link.clone());
        }
        links.push(link);
    }
    shuffle(&mut links, dice);
    let first = format!("{:02x}", runs[0].trace.0[0]).repeat(16);
    (runs, links, name.unwrap_or_else(|| first.into()))
}
