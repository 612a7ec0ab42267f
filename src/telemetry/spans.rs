//! What the daemon itself does, as spans, where an operator asks for them (`service.telemetry.traces`).
//!
//! One in so many turns and deliveries is measured; the others cost a look at a number. What has ended waits in a bounded list
//! for the task that sends it ([`take`], `export::traces`). A span has names and numbers of ours, and nothing that telemetry
//! has said.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use super::Counter;

/// Most spans that wait to be sent. They are sent every second; what comes beyond that is counted and gone.
const WAITING_MAX: usize = 2_048;

/// Spans that ended while too many were waiting.
pub static SPANS_DROPPED: Counter = Counter::new();

/// One in so many is measured; 0: none.
static ONE_IN: AtomicU64 = AtomicU64::new(0);

/// What could have been measured so far.
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// What has ended; the task that sends it takes it away.
static ENDED: Mutex<Vec<Ended>> = Mutex::new(Vec::new());

/// A piece of work that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    /// The trace, never 0.
    pub trace: u128,
    /// The span, never 0.
    pub id: u64,
    /// The span that it is a part of; 0 for none.
    pub parent: u64,
    /// What was done.
    pub name: &'static str,
    /// When it began, nanoseconds since 1970.
    pub start_ns: u64,
    /// How long it took, in nanoseconds.
    pub took_ns: u64,
    /// How much there was of what.
    pub numbers: Vec<(&'static str, u64)>,
    /// Names from the configuration.
    pub names: Vec<(&'static str, String)>,
    /// Why it failed, if it did.
    pub error: Option<String>,
}

/// A piece of work under way. It ends when it is dropped.
#[derive(Debug)]
pub struct Span {
    ended: Ended,
    began: Instant,
}

/// Has one in so many pieces of work measured from here on; 0: none.
pub fn measure(one_in: u64) {
    ONE_IN.store(one_in, Ordering::Relaxed);
}

/// Begins a piece of work, if it is one of those that are measured.
#[must_use]
pub fn begin(name: &'static str) -> Option<Span> {
    let one_in = ONE_IN.load(Ordering::Relaxed);
    if one_in == 0 || !BEGUN.fetch_add(1, Ordering::Relaxed).is_multiple_of(one_in) {
        return None;
    }
    let trace = u128::from(random()) << 64 | u128::from(random());
    Some(Span::new(name, trace, 0))
}

/// Takes away what has ended.
#[must_use]
pub fn take() -> Vec<Ended> {
    std::mem::take(&mut *ended())
}

impl Span {
    fn new(name: &'static str, trace: u128, parent: u64) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            ended: Ended {
                trace,
                id: random(),
                parent,
                name,
                start_ns: now.map_or(0, |now| now.as_nanos() as u64),
                took_ns: 0,
                numbers: Vec::new(),
                names: Vec::new(),
                error: None,
            },
            began: Instant::now(),
        }
    }

    /// Begins a part of this work.
    #[must_use]
    pub fn child(&self, name: &'static str) -> Self {
        Self::new(name, self.ended.trace, self.ended.id)
    }

    /// Says how much there was of something.
    pub fn number(&mut self, key: &'static str, number: u64) {
        self.ended.numbers.push((key, number));
    }

    /// Names something of the configuration.
    pub fn name(&mut self, key: &'static str, name: &str) {
        self.ended.names.push((key, name.to_owned()));
    }

    /// Says that the work failed, and why.
    pub fn fail(&mut self, reason: &str) {
        self.ended.error = Some(reason.to_owned());
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        self.ended.took_ns = self.began.elapsed().as_nanos() as u64;
        let mut waiting = ended();
        if waiting.len() < WAITING_MAX {
            waiting.push(self.ended.clone());
        } else {
            SPANS_DROPPED.add(1);
        }
    }
}

fn ended() -> MutexGuard<'static, Vec<Ended>> {
    ENDED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A number that nobody can guess, never 0.
fn random() -> u64 {
    RandomState::new().hash_one(0_u8).max(1)
}
