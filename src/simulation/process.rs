//! A process of a world: store, shards and exporter, until it is killed.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::workload::{Dice, Request};
use crate::engine::RunView;
use crate::engine::policy::Policy;
use crate::export::{self, Exporters, Scripted};
use crate::shard::{Clock, Refusal, Settings, Shards};
use crate::store::{ByHand, Durability, Options, Store};

/// A process: what is gone after a kill.
pub(super) struct Process {
    pub(super) store: Store,
    pub(super) hand: ByHand,
    pub(super) shards: Shards,
    pub(super) exporters: Exporters,
    pub(super) kill: CancellationToken,
    /// Requests that nobody has answered yet.
    pub(super) waiting: Vec<(Request, JoinHandle<Result<(), Refusal>>)>,
}

impl Process {
    pub(super) async fn view(&mut self, run_id: &str) -> Option<RunView> {
        let view = working(&mut self.hand, self.shards.run(run_id)).await;
        view.expect("it can be read")
    }

    /// Starts over the files of a directory.
    pub(super) async fn start(
        dir: &Path,
        clock: &Clock,
        policy: &Arc<Policy>,
        settings: Settings,
        receiver: &Scripted,
    ) -> Self {
        let (store, mut hand) = Store::by_hand(dir, &options()).expect("the store opens");
        let starting = Shards::start_at(clock.clone(), store.clone(), policy.clone(), settings);
        let shards = working(&mut hand, starting).await;
        let shards = shards.expect("the shards start");
        let kill = CancellationToken::new();
        let made = export::make(vec![receiver.exporter("receiver")]).expect("settings that work");
        let exporters = export::start(store.clone(), made, &kill);
        Self {
            exporters: exporters.expect("a store that can be read"),
            store,
            hand,
            shards,
            kill,
            waiting: Vec::new(),
        }
    }
}

fn options() -> Options {
    Options {
        durability: Durability::Process,
        cache_bytes: 1 << 20,
        ..Options::default()
    }
}

pub(super) fn settings(dice: &mut Dice) -> Settings {
    Settings {
        shards: 1 + dice.below(3) as u16,
        turn_events_max: 1 + dice.below(20),
        inbox_reports_max: 8 + dice.below(30),
        resident_runs_max: 1 + dice.below(4),
        idle: Duration::from_secs(300),
        save_every: Duration::from_secs(1 + dice.below(5) as u64),
        // Nobody lets time pass while a turn waits.
        gather: Duration::ZERO,
        ..Settings::default()
    }
}

/// Lets tasks get on, as far as they do without the store.
pub(super) async fn yield_often(times: usize) {
    for _ in 0..times {
        tokio::task::yield_now().await;
    }
}

/// Waits for something while the store does what waits.
async fn working<T>(hand: &mut ByHand, future: impl Future<Output = T>) -> T {
    let mut future = Box::pin(future);
    loop {
        tokio::select! {
            biased;
            done = &mut future => return done,
            () = tokio::task::yield_now() => drop(hand.work()),
        }
    }
}
