//! From the bytes of a request to its outcome, whatever transport it came by.
//!
//! The items are read in place and normalized, and their reports go to the shards together: a request is committed as a
//! whole or refused as a whole. Items that can never be used are left out and told of, because a sender must not try
//! them again; for anything that may be different next time the request is refused and nothing of it kept.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::budget::{Budget, Share};
use super::counters::Counters;
#[cfg(test)]
use super::fake::Fake;
use super::outcome::{Accepted, Refused, Written};
use super::tally::Tally;
use crate::listener::{Peer, Tenant};
use crate::normalize::{Normalizer, Report};
use crate::otlp::{self, Limits, Signal};
use crate::shard::{NamedPolicy, ReadTurn, Refusal, Shards, TenantShards};

/// What senders are told to wait while the daemon is leaving: its successor should be up by then.
const STOPPING_WAIT: Duration = Duration::from_secs(2);

/// What senders are told to wait while the store has failed: it is opened anew every second.
const FAILED_WAIT: Duration = Duration::from_secs(2);

/// What gets every request that was acknowledged, as the bytes of its message. It must not wait.
pub type PassOn = Box<dyn Fn(Signal, &[u8]) + Send + Sync>;

/// Takes requests, of all transports. Clones share everything.
#[derive(Clone)]
pub struct Intake(Arc<Inner>);

struct Inner {
    normalizer: Arc<Normalizer>,
    /// Where reports go.
    shards: BTreeMap<Tenant, TenantShards>,
    /// Where they go instead in a test.
    #[cfg(test)]
    fake: Option<Arc<Fake>>,
    limits: Limits,
    budget: Arc<Budget>,
    pass_on: Option<PassOn>,
    counters: Counters,
}

/// Who takes the reports of one request. They go to the shards by whose policy they were read: the store of others, over the same
/// directory, need not have that policy any more.
enum Taker {
    Shards(Shards),
    #[cfg(test)]
    Fake(Arc<Fake>),
}

impl Taker {
    /// Refuses what is not worth receiving, or reading.
    fn turn_away(&self) -> Result<(), Refusal> {
        match self {
            Self::Shards(shards) => shards.turn_away(),
            #[cfg(test)]
            Self::Fake(fake) => fake.turn_away(),
        }
    }

    /// Resolves when there is room.
    fn room(&self) -> BoxFuture<'static, ()> {
        match self {
            Self::Shards(shards) => shards.room().boxed(),
            #[cfg(test)]
            Self::Fake(fake) => fake.room().boxed(),
        }
    }

    /// By what the reports are to be read and judged.
    fn policy(&self) -> NamedPolicy {
        match self {
            Self::Shards(shards) => shards.policy(),
            #[cfg(test)]
            Self::Fake(_) => Fake::policy(),
        }
    }

    /// Waits for the turn of a request of so many bytes to be read.
    async fn read_turn(&self, bytes: usize) -> Result<Option<ReadTurn>, Refusal> {
        match self {
            Self::Shards(shards) => shards.read_turn(bytes).await.map(Some),
            #[cfg(test)]
            Self::Fake(fake) => fake.turn_away().map(|()| None),
        }
    }

    async fn submit(&self, reports: Vec<Report>, policy: NamedPolicy) -> Result<(), Refusal> {
        match self {
            Self::Shards(shards) => shards.submit(reports, policy).await,
            #[cfg(test)]
            Self::Fake(fake) => fake.submit(reports),
        }
    }
}

impl Intake {
    /// An intake that hands reports to the shards of their tenant. `in_flight_bytes_max` bounds what all requests hold together
    /// while they arrive and are read; it should be several times the largest request. What is acknowledged is given to
    /// `pass_on`, too.
    #[must_use]
    pub fn new(
        normalizer: Arc<Normalizer>,
        shards: BTreeMap<Tenant, TenantShards>,
        limits: Limits,
        in_flight_bytes_max: usize,
        pass_on: Option<PassOn>,
    ) -> Self {
        Self(Arc::new(Inner {
            normalizer,
            shards,
            #[cfg(test)]
            fake: None,
            limits,
            budget: Budget::of(in_flight_bytes_max),
            pass_on,
            counters: Counters::default(),
        }))
    }

