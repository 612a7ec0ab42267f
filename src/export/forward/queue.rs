//! The queue of one upstream, bounded in bytes, and the senders that take from it.
//!
//! A request pays for its bytes when it is put in and gets them back when it is settled, so that the bound holds for what
//! waits and what is being sent together. What finds no room is dropped: the oldest are the nearest to their goal.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use super::upstream::Upstream;
use super::{ForwardProgress, ForwardStatus};
use crate::export::NotTaken;
use crate::export::given_up::{GivenUp, Item};
use crate::export::retry::{Settled, until_settled};
use crate::export::settings::{ForwardSettings, Retry, SettingsError};
use crate::otlp::Signal;
use crate::telemetry::Throttle;

/// Requests of one queue under way at a time. Enough to hide the time that an answer takes, few enough not to run over an
/// upstream that comes back.
const SENDERS: usize = 4;

/// What a request costs beside its bytes, about, so that a million tiny ones are bounded too.
const REQUEST_OVERHEAD: usize = 256;

/// Why a request is dropped that comes while others wait, and one that comes when Eddy stops.
const FULL: &str = "the queue to the upstream is full";
const ENDED: &str = "the queue to the upstream has ended";

/// Where requests are put in. The receiver's tasks hold it.
pub(super) struct QueueSender {
    requests: mpsc::UnboundedSender<Waiting>,
    room: Arc<Semaphore>,
    record: Arc<Record>,
}

/// Where they are taken out and sent. The forwarding thread holds it.
pub(super) struct Queue {
    requests: mpsc::UnboundedReceiver<Waiting>,
    senders: Senders,
}

/// A request that waits.
struct Waiting {
    signal: Signal,
    request: Bytes,
    /// Its bytes, given back when it is settled.
    _room: OwnedSemaphorePermit,
}

/// A queue from which nothing is taken yet, and where requests are put in.
pub(super) fn open(
    settings: ForwardSettings,
    leaving: CancellationToken,
) -> Result<(QueueSender, Queue), SettingsError> {
    let upstream = Upstream::new(&settings)?;
    Ok(over(upstream, settings, leaving))
}

fn over(
    upstream: Upstream,
    settings: ForwardSettings,
    leaving: CancellationToken,
) -> (QueueSender, Queue) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let record = Arc::new(Record::new(settings.name));
    let sender = QueueSender {
        requests: sender,
        room: Arc::new(Semaphore::new(settings.queue_bytes)),
        record: Arc::clone(&record),
    };
    let senders = Senders {
        upstream,
        retry: settings.retry,
        record,
        leaving,
    };
    let requests = receiver;
    (sender, Queue { requests, senders })
}

impl QueueSender {
    /// Puts a request in, or drops it.
    pub(super) fn put(&self, signal: Signal, request: Bytes) {
        let cost = u32::try_from(request.len() + REQUEST_OVERHEAD).ok();
        let room = cost.and_then(|cost| Arc::clone(&self.room).try_acquire_many_owned(cost).ok());
        let Some(room) = room else {
            return self.record.dropped(FULL);
        };
        self.record.update(|progress| progress.queued += 1);
        let waiting = Waiting {
            signal,
            request,
            _room: room,
        };
        if self.requests.send(waiting).is_err() {
            self.record.update(|progress| progress.queued -= 1);
            self.record.dropped(ENDED);
        }
    }

    /// Has the log say what it does not say yet of what is lost.
    pub(super) fn tell_losses(&self) {
        self.record.losses().tell(GivenUp::tell);
    }

    pub(super) fn status(&self) -> ForwardStatus {
        ForwardStatus {
            name: self.record.name.clone(),
            progress: self.record.trouble().progress.clone(),
        }
    }
}

impl Queue {
    pub(super) fn name(&self) -> &str {
        &self.senders.record.name
    }

    /// Sends until it is told to leave and nothing waits.
    pub(super) async fn run(self) {
        let Self { requests, senders } = self;
        let leaving = senders.leaving.clone();
        let waiting = stream::unfold((requests, leaving), |(mut requests, leaving)| async {
            let next = tokio::select! {
                next = requests.recv() => next,
                () = leaving.cancelled() => {
                    requests.close();
                    requests.recv().await
                }
            };
            next.map(|next| (next, (requests, leaving)))
        });
        waiting
            .for_each_concurrent(SENDERS, |waiting| senders.settle(waiting))
            .await;
    }
}

