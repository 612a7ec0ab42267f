//! A receiver that answers as a test tells it and remembers what it was sent and when.

use std::collections::VecDeque;
use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Delivery, ExporterSettings, Exporters, Kind, make, start};
use crate::store::Store;
use crate::store::alert::Alert;

/// The receiver; clones share it.
#[derive(Clone, Debug, Default)]
pub struct Scripted(Arc<Mutex<Script>>);

#[derive(Debug, Default)]
struct Script {
    /// What it does with the next batches; after that, and at first, it takes everything.
    steps: VecDeque<Step>,
    /// What it does when there are no steps left.
    is_down: bool,
    /// A warning for which it refuses whatever it comes with.
    poison: Option<u64>,
    /// How long it rests after a batch.
    pace: Option<Duration>,
    /// Ids and revisions of each batch, and when it came.
    batches: Vec<(Instant, Vec<(u64, u32)>)>,
}

#[derive(Debug)]
pub(super) enum Step {
    Say(Delivery),
    Hang,
    Panic,
}

impl Scripted {
    pub(super) async fn send(&mut self, alerts: &[Alert]) -> Delivery {
        let step = {
            let mut script = self.0.lock().expect("no panic");
            let ids = alerts
                .iter()
                .map(|alert| (alert.warning.id, alert.warning.revision));
            script.batches.push((Instant::now(), ids.collect()));
            let poison = alerts
                .iter()
                .find(|alert| Some(alert.warning.id) == script.poison);
            let otherwise = if poison.is_some() {
                Delivery::Refused {
                    reason: "poison".into(),
                }
            } else if script.is_down {
                Delivery::later("down")
            } else {
                Delivery::Taken
            };
            script.steps.pop_front().unwrap_or(Step::Say(otherwise))
        };
        match step {
            Step::Say(answer) => answer,
            Step::Hang => pending().await,
            Step::Panic => panic!("as the test has it"),
        }
    }

    pub(super) fn pace(&self) -> Option<Duration> {
        self.0.lock().expect("no panic").pace
    }

    pub(super) fn resting(self, pace: Duration) -> Self {
        self.0.lock().expect("no panic").pace = Some(pace);
        self
    }

    pub(super) fn then(self, step: Step) -> Self {
        self.0.lock().expect("no panic").steps.push_back(step);
        self
    }

    pub(super) fn poisoned_by(self, id: u64) -> Self {
        self.0.lock().expect("no panic").poison = Some(id);
        self
    }

    pub(super) fn down(self) -> Self {
        self.set_down(true);
        self
    }

    /// Has it refuse everything from now on, or take it again.
    pub(crate) fn set_down(&self, is_down: bool) {
        self.0.lock().expect("no panic").is_down = is_down;
    }

    /// Ids and revisions of what it was sent, batch by batch.
    pub(crate) fn batches(&self) -> Vec<Vec<(u64, u32)>> {
        self.0
            .lock()
            .expect("no panic")
            .batches
            .iter()
            .map(|(_, ids)| ids.clone())
            .collect()
    }

    pub(super) fn times(&self) -> Vec<Instant> {
        self.0
            .lock()
            .expect("no panic")
            .batches
            .iter()
            .map(|(at, _)| *at)
            .collect()
    }

    /// An exporter that sends to it.
    pub(crate) fn exporter(&self, name: &str) -> ExporterSettings {
        ExporterSettings::new(name, Kind::Scripted(self.clone()))
    }

    /// The exporter at work.
    pub(super) fn start(&self, store: &Store) -> Exporters {
        start_all(store, vec![self.exporter("pager")])
    }
}

/// Exporters at work on a store.
pub(super) fn start_all(store: &Store, settings: Vec<ExporterSettings>) -> Exporters {
    let exporters = make(settings).expect("settings that work");
    let started = start(store.clone(), exporters, &CancellationToken::new());
    started.expect("a store that can be read")
}
