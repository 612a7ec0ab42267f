//! The guard's way through a shard: questions with an inbox of their own, answered from memory.
//!
//! Whoever asks waits here, and not longer than the profile's deadline; then the call is allowed and the answer says that it
//! is `degraded`. The shard looks at this inbox between turns, between the runs of a turn, and while a commit or a save is
//! under way, so that an answer waits for no commit and, of spans, for those of one run at most. A run that is not in memory
//! is read from the store first, and who asks by a trace that only the store knows waits for that before the inbox. What an
//! answer did to its run is kept in memory and committed with the shard's next turn, some milliseconds later at the latest
//! where the disk keeps up: an answer may therefore be given and, after a crash, be forgotten. That is the price of its
//! speed; the call itself comes again with its span.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{broadcast, oneshot};
use tokio::task::yield_now;

use crate::engine::Change;
use crate::engine::event::{Event, Text, ToolCall};
use crate::engine::guard::verdict::VerdictKind;
use crate::engine::guard::{self, Caller, Checked, GivenVerdict, Said, Verdict};
use crate::normalize::guarded;
use crate::store::{Entry, IndexKey, StoreError};

use super::defect::contained;
use super::draft::Draft;
use super::inbox::{Cost, Message, Part, Routed};
use super::residence::Slot;
use super::worker::Worker;
use super::{NamedPolicy, Shards, Shared, admit, swarm};

pub use crate::normalize::guarded::{GuardedCall, Outcome};

/// Most questions that wait for one shard; who comes later is allowed its call at once.
pub(super) const ASKS_MAX: usize = 1_024;

/// Most answers whose traces are not committed yet; while a disk hangs, whoever comes later is allowed its call.
const PENDING_MAX: usize = 16_384;

/// Verdicts that wait for those who listen; whoever is further behind misses the oldest.
pub(super) const VERDICTS_MAX: usize = 1_024;

/// Who asks.
#[derive(Clone, Copy, Debug, Default)]
pub struct GuardContext<'a> {
    /// The run; required.
    pub run_id: &'a str,
    /// The agent.
    pub agent: Option<&'a str>,
    /// The worker of a swarm.
    pub worker: Option<&'a str>,
    /// The session, where it is named apart from the run.
    pub session_id: Option<&'a str>,
    /// The turn: what follows from one message of a user.
    pub turn_id: Option<&'a str>,
    /// The round: calls of one answer of the model.
    pub round_id: Option<&'a str>,
}

/// What the guard is told of a message.
#[derive(Clone, Copy, Debug)]
pub enum Spoken<'a> {
    /// A user spoke.
    ByUser,
    /// The model answered with text alone, in these words where they are told.
    ByModel(Option<&'a str>),
}

/// The guard's answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GuardAnswer {
    /// What to do.
    pub verdict: Verdict,
    /// Nobody looked: the call is allowed because no answer came in time, or since there are too many runs to begin this one.
    pub degraded: bool,
}

/// What waits in a shard's inbox of questions.
pub(super) struct Ask {
    run_id: Text,
    what: Question,
    caller: Caller,
    /// It comes from another shard, whose run has gone over to this one's.
    is_passed_on: bool,
    reply: oneshot::Sender<GuardAnswer>,
}

enum Question {
    Check(ToolCall),
    Result(ToolCall),
    Message(Said),
}

impl Question {
    fn tool(&self) -> Option<&Text> {
        match self {
            Self::Check(call) | Self::Result(call) => Some(&call.tool),
            Self::Message(_) => None,
        }
    }
}

/// What questions did to runs, to be committed with the next turn.
pub(super) struct Pending {
    key: IndexKey,
    is_new: bool,
    session_id: Option<Text>,
    at_ms: u64,
    events: Vec<Event>,
    changes: Vec<Change>,
}

impl Shards {
    /// The verdicts other than `ALLOW` that are given from now on.
    #[must_use]
    pub fn verdicts(&self) -> broadcast::Receiver<Arc<GivenVerdict>> {
        self.shared.verdicts.subscribe()
    }

