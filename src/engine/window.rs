//! The newest reports of a run, in the order in which things happened.
//!
//! A report is kept as bytes ([`packed`]), with a [`Card`] beside it and its *sign*: a hash of what it is recognised by. The
//! sample of a call's arguments lies apart, where what is known of the newest calls finds the same one. A report that comes in
//! order is compared with the signs, which lie in a few cache lines, and seldom with cards. Nothing is unpacked before
//! reports have to be folded again, or leave.

pub(super) mod calls;
pub(crate) mod card;
mod choice;
pub(super) mod join;
pub(super) mod kin;
pub(crate) mod packed;
pub(crate) mod place;
pub(super) mod requested;
pub(super) mod spoken;
pub(super) mod traces;

use self::card::{Card, Kind};
use self::packed::{Reader, Sample};
use self::place::Place;
use self::traces::{REPORTS_MAX, TraceNumber, Traces};
use super::event::{Event, TraceId, is_of_place};
use super::hash::mix;

/// Most reports that a run keeps to put late ones into their place: as many as the agents of a run send in some seconds, which
/// is how long exporters hold spans back.
pub const WINDOW_EVENTS_MAX: usize = 64;

/// Most bytes that they take, without what has a fixed length: more than that many with names and arguments of usual length,
/// fewer where these are long.
const WINDOW_BYTES_MAX: usize = 13 * 1024;

/// For how many more reports room is made at once at least, and for how many bytes more, without their cards and samples; and
/// for what part more where there are many.
const REPORTS_MORE: usize = 4;
const BYTES_MORE: usize = 256;
const GROWTH: usize = 8;

/// More than most reports take of these.
const REPORT_BYTES: usize = 256;

/// The newest reports, in the order of [`Place`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Window {
    cards: Vec<Card>,
    traces: Traces,
    /// The sign of each.
    signs: Vec<u32>,
    /// Where the rest of each lies.
    spots: Vec<Spot>,
    /// The rest of each, in the order of arrival.
    bytes: Vec<u8>,
    /// What all samples take.
    sample_bytes: usize,
}

/// Where a report is, but for its card.
#[derive(Clone, Debug)]
struct Spot {
    start: u32,
    end: u32,
    sample: Option<Sample>,
}

impl Spot {
    fn sample_bytes(&self) -> usize {
        self.sample.as_ref().map_or(0, |sample| sample.text.len())
    }
}

/// The sign of a report that is never one of several.
const ALONE: u32 = 0;
/// The sign of a tool call without a call id: it may belong to any other call of its tool.
const TOOL_WITHOUT_ID: u32 = 1;
/// The sign of a model call without a call id: it may lie around another, or within it.
const MODEL_WITHOUT_ID: u32 = 2;
/// Set in the signs of tools that a model asked for, and in no other.
const ASKED: u32 = 1 << 31;

impl Window {
    pub(crate) fn len(&self) -> usize {
        self.cards.len()
    }

    /// Whether some must leave.
    pub(crate) fn is_full(&self) -> bool {
        self.len() >= WINDOW_EVENTS_MAX || self.taken_bytes() >= WINDOW_BYTES_MAX
    }

    /// Whether half as many are here as may be.
    pub(crate) fn is_half_full(&self) -> bool {
        self.len() >= WINDOW_EVENTS_MAX / 2 || self.taken_bytes() >= WINDOW_BYTES_MAX / 2
    }

    fn taken_bytes(&self) -> usize {
        self.bytes.len() + self.sample_bytes
    }

    /// The card of a report that is about to come.
    pub(crate) fn card(&mut self, event: &Event) -> Card {
        Card::of(event, self.traces.number(event.trace, &self.cards))
    }

    pub(crate) fn cards(&self) -> &[Card] {
        &self.cards
    }

    /// The reports at these places, each with its place.
    pub(crate) fn unpack(&self, places: impl Iterator<Item = usize>) -> Vec<(usize, Event)> {
        let mut reader = Reader::new(&[]);
        let unpacked = places.map(|place| (place, self.read(place, &mut reader)));
        unpacked.collect()
    }

