//! What a report is recognised by.
//!
//! A run keeps its newest reports as bytes ([`packed`](super::packed)) and a card beside each: where the report stands, which
//! call it may belong to, and nothing of variable length. Whether two reports tell of one call is decided by their cards
//! alone, so that a report that comes is compared with all others without unpacking one of them.

use crate::engine::event::{Answer, Body, Event, Part, Recorded, SpanId, is_of_place};
use crate::engine::guard::verdict::{Answered, VerdictKind};
use crate::engine::hash::text_hash;
use crate::engine::witness::Witness;

use super::place::Place;
use super::traces::TraceNumber;

/// What an event is about, in the order of the numbers on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Tool,
    Requested,
    Model,
    Agent,
    Handoff,
    StateUpdate,
    MemoryWrite,
    Retry,
    UserMessage,
    End,
    Nudge,
}

impl Kind {
    /// Every kind, at the place of its number.
    pub(crate) const ALL: [Self; 11] = [
        Self::Tool,
        Self::Requested,
        Self::Model,
        Self::Agent,
        Self::Handoff,
        Self::StateUpdate,
        Self::MemoryWrite,
        Self::Retry,
        Self::UserMessage,
        Self::End,
        Self::Nudge,
    ];
}

/// What a report is recognised by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Card {
    pub(crate) id: u64,
    pub(crate) span: SpanId,
    pub(crate) parent: SpanId,
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    /// As [`tool_number`] has it; 0 where it names none.
    pub(crate) tool: u32,
    pub(crate) ids: [u64; 3],
    pub(crate) trace: TraceNumber,
    pub(crate) kind: Kind,
    /// Which of the `ids` are there, and the marks below them.
    pub(crate) marks: u8,
}

/// Places in [`Card::ids`], and their bits in [`Card::marks`].
pub(crate) const CALL_ID: usize = 0;
pub(crate) const CONTENT: usize = 1;
pub(crate) const QUESTION: usize = 2;
/// The same place on the card of a model call: who tells of it.
pub(crate) const WITNESS: usize = QUESTION;
/// Bits of [`Card::marks`]: the guard tells a result, or refused the call; the call failed; a result was recorded.
const RESULT: u8 = 1 << 3;
const REFUSED: u8 = 1 << 4;
const FAILED: u8 = 1 << 5;
const ANSWERED: u8 = 1 << 6;
/// The same bits on the card of what the guard said, which is none of these: it ended the run, or refused the call, or it would
/// have, and only observed.
const ENDED: u8 = RESULT;
const OBSERVED: u8 = FAILED;
/// It leaves out the tool or its arguments.
const WANTS_MORE: u8 = 1 << 7;

impl Card {
    /// The card of a report whose trace has a number already.
    pub(crate) fn of(event: &Event, trace: TraceNumber) -> Self {
        let mut card = Self {
            id: event.id,
            trace,
            span: event.span,
            parent: event.parent,
            start_ns: event.start_ns,
            end_ns: event.end_ns,
            tool: 0,
            ids: [0; 3],
            kind: kind(&event.body),
            marks: 0,
        };
        match &event.body {
            Body::ToolCall(call) | Body::Requested(call) => {
                if !call.tool.is_empty() {
                    card.tool = tool_number(&call.tool);
                }
                card.note(CALL_ID, call.call_id);
                card.note(CONTENT, call.input.value().map(|value| value.fingerprint));
                card.note(QUESTION, call.guarded.as_ref().map(|guarded| guarded.asked));
                let part = call.guarded.as_ref().map(|guarded| guarded.part);
                card.mark(RESULT, part == Some(Part::Result));
                let is_refused = matches!(part, Some(Part::Skipped(_) | Part::Aborted(_)));
                card.mark(REFUSED, is_refused);
                card.mark(FAILED, call.error.is_some());
                card.mark(ANSWERED, call.output.value().is_some());
                let lacks = call.tool.is_empty() || call.input == Recorded::NotRecorded;
                card.mark(WANTS_MORE, lacks && card.kind == Kind::Tool);
            }
            Body::ModelCall(model) => {
                card.note(CALL_ID, model.call_id);
                card.note(WITNESS, model.witness.map(|witness| witness.0));
                card.mark(FAILED, model.error.is_some());
                if let Answer::Text(words) = model.answer {
                    card.note(CONTENT, words);
                }
            }
            Body::Nudge(nudge) => {
                card.mark(REFUSED, nudge.answered.kind == VerdictKind::Skip);
                card.mark(ENDED, nudge.answered.kind == VerdictKind::Abort);
                card.mark(OBSERVED, nudge.answered.is_observed);
            }
            _ => {}
        }
        card
    }

    fn note(&mut self, place: usize, id: Option<u64>) {
        self.ids[place] = id.unwrap_or(0);
        self.mark(1 << place, id.is_some());
    }

    fn mark(&mut self, bit: u8, holds: bool) {
        self.marks |= if holds { bit } else { 0 };
    }

    fn id_at(&self, place: usize) -> Option<u64> {
        (self.marks & 1 << place != 0).then_some(self.ids[place])
    }

    /// The call's id.
    pub(crate) fn call_id(&self) -> Option<u64> {
        self.id_at(CALL_ID)
    }

    /// The fingerprint of a tool's arguments; of a model's answer, the hash of its words.
    pub(crate) fn content(&self) -> Option<u64> {
        self.id_at(CONTENT)
    }

    /// Where this report is the guard's: the question that it is about, 0 where nobody asked.
    pub(crate) fn question(&self) -> Option<u64> {
        self.id_at(QUESTION).filter(|_| self.kind != Kind::Model)
    }