    /// Whether a call should be made. Answers within the deadline, whatever happens.
    pub async fn check(&self, who: &GuardContext<'_>, call: &GuardedCall<'_>) -> GuardAnswer {
        let policy = self.shared.policy().policy;
        let how = policy.tool(call.tool, who.agent);
        let call = guarded::tool_call(call, &how, false, self.shared.clock.now_ns());
        self.shared.ask(who, Question::Check(call)).await
    }

    /// Takes in what a call brought. The answer says whether it was taken in within the deadline.
    pub async fn report(&self, who: &GuardContext<'_>, call: &GuardedCall<'_>) -> GuardAnswer {
        let policy = self.shared.policy().policy;
        let how = policy.tool(call.tool, who.agent);
        let agent = who.agent.and_then(guarded::name);
        let (own, _) = policy.of(Some(call.tool), agent.as_deref());
        let now_ns = self.shared.clock.now_ns();
        let call = guarded::tool_call(call, &how, own.guard.keep_results, now_ns);
        self.shared.ask(who, Question::Result(call)).await
    }

    /// Takes in a message, and answers with a nudge where one is owed.
    pub async fn message(&self, who: &GuardContext<'_>, spoken: Spoken<'_>) -> GuardAnswer {
        let said = match spoken {
            Spoken::ByUser => Said::ByUser,
            Spoken::ByModel(text) => Said::ByModel(text.and_then(guarded::words)),
        };
        self.shared.ask(who, Question::Message(said)).await
    }
}

impl Shared {
    async fn ask(&self, who: &GuardContext<'_>, what: Question) -> GuardAnswer {
        let caller = Caller {
            agent: who.agent.and_then(guarded::name),
            worker: who.worker.and_then(guarded::name),
            session_id: who.session_id.and_then(guarded::id),
            round: who.round_id.map_or(0, guarded::name_hash),
            turn: who.turn_id.map_or(0, guarded::name_hash),
            ..Caller::default()
        };
        let policy = self.policy().policy;
        let (own, _) = policy.of(what.tool().map(|tool| &**tool), caller.agent.as_deref());
        let deadline = Duration::from_millis(own.guard.deadline_ms);
        let asked = self.ask_owner(who.run_id, what, caller);
        if let Ok(answer) = tokio::time::timeout(deadline, asked).await {
            return answer;
        }
        self.counters.guard.degraded_late.add(1);
        GuardAnswer::degraded()
    }

    /// Asks the owner of a run, and waits for its answer.
    async fn ask_owner(&self, run_id: &str, what: Question, caller: Caller) -> GuardAnswer {
        let counters = &self.counters.guard;
        if self.is_stopping() {
            counters.degraded_leaving.add(1);
            return GuardAnswer::degraded();
        }
        let run_id = self.run_named(run_id).await;
        let inbox = self.inbox_of(&run_id);
        let (reply, answer) = oneshot::channel();
        let ask = Ask {
            run_id,
            what,
            caller,
            is_passed_on: false,
            reply,
        };
        let failed = match inbox.put_question(ask) {
            Ok(()) => match answer.await {
                Ok(answer) => return answer,
                Err(_) if self.is_stopping() || self.is_failed() => &counters.degraded_leaving,
                Err(_) => &counters.degraded_full,
            },
            Err(TrySendError::Full(())) => &counters.degraded_full,
            Err(TrySendError::Closed(())) => &counters.degraded_leaving,
        };
        failed.add(1);
        GuardAnswer::degraded()
    }

    /// Hands a swarm its copy of what the guard was asked or told. Nobody waits for it: like the answer itself, it may be
    /// forgotten by a crash. Where there is no room for it, or the swarm would have to be begun where no run may be, the swarm
    /// misses it, and that is counted.
    fn tell_swarm(&self, policy: &NamedPolicy, report: Routed) {
        let (done, _) = oneshot::channel();
        let cost = Cost::of(&report.events);
        let inbox = self.inbox_of(&report.run_id);
        let may_go = !self.is_crowded() || self.store.has_run(&report.run_id).unwrap_or(false);
        if may_go && inbox.take_room(cost, admit::most(&self.settings)) {
            inbox.send(Message::Reports(Part {
                reports: vec![report],
                aliases: Vec::new(),
                policy: policy.clone(),
                cost,
                done,
            }));
        } else {
            self.counters.lost_copies.add(cost.reports as u64);
        }
    }
}

