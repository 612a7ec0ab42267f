//! The guard: an answer before a call is made.
//!
//! An agent asks ([`check`]); the guard looks what the rules would find if the call were made and brought what the same
//! call brought last, which it asks them on a copy of the run's fold; so it can never judge otherwise than the rules do. The
//! profile's actions turn findings into a verdict ([`policy`]). Question, refusal, result and nudge then
//! enter the run as events like any others: the journal keeps them, and a replay needs no second decision.
//!
//! *A refused call is an attempt.* The rule that refused it counts it, so that its warning grows; nothing else sees it,
//! since it used nothing up. *A question whose answer never comes* is a call whose result is not known, which took no
//! time. Deliberately absent: the deadline, and who waits for whom; that is the shard's matter.

mod before;
mod decide;
mod matter;
pub mod message;
mod owed;
pub mod policy;
mod refused;
pub mod verdict;

use std::sync::Arc;

use super::event::{
    Answer, Body, Event, Guarded, ModelCall, Nudge, Part, SpanId, Text, ToolCall, TraceId,
};
use super::hash::stable;
use super::policy::Policy;
use super::run::{Input, RunState, step};
use super::warning::{Change, Rule};
use super::worker::worker_hash;

use decide::{decide, decide_again, decide_owed};
use policy::Mode;
use verdict::VerdictKind;

/// Who speaks to the guard, and when.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Caller {
    /// The agent.
    pub agent: Option<Text>,
    /// The worker of a swarm, where one is named apart from the agent.
    pub worker: Option<Text>,
    /// The session, where it is named apart from the run.
    pub session_id: Option<Text>,
    /// What the swarm of its session is warned of.
    pub swarm: Arc<[Warned]>,
    /// Hash of the round's name, 0 where it has none.
    pub round: u64,
    /// Hash of the turn's name, 0 where it has none.
    pub turn: u64,
    /// The time, in nanoseconds since 1970.
    pub now_ns: u64,
    /// Nobody waits for the answer any more: the call is made whatever it is.
    pub is_gone: bool,
}

/// A warning that every worker of a swarm is to be told of.
#[derive(Clone, Debug, PartialEq)]
pub struct Warned {
    /// The warning.
    pub warning_id: u64,
    /// Its rule.
    pub rule: Rule,
    /// Its group.
    pub group: u64,
    /// Calls so far.
    pub count: u64,
    /// The tool, where there is one.
    pub tool: Text,
    /// Workers that have a part in it.
    pub workers: usize,
}

/// The guard's answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// What the caller should do.
    pub kind: VerdictKind,
    /// What the agent is to be told.
    pub message: Option<String>,
    /// The rule that brought it about.
    pub rule: Option<Rule>,
    /// How often, with this call, as the rule counts.
    pub repeats: Option<u64>,
    /// Redacted sample of what the same call brought before, where the profile keeps results.
    pub previous_result: Option<Text>,
    /// The warning concerned. It may not be raised yet, or never be, if the call brings something new.
    pub warning_id: Option<u64>,
}

/// A verdict other than `ALLOW`, and what it is about, for whoever is told of it.
#[derive(Clone, Debug, PartialEq)]
pub struct GivenVerdict {
    /// When it was given, milliseconds since 1970.
    pub at_ms: u64,
    /// The run.
    pub run_id: Text,
    /// The trace after which the run is named, if it is.
    pub trace: Option<TraceId>,
    /// The tool that was to be called; absent where a message was answered.
    pub tool: Option<Text>,
    /// The agent.
    pub agent: Option<Text>,
    /// The verdict.
    pub verdict: Verdict,
    /// Whether it is what the caller was answered: not while the guard only observes.
    pub is_enforced: bool,
}

