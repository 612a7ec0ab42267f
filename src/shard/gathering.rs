//! Waiting for senders that were just answered.
//!
//! A turn costs a sync and the waking of several threads, however many requests share it. A sender of small requests, one after
//! the other, is back a moment after its answer. By then the next turn has begun with those who came first, and it must wait for
//! the one after that: senders fall into two groups, each with turns of its own to pay for. So a turn with little to do waits,
//! for a millisecond at most, until as many requests have come as the last turn answered and left waiting. If it waited in vain,
//! because those senders had nothing more to say, the next turns do not wait; the more often in vain, the more of them.

use std::pin::pin;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::store::StoreError;

use super::batch::Batch;
use super::worker::Worker;

/// Events from which a turn waits no longer: stepping them takes as long as a sync does.
const EVENTS_MAX: usize = 256;

/// Most turns that do not wait after one that has waited in vain.
const PAUSE_MAX: u32 = 64;

/// Who is waited for.
pub(super) struct Gathering {
    /// How long after its answers a turn may wait for the same senders.
    wait: Duration,
    /// How many requests the last turn answered and left waiting.
    expected: usize,
    /// When they are waited for no more.
    until: Instant,
    /// Turns to come that do not wait.
    pause: u32,
    /// How many these will be after the next wait in vain.
    next_pause: u32,
}

impl Gathering {
    pub(super) fn new(wait: Duration) -> Self {
        Self {
            wait,
            expected: 0,
            until: Instant::now(),
            pause: 0,
            next_pause: 1,
        }
    }

    /// Notes that so many requests have been answered, while so many wait for the next turn.
    pub(super) fn answered(&mut self, requests: usize, waiting: usize) {
        self.expected = requests + waiting;
        self.until = Instant::now() + self.wait;
    }

    /// Until when a turn waits that has so many requests, if it does.
    fn begin(&mut self, requests: usize) -> Option<Instant> {
        if requests >= self.expected || self.until <= Instant::now() {
            return None;
        }
        let waits = self.pause == 0;
        self.pause = self.pause.saturating_sub(1);
        waits.then_some(self.until)
    }

    /// Those who were waited for did not come: the next turns do not wait.
    fn pause(&mut self) {
        self.pause = self.next_pause;
        self.next_pause = (2 * self.next_pause).min(PAUSE_MAX);
    }
}

impl Worker {
    /// Waits for requests that are likely to come in a moment, and answers questions meanwhile.
    pub(super) async fn gather(&mut self, batch: &mut Batch) -> Result<(), StoreError> {
        let Some(until) = self
            .gathering
            .begin(batch.requests() + self.inbox.messages.len())
        else {
            return Ok(());
        };
        let until = if self.pending.is_empty() {
            until
        } else {
            // What the guard did waits no longer than it may.
            until.min(self.commit_at)
        };
        let mut over = pin!(sleep_until(until));
        while batch.requests() < self.gathering.expected && batch.work() < EVENTS_MAX {
            tokio::select! {
                biased;
                Some(ask) = self.inbox.asks.recv() => {
                    self.renew_policy();
                    self.answer_ask(ask)?;
                }
                Some(message) = self.inbox.messages.recv() => if batch.suits(&message) {
                    batch.add(message);
                } else {
                    self.kept_back = Some(message);
                    return Ok(());
                },
                () = &mut over => {
                    self.gathering.pause();
                    return Ok(());
                }
            }
        }
        self.gathering.next_pause = 1;
        Ok(())
    }
}