impl GuardAnswer {
    /// The answer where nobody has looked: the call may be made.
    #[must_use]
    pub fn degraded() -> Self {
        Self {
            verdict: Verdict::default(),
            degraded: true,
        }
    }
}

impl Worker {
    /// Whether the guard was asked about a run, and that is still to be put into a turn.
    pub(super) fn is_asked_about(&self, run_id: &Text) -> bool {
        let mut asked = self.pending.iter().map(|pending| &pending.key.run_id);
        asked.any(|asked| asked == run_id)
    }

    /// Answers the questions that wait. Says whether there were any.
    pub(super) fn answer_waiting(&mut self) -> Result<bool, StoreError> {
        let mut any = false;
        while let Ok(ask) = self.inbox.asks.try_recv() {
            self.answer_ask(ask)?;
            any = true;
        }
        Ok(any)
    }

    /// Answers the questions that wait, between two pieces of work that takes long, and lets the tasks that carry the answers get
    /// on, which may be this thread's. Says whether there were any.
    pub(super) async fn let_in(&mut self) -> Result<bool, StoreError> {
        let any = self.answer_waiting()?;
        if any {
            yield_now().await;
        }
        Ok(any)
    }

    /// Waits for something, and answers questions meanwhile.
    pub(super) async fn meanwhile<T>(
        &mut self,
        work: impl Future<Output = T>,
    ) -> Result<T, StoreError> {
        let mut work = pin!(work);
        loop {
            tokio::select! {
                biased;
                Some(ask) = self.inbox.asks.recv() => self.answer_ask(ask)?,
                done = &mut work => return Ok(done),
            }
        }
    }

    /// Answers one question, from the state in memory.
    pub(super) fn answer_ask(&mut self, ask: Ask) -> Result<(), StoreError> {
        if self.pending.len() >= PENDING_MAX {
            return Ok(());
        }
        let Some(ask) = self.own_question(ask)? else {
            return Ok(());
        };
        let Ask {
            run_id,
            what,
            mut caller,
            reply,
            ..
        } = ask;
        caller.now_ns = self.shared.clock.now_ns();
        // Whoever does not wait any more has been told to go ahead.
        caller.is_gone = reply.is_closed();
        let at_ms = caller.now_ms();
        let (slot, is_new) = self.residence.open(&run_id, at_ms)?;
        // The session may have been named earlier.
        let session_id = Some(&caller.session_id)
            .filter(|_| self.policy.policy.watches_swarms())
            .and_then(|named| named.clone().or_else(|| self.session_of(slot)));
        caller.swarm = self.shared.swarms.of(session_id.as_ref());
        let (checked, has_begun_anew) = self.check(slot, &what, &caller);
        // Whoever asked may have stopped waiting just now.
        let _ = reply.send(GuardAnswer {
            verdict: checked.answered.clone(),
            degraded: false,
        });
        self.tell(slot, &what, &caller, &checked);
        if let Some(session_id) = session_id
            && let Some(copy) = swarm::copy_of(&run_id, &session_id, &checked.events)
        {
            self.shared
                .tell_swarm(&self.policy, swarm::routed(Some(session_id), copy));
        }
        self.count(&what, &checked);
        // Without events the journal says that the run began anew.
        if !checked.events.is_empty() || has_begun_anew {
            let run = self.residence.at(slot);
            // Until this is committed, the run is neither saved nor let go.
            run.is_ahead = true;
            let pending = Pending {
                key: run.key.clone(),
                is_new,
                session_id: caller.session_id,
                at_ms,
                events: checked.events,
                changes: checked.changes,
            };
            self.keep_pending(pending);
        }
        Ok(())
    }

