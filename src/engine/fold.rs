//! A run's events, folded in the order in which they happened.
//!
//! One call or event at a time: first it is judged against what was seen before (did it bring something new?), then every
//! rule looks at it, then the warnings take in what the rules found, and last the event joins what was seen. The fold keeps
//! no list of events: rings, tallies and totals, each with a limit, so its size and the cost of an event do not grow with
//! the run.

mod batch;
mod before;
pub(crate) mod control;
mod copying;
mod deed;
pub(super) mod gist;
pub(super) mod headway;
mod hunting;
pub(crate) mod judge;
pub(crate) mod marks;
mod packing;
pub(super) mod question;
pub(crate) mod recent;
mod recovery;
pub(crate) mod speech;
pub(crate) mod tags;
pub(crate) mod tally;
pub(crate) mod totals;
pub(crate) mod trend;
pub(crate) mod waiting;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use self::control::Control;
use self::judge::{Judged, Outcome};
use self::marks::{CallMark, QueryMark, Told};
use self::recent::Recent;
use self::speech::Speech;
use self::tags::{Tag, Tags};
use self::tally::Tallies;
use self::totals::{Notes, Spent, Totals};
use self::waiting::Waiting;
use super::bounded::RecentHashes;
use super::event::{AgentSpan, Answer, Body, Event, Recorded, Text, Value};
use super::hash::mix;
use super::policy::Policy;
use super::rules;
use super::warning::Rule;
use super::warning::kept::{Finding, Kept};
use super::window::calls::{Call, Spoken, Step};
use super::work::Work;

pub(crate) use packing::{Packed, eight_bytes};

/// Results that are remembered by hash, to tell a new one from an old one.
pub(crate) const RESULTS_MAX: usize = 48;
/// Items of results that are remembered by a part of their hash: those of eight lists that have nothing in common.
pub(crate) const ITEMS_SEEN_MAX: usize = 96;
/// Queries that are remembered to compare later ones with.
pub(crate) const QUERIES_MAX: usize = 16;
/// Agents that are remembered by name.
pub(crate) const AGENTS_MAX: usize = 16;
/// Tools that are remembered by name, to be told when they go round.
pub(crate) const TOOLS_MAX: usize = 16;
/// Models without a price that are remembered by name.
pub(crate) const UNPRICED_MAX: usize = 4;
/// Messages of the guard that are remembered.
pub(crate) const TOLD_MAX: usize = 32;

/// What has been seen so far. In the order of memory: what each call is compared with and counted in lies together, in front of
/// what few need.
#[repr(C)]
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Fold {
    pub(crate) recent: Recent,
    pub(crate) tallies: Tallies,
    /// Hashes of (tool, masked result), newest last, at most [`RESULTS_MAX`].
    pub(crate) results: RecentHashes<RESULTS_MAX>,
    /// Parts of the hashes of (tool, item of a result), newest last, at most [`ITEMS_SEEN_MAX`].
    pub(crate) items: VecDeque<u16>,
    pub(crate) tags: Tags,
    /// What each agent has done, at most [`AGENTS_MAX`], and what all the others have.
    pub(crate) work: Vec<Work>,
    pub(crate) agents: Vec<Text>,
    pub(crate) tools: Vec<Text>,
    pub(crate) warnings: Vec<Kept>,
    /// The run is a swarm ([`is_swarm`](super::run::is_swarm)): derived from its id.
    pub(crate) is_swarm: bool,
    pub(crate) notes: Notes,
    pub(crate) totals: Totals,
    pub(crate) control: Control,
    pub(crate) speech: Speech,
    /// The newest queries of search tools, newest last; only where the profile compares queries.
    pub(crate) queries: VecDeque<QueryMark>,
    /// What the guard told of warnings, newest last, at most [`TOLD_MAX`].
    pub(crate) told: VecDeque<Told>,
    /// Models that used tokens of which nobody knows the cost, at most [`UNPRICED_MAX`].
    pub(crate) unpriced: Vec<Text>,
}