/// What the senders of a queue share.
struct Senders {
    upstream: Upstream,
    retry: Retry,
    record: Arc<Record>,
    /// Cancelled by `Forwards::drain`.
    leaving: CancellationToken,
}

impl Senders {
    /// Settles one request, however many attempts that takes.
    async fn settle(&self, waiting: Waiting) {
        self.deliver(&waiting).await;
        self.record.update(|progress| progress.queued -= 1);
        self.record.losses().tell(GivenUp::tell_if_due);
    }

    async fn deliver(&self, waiting: &Waiting) {
        let record = &self.record;
        let sending = until_settled(
            self.retry,
            &self.leaving,
            || self.upstream.send(waiting.signal, &waiting.request),
            |reason| record.kept(reason),
        );
        match sending.await {
            Settled::Taken => record.update(|progress| progress.sent += 1),
            Settled::Partly { refused, reason } => {
                record.left_out(refused, &reason);
                record.update(|progress| progress.sent += 1);
            }
            Settled::Refused { reason } => record.lost(&reason, |progress| progress.refused += 1),
            Settled::GivenUp { reason, is_leaving } => record.given_up(&reason, is_leaving),
        }
    }
}

/// What becomes of requests, for those who look and for the log.
struct Record {
    name: String,
    trouble: Mutex<Trouble>,
    /// Apart from the numbers: whoever holds it may wait for the log.
    losses: Mutex<Losses>,
}

#[derive(Default)]
struct Trouble {
    progress: ForwardProgress,
    /// Requests that wait to be sent again.
    kept_logged: Throttle,
}

/// What the log is told of losses, each kind by itself, also where a request that waits has just been told of.
struct Losses {
    dropped: GivenUp,
    requests: GivenUp,
    left_out: GivenUp,
    left_behind: GivenUp,
}

impl Losses {
    fn tell(&mut self, tell: fn(&mut GivenUp)) {
        let kinds = [&mut self.dropped, &mut self.requests];
        let others = [&mut self.left_out, &mut self.left_behind];
        for kind in kinds.into_iter().chain(others) {
            tell(kind);
        }
    }
}

impl Record {
    fn new(name: String) -> Self {
        let losses = Losses {
            dropped: GivenUp::new(&name, Item::Dropped),
            requests: GivenUp::new(&name, Item::Requests),
            left_out: GivenUp::new(&name, Item::LeftOut),
            left_behind: GivenUp::new(&name, Item::LeftBehind),
        };
        Self {
            name,
            trouble: Mutex::default(),
            losses: Mutex::new(losses),
        }
    }

