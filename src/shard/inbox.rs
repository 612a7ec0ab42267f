//! What a shard is sent, and the three inboxes in which it waits.
//!
//! Reports, and what shards tell one another about runs that move, wait in one inbox, in order: a run moves after the reports
//! that were routed to its old id. Queries wait in the second and questions to the guard (`guard`) in the third, never behind
//! reports. The first inbox itself has no limit; the room in it is counted by [`InboxSender`], taken before reports are put there
//! ([`InboxSender::take_room`]), and given back when the shard has answered.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot, watch};

use crate::engine::event::{Body, Event, Text, TraceId};
use crate::engine::explain::Explanation;
use crate::engine::{RunState, RunView, Service};
use crate::store::IndexKey;

use super::guard::{ASKS_MAX, Ask};
use super::{Load, NamedPolicy};

/// Most queries that wait for one shard; who comes later waits before the inbox.
const QUERIES_MAX: usize = 1_024;

/// Resolved once a message has had its effect; dropped if it never will.
pub(super) type Done = oneshot::Sender<()>;

/// What waits in a shard's first inbox.
pub(super) enum Message {
    /// Reports of one request for this shard.
    Reports(Part),
    /// A run of this shard belongs to another one, if it exists at all.
    Move(Move),
    /// A run of this shard takes over what was kept under another id.
    Absorb(Box<Absorb>),
    /// What was kept under this id has been taken over.
    Release(Release),
}

/// One request's reports for one shard, or as many of them as are enough for a turn.
pub(super) struct Part {
    pub(super) reports: Vec<Routed>,
    /// By which the reports were read.
    pub(super) policy: NamedPolicy,
    /// Traces that these reports, or others of the same request, said to belong to runs of this shard.
    pub(super) aliases: Vec<(TraceId, Text)>,
    pub(super) cost: Cost,
    pub(super) done: Done,
}

/// Reports of a run that is known.
pub(super) struct Routed {
    pub(super) run_id: Text,
    pub(super) session_id: Option<Text>,
    pub(super) service: Option<Service>,
    pub(super) events: Vec<Event>,
}

/// See [`Message::Move`].
pub(super) struct Move {
    pub(super) from: Text,
    pub(super) into: Text,
    /// It has been absorbed there before, and goes there again: in another run, what it told would count twice.
    pub(super) again: bool,
    pub(super) done: Done,
}

/// See [`Message::Absorb`].
pub(super) struct Absorb {
    pub(super) from: Text,
    pub(super) into: Text,
    pub(super) state: RunState,
    /// Journal position up to which `state` is told; it comes back with [`Release`].
    pub(super) position: u64,
    pub(super) done: Done,
}

/// See [`Message::Release`].
pub(super) struct Release {
    pub(super) from: Text,
    pub(super) into: Text,
    pub(super) position: u64,
    /// Behind what the rest of its traces lie, once some of them have gone over.
    pub(super) behind: Option<Vec<u8>>,
    pub(super) done: Done,
}

/// What waits in a shard's second inbox.
pub(super) enum Query {
    /// Something of runs is to be shown.
    Look(Look),
    /// Runs of the index, to be looked at and perhaps forgotten. Answers how many were.
    Review {
        keys: Vec<IndexKey>,
        why: Review,
        reply: oneshot::Sender<u64>,
    },
    /// Finish what waits, save, and end.
    Stop { done: Done },
}

/// What is to be shown.
pub(super) enum Look {
    /// These runs, where their states are in memory.
    Views {
        run_ids: Vec<Text>,
        reply: oneshot::Sender<Vec<Option<RunView>>>,
    },
    /// Why a warning of a run was raised, where its state is in memory.
    Explain {
        run_id: Text,
        warning: u64,
        reply: oneshot::Sender<Option<Explanation>>,
    },
    /// A run, now and from now on.
    Watch {
        run_id: Text,
        reply: oneshot::Sender<watch::Receiver<Option<RunView>>>,
    },
}

/// Which runs a review forgets, besides those that nobody has heard of for the retention time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Review {
    /// None.
    Age,
    /// Those that are quiet: there are too many runs.
    Number,
    /// Also those that have been quiet since their first report: there are far too many runs.
    NumberAtAnyPrice,
}

/// How much room something takes in an inbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cost {
    pub(super) reports: usize,
    pub(super) bytes: usize,
}

impl Cost {
    /// What events of one run take that were reported together.
    pub(super) fn of(events: &[Event]) -> Self {
        Self {
            reports: events.len().max(1),
            bytes: size_of::<Routed>() + events.iter().map(event_bytes).sum::<usize>(),
        }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.reports += other.reports;
        self.bytes += other.bytes;
    }