impl Fold {
    /// Takes in one step.
    pub(crate) fn apply(&mut self, step: &Step<'_>, policy: &Policy) {
        match step {
            Step::Tool(call) => self.take_tool(call, policy),
            Step::Model(call, model) => self.take_model(call, model, policy),
            // Asking is not calling.
            Step::Other(_, event) if matches!(event.body, Body::Asked(_)) => return,
            Step::Other(_, event) => self.take_other(event, policy),
        }
        self.totals.worst = self
            .totals
            .worst
            .max(super::warning::health::lost(self, policy));
    }

    /// As [`RunState::bring_near`](super::run::RunState::bring_near).
    pub(crate) fn bring_near(&self) -> u64 {
        let totals = &self.totals;
        let totals = totals.tool_calls ^ totals.busy_ns ^ totals.unspent.tokens;
        let rings = self.recent.bring_near() ^ self.results.bring_near() ^ self.tags.bring_near();
        let control = (self.control.stack.len() ^ self.control.trail.len()) as u64;
        let speech = self.speech.said.len() as u64 ^ self.speech.instructions;
        let agent = self.agents.first().map_or(0, |agent| agent.len() as u64);
        let work = self.work.first().map_or(agent, |work| work.calls);
        totals ^ rings ^ self.tallies.bring_near() ^ control ^ speech ^ work
    }

    /// Adds what another run had let go from its window: the sums, for the order of its events is lost.
    pub(crate) fn absorb(&mut self, other: &Self) {
        let (totals, more) = (&mut self.totals, &other.totals);
        self.notes.absorbed |= more.tool_calls + more.model_calls > 0;
        self.notes.begun_anew |= other.notes.begun_anew;
        totals.tool_calls += more.tool_calls;
        totals.model_calls += more.model_calls;
        totals.tokens = totals.tokens.saturating_add(more.tokens);
        totals.cost_microusd = totals.cost_microusd.saturating_add(more.cost_microusd);
        totals.asked += more.asked;
        totals.root_seen |= more.root_seen;
        totals.worst = totals.worst.max(more.worst);
        totals.skipped += more.skipped;
        totals.saved.add(more.saved);
        self.absorb_work(&other.work);
        for agent in &other.agents {
            self.note_agent(Some(agent));
        }
        for tool in &other.tools {
            note(&mut self.tools, tool, TOOLS_MAX);
        }
        for model in &other.unpriced {
            note(&mut self.unpriced, model, UNPRICED_MAX);
        }
        if other.totals.first_ns != 0 {
            self.note_times(other.totals.first_ns, other.totals.last_ns);
        }
    }

    fn take_tool(&mut self, call: &Call<'_>, policy: &Policy) {
        // Nobody has told yet which tool it is.
        let Some(tool) = call.tool.filter(|tool| !tool.is_empty()) else {
            return;
        };
        self.note_times(call.start_ns, call.end_ns);
        self.note_agent(call.agent);
        note(&mut self.tools, tool, TOOLS_MAX);
        self.control.leave(call.start_ns);
        self.begin_turn(call.asking.turn);
        if let Some(refused) = call.asking.refused {
            return self.take_refused(call, tool, refused, policy);
        }
        let own = self.policy_of(policy, Some(tool), call.agent);
        let mut judged = self.judge(call, tool, own);
        self.note_call(&judged, policy);
        judged.waiting = Waiting::of(self, &judged, own);
        judged.similar = rules::similar_group(self, &judged, own);
        self.speech.hush();
        self.note_missing(call);
        self.note_work(&judged);
        let findings = rules::of_tool_call(self, &judged, own);
        if judged.settings.exempt {
            return self.keep(findings, Some(call), own);
        }
        self.control
            .note_result(policy.progress_aware && self.brings_news(&judged));
        self.recover_by_call(&judged, policy);
        self.keep(findings, Some(call), own);
        self.remember(judged);
    }