    /// All reports.
    pub(crate) fn unpack_all(&self) -> Vec<(usize, Event)> {
        self.unpack(0..self.len())
    }

    /// Whether a report names a trace.
    pub(crate) fn has_traces(&self) -> bool {
        let mut cards = self.cards.iter();
        cards.any(|card| card.trace != TraceNumber::NONE)
    }

    /// Whether a report is of this trace.
    pub(crate) fn has_trace(&self, trace: TraceId) -> bool {
        let mut cards = self.cards.iter();
        cards.any(|card| self.traces.get(card.trace) == trace)
    }

    /// The report at a place.
    pub(crate) fn event(&self, place: usize) -> Event {
        self.read(place, &mut Reader::new(&[]))
    }

    fn read<'a>(&'a self, place: usize, reader: &mut Reader<'a>) -> Event {
        let (rest, sample) = self.rest(place);
        reader.turn_to(rest, sample);
        let card = &self.cards[place];
        let event = reader.event(card, self.traces.get(card.trace));
        event.expect("what was packed here can be unpacked")
    }

    /// What is known of a report besides its card.
    fn rest(&self, place: usize) -> (&[u8], Option<&Sample>) {
        let Spot { start, end, sample } = &self.spots[place];
        (&self.bytes[*start as usize..*end as usize], sample.as_ref())
    }

    /// All that is known of a report, whatever the number of its trace.
    fn whole(&self, place: usize) -> (Card, TraceId, (&[u8], Option<&Sample>)) {
        let card = self.cards[place];
        let trace = self.traces.get(card.trace);
        let alone = Card {
            trace: TraceNumber::NONE,
            ..card
        };
        (alone, trace, self.rest(place))
    }

    /// Whether a report comes after all that are here.
    pub(crate) fn ends_before(&self, place: Place) -> bool {
        self.cards.last().is_none_or(|last| last.place() < place)
    }

    /// Whether a report may belong to a call of which a report is here. Never says no where [`steps`](calls::steps)
    /// would put them together.
    pub(crate) fn may_tell_more(&self, card: &Card) -> bool {
        self.may_join(self.len(), sign(card), card)
    }

    /// The same for the report at a place and those before it.
    pub(crate) fn may_belong(&self, place: usize) -> bool {
        self.may_join(place, self.signs[place], &self.cards[place])
    }

    /// Whether any of the reports from a place on may belong to a call of one before it. What a model asked for before it may
    /// be taken by a call after it, where it is among these.
    pub(crate) fn is_entwined_at(&self, place: usize, asked: &[usize]) -> bool {
        (place..self.len()).any(|later| {
            let (sign, card) = (self.signs[later], &self.cards[later]);
            !is_apart(sign) && self.may_be_of_one(place, sign, card, asked)
        })
    }

    /// Whether a model asked for tools in one of the first reports.
    pub(crate) fn has_asked(&self, before: usize) -> bool {
        self.signs[..before].iter().any(|sign| sign & ASKED != 0)
    }

    fn may_join(&self, before: usize, sign: u32, card: &Card) -> bool {
        !is_apart(sign)
            && (self.may_be_of_one(before, sign, card, &[])
                || (card.wants_more() && self.has_asked(before)))
    }

    /// Whether a report and those before it may belong together. Most are seen to be strangers in one walk over the signs.
    #[allow(
        clippy::needless_bitwise_bool,
        reason = "many signs are compared at a time"
    )]
    fn may_be_of_one(&self, before: usize, sign: u32, card: &Card, asked: &[usize]) -> bool {
        let without_id = without_id(card.kind);
        let any = |any, other: &u32| any | (other & !ASKED == sign) | (*other == without_id);
        let is_known = sign == without_id || self.signs[..before].iter().fold(false, any);
        (is_known
            && (self.may_share(before, sign, card) || self.answers(before, sign, card, asked)))
            || (card.kind == Kind::Model && self.is_given_answer(before, card))
    }

    /// Whether a call of a model is given an answer before it that is known by its place: which request it belongs to, the span
    /// around the model's says.
    fn is_given_answer(&self, before: usize, card: &Card) -> bool {
        self.has_asked(before)
            && self.cards[..before].iter().any(|other| {
                other.is_answer_of_place() && card.span.is_set() && other.parent == card.span
            })
    }

    /// Whether a report and one before it may tell of one call.
    fn may_share(&self, before: usize, sign: u32, card: &Card) -> bool {
        let others = &self.signs[..before];
        let without_id = without_id(card.kind);
        if sign != without_id && others.contains(&sign) {
            return true;
        }
        (sign == without_id || others.contains(&without_id))
            && self.cards[..before]
                .iter()
                .any(|other| kin::tell_of_one_call(other, card))
    }

    /// Whether a report may belong to a call that knows its id only from the model's answer, which is none of these.
    fn answers(&self, before: usize, sign: u32, card: &Card, asked: &[usize]) -> bool {
        let others = &self.signs[..before];
        let wanted = sign | ASKED;
        let is_taken = |(place, other): (usize, &u32)| *other == wanted && !asked.contains(&place);
        others.contains(&wanted)
            && (others.contains(&TOOL_WITHOUT_ID) || card.call_id().is_some_and(is_of_place))
            && others.iter().enumerate().any(is_taken)
    }

    /// As [`RunState::bring_near`](super::run::RunState::bring_near): the signs, the newest report, and where the next one
    /// goes.
    pub(crate) fn bring_near(&self) -> u64 {
        let newest = self.cards.last().map_or(0, |card| {
            card.start_ns ^ u64::from(self.traces.get(card.trace).0[0])
        });
        let end = self.bytes.last().copied().unwrap_or(0);
        let spot = self.spots.last().map_or(0, |spot| spot.end);
        let signs = self
            .signs
            .iter()
            .step_by(16)
            .fold(0, |all, sign| all ^ sign);
        newest ^ u64::from(signs ^ spot) ^ u64::from(end)
    }

    fn take(&mut self, event: &Event) {
        let card = self.card(event);
        self.push(&card, event);
    }

    /// Puts a report at the end.
    pub(crate) fn push(&mut self, card: &Card, event: &Event) {
        self.insert_at(self.len(), card, event);
    }

    /// Puts a report into its place among the others; says which that is.
    pub(crate) fn insert(&mut self, card: &Card, event: &Event) -> usize {
        let wanted = card.place();
        let place = self.cards.partition_point(|other| other.place() < wanted);
        self.insert_at(place, card, event);
        place
    }

    fn insert_at(&mut self, place: usize, card: &Card, event: &Event) {
        self.make_room();
        let start = self.bytes.len() as u32;
        let sample = packed::pack(event, &mut self.bytes);
        let end = self.bytes.len() as u32;
        let spot = Spot { start, end, sample };
        self.sample_bytes += spot.sample_bytes();
        self.cards.insert(place, *card);
        self.signs.insert(place, sign(card));
        self.spots.insert(place, spot);
    }

    /// Grows by a little at a time: only at its beginning does a run grow, and there are many runs.
    fn make_room(&mut self) {
        if self.len() == self.cards.capacity() {
            let more = REPORTS_MORE.max(self.len() / GROWTH);
            self.cards.reserve_exact(more);
            self.signs.reserve_exact(more);
            self.spots.reserve_exact(more);
        }
        if self.bytes.capacity() - self.bytes.len() < REPORT_BYTES {
            let more = self.bytes.len() / GROWTH;
            self.bytes.reserve_exact(BYTES_MORE + more);
        }
    }

    /// Lets the first reports go.
    pub(crate) fn remove_first(&mut self, count: usize) {
        if !self.spots.is_sorted_by_key(|spot| spot.start) {
            // They lie in the order of arrival, which is another one here.
            return self.remove_all(&(0..count).collect::<Vec<_>>());
        }
        self.cards.drain(..count);
        self.signs.drain(..count);
        for spot in self.spots.drain(..count) {
            self.sample_bytes -= spot.sample_bytes();
        }
        let first = self.spots.first();
        let gone = first.map_or(self.bytes.len() as u32, |spot| spot.start);
        self.bytes.drain(..gone as usize);
        for spot in &mut self.spots {
            spot.start -= gone;
            spot.end -= gone;
        }
    }

    /// Lets the reports at these places go.
    pub(crate) fn remove_all(&mut self, places: &[usize]) {
        let mut stay = Self {
            cards: Vec::with_capacity(self.cards.capacity()),
            traces: std::mem::take(&mut self.traces),
            signs: Vec::with_capacity(self.cards.capacity()),
            spots: Vec::with_capacity(self.cards.capacity()),
            bytes: Vec::with_capacity(self.bytes.capacity()),
            sample_bytes: 0,
        };
        for place in (0..self.len()).filter(|place| !places.contains(place)) {
            let (rest, sample) = self.rest(place);
            stay.append(self.cards[place], self.signs[place], rest, sample.cloned());
        }
        *self = stay;
    }

    fn append(&mut self, card: Card, sign: u32, rest: &[u8], sample: Option<Sample>) {
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(rest);
        let end = self.bytes.len() as u32;
        let spot = Spot { start, end, sample };
        self.sample_bytes += spot.sample_bytes();
        self.cards.push(card);
        self.signs.push(sign);
        self.spots.push(spot);
    }

    /// The window as it lies on disk.
    pub(crate) fn packed(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.taken_bytes() + self.len() * size_of::<Card>());
        let mut before = TraceId::default();
        for (place, card) in self.cards.iter().enumerate() {
            let trace = self.traces.get(card.trace);
            packed::pack_card(card, Some(trace).filter(|trace| *trace != before), &mut out);
            let (rest, sample) = self.rest(place);
            packed::put_whole(rest, sample, &mut out);
            before = trace;
        }
        out
    }

    /// The window back from its bytes; nothing where these are no window.
    pub(crate) fn of_packed(bytes: &[u8]) -> Option<Self> {
        let mut window = Self::default();
        let mut reader = Reader::new(bytes);
        let mut before = TraceId::default();
        while !reader.is_at_end() {
            if window.len() == REPORTS_MAX {
                return None;
            }
            let (card, trace) = reader.card(before).ok()?;
            let event = reader.event(&card, trace).ok()?;
            before = trace;
            window.take(&event);
        }
        Some(window)
    }
}

