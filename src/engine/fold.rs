//! What is remembered of a run's events, which are folded into it in the order in which they happened ([`apply`](super::apply)).
//!
//! The fold keeps no list of events: rings, tallies and totals, each with a limit, so its size and the cost of an event do not grow
//! with the run. What is judged and weighed by what it remembers stands beside it.

pub(super) mod amount;
pub(super) mod batch;
pub(crate) mod blanks;
mod clocks;
pub(crate) mod control;
mod copying;
mod counted;
mod deed;
mod despite_writes;
mod earlier_calls;
pub(super) mod error_gist;
mod error_stem;
mod flaky;
pub(super) mod fruitless;
pub(super) mod handed_text;
pub(super) mod headway;
pub(crate) mod judge;
pub(crate) mod marks;
mod narrowing;
pub(crate) mod notices;
pub(crate) mod outcome;
mod packing;
mod pressed;
pub(super) mod question;
pub(crate) mod recent;
mod recovery;
mod rewriting;
mod sample;
mod sites;
pub(crate) mod speech;
pub(crate) mod tags;
pub(crate) mod tally;
pub(crate) mod totals;
pub(crate) mod trend;
mod trials;
pub(super) mod unrelated_failure;
pub(crate) mod waiting;
mod warnings;
pub(crate) mod work;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use self::control::Control;
use self::judge::Judged;
use self::marks::{CallMark, QueryMark};
use self::notices::Notice;
use self::outcome::Outcome;
use self::recent::Recent;
use self::speech::Speech;
use self::tags::{Tag, Tags};
use self::tally::Tallies;
use self::totals::{Notes, Totals};
use self::work::Work;
use super::bounded::RecentHashes;
use super::event::{Recorded, Text, Value};
use super::hash::text_hash;
use super::policy::Policy;
use super::warning::kept::Kept;
use super::window::calls::Call;

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
    /// What the guard told of warnings, newest last, at most [`TOLD_MAX`](notices::TOLD_MAX).
    pub(crate) told: VecDeque<Notice>,
    /// Models that used tokens of which nobody knows the cost, at most [`UNPRICED_MAX`]; empty for one that was not named.
    pub(crate) unpriced: Vec<Text>,
}

impl Fold {
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
        if more.root_seen && !(totals.root_seen && totals.last_ns >= more.last_ns) {
            (totals.failed, totals.end_trace) = (more.failed, more.end_trace);
        }
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

    /// Remembers a call; with it goes what was judged of its numbers.
    pub(super) fn remember(&mut self, judged: &mut Judged<'_>) {
        let call = judged.call;
        if call.manner.writes() && judged.outcome == Outcome::Fresh {
            self.totals.write_at = judged.number + 1;
        }
        let is_news = judged.outcome == Outcome::Fresh || self.is_new_error(judged);
        let acts = self.acts(judged);
        if is_news {
            self.totals.news_at = judged.number;
        }
        if acts {
            self.totals.acted_at = judged.number;
        }
        self.note_headway(judged, is_news || acts || self.may_be_news(judged));
        self.know_result(judged);
        if call.hands_off {
            self.know(judged.tool_hash);
        }
        let may_act = judged.may_act();
        let tag = Tag::of(self, judged);
        let mark = CallMark {
            tool: judged.tool_hash,
            known_key: judged.key.unwrap_or(0),
            has_key: judged.key.is_some(),
            sample: call
                .input
                .value()
                .map_or_else(Text::default, |value| value.sample.clone()),
            shape: judged.shape,
            input_bytes: call.input.bytes(),
            group: judged.similar.unwrap_or(0),
            span: call.span,
            start_ns: call.start_ns,
            round: judged.round,
            outcome: judged.outcome,
            known_result: judged.result.unwrap_or(0),
            has_result: judged.result.is_some(),
            trend: judged.trend.take(),
            sketch: call.input.value().map_or(0, Value::sketch),
            hands_off: call.hands_off,
            may_act,
            retells: judged.retells,
            denies: judged.denies,
            gap_ns: judged.waiting.gap_ns,
            waited_ns: judged.waiting.waited_ns,
            asked: self.speech.instructions,
        };
        self.recent.push(mark);
        self.tags.push(tag);
    }

    pub(super) fn note_times(&mut self, start_ns: u64, end_ns: u64) {
        let totals = &mut self.totals;
        if totals.first_ns == 0 || start_ns < totals.first_ns {
            totals.first_ns = start_ns;
        }
        totals.last_ns = totals.last_ns.max(end_ns);
    }

    pub(super) fn note_agent(&mut self, agent: Option<&Text>) {
        if let Some(agent) = agent {
            note(&mut self.agents, agent, AGENTS_MAX);
        }
    }

    pub(super) fn note_missing(&mut self, call: &Call<'_>) {
        self.notes.input_missing |= *call.input == Recorded::NotRecorded;
        self.notes.input_redacted |= *call.input == Recorded::Redacted;
        self.notes.output_missing |= call.output.value().is_none() && call.error.is_none();
    }

    /// A turn that has another name than the one before begins now.
    pub(super) fn begin_turn(&mut self, name: u64, policy: &Policy) {
        if name != 0 && name != self.totals.turn_name {
            self.totals.turn_name = name;
            self.begin_next_turn(policy);
        }
    }

    /// A turn begins with the next call. What a user asks for again is no loop of the agent's, and who is asked anew may hand it to
    /// the same agent again, on the same errand.
    pub(super) fn begin_next_turn(&mut self, policy: &Policy) {
        self.control.note_result(policy.progress_aware);
        if policy.progress_aware {
            self.speech.asked.clear();
        }
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
pub(super) fn note(names: &mut Vec<Text>, name: &Text, names_max: usize) {
    if names.len() < names_max && !names.contains(name) {
        names.push(name.clone());
    }
}

/// The name of which this is the hash, where it is among these.
pub(super) fn name_of(names: &[Text], hash: u64) -> Option<&Text> {
    names.iter().find(|name| text_hash(name) == hash)
}

/// The same; an empty one where it is not.
pub(super) fn named(names: &[Text], hash: u64) -> Text {
    name_of(names, hash).cloned().unwrap_or_default()
}