    /// A question that is answered here. One about a run that has gone over to another goes on to that one's owner, and one that
    /// would begin a run where none may be begun hears that nobody looked.
    fn own_question(&mut self, ask: Ask) -> Result<Option<Ask>, StoreError> {
        if !ask.is_passed_on
            && let Some(run_id) = self.gone_over(&ask.run_id)?
        {
            let inbox = self.shared.inbox_of(&run_id);
            // Where there is no room, whoever asked hears that nobody looked.
            let _ = inbox.put_question(Ask {
                run_id,
                is_passed_on: true,
                ..ask
            });
            return Ok(None);
        }
        if self.shared.is_crowded() && self.residence.fetch(&ask.run_id)?.is_none() {
            self.shared.counters.guard.degraded_crowded.add(1);
            let _ = ask.reply.send(GuardAnswer::degraded());
            return Ok(None);
        }
        Ok(Some(ask))
    }

    fn session_of(&mut self, slot: Slot) -> Option<Text> {
        self.residence.at(slot).state.session_id().cloned()
    }

    /// What the guard makes of a question, and whether the run has begun anew: no defect of ours keeps an agent from a call.
    fn check(&mut self, slot: Slot, what: &Question, caller: &Caller) -> (Checked, bool) {
        let policy = &self.policy.policy;
        let state = &mut self.residence.at(slot).state;
        let checked = contained(state, |state| match what {
            Question::Check(call) => guard::check(state, call, caller, policy),
            Question::Result(call) => guard::result(state, call, caller, policy),
            Question::Message(said) => guard::message(state, *said, caller, policy),
        });
        match checked {
            Ok(checked) => (checked, false),
            Err(changes) => {
                self.shared.counters.runs_broken.add(1);
                let checked = Checked {
                    changes,
                    ..Checked::default()
                };
                (checked, true)
            }
        }
    }

    /// Tells those who listen of a verdict.
    fn tell(&mut self, slot: Slot, what: &Question, caller: &Caller, checked: &Checked) {
        let verdicts = &self.shared.verdicts;
        if checked.decided.kind == VerdictKind::Allow || verdicts.receiver_count() == 0 {
            return;
        }
        let state = &self.residence.at(slot).state;
        let given = GivenVerdict {
            at_ms: caller.now_ms(),
            run_id: state.id().clone(),
            trace: state.trace(),
            tool: what.tool().cloned(),
            agent: caller.agent.clone(),
            verdict: checked.decided.clone(),
            is_enforced: checked.answered == checked.decided,
        };
        // Nobody may listen any more.
        let _ = self.shared.verdicts.send(Arc::new(given));
    }

    fn count(&self, what: &Question, checked: &Checked) {
        let counters = &self.shared.counters.guard;
        match what {
            Question::Check(_) => counters.count_verdict(&checked.decided),
            Question::Result(_) => counters.results.add(1),
            Question::Message(_) => counters.messages.add(1),
        }
        if checked.answered.kind.refuses() && !checked.events.is_empty() {
            counters.saved_calls.add(1);
            counters.saved_tokens.add(checked.saved_tokens);
            counters
                .saved_cost_microusd
                .add(checked.saved_cost_microusd);
        }
    }

    /// Puts what questions did to runs into a turn, in the order in which the runs were told.
    pub(super) fn settle_pending(&mut self, draft: &mut Draft) {
        for pending in std::mem::take(&mut self.pending) {
            let Pending {
                key,
                is_new,
                session_id,
                at_ms,
                events,
                changes,
            } = pending;
            // A run that was forgotten meanwhile, or is in this turn, has forgotten this as well.
            let Some(slot) = self.residence.slot(&key.run_id) else {
                continue;
            };
            let run = self.residence.at(slot);
            if run.key != key || draft.removed.contains(&key.run_id) {
                continue;
            }
            run.is_ahead = false;
            draft.events += events.len() as u64;
            draft.turn.entries.push(Entry::Reports {
                run_id: key.run_id.clone(),
                at_ms,
                session_id,
                service: None,
                events,
            });
            draft.announce(changes, &run.state, &self.policy.policy);
            draft.touched.push(slot);
            if is_new {
                draft.turn.new_runs.push(key);
            }
        }
    }
}
