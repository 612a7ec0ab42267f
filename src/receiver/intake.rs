//! From the bytes of a request to what came of it, whatever transport brought them.
//!
//! The walk refuses single items and goes on; only a request whose framing is broken is refused as a whole, before anything
//! of it has reached a shard. What was read goes to the shards in one piece, and the answer waits for their commit.

use std::time::Duration;

use crate::normalize::{Normalizer, Report};
use crate::otlp::{self, Limits, Problem, Reason};
use crate::shard::{Refusal, Shards};

use super::counters::Counters;

/// Longest message of a partial success, in bytes (OTLP asks for bounded answers).
const MESSAGE_BYTES_MAX: usize = 1024;

/// Time after which a sender may try again while the daemon is leaving or its store fails.
const RETRY_LATER: Duration = Duration::from_secs(5);

/// What came of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Everything is on disk.
    Accepted,
    /// Everything else is on disk; these items never will be, and must not be sent again.
    Partial {
        /// How many.
        rejected: u64,
        /// Why, in English.
        message: String,
    },
    /// Nothing of it can be used, and sending it again will not help.
    Undecodable(String),
    /// Nothing of it was taken; send it again after this time.
    Later {
        /// When.
        after: Duration,
        /// Why, in English.
        message: &'static str,
    },
}

/// What items of a request were refused for.
#[derive(Default)]
struct Refused {
    counts: [u64; Reason::ALL.len()],
}

/// The way from bytes to shards, shared by all transports.
pub struct Intake {
    normalizer: Normalizer,
    shards: Shards,
    limits: Limits,
    counters: Counters,
}

impl Intake {
    /// An intake that hands to these shards.
    #[must_use]
    pub fn new(shards: Shards, normalizer: Normalizer) -> Self {
        Self {
            normalizer,
            shards,
            limits: Limits::default(),
            counters: Counters::default(),
        }
    }

    /// What was accepted and refused so far.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The normalizer, for its counters.
    #[must_use]
    pub fn normalizer(&self) -> &Normalizer {
        &self.normalizer
    }

    /// Takes an `ExportTraceServiceRequest`.
    pub async fn traces(&self, request: &[u8]) -> Outcome {
        let mut reports = Vec::new();
        let spans = otlp::spans(request, &self.limits);
        let read = self.read(spans, |span| self.normalizer.span(&span, &mut reports));
        self.hand_over(read, reports).await
    }

    /// Takes an `ExportLogsServiceRequest`.
    pub async fn logs(&self, request: &[u8]) -> Outcome {
        let mut reports = Vec::new();
        let logs = otlp::logs(request, &self.limits);
        let read = self.read(logs, |log| self.normalizer.log(&log, &mut reports));
        self.hand_over(read, reports).await
    }

    fn read<T>(
        &self,
        items: impl Iterator<Item = Result<T, Problem>>,
        mut take: impl FnMut(T),
    ) -> Result<(u64, Refused), &'static str> {
        let (mut taken, mut refused) = (0, Refused::default());
        for item in items {
            match item {
                Ok(item) => {
                    take(item);
                    taken += 1;
                }
                Err(Problem::Refused(reason)) => refused.counts[reason.index()] += 1,
                Err(Problem::Context(_)) => Counters::add(&self.counters.contexts_left_out, 1),
                Err(Problem::Undecodable(why)) => return Err(why),
            }
        }
        Ok((taken, refused))
    }

    async fn hand_over(
        &self,
        read: Result<(u64, Refused), &'static str>,
        reports: Vec<Report>,
    ) -> Outcome {
        let (taken, refused) = match read {
            Ok(read) => read,
            Err(why) => return self.undecodable(format!("the request cannot be decoded: {why}")),
        };
        // Log records sent to the place for spans decode as spans without proper ids: that is a mistake of the sender's
        // configuration, which it should hear of, and no reason to drop its data in silence.
        if taken == 0 && refused.total() > 0 && refused.are_ids_alone() {
            return self.undecodable(format!(
                "no item has valid ids ({}): is this the right signal?",
                refused.message()
            ));
        }
        if !reports.is_empty()
            && let Err(refusal) = self.shards.submit(reports).await
        {
            Counters::add(&self.counters.requests_deferred, 1);
            return later(&refusal);
        }
        Counters::add(&self.counters.accepted, taken);
        for (counter, count) in self.counters.refused.iter().zip(refused.counts) {
            Counters::add(counter, count);
        }
        match refused.total() {
            0 => Outcome::Accepted,
            rejected => Outcome::Partial {
                rejected,
                message: refused.message(),
            },
        }
    }

    fn undecodable(&self, message: String) -> Outcome {
        Counters::add(&self.counters.requests_undecodable, 1);
        Outcome::Undecodable(message)
    }
}

impl Refused {
    fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    fn are_ids_alone(&self) -> bool {
        let ids = [Reason::TraceId, Reason::SpanId].map(|reason| self.counts[reason.index()]);
        ids.iter().sum::<u64>() == self.total()
    }

    /// `2 refused: text is not UTF-8; 1 refused: too large`.
    fn message(&self) -> String {
        let counted = Reason::ALL
            .into_iter()
            .zip(self.counts)
            .filter(|(_, count)| *count > 0);
        let parts: Vec<_> = counted
            .map(|(reason, count)| format!("{count} refused: {reason}"))
            .collect();
        let mut message = parts.join("; ");
        message.truncate(MESSAGE_BYTES_MAX);
        message
    }
}

fn later(refusal: &Refusal) -> Outcome {
    let (after, message) = match refusal {
        Refusal::Overloaded { retry_after } => {
            (*retry_after, "more comes in than can be written: try again")
        }
        Refusal::Stopping => (RETRY_LATER, "eddy is leaving: try again"),
        Refusal::Failed => (
            RETRY_LATER,
            "eddy cannot write to its store: try again later",
        ),
    };
    Outcome::Later { after, message }
}