impl PartialEq for Window {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len()
            && (0..self.len()).all(|place| self.whole(place) == other.whole(place))
    }
}

#[cfg(test)]
impl FromIterator<Event> for Window {
    fn from_iter<I: IntoIterator<Item = Event>>(events: I) -> Self {
        let mut window = Self::default();
        for event in events {
            window.take(&event);
        }
        window
    }
}

/// Whether a report with this sign never belongs to one before it.
fn is_apart(sign: u32) -> bool {
    sign == ALONE || sign & ASKED != 0
}

/// The sign of a call of this kind without a call id.
fn without_id(kind: Kind) -> u32 {
    match kind {
        Kind::Model => MODEL_WITHOUT_ID,
        _ => TOOL_WITHOUT_ID,
    }
}

fn sign(card: &Card) -> u32 {
    let of_id = |id, kind| mix(id, kind) as u32 & !ASKED;
    match card.kind {
        Kind::Tool => card
            .call_id()
            .map_or(without_id(card.kind), |id| of_id(id, 1)),
        Kind::Requested => card.call_id().map_or(ALONE, |id| of_id(id, 1)) | ASKED,
        Kind::Model => card
            .call_id()
            .map_or(without_id(card.kind), |id| of_id(id, 2)),
        _ => ALONE,
    }
}