    /// Who tells of a model call.
    pub(crate) fn witness(&self) -> Option<Witness> {
        let is_model = self.kind == Kind::Model;
        self.id_at(WITNESS).filter(|_| is_model).map(Witness)
    }

    /// The guard was told what the call brought.
    pub(crate) fn is_result(&self) -> bool {
        self.marks & RESULT != 0
    }

    /// What the guard answered, on the card of what it said.
    pub(crate) fn answered(&self) -> Answered {
        let kind = match self.marks & (REFUSED | ENDED) {
            0 => VerdictKind::Nudge,
            REFUSED => VerdictKind::Skip,
            _ => VerdictKind::Abort,
        };
        Answered {
            kind,
            is_observed: self.marks & OBSERVED != 0,
        }
    }

    /// It tells of a call that was made and came to a result.
    pub(crate) fn has_result(&self) -> bool {
        self.kind == Kind::Tool && self.marks & (FAILED | ANSWERED) == ANSWERED
    }

    /// It tells of a call of a tool that is over: it took time, or came to something.
    pub(crate) fn is_over(&self) -> bool {
        self.kind == Kind::Tool
            && (self.start_ns < self.end_ns || self.marks & (FAILED | ANSWERED) != 0)
    }

    /// It tells of a call that failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.kind != Kind::Nudge && self.marks & FAILED != 0
    }

    /// The guard kept the agent from making the call.
    pub(crate) fn is_refused(&self) -> bool {
        self.marks & REFUSED != 0
    }

    /// Whether what a model asked for may tell of a call what this report of it leaves out. Of a report that leaves nothing
    /// out, what was asked for changes nothing but the id by which later reports find it.
    pub(crate) fn wants_more(&self) -> bool {
        self.marks & WANTS_MORE != 0
    }

    /// Whether it tells what a tool answered to a call for whose id a place stands.
    pub(crate) fn is_answer_of_place(&self) -> bool {
        self.kind == Kind::Tool && self.tool == 0 && self.call_id().is_some_and(is_of_place)
    }

    /// Whether both name a tool, and the names are others that may end alike.
    pub(crate) fn may_end_alike(&self, other: &Self) -> bool {
        let differing = self.tool ^ other.tool;
        self.tool != 0 && other.tool != 0 && differing != 0 && differing & LAST_WORD == 0
    }

    /// Whether both have contents and these differ.
    pub(crate) fn differs_from(&self, other: &Self) -> bool {
        matches!((self.content(), other.content()), (Some(one), Some(other)) if one != other)
    }

    /// It was told without a span, as by the guard.
    pub(crate) fn is_without_span(&self) -> bool {
        !self.span.is_set() && self.trace == TraceNumber::NONE
    }

    /// Where the report stands in the run.
    pub(crate) fn place(&self) -> Place {
        Place::from_parts(self.kind, self.id, self.start_ns, self.end_ns)
    }
}

/// A tool's name without the server from which a client has it, `mcp__SERVER__TOOL`: the server's own spans leave it out.
pub(crate) fn bare_name(tool: &str) -> &str {
    let of_server = tool.strip_prefix("mcp__");
    let bare = of_server.and_then(|rest| rest.split_once("__"));
    bare.map_or(tool, |(_, name)| name)
}

/// Whether behind this sign a server's name for a tool may stand in a client's.
fn is_separator(sign: u8) -> bool {
    matches!(sign, b'_' | b'-' | b'.' | b'/' | b':')
}

/// Whether one tool's name is the end of another's, behind a separator: clients put the name of a server before the names of its
/// tools, `weather_search`, as they are told to.
pub(crate) fn is_end_of(end: &str, tool: &str) -> bool {
    let before = tool.strip_suffix(end).filter(|_| !end.is_empty());
    let before = before.map_or(&[][..], str::as_bytes);
    matches!(before, [_, .., last] if is_separator(*last))
}

/// The bits of a tool's number that tools have in common whose names end in the same word.
const LAST_WORD: u32 = 0xff;

/// What a tool is known by on cards, by its bare name: half a hash, which is enough among the tools of a run, and of which a
/// quarter is of the name's last word. Never 0.
pub(crate) fn tool_number(tool: &str) -> u32 {
    let name = bare_name(tool);
    let hash = text_hash(name);
    let last_word = match name.bytes().rposition(is_separator) {
        Some(place) => text_hash(&name[place + 1..]),
        None => hash,
    };
    let number = hash as u32 & !LAST_WORD | last_word as u32 & LAST_WORD;
    number.max(1)
}

/// Whether two reports may name one tool: alike, or one by its bare name, or not at all.
pub(crate) fn may_name_one_tool(one: &str, other: &str) -> bool {
    let bare = |name: &str, other: &str| name == bare_name(other);
    one == other || one.is_empty() || other.is_empty() || bare(one, other) || bare(other, one)
}

pub(crate) fn kind(body: &Body) -> Kind {
    match body {
        Body::ToolCall(_) => Kind::Tool,
        Body::Requested(_) => Kind::Requested,
        Body::ModelCall(_) => Kind::Model,
        Body::AgentSpan(_) => Kind::Agent,
        Body::Handoff(_) => Kind::Handoff,
        Body::StateUpdate => Kind::StateUpdate,
        Body::MemoryWrite => Kind::MemoryWrite,
        Body::Retry { .. } => Kind::Retry,
        Body::UserMessage => Kind::UserMessage,
        Body::RunEnd(_) => Kind::End,
        Body::Nudge(_) => Kind::Nudge,
    }
}