    fn take_model(&mut self, call: &Call<'_>, model: &Spoken, policy: &Policy) {
        self.note_times(call.start_ns, call.end_ns);
        self.note_agent(call.agent);
        self.note_pause(call.start_ns, policy);
        let spent = Spent {
            tokens: model.input_tokens.saturating_add(model.output_tokens),
            cost_microusd: model.cost_microusd.unwrap_or(0),
        };
        if model.cost_microusd.is_none()
            && spent.tokens > 0
            && let Some(name) = call.model()
        {
            note(&mut self.unpriced, name, UNPRICED_MAX);
        }
        let totals = &mut self.totals;
        totals.model_calls += 1;
        totals.model_spoke = true;
        totals.asked_pending = if let Answer::ToolCalls(asked) = model.answer {
            asked
        } else {
            0
        };
        totals.asked += u64::from(matches!(model.answer, Answer::ToolCalls(1..)));
        totals.tokens = totals.tokens.saturating_add(spent.tokens);
        totals.cost_microusd = totals.cost_microusd.saturating_add(spent.cost_microusd);
        totals.unspent.add(spent);
        let own = self.policy_of(policy, None, call.agent);
        let mut findings = rules::of_model_call(self, call, model, spent, own);
        if let Answer::Text(Some(text @ 1..)) = model.answer {
            let repeated = rules::of_text(self, call, text, policy);
            let sums_up = |finding: &Finding| finding.rule == Rule::SummaryLoop;
            if repeated.is_none() && !findings.iter().any(sums_up) {
                self.recover_by_text(policy);
            }
            findings.extend(repeated);
        }
        if call.error.is_none() {
            self.recover_by_model(policy);
        }
        self.totals.busy_ns = self.totals.busy_ns.max(call.end_ns);
        self.keep(findings, Some(call), own);
    }

    fn take_other(&mut self, event: &Event, policy: &Policy) {
        self.note_times(event.start_ns, event.end_ns);
        self.note_agent(event.agent.as_ref());
        match &event.body {
            Body::AgentSpan(agent) => self.take_agent(event, agent, policy),
            Body::Handoff(handoff) => {
                self.note_agent(handoff.from.as_ref());
                self.note_agent(Some(&handoff.to));
                self.begin_errand(&handoff.to);
                if self.was_handed(&handoff.to) {
                    return;
                }
                self.control
                    .hand_off(handoff.from.as_ref(), &handoff.to, event);
                let findings = rules::of_hand_off(self, policy);
                self.keep(findings, None, policy);
            }
            Body::StateUpdate | Body::MemoryWrite => {
                self.totals.write_at = self.totals.tool_calls + 1;
            }
            Body::Retry { tool } => {
                let own = self.policy_of(policy, tool.as_ref(), event.agent.as_ref());
                let findings = rules::of_retry(self, event, tool.as_ref(), own);
                self.keep(findings, None, own);
            }
            Body::RunEnd(end) => {
                // The outer spans of a trace may end well although the run within failed; a later trace counts anew.
                let goes_on = event.span.is_set() && self.totals.end_trace == event.trace;
                self.totals.failed = end.error.is_some() || (goes_on && self.totals.failed);
                self.totals.root_seen = true;
                self.totals.end_trace = event.trace;
            }
            Body::UserMessage => {
                self.begin_next_turn();
                self.speech.hush();
                rules::of_user_message(self);
            }
            Body::Nudge(nudge) => self.note_told(nudge),
            Body::ToolCall(_) | Body::Asked(_) | Body::ModelCall(_) => {}
        }
    }

    fn take_agent(&mut self, event: &Event, agent: &AgentSpan, policy: &Policy) {
        self.note_agent(Some(&agent.name));
        self.begin_errand(&agent.name);
        let known = self.is_known(agent_key(&agent.name, &Recorded::NotRecorded));
        let answer = agent_key(&agent.name, &agent.output);
        let news = agent.output.value().is_some_and(|value| !value.empty) && !self.is_known(answer);
        let own = self.policy_of(policy, None, Some(&agent.name));
        self.control
            .note_result(rules::is_new_errand(self, event, agent, own));
        self.control
            .enter(event, &agent.name, agent.output.value().is_some());
        self.control
            .note_result(policy.progress_aware && known && news);
        let findings = rules::of_hand_off(self, policy);
        self.keep(findings, None, policy);
        let findings = rules::of_instruction(self, event, agent, own);
        self.keep(findings.into_iter().collect(), None, own);
        self.know(agent_key(&agent.name, &Recorded::NotRecorded));
        self.know(answer);
    }