    fn trouble(&self) -> MutexGuard<'_, Trouble> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn losses(&self) -> MutexGuard<'_, Losses> {
        self.losses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn update(&self, change: impl FnOnce(&mut ForwardProgress)) {
        change(&mut self.trouble().progress);
    }

    fn dropped(&self, reason: &str) {
        self.update(|progress| progress.dropped += 1);
        self.losses().dropped.add(1, reason.to_owned());
    }

    /// Counts an attempt that failed and is repeated.
    fn kept(&self, reason: &NotTaken) {
        let look = reason.unless_to_do(": look whether the backend is there and takes it");
        let reason = reason.to_string();
        let mut trouble = self.trouble();
        trouble.progress.last_error = Some(reason.clone());
        trouble.progress.retries += 1;
        let queued = trouble.progress.queued;
        if trouble.kept_logged.is_due() {
            drop(trouble);
            tracing::warn!(
                exporter = self.name,
                reason,
                queued,
                "a request could not be passed on; it waits and is sent again{look}"
            );
        }
    }

    /// Counts a request that the upstream will not get.
    fn lost(&self, reason: &NotTaken, count: impl FnOnce(&mut ForwardProgress)) {
        let reason = self.failed(reason, count);
        self.losses().requests.add(1, reason);
    }

    /// Counts a request that is tried no more: its time is over, or Eddy stops, which is no fault of the upstream's.
    fn given_up(&self, reason: &NotTaken, is_leaving: bool) {
        let reason = self.failed(reason, |progress| progress.given_up += 1);
        let mut losses = self.losses();
        if is_leaving {
            losses.left_behind.add(1, reason);
        } else {
            losses.requests.add(1, reason);
        }
    }

    /// Counts what the upstream left out of a request that it took.
    fn left_out(&self, items: u64, reason: &NotTaken) {
        let reason = self.failed(reason, |progress| progress.items_refused += items);
        self.losses().left_out.add(items, reason);
    }

    fn failed(&self, reason: &NotTaken, count: impl FnOnce(&mut ForwardProgress)) -> String {
        let reason = reason.to_string();
        self.update(|progress| {
            progress.last_error = Some(reason.clone());
            count(progress);
        });
        reason
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use std::time::Duration;

    use super::*;
    use crate::export::Retry;
    use crate::export::samples::{Log, wait_for};

    fn settings() -> ForwardSettings {
        ForwardSettings {
            retry: Retry {
                max_elapsed: Some(Duration::from_secs(10)),
                ..Retry::default()
            },
            ..ForwardSettings::new("backend", "http://127.0.0.1:1")
        }
    }

    // Given a client that panics whenever something is sent; each request is tried until its time is over, those that come later as
    // well, and none is dropped.
    #[tokio::test(start_paused = true)]
    async fn a_panic_ends_no_queue() {
        let leaving = CancellationToken::new();
        let (sender, queue) = over(
            Upstream::panicking(&settings()),
            settings(),
            leaving.clone(),
        );
        let sending = tokio::spawn(queue.run());
        for given_up in 1..=2 {
            sender.put(Signal::Traces, Bytes::from_static(b"spans"));
            let is_settled = || sender.status().progress.given_up == given_up;
            wait_for("the end of its time", is_settled).await;
        }
        leaving.cancel();
        sending.await.expect("no panic gets out");
        let progress = sender.status().progress;
        let said = progress.last_error.expect("told");
        assert!(said.contains("panicked"), "{said}");
        assert_eq!((progress.dropped, progress.queued), (0, 0));
    }

    // Given a request that comes when the queue has ended, it is not said that the queue was full.
    #[test]
    fn a_queue_that_has_ended_is_not_full() {
        let log = Log::default();
        let _reading = log.read();
        let opened = open(settings(), CancellationToken::new());
        let (sender, queue) = opened.expect("settings that work");
        drop(queue);
        sender.put(Signal::Traces, Bytes::from_static(b"spans"));
        let progress = sender.status().progress;
        assert_eq!((progress.dropped, progress.queued), (1, 0));
        assert_eq!(log.lines()[0]["reason"], ENDED);
    }

    // Given a request that waits to be sent again, another's loss within the same minute is told of all the same; what is lost
    // behind that is told of at the end, each kind by itself with its number.
    #[test]
    fn a_loss_is_told_of_beside_what_waits() {
        let log = Log::default();
        let _reading = log.read();
        let record = Record::new("backend".to_owned());
        record.kept(&"it is away".into());
        for _ in 0..3 {
            record.kept(&"it is away".into());
            record.lost(&"it is too large".into(), |progress| progress.refused += 1);
            record.dropped(FULL);
            record.left_out(5, &"it is old".into());
            record.given_up(&"it is away".into(), true);
        }
        record.losses().tell(GivenUp::tell);
        let lines = log.lines();
        let told = |part: &str, number: &str| -> Vec<u64> {
            let is_told = |line: &&Value| line["message"].to_string().contains(part);
            let lines = lines.iter().filter(is_told);
            lines.map(|line| line[number].as_u64().unwrap()).collect()
        };
        assert_eq!(told("sent again", "queued"), [0], "{lines:?}");
        assert_eq!(told("given up", "requests"), [1, 2], "{lines:?}");
        assert_eq!(told("misses them", "dropped"), [1, 2], "{lines:?}");
        assert_eq!(told("since Eddy stops", "requests"), [1, 2], "{lines:?}");
        assert_eq!(told("but for some items", "items"), [5, 10], "{lines:?}");
    }
}
