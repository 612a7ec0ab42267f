//! From the bytes of a request to its outcome, whatever transport it came by.
//!
//! The items are read in place and normalized, and their reports go to the shards together: a request is committed as a
//! whole or refused as a whole. Items that can never be used are left out and told of, because a sender must not try
//! them again; for anything that may be different next time the request is refused and nothing of it kept.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::budget::{Budget, Share};
use super::counters::{Counters, Left};
#[cfg(test)]
use super::fake::Fake;
use crate::listener::{Peer, Tenant};
use crate::normalize::{Normalizer, Report};
use crate::otlp::{self, Limits, Problem, Reason, Signal};
use crate::shard::{NamedPolicy, Refusal, Shards, TenantShards};

/// Items read without letting other tasks run. Some 64 spans take about half a millisecond; a guard call must not wait for
/// ten thousand.
const ITEMS_AT_ONCE: usize = 64;

/// What senders are told to wait while the daemon is leaving: its successor should be up by then.
const STOPPING_WAIT: Duration = Duration::from_secs(2);

/// What senders are told to wait while the store has failed: it is opened anew every second.
const FAILED_WAIT: Duration = Duration::from_secs(2);

/// What a request was written in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    /// As the bytes that it is read as.
    Protobuf,
    /// As JSON, of which this is known to be wrong.
    Json {
        /// What is wrong with the first item that could not be read.
        fault: Option<String>,
    },
}

/// The request is acknowledged: what it holds is on disk, save what is rejected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accepted {
    /// Items that can never be used and were left out.
    pub rejected: u64,
    /// Why, in English, shorter than a kibibyte; empty when nothing was rejected.
    pub message: String,
}

/// The request is not acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It cannot be decoded, or nothing in it can be used; never to be sent again.
    #[error("{0}")]
    Invalid(String),
    /// It is larger than allowed; never to be sent again.
    #[error("the request is larger than {bytes_max} bytes")]
    TooLarge {
        /// The limit.
        bytes_max: usize,
    },
    /// Not now: to be sent again.
    #[error("{why}")]
    Busy {
        /// What is in the way, in English.
        why: &'static str,
        /// When to send it again.
        retry_after: Duration,
    },
}

/// What gets every request that was acknowledged, as the bytes of its message. It must not wait.
pub type PassOn = Box<dyn Fn(Signal, &[u8]) + Send + Sync>;

/// Takes requests, of all transports. Clones share everything.
#[derive(Clone)]
pub struct Intake(Arc<Inner>);

struct Inner {
    normalizer: Arc<Normalizer>,
    inbox: Inbox,
    limits: Limits,
    budget: Arc<Budget>,
    pass_on: Option<PassOn>,
    counters: Counters,
}

/// Where reports go.
enum Inbox {
    Shards(BTreeMap<Tenant, TenantShards>),
    #[cfg(test)]
    Fake(Fake),
}

impl Inbox {
    /// Refuses what is not worth receiving, or reading.
    fn turn_away(&self, tenant: &Tenant) -> Result<(), Refusal> {
        match self {
            Self::Shards(tenants) => shards_of(tenants, tenant)?.turn_away(),
            #[cfg(test)]
            Self::Fake(fake) => fake.turn_away(),
        }
    }

    /// Resolves when there is room; nothing where there are no shards.
    fn room(&self, tenant: &Tenant) -> Option<BoxFuture<'static, ()>> {
        match self {
            Self::Shards(tenants) => Some(shards_of(tenants, tenant).ok()?.room().boxed()),
            #[cfg(test)]
            Self::Fake(fake) => Some(fake.room()?.boxed()),
        }
    }

    /// By what the tenant's reports are read and judged at present.
    fn policy(&self, tenant: &Tenant) -> Result<NamedPolicy, Refusal> {
        match self {
            Self::Shards(tenants) => Ok(shards_of(tenants, tenant)?.policy()),
            #[cfg(test)]
            Self::Fake(_) => Ok(Fake::policy()),
        }
    }

    async fn submit(
        &self,
        tenant: &Tenant,
        reports: Vec<Report>,
        policy: NamedPolicy,
    ) -> Result<(), Refusal> {
        match self {
            Self::Shards(tenants) => shards_of(tenants, tenant)?.submit(reports, policy).await,
            #[cfg(test)]
            Self::Fake(fake) => fake.submit(reports),
        }
    }
}