    /// The policy by which something that an agent does is judged. What is counted from here on is counted for it.
    pub(super) fn policy_of<'p>(
        &mut self,
        policy: &'p Policy,
        tool: Option<&Text>,
        agent: Option<&Text>,
    ) -> &'p Policy {
        let [tool, agent] = [tool, agent].map(|name| name.map(|name| &**name));
        let (own, apart) = policy.of(tool, agent);
        self.tallies.keep_apart(apart);
        own
    }

    fn remember(&mut self, judged: Judged<'_>) {
        let call = judged.call;
        if call.manner.writes() && judged.outcome == Outcome::Fresh {
            self.totals.write_at = judged.number + 1;
        }
        let is_news = judged.outcome == Outcome::Fresh || self.is_new_error(&judged);
        let acts = self.acts(&judged);
        if is_news {
            self.totals.news_at = judged.number;
        }
        if acts {
            self.totals.acted_at = judged.number;
        }
        self.note_headway(&judged, is_news || acts || self.may_be_news(&judged));
        self.know_result(&judged);
        if call.hands_off {
            self.know(judged.tool_hash);
        }
        let may_act = judged.may_act();
        let tag = Tag::of(self, &judged);
        let mark = CallMark {
            tool: judged.tool_hash,
            known_key: judged.key.unwrap_or(0),
            has_key: judged.key.is_some(),
            sample: call
                .input
                .value()
                .map_or_else(Text::default, |value| value.sample.clone()),
            shape: judged.shape,
            input_bytes: call.input.value().map_or(0, |value| value.bytes),
            group: judged.similar.unwrap_or(0),
            span: call.span,
            start_ns: call.start_ns,
            round: judged.round,
            outcome: judged.outcome,
            known_result: judged.result.unwrap_or(0),
            has_result: judged.result.is_some(),
            trend: judged.trend,
            sketch: call.input.value().map_or(0, Value::sketch),
            hands_off: call.hands_off,
            may_act,
            retells: judged.retells,
            gap_ns: judged.waiting.gap_ns,
            waited_ns: judged.waiting.waited_ns,
            asked: self.speech.instructions,
        };
        self.recent.push(mark);
        self.tags.push(tag);
    }

    fn note_times(&mut self, start_ns: u64, end_ns: u64) {
        let totals = &mut self.totals;
        if totals.first_ns == 0 || start_ns < totals.first_ns {
            totals.first_ns = start_ns;
        }
        totals.last_ns = totals.last_ns.max(end_ns);
    }

    fn note_agent(&mut self, agent: Option<&Text>) {
        if let Some(agent) = agent {
            note(&mut self.agents, agent, AGENTS_MAX);
        }
    }

    fn note_missing(&mut self, call: &Call<'_>) {
        self.notes.input_missing |= *call.input == Recorded::NotRecorded;
        self.notes.input_redacted |= *call.input == Recorded::Redacted;
        self.notes.output_missing |= call.output.value().is_none() && call.error.is_none();
    }

    /// A turn that has another name than the one before begins now.
    pub(super) fn begin_turn(&mut self, name: u64) {
        if name != 0 && name != self.totals.turn_name {
            self.totals.turn_name = name;
            self.begin_next_turn();
        }
    }

    /// A turn begins with the next call. What a user asks for again is no loop of the agent's.
    fn begin_next_turn(&mut self) {
        let next = self.totals.tool_calls + 1;
        self.totals.turn_at = next;
        self.totals.news_at = next;
        self.totals.acted_at = next;
        for work in &mut self.work {
            work.in_vain = 0;
        }
    }
}

/// Remembers a name, if there is room for it.
fn note(names: &mut Vec<Text>, name: &Text, names_max: usize) {
    if names.len() < names_max && !names.contains(name) {
        names.push(name.clone());
    }
}

/// The name of which this is the hash, where it is among these; an empty one where not.
pub(super) fn named(names: &[Text], hash: u64) -> Text {
    let name = names.iter().find(|name| text_hash(name) == hash);
    name.cloned().unwrap_or_default()
}

/// Stable hash of a name.
pub(crate) fn text_hash(text: &str) -> u64 {
    super::hash::stable(&[text.as_bytes()])
}

fn agent_key(agent: &str, output: &Recorded) -> u64 {
    mix(
        text_hash(agent),
        output.value().map_or(2, |value| value.masked),
    )
}
