//! What a run knows of what the guard was asked and told before.

use crate::engine::event::{Body, Event, SECOND_NS, ToolCall, Value};
use crate::engine::fold::totals::Spent;
use crate::engine::run::RunState;
use crate::engine::warning::rule::Rule;
use crate::engine::window::card::{Card, Kind, may_name_one_tool, tool_number};
use crate::engine::window::join::Asking;
use crate::engine::worker::worker_hash;

use super::verdict::VerdictKind;

/// How far ahead of the clock a question may take its place, to stand behind what was told before it. Further ahead it would be far
/// from the spans of its own call; and the run's window would begin in the future, with all ordinary spans before it.
const AHEAD_NS: u64 = SECOND_NS;

impl RunState {
    /// When something happens that is told now: after everything that was told before, but for what lies so far ahead that the
    /// clock of its sender must be wrong.
    pub(super) fn place_after(&self, now_ns: u64) -> u64 {
        let latest = now_ns.saturating_add(AHEAD_NS);
        let mut told = self.tip.as_ref().map_or(0, |tip| tip.totals.last_ns);
        if told > latest {
            let cards = self.window.cards().iter();
            let times = cards.flat_map(|card| [card.start_ns, card.end_ns]);
            told = times.filter(|at| *at <= latest).max().unwrap_or(0);
        }
        now_ns.max(told.saturating_add(1))
    }

    pub(super) fn saved(&self) -> Spent {
        self.tip
            .as_ref()
            .map_or_else(Spent::default, |tip| tip.totals.saved)
    }

    /// Places of what was told of calls by way of the guard, newest first, with their cards.
    pub(super) fn guarded(&self) -> impl Iterator<Item = (usize, &Card)> {
        let cards = self.window.cards().iter().enumerate().rev();
        cards.filter(|(_, card)| card.kind == Kind::Tool && card.question().is_some())
    }

    /// Whether a call id says nothing any more, since a call that had it is over: some programs count their calls anew in every
    /// turn. That is told by a result, or by a report that does not come from the guard.
    pub(super) fn is_used(&self, call_id: u64) -> bool {
        let tells_end = |card: &Card| card.question().is_none() && card.is_over();
        let mut cards = self.window.cards().iter();
        self.folded_calls.contains(call_id)
            || cards.any(|card| {
                card.kind == Kind::Tool
                    && card.call_id() == Some(call_id)
                    && (card.is_result() || tells_end(card))
            })
    }

    /// Place of the same question, if it was asked before and no result has been told since.
    pub(super) fn asked_before(&self, call: &ToolCall) -> Option<usize> {
        let id = call.call_id?;
        if self.is_used(id) {
            return None;
        }
        let mut known = self.guarded();
        let (place, known) = known.find(|(_, card)| card.call_id() == Some(id))?;
        is_alike(known, call).then_some(place)
    }

    /// What was said to the question at a place, or would have been if the guard did not only observe; nothing where the call
    /// was simply allowed, or nobody waited for the answer.
    pub(super) fn said_to(&self, place: usize) -> Option<(VerdictKind, Rule)> {
        let question = self.window.event(place);
        let refused = refusal(&question);
        if refused.is_some() {
            return refused;
        }
        let nudged_ns = question.start_ns + 1;
        let mut cards = self.window.cards().iter();
        let is_nudge = |card: &Card| card.kind == Kind::Nudge && card.start_ns == nudged_ns;
        match self.window.event(cards.position(is_nudge)?).body {
            Body::Nudge(nudge) => Some((nudge.answered.kind, nudge.rule)),
            _ => None,
        }
    }

    /// Place and card of the newest question to which a result belongs, as long as it has none.
    pub(super) fn question_of(&self, call: &ToolCall) -> Option<(usize, &Card)> {
        let has_result = |asked: Option<u64>| {
            let mut guarded = self.guarded();
            guarded.any(|(_, other)| other.is_result() && other.question() == asked)
        };
        let belongs = |known: &Card| match (known.call_id(), call.call_id) {
            (Some(known), Some(own)) => known == own,
            _ => is_alike(known, call),
        };
        self.guarded().find(|(_, known)| {
            !known.is_result() && belongs(known) && !has_result(known.question())
        })
    }

    /// The rule because of which a worker's newest question about the same call was refused, if it was.
    pub(super) fn refused_before(&self, call: &ToolCall, worker: u64) -> Option<Rule> {
        let asked = (
            tool_number(&call.tool),
            Some(call.input.value()?.fingerprint),
        );
        let is_same = |known: &Card| !known.is_result() && (known.tool, known.content()) == asked;
        let same = self.guarded().filter(|(_, known)| is_same(known));
        let mut same = same.map(|(place, _)| self.window.event(place));
        let event =
            same.find(|event| worker_hash(event.worker.as_ref(), event.agent.as_ref()) == worker)?;
        refusal(&event).map(|(_, rule)| rule)
    }

    /// What earlier calls of the same tool with the same arguments brought, newest first.
    pub(super) fn earlier<'s>(&'s self, call: &'s ToolCall) -> impl Iterator<Item = Value> + 's {
        let input = call.input.value().map(|value| value.fingerprint);
        let tool = tool_number(&call.tool);
        let is_same = move |known: &Card| {
            input.is_some() && known.has_result() && (known.tool, known.content()) == (tool, input)
        };
        let cards = self.window.cards().iter().enumerate().rev();
        let same = cards.filter(move |(_, known)| is_same(known));
        same.filter_map(|(place, _)| match self.window.event(place).body {
            // Two servers may have tools of one name.
            Body::ToolCall(known) if may_name_one_tool(&known.tool, &call.tool) => {
                known.output.value().cloned()
            }
            _ => None,
        })
    }
}

/// How a question was refused, and because of which rule.
fn refusal(question: &Event) -> Option<(VerdictKind, Rule)> {
    let Body::ToolCall(call) = &question.body else {
        return None;
    };
    Asking::of(call).refused.map(|(rule, kind)| (kind, rule))
}

/// Whether a report is of the same tool, and of no other arguments as far as these are known.
fn is_alike(known: &Card, call: &ToolCall) -> bool {
    let input = call.input.value().map(|value| value.fingerprint);
    let differs = matches!((known.content(), input), (Some(one), Some(other)) if one != other);
    known.tool == tool_number(&call.tool) && !differs
}