/// What came of a question, or of something that the guard was told.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checked {
    /// What the profile says.
    pub decided: Verdict,
    /// What the caller is answered: the same, unless the guard only observes.
    pub answered: Verdict,
    /// What the run was told by it, to be kept in the journal.
    pub events: Vec<Event>,
    /// What changed by it.
    pub changes: Vec<Change>,
    /// Tokens that a refused call would have cost, by the calls of its loop that were made.
    pub saved_tokens: u64,
    /// The same in millionths of a US dollar.
    pub saved_cost_microusd: u64,
}

/// Something that was said in a run without a call of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// A user spoke: a new turn begins.
    ByUser,
    /// The model answered with text alone; the hash of its words where they are known.
    ByModel(Option<u64>),
}

/// Answers whether a call should be made, and takes the question into the run.
pub fn check(state: &mut RunState, call: &ToolCall, caller: &Caller, policy: &Policy) -> Checked {
    state.ensure_tip(policy);
    let (own, _) = policy.of(Some(&call.tool), caller.agent.as_deref());
    let mode = own.guard.mode;
    let is_allowed = caller.is_gone || mode == Mode::Off;
    if let Some(place) = state.asked_before(call) {
        // The same question again, as after a time-out: the same answer, and no second call.
        let said = state.said_to(place).filter(|_| !is_allowed);
        let decided = said.map_or_else(Verdict::default, |said| {
            let question = state.window.event(place);
            decide_again(
                &state.as_before(place, policy),
                &question,
                said,
                caller,
                policy,
            )
        });
        return Checked {
            answered: answered(mode, &decided),
            decided,
            ..Checked::default()
        };
    }
    let question = question(state, call, caller);
    let (decided, nudge) = if is_allowed {
        (Verdict::default(), None)
    } else {
        decide(state, &question, caller, policy)
    };
    let answered = answered(mode, &decided);
    let refused = answered.rule.filter(|_| answered.kind.refuses());
    let before = state.saved();
    let mut events = vec![with_part(question, refused, answered.kind)];
    if refused.is_none() {
        events.extend(nudge.map(|nudge| nudged(state, nudge, mode, caller)));
    }
    let changes = take(state, &events, caller, policy);
    let saved = state.saved();
    Checked {
        decided,
        answered,
        events,
        changes,
        saved_tokens: saved.tokens.saturating_sub(before.tokens),
        saved_cost_microusd: saved.cost_microusd.saturating_sub(before.cost_microusd),
    }
}

/// Takes what a call brought into the run. A result of a call that was refused is left out: there is none.
pub fn result(state: &mut RunState, call: &ToolCall, caller: &Caller, policy: &Policy) -> Checked {
    state.ensure_tip(policy);
    let mut call = call.clone();
    let (start_ns, asked) = match state.question_of(&call) {
        Some((_, question)) if question.is_refused() => return Checked::default(),
        Some((place, question)) => {
            if call.input.value().is_none()
                && let Body::ToolCall(known) = state.window.event(place).body
            {
                call.input = known.input;
            }
            if question.call_id().is_none() {
                call.call_id = call.call_id.filter(|id| !state.is_used(*id));
            }
            (question.start_ns, question.question().unwrap_or(0))
        }
        None => (state.place_after(caller.now_ns), 0),
    };
    let name = if asked == 0 { start_ns } else { asked };
    let event = Event {
        end_ns: caller.now_ns.max(start_ns),
        ..event_of(
            stable(&[state.id().as_bytes(), b"result", &name.to_be_bytes()]),
            start_ns,
            caller,
            Body::ToolCall(ToolCall {
                guarded: Some(Box::new(Guarded {
                    asked,
                    part: Part::Result,
                    round: caller.round,
                    turn: caller.turn,
                })),
                ..call
            }),
        )
    };
    let events = vec![event];
    Checked {
        changes: take(state, &events, caller, policy),
        events,
        ..Checked::default()
    }
}