    /// Whether there is room for more beside this. A large request is taken where half is free: one that needs more could wait
    /// for ever for a moment in which nobody else has anything there, and one that is larger than all the room has no other.
    fn leaves_room(&self, more: Self, most: Self) -> bool {
        self.reports + more.reports.min(most.reports.div_ceil(2)) <= most.reports
            && self.bytes + more.bytes.min(most.bytes.div_ceil(2)) <= most.bytes
    }
}

/// About what an event takes in memory. Names are left out: events share them, and they are short.
fn event_bytes(event: &Event) -> usize {
    let texts = match &event.body {
        Body::ToolCall(call) | Body::Requested(call) => [&call.input, &call.output]
            .into_iter()
            .filter_map(|value| value.value())
            .map(|value| value.sample.len())
            .sum(),
        Body::AgentSpan(span) => [&span.input, &span.output]
            .into_iter()
            .filter_map(|value| value.value())
            .map(|value| value.sample.len())
            .sum(),
        _ => 0,
    };
    size_of::<Event>() + texts
}

/// The way into a shard. The shard holds the [`InboxReceiver`] at the other end.
pub(super) struct InboxSender {
    messages: mpsc::UnboundedSender<Message>,
    queries: mpsc::Sender<Query>,
    asks: mpsc::Sender<Ask>,
    held: Arc<Held>,
}

/// A shard's end of its inboxes.
pub(super) struct InboxReceiver {
    pub(super) messages: mpsc::UnboundedReceiver<Message>,
    pub(super) queries: mpsc::Receiver<Query>,
    pub(super) asks: mpsc::Receiver<Ask>,
    pub(super) held: Arc<Held>,
}

/// What a shard holds unanswered. Taken by whoever has reports for it, given back by the shard.
#[derive(Default)]
pub(super) struct Held {
    cost: Mutex<Cost>,
    /// Runs in memory, told by the shard for those who look at its load.
    pub(super) resident_runs: AtomicUsize,
}

/// A shard's inboxes, both ends.
pub(super) fn channel() -> (InboxSender, InboxReceiver) {
    let (messages, messages_out) = mpsc::unbounded_channel();
    let (queries, queries_out) = mpsc::channel(QUERIES_MAX);
    let (asks, asks_out) = mpsc::channel(ASKS_MAX);
    let held = Arc::new(Held::default());
    let sender = InboxSender {
        messages,
        queries,
        asks,
        held: held.clone(),
    };
    let receiver = InboxReceiver {
        messages: messages_out,
        queries: queries_out,
        asks: asks_out,
        held,
    };
    (sender, receiver)
}

impl InboxSender {
    /// Whether the shard holds no more than this much.
    pub(super) fn holds_at_most(&self, most: Cost) -> bool {
        self.held.cost().leaves_room(Cost::default(), most)
    }

    /// Takes room for reports that are about to be put into the first inbox; false where there is not so much.
    pub(super) fn take_room(&self, cost: Cost, most: Cost) -> bool {
        let mut held = self.held.held();
        let has_room = held.leaves_room(cost, most);
        if has_room {
            held.add(cost);
        }
        has_room
    }

    /// Gives back room for reports that are not put there after all.
    pub(super) fn give_room_back(&self, cost: Cost) {
        self.held.release(cost);
    }

    /// What the shard holds.
    pub(super) fn held(&self) -> Cost {
        self.held.cost()
    }

    /// Adds what the shard holds.
    pub(super) fn add_load(&self, load: &mut Load) {
        let held = self.held.cost();
        load.inbox_reports += held.reports;
        load.inbox_bytes += held.bytes;
        load.resident_runs += self.held.resident_runs.load(Ordering::Relaxed);
    }

    /// Puts a message into the first inbox; room has been taken for reports. If the shard has ended the message is dropped, and
    /// its `done` with it.
    pub(super) fn send(&self, message: Message) {
        let _ = self.messages.send(message);
    }

    /// Puts a question to the guard into the third inbox, if there is room.
    pub(super) fn put_question(&self, ask: Ask) -> Result<(), TrySendError<()>> {
        self.asks.try_send(ask).map_err(|error| match error {
            TrySendError::Full(_) => TrySendError::Full(()),
            TrySendError::Closed(_) => TrySendError::Closed(()),
        })
    }

    /// Asks the shard, and waits for its answer; `None` if it has ended.
    pub(super) async fn ask<T>(
        &self,
        query: impl FnOnce(oneshot::Sender<T>) -> Query,
    ) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.queries.send(query(reply)).await.ok()?;
        answer.await.ok()
    }
}

impl Held {
    pub(super) fn cost(&self) -> Cost {
        *self.held()
    }

    /// Gives room back.
    pub(super) fn release(&self, cost: Cost) {
        let mut held = self.held();
        held.reports -= cost.reports;
        held.bytes -= cost.bytes;
    }

    fn held(&self) -> MutexGuard<'_, Cost> {
        self.cost.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