/// A tenant's shards, while there are any.
fn shards_of(tenants: &BTreeMap<Tenant, TenantShards>, tenant: &Tenant) -> Result<Shards, Refusal> {
    let shards = tenants.get(tenant).and_then(|shards| shards.current().ok());
    shards.ok_or(Refusal::Failed)
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
        let inbox = Inbox::Shards(shards);
        Self::with_inbox(normalizer, inbox, limits, in_flight_bytes_max, pass_on)
    }

    /// An intake whose shards a test plays.
    #[cfg(test)]
    pub(super) fn over(in_flight_bytes_max: usize, fake: Fake) -> Self {
        Self::with_inbox(
            Arc::new(Normalizer::new()),
            Inbox::Fake(fake),
            Limits::default(),
            in_flight_bytes_max,
            None,
        )
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

    fn with_inbox(
        normalizer: Arc<Normalizer>,
        inbox: Inbox,
        limits: Limits,
        in_flight_bytes_max: usize,
        pass_on: Option<PassOn>,
    ) -> Self {
        Self(Arc::new(Inner {
            normalizer,
            inbox,
            limits,
            budget: Budget::of(in_flight_bytes_max),
            pass_on,
            counters: Counters::default(),
        }))
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
        if let (Refused::Busy { .. }, Some(mut room)) = (refused, self.0.inbox.room(tenant)) {
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
        let welcome = self.0.inbox.turn_away(tenant);
        welcome.map_err(|refusal| busy(&refusal))
    }

    /// Takes one request, decompressed. Resolves when everything in it that can be used is committed.
    pub async fn export(
        &self,
        tenant: &Tenant,
        signal: Signal,
        request: Bytes,
        written: &Written,
    ) -> Result<Accepted, Refused> {
        // A sender that goes away takes this future with it, wherever it is.
        let left = Left(&self.counters().requests_left);
        let outcome = self.take(tenant, signal, &request, written).await;
        std::mem::forget(left);
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
    ) -> Result<Accepted, Refused> {
        // While it arrived others may have filled the inboxes.
        self.turn_away(tenant, signal)?;
        let limits = &self.0.limits;
        let mut tally = Tally::default();
        let mut reports = Vec::new();
        let policy = self.0.inbox.policy(tenant);
        let policy = policy.map_err(|refusal| busy(&refusal))?;
        let mut batch = self.0.normalizer.batch(&policy.policy);
        match signal {
            Signal::Traces => {
                let mut spans = otlp::spans(request, limits);
                while tally.tell(&mut reports, |reports| {
                    let span = batch.span(&mut spans, reports)?;
                    Some(span.map(|span| span.attributes_left_out))
                }) {
                    tally.pause().await;
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
                    tally.pause().await;
                }
            }
            Signal::Metrics => {
                if self.passes_on() {
                    let checked = otlp::check_metrics(request);
                    checked.map_err(|problem| Refused::Invalid(problem.to_string()))?;
                }
                return Ok(Accepted::default());
            }
        }
        tally.count(self.counters(), signal);
        let accepted = tally.verdict(written)?;
        let submitted = if reports.is_empty() {
            Ok(())
        } else {
            self.0.inbox.submit(tenant, reports, policy.clone()).await
        };
        if let Some(items) = self.counters().items(signal) {
            let outcome = if submitted.is_ok() {
                &items.accepted
            } else {
                &items.busy
            };
            outcome.add(tally.read);
        }
        submitted.map_err(|refusal| busy(&refusal))?;
        Ok(accepted)
    }
}

/// What the items of one request came to.
#[derive(Debug, Default)]
struct Tally {
    items: usize,
    read: u64,
    refused: [u64; Reason::ALL.len()],
    contexts: [u64; Reason::ALL.len()],
    attributes_left_out: u64,
    undecodable: Option<Problem>,
}

impl Tally {
    /// Has the next item read and told as reports, unless there is none; `tell` says how many attributes were left out. A
    /// defect of Eddy in that costs the item and not the request, which its sender would send again. The walk is past the item
    /// by then, or ends (`otlp::envelope`).
    fn tell(
        &mut self,
        reports: &mut Vec<Report>,
        tell: impl FnOnce(&mut Vec<Report>) -> Option<Result<u32, Problem>>,
    ) -> bool {
        let before = reports.len();
        match catch_unwind(AssertUnwindSafe(|| tell(reports))) {
            Ok(None) => return false,
            Ok(Some(Ok(attributes_left_out))) => {
                self.read += 1;
                self.attributes_left_out += u64::from(attributes_left_out);
            }
            Ok(Some(Err(problem))) => self.note(problem),
            Err(_) => {
                reports.truncate(before);
                self.note(Problem::Refused(Reason::Defect));
            }
        }
        true
    }

    fn note(&mut self, problem: Problem) {
        match problem {
            Problem::Refused(reason) => self.refused[reason.index()] += 1,
            Problem::Context(reason) => self.contexts[reason.index()] += 1,
            Problem::Undecodable(_) => self.undecodable = Some(problem),
        }
    }

    /// Lets other tasks run now and then.
    async fn pause(&mut self) {
        self.items += 1;
        if self.items.is_multiple_of(ITEMS_AT_ONCE) {
            tokio::task::yield_now().await;
        }
    }

    fn count(&self, counters: &Counters, signal: Signal) {
        counters.attributes_left_out.add(self.attributes_left_out);
        for reason in Reason::ALL {
            let index = reason.index();
            if let Some(items) = counters.items(signal) {
                items.refused.add(reason, self.refused[index]);
            }
            counters.contexts_left_out.add(reason, self.contexts[index]);
        }
    }

    fn verdict(&self, written: &Written) -> Result<Accepted, Refused> {
        if let Some(problem) = self.undecodable {
            return Err(Refused::Invalid(problem.to_string()));
        }
        let rejected = self.refused.iter().sum();
        if rejected == 0 {
            return Ok(Accepted::default());
        }
        let mut message = self.message(rejected);
        if let Written::Json { fault: Some(fault) } = written {
            write!(message, "; the first malformed one at {fault}")
                .expect("a String takes everything");
        }
        if self.read > 0 {
            return Ok(Accepted { rejected, message });
        }
        // Most likely another kind of request altogether (logs sent to the path of traces decode as spans without ids), and in
        // any case nothing was taken. JSON names its lists.
        let of_another = [Reason::TraceId, Reason::SpanId, Reason::Malformed];
        let of_another = of_another.map(|reason| self.refused[reason.index()]);
        if *written == Written::Protobuf && of_another.iter().sum::<u64>() == rejected {
            message.push_str("; spans and log records each have a path or service of their own");
        }
        Err(Refused::Invalid(message))
    }

    fn message(&self, rejected: u64) -> String {
        let all = rejected + self.read;
        let items = if all == 1 { "item" } else { "items" };
        let reasons = Reason::ALL.into_iter().filter_map(|reason| {
            let count = self.refused[reason.index()];
            (count > 0).then(|| reason.counted(count))
        });
        let reasons: Vec<_> = reasons.collect();
        format!(
            "{rejected} of {all} {items} rejected: {}",
            reasons.join(", ")
        )
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

#[cfg(test)]
mod tests {
    use super::{Tally, Written};
    use crate::normalize::{Report, RunRef};

    /// Given an item that cannot be told for a defect of ours, it is refused and leaves no report; the others are taken.
    #[test]
    fn a_defect_costs_one_item() {
        let report = || Report {
            run: RunRef::default(),
            events: Vec::new(),
        };
        let (mut tally, mut reports) = (Tally::default(), Vec::new());
        let told = tally.tell(&mut reports, |reports| {
            reports.push(report());
            Some(Ok(1))
        });
        let told_of_defect = tally.tell(&mut reports, |reports| {
            reports.push(report());
            panic!("a defect");
        });
        assert!(told && told_of_defect && !tally.tell(&mut reports, |_| None));
        assert_eq!(
            (reports.len(), tally.read, tally.attributes_left_out),
            (1, 1, 1)
        );
        let accepted = tally.verdict(&Written::Protobuf).expect("one was taken");
        assert_eq!(accepted.rejected, 1);
        assert_eq!(
            accepted.message,
            "1 of 2 items rejected: 1 reading failed by a defect of Eddy"
        );
    }
}