    /// An intake whose shards a test plays.
    #[cfg(test)]
    pub(super) fn over(in_flight_bytes_max: usize, fake: Fake) -> Self {
        let normalizer = Arc::new(Normalizer::new());
        let limits = Limits::default();
        let mut intake = Self::new(
            normalizer,
            BTreeMap::new(),
            limits,
            in_flight_bytes_max,
            None,
        );
        let inner = Arc::get_mut(&mut intake.0).expect("not shared yet");
        inner.fake = Some(Arc::new(fake));
        intake
    }

    /// The same, with shards that have room and answer what `submit` says.
    #[cfg(test)]
    pub(super) fn fake(
        in_flight_bytes_max: usize,
        submit: impl Fn(Vec<Report>) -> Result<(), Refusal> + Send + Sync + 'static,
    ) -> Self {
        Self::over(in_flight_bytes_max, Fake::answering(submit))
    }

    #[cfg(test)]
    pub(super) fn passing_on(mut self, pass_on: PassOn) -> Self {
        let inner = Arc::get_mut(&mut self.0).expect("not shared yet");
        inner.pass_on = Some(pass_on);
        self
    }

    /// What has been taken and refused.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.0.counters
    }

    /// What reads the items, for its counters.
    #[must_use]
    pub fn normalizer(&self) -> &Normalizer {
        &self.0.normalizer
    }

    /// Bytes that requests hold which are arriving, being read, or waiting for their answer.
    #[must_use]
    pub fn bytes_held(&self) -> usize {
        self.0.budget.held()
    }

    /// Has requests hold no more than this together from now on, since memory has no room for more; one alone may.
    pub fn set_room(&self, bytes: usize) {
        self.0.budget.set_room(bytes);
    }

    /// Requests refused because memory had no room for them.
    #[must_use]
    pub fn refused_for_memory(&self) -> u64 {
        self.0.budget.refused_for_memory.value()
    }

    /// Whether somebody gets what is acknowledged. Metrics are then more than something to be polite about.
    pub(super) fn passes_on(&self) -> bool {
        self.0.pass_on.is_some()
    }

    /// The share that a request has of what all may hold, to be kept until it is answered. A request of which nobody has
    /// received anything but the headers is refused where it would most likely be refused after: under a load that is several
    /// times too much, what is received, decompressed and read in vain would leave little for those that are taken.
    pub(super) fn admit(&self, tenant: &Tenant, signal: Signal) -> Result<Share, Refused> {
        self.turn_away(tenant, signal)?;
        self.0.budget.share()
    }

    /// Has nothing more read from a connection on which a request was refused for now, until there is room in the inboxes.
    pub(super) fn pause(&self, tenant: &Tenant, peer: &Peer, refused: &Refused) {
        if let Refused::Busy { .. } = refused
            && let Ok(taker) = self.taker(tenant)
        {
            let mut room = taker.room();
            let intake = self.clone();
            peer.pause_until(Box::pin(async move {
                if (&mut room).now_or_never().is_none() {
                    intake.counters().pauses.add(1);
                    room.await;
                }
            }));
        }
    }

    fn turn_away(&self, tenant: &Tenant, signal: Signal) -> Result<(), Refused> {
        // Metrics go nowhere where there could be too many.
        if signal == Signal::Metrics {
            return Ok(());
        }
        let welcome = self.taker(tenant).and_then(|taker| taker.turn_away());
        welcome.map_err(|refusal| busy(&refusal))
    }

    /// Who takes the tenant's reports at present.
    fn taker(&self, tenant: &Tenant) -> Result<Taker, Refusal> {
        #[cfg(test)]
        if let Some(fake) = &self.0.fake {
            return Ok(Taker::Fake(Arc::clone(fake)));
        }
        let shards = self.0.shards.get(tenant);
        let shards = shards.and_then(|shards| shards.current().ok());
        shards.map(Taker::Shards).ok_or(Refusal::Failed)
    }

    /// Takes one request, decompressed; what is read of it counts as part of its share. Resolves when everything in it that can be
    /// used is committed.
    pub(super) async fn export(
        &self,
        tenant: &Tenant,
        signal: Signal,
        request: Bytes,
        written: &Written,
        share: &Share,
    ) -> Result<Accepted, Refused> {
        let outcome = self.take(tenant, signal, &request, written, share).await;
        match &outcome {
            Ok(accepted) => {
                self.counters().requests_accepted.add(1);
                let partial = u64::from(accepted.rejected > 0);
                self.counters().requests_partial.add(partial);
                if let Some(pass_on) = &self.0.pass_on {
                    pass_on(signal, &request);
                }
            }
            Err(refused) => self.count_refused(refused),
        }
        outcome
    }

    /// Counts a request that is refused before or after it was read.
    pub(super) fn count_refused(&self, refused: &Refused) {
        match refused {
            Refused::Invalid(_) => self.counters().requests_invalid.add(1),
            Refused::Left => self.counters().requests_left.add(1),
            Refused::TooLarge { .. } => self.counters().requests_too_large.add(1),
            Refused::Busy { .. } => self.counters().requests_busy.add(1),
        }
    }

    async fn take(
        &self,
        tenant: &Tenant,
        signal: Signal,
        request: &[u8],
        written: &Written,
        share: &Share,
    ) -> Result<Accepted, Refused> {
        let taker = self.taker(tenant).map_err(|refusal| busy(&refusal))?;
        let read_turn = match signal {
            Signal::Traces | Signal::Logs => taker.read_turn(request.len()).await,
            // Metrics go nowhere where there could be too many.
            Signal::Metrics => Ok(None),
        };
        let read_turn = read_turn.map_err(|refusal| busy(&refusal))?;
        let policy = taker.policy();
        let mut tally = Tally::of(written);
        let outcome = async {
            let reports = self.read(&mut tally, signal, request, &policy, share);
            let reports = reports.await?;
            drop(read_turn);
            let accepted = tally.verdict(written)?;
            if !reports.is_empty() {
                let submitted = taker.submit(reports, policy).await;
                submitted.map_err(|refusal| busy(&refusal))?;
            }
            Ok(accepted)
        };
        let outcome = outcome.await;
        let is_busy = matches!(outcome, Err(Refused::Busy { .. }));
        if !is_busy {
            // Else it all comes again, what is refused for good as well.
            tally.count(self.counters(), signal);
        }
        if let Some(items) = self.counters().items(signal) {
            let read = match &outcome {
                Ok(_) => Some(&items.accepted),
                Err(_) => is_busy.then_some(&items.busy),
            };
            read.inspect(|counter| counter.add(tally.read));
        }
        outcome
    }

    /// Reads the items of a request: what they tell, and into the tally what they came to. Metrics tell nothing.
    async fn read(
        &self,
        tally: &mut Tally,
        signal: Signal,
        request: &[u8],
        policy: &NamedPolicy,
        share: &Share,
    ) -> Result<Vec<Report>, Refused> {
        let limits = &self.0.limits;
        let mut reports = Vec::new();
        let mut batch = self.0.normalizer.batch(&policy.policy);
        match signal {
            Signal::Traces => {
                let mut spans = otlp::spans(request, limits);
                while tally.tell(&mut reports, |reports| {
                    let span = batch.span(&mut spans, reports)?;
                    Some(span.map(|span| span.attributes_left_out))
                }) {
                    tally.pause(&mut reports, share).await?;
                }
            }
            Signal::Logs => {
                let mut logs = otlp::logs(request, limits);
                while tally.tell(&mut reports, |reports| {
                    let log = logs.next()?;
                    Some(log.map(|log| {
                        batch.log(&log, reports);
                        log.attributes_left_out
                    }))
                }) {
                    tally.pause(&mut reports, share).await?;
                }
            }
            Signal::Metrics => {
                if self.passes_on() {
                    let checked = otlp::check_metrics(request);
                    checked.map_err(|problem| Refused::Invalid(problem.to_string()))?;
                }
            }
        }
        tally.charge(&mut reports, share)?;
        Ok(reports)
    }
}

/// All that a shard refuses may be taken later.
fn busy(refusal: &Refusal) -> Refused {
    let (why, retry_after) = match refusal {
        Refusal::Overloaded { retry_after } => ("too many reports are waiting", *retry_after),
        Refusal::Crowded { retry_after } => ("there are too many runs", *retry_after),
        Refusal::Stopping => ("the daemon is stopping", STOPPING_WAIT),
        Refusal::Failed => ("nothing can be committed at present", FAILED_WAIT),
    };
    Refused::Busy { why, retry_after }
}