/// Takes what was said into the run, and answers with a nudge where one is owed.
pub fn message(state: &mut RunState, said: Said, caller: &Caller, policy: &Policy) -> Checked {
    state.ensure_tip(policy);
    let at_ns = state.place_after(caller.now_ns);
    let id = stable(&[state.id().as_bytes(), b"message", &at_ns.to_be_bytes()]);
    let body = match said {
        Said::ByUser => Body::UserMessage,
        Said::ByModel(words) => Body::ModelCall(ModelCall {
            answer: Answer::Text(words),
            ..ModelCall::default()
        }),
    };
    let mut events = vec![event_of(id, at_ns, caller, body)];
    let mut changes = take(state, &events, caller, policy);
    let mode = policy.of(None, caller.agent.as_deref()).0.guard.mode;
    let (decided, nudge) = match mode {
        _ if caller.is_gone => (Verdict::default(), None),
        Mode::Off => (Verdict::default(), None),
        Mode::Enforce | Mode::Observe => decide_owed(state, caller, policy),
    };
    if let Some(nudge) = nudge {
        let event = nudged(state, nudge, mode, caller);
        changes.extend(take(state, std::slice::from_ref(&event), caller, policy));
        events.push(event);
    }
    Checked {
        answered: answered(mode, &decided),
        decided,
        events,
        changes,
        ..Checked::default()
    }
}

/// What the caller is answered of what was decided.
fn answered(mode: Mode, decided: &Verdict) -> Verdict {
    match mode {
        Mode::Enforce => decided.clone(),
        Mode::Observe | Mode::Off => Verdict::default(),
    }
}

fn take(state: &mut RunState, events: &[Event], caller: &Caller, policy: &Policy) -> Vec<Change> {
    let input = Input::Reports {
        at_ms: caller.now_ms(),
        session_id: caller.session_id.clone(),
        service: None,
        events: events.to_vec(),
    };
    step(state, &input, policy)
}

/// The question as an event, allowed for now.
fn question(state: &RunState, call: &ToolCall, caller: &Caller) -> Event {
    let at_ns = state.place_after(caller.now_ns);
    let asked = stable(&[state.id().as_bytes(), b"asked", &at_ns.to_be_bytes()]).max(1);
    let call = ToolCall {
        call_id: call.call_id.filter(|id| !state.is_used(*id)),
        guarded: Some(Box::new(Guarded {
            asked,
            part: Part::Question,
            round: caller.round,
            turn: caller.turn,
        })),
        ..call.clone()
    };
    event_of(asked, at_ns, caller, Body::ToolCall(call))
}

fn with_part(mut question: Event, refused: Option<Rule>, kind: VerdictKind) -> Event {
    if let (
        Body::ToolCall(ToolCall {
            guarded: Some(guarded),
            ..
        }),
        Some(rule),
    ) = (&mut question.body, refused)
    {
        guarded.part = match kind {
            VerdictKind::Abort => Part::Aborted(rule),
            _ => Part::Skipped(rule),
        };
    }
    question
}

fn nudged(state: &RunState, mut nudge: Nudge, mode: Mode, caller: &Caller) -> Event {
    nudge.answered.is_observed = mode == Mode::Observe;
    // Behind the question, which has the nanosecond before.
    let at_ns = state.place_after(caller.now_ns) + 1;
    let id = stable(&[state.id().as_bytes(), b"nudge", &at_ns.to_be_bytes()]);
    event_of(id, at_ns, caller, Body::Nudge(nudge))
}

fn event_of(id: u64, at_ns: u64, caller: &Caller, body: Body) -> Event {
    Event {
        id,
        trace: TraceId::default(),
        span: SpanId::default(),
        parent: SpanId::default(),
        start_ns: at_ns,
        end_ns: at_ns,
        agent: caller.agent.clone(),
        worker: caller.worker.clone(),
        body,
    }
}

impl Caller {
    /// The time in milliseconds since 1970, as the journal has it.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.now_ns / 1_000_000
    }

    fn worker_hash(&self) -> u64 {
        worker_hash(self.worker.as_ref(), self.agent.as_ref())
    }
}
