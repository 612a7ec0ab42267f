//! The state of one run, and the step that is the only way to change it.
//!
//! *How order stops mattering.* A run keeps its newest reports in a window sorted by event time. What has left the
//! window is folded into `base`; `tip` is `base` with the window folded on top. A report that comes in order is appended
//! and folded into `tip` at once; one that comes out of order, or belongs to a call already there, is put into its place
//! and `tip` is folded again. Either way the work is bounded by [`WINDOW_EVENTS_MAX`], however long the run is, and any
//! order of arrival within the window gives the same state. A report older than all of the window, when something has
//! already left it, is counted as late and changes nothing.
//!
//! *Bounds.* Reports leave when there are too many or when they take too many bytes, the older half at a time, with all
//! that belongs to their calls.

pub(crate) mod announce;
mod folding;

use std::collections::VecDeque;

use super::bounded::RecentHashes;
use super::event::{Body, Event, Part, Text, TraceId};
use super::fold::totals::Notes;
use super::fold::{Fold, Packed};
use super::policy::Policy;
use super::warning::Change;
use super::window::Window;
use super::window::calls::Step;
use super::window::card::{Card, Kind};
use super::window::place::Place;
use crate::engine::hash::text_hash;

use announce::Published;
use folding::Near;

pub use super::window::WINDOW_EVENTS_MAX;

/// Reports whose identity is remembered to recognise repeats; beyond them the window's age does.
pub(crate) const RECENT_IDS_MAX: usize = 256;

/// Call ids remembered after their reports have left the window, so that a late second report is not a second call.
pub(crate) const FOLDED_CALLS_MAX: usize = 64;

/// Runs that may be on their way to others at a time, and whose absorption is remembered, so that it happens once.
pub(crate) const ABSORBED_MAX: usize = 256;

/// The same of two runs, of which one has absorbed the other with what that had absorbed.
const ABSORBED_KEPT_MAX: usize = 2 * ABSORBED_MAX;

/// A service that reported something of a run. Of several, the first in this order names the run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Service {
    /// When the first of what it reported began, in nanoseconds since 1970.
    pub since_ns: u64,
    /// Its name.
    pub name: Text,
}

impl Service {
    /// The service that reported these events.
    #[must_use]
    pub fn of(name: Text, events: &[Event]) -> Self {
        Self {
            since_ns: first_start_ns(events),
            name,
        }
    }

    /// The first of two, as far as there are any.
    #[must_use]
    pub fn first(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        one.into_iter().chain(other).min()
    }
}

/// When the first of these events began.
#[must_use]
pub fn first_start_ns(events: &[Event]) -> u64 {
    let starts = events.iter().map(|event| event.start_ns);
    starts.min().unwrap_or(u64::MAX)
}

/// What a run is told.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// Reports of this run, as they arrived together.
    Reports {
        /// When they arrived, milliseconds since 1970. Decides idleness only.
        at_ms: u64,
        /// The session, where it is named apart from the run.
        session_id: Option<Text>,
        /// The first of the services that sent them.
        service: Option<Service>,
        /// What happened.
        events: Vec<Event>,
    },
    /// The run has been quiet for the idle time.
    Idle {
        /// When that was found, milliseconds since 1970.
        at_ms: u64,
    },
    /// What was kept under another id turned out to belong to this run.
    Absorb(Box<RunState>),
}

/// The state of one run. Plain fields, so that the store can write them; nobody but [`step`] changes them. In the order of memory,
/// what each report needs first.
#[repr(C)]
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunState {
    /// The newest reports, in the order of [`Place`].
    pub(crate) window: Window,
    /// How many of them are the older half: those that were there when others left last or when the window was half full for
    /// the first time, and what came into its place among these.
    pub(crate) older: usize,
    /// The first place of the window that changed since `tip` was folded; never there between two steps.
    pub(crate) disturbed: Option<usize>,
    /// `base` with the window on top: derived, never stored, absent until it is needed.
    pub(crate) tip: Option<Box<Fold>>,
    /// Reports before this have left the window.
    pub(crate) base_until: Option<Place>,
    /// Identities of the newest reports, newest last.
    pub(crate) recent_ids: RecentHashes<RECENT_IDS_MAX>,
    /// Call ids that have left the window, newest last.
    pub(crate) folded_calls: RecentHashes<FOLDED_CALLS_MAX>,
    /// When it was last heard of, milliseconds since 1970.
    pub(crate) heard_ms: u64,
    pub(crate) closed: bool,
    /// The highest revision of what was announced and is not remembered.
    pub(crate) forgotten_revision: u32,
    pub(crate) published: VecDeque<Published>,
    pub(crate) session_id: Option<Text>,
    pub(crate) service: Option<Service>,
    pub(crate) id: Text,
    pub(crate) late: u64,
    /// What has left the window.
    pub(crate) base: Packed,
    /// `base` with the first reports of the window on top: derived, never stored.
    pub(crate) near: Option<Near>,
    /// Hashes of the ids of runs that were absorbed, also by those that were.
    pub(crate) absorbed: RecentHashes<ABSORBED_KEPT_MAX>,
}

/// What the id of a swarm begins with: a run in which the workers of a session are seen together, whatever their runs.
pub const SWARM: &str = "swarm:";

/// Whether a run is a swarm. One rule looks at it, `global_doom_loop`.
#[must_use]
pub fn is_swarm(run_id: &str) -> bool {
    run_id.starts_with(SWARM)
}

/// Advances a run by one input, and says what that changed.
pub fn step(state: &mut RunState, input: &Input, policy: &Policy) -> Vec<Change> {
    match input {
        Input::Reports {
            at_ms,
            session_id,
            service,
            events,
        } => {
            state.heard_ms = state.heard_ms.max(*at_ms);
            state.label(session_id.as_ref(), service.as_ref());
            state.take(events, policy);
        }
        Input::Idle { at_ms } => {
            state.closed = true;
            state.heard_ms = state.heard_ms.max(*at_ms);
        }
        Input::Absorb(other) => state.absorb(other, policy),
    }
    state.ensure_tip(policy);
    state.announce()
}

impl RunState {
    /// The state of a run of which nothing is known yet. The id goes into the ids of its warnings.
    #[must_use]
    pub fn new(run_id: Text) -> Self {
        Self::with_notes(run_id, Notes::default())
    }

    /// A run of which nothing is known any more, which it says of itself.
    #[must_use]
    pub fn begun_anew(run_id: Text) -> Self {
        let begun_anew = Notes {
            begun_anew: true,
            ..Notes::default()
        };
        Self::with_notes(run_id, begun_anew)
    }

    fn with_notes(run_id: Text, notes: Notes) -> Self {
        let base = Fold {
            is_swarm: is_swarm(&run_id),
            notes,
            ..Fold::default()
        };
        Self {
            id: run_id,
            base: Packed::of(&base),
            ..Self::default()
        }
    }

    /// The run's id.
    #[must_use]
    pub fn id(&self) -> &Text {
        &self.id
    }

    /// Reads a little of all that the next step looks at, so that the processor has it near by then; the number means nothing.
    /// A run's turn comes seldom, and a step alone waits for each piece before it asks for the next: of several runs
    /// brought near before the first of them is stepped, the pieces come all at a time.
    #[must_use]
    pub fn bring_near(&self) -> u64 {
        let tip = self.tip.as_deref().map_or(0, Fold::bring_near);
        let ids = self.recent_ids.bring_near() ^ self.folded_calls.bring_near();
        let service = self.service.as_ref();
        let ids = ids ^ self.late ^ service.map_or(0, |service| service.since_ns);
        self.heard_ms ^ self.published.len() as u64 ^ self.window.bring_near() ^ ids ^ tip
    }

    /// The trace after which it is named. That of a conversation may be as many digits; one of its reports says which it is.
    #[must_use]
    pub fn trace(&self) -> Option<TraceId> {
        TraceId::of_run(&self.id).filter(|trace| self.window.has_trace(*trace))
    }

    /// Whether a report of its window names a trace.
    #[must_use]
    pub fn has_traces(&self) -> bool {
        self.window.has_traces()
    }

    /// The service that reports it.
    #[must_use]
    pub fn service(&self) -> Option<&Text> {
        self.service.as_ref().map(|service| &service.name)
    }

    /// The session, where it was named apart from the run.
    #[must_use]
    pub fn session_id(&self) -> Option<&Text> {
        self.session_id.as_ref()
    }

    /// When it was last heard of, milliseconds since 1970.
    #[must_use]
    pub fn heard_ms(&self) -> u64 {
        self.heard_ms
    }

    /// Reports that were older than the window and changed nothing.
    #[must_use]
    pub fn late_events(&self) -> u64 {
        self.late
    }

    /// Whether it was closed after the idle time and nothing has come since.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    fn label(&mut self, session_id: Option<&Text>, service: Option<&Service>) {
        // A run is often named after its session, which says nothing more of it then.
        let apart = session_id.filter(|session_id| **session_id != self.id);
        if self.session_id.is_none() {
            self.session_id = apart.cloned();
        }
        let known = self.service.as_ref();
        if service.is_some_and(|service| known.is_none_or(|known| service < known)) {
            self.service = service.cloned();
        }
    }

    fn take<'a>(
        &mut self,
        events: impl IntoIterator<Item = &'a Event, IntoIter: Clone>,
        policy: &Policy,
    ) {
        self.ensure_tip(policy);
        let events = events.into_iter();
        if events.clone().is_sorted_by_key(Place::of) {
            return events.for_each(|event| self.take_one(event, policy));
        }
        // Spans come in the order in which they ended. Sorted, no batch is too large for the window.
        let mut events: Vec<_> = events.collect();
        events.sort_by_cached_key(|event| Place::of(event));
        for event in events {
            self.take_one(event, policy);
        }
    }

    fn take_one(&mut self, event: &Event, policy: &Policy) {
        self.take_in(event, policy);
        self.make_room(policy);
    }

    /// Takes a report, of which there may be too many then.
    fn take_in(&mut self, event: &Event, policy: &Policy) {
        if self.recent_ids.contains(event.id) || self.is_here(event.id) {
            return self.tell_again(event);
        }
        self.closed = false;
        if self.place(event, policy) {
            self.recent_ids.push(event.id);
        }
    }

    /// Whether a report is in the window, of which those that came late or with another run may have pushed the id out.
    fn is_here(&self, id: u64) -> bool {
        let may_be_out = self.late > 0 || self.absorbed.iter().next().is_some();
        may_be_out && self.window.cards().iter().any(|card| card.id == id)
    }

    /// A report that is known already. A span and a log record may tell of one event under one identity but with times of
    /// their own: the earlier one stands, whichever came first.
    fn tell_again(&mut self, event: &Event) {
        let place = Place::of(event);
        let mut cards = self.window.cards().iter();
        let known = cards.position(|other| other.id == event.id && place < other.place());
        if let Some(known) = known {
            self.remove_all(&[known]);
            self.near = None;
            self.disturb(known);
            let card = self.window.card(event);
            self.insert(&card, event);
        }
    }

    /// Puts a report where it belongs, and says whether it is to be known again: not where nobody misses that it came too late, for
    /// it would push out the identities of those that count.
    fn place(&mut self, event: &Event, policy: &Policy) -> bool {
        let card = self.window.card(event);
        let place = card.place();
        if self.is_of_call_gone(&card) || self.base_until.is_some_and(|until| place <= until) {
            let is_missed = !self.may_come_last(&card);
            self.late += u64::from(is_missed);
            return is_missed;
        }
        if self.window.ends_before(place) && !self.window.may_tell_more(&card) {
            if is_question(event) {
                self.keep_before_question();
            }
            if let (None, Some(tip)) = (self.disturbed, &mut self.tip) {
                tip.apply(&Step::first(0, event), policy);
            }
            self.window.push(&card, event);
        } else {
            self.insert(&card, event);
        }
        true
    }

    /// Whether a report is not missed when it comes too late: the outermost agent starts before everything and is reported last,
    /// with what the user had said; and histories say again what came of a call.
    fn may_come_last(&self, card: &Card) -> bool {
        match card.kind {
            Kind::Agent => true,
            Kind::Tool => card.tool == 0,
            Kind::UserMessage => {
                let tip = self.tip.as_deref();
                tip.is_some_and(|tip| card.start_ns <= tip.totals.first_ns)
            }
            _ => false,
        }
    }

    /// Whether a report is of a call that has left the window, by the call's id. Ids that are counted anew for each answer come
    /// again with every call: one in the window may have the id as well, and a span of its own that began after what has left is
    /// of a new call. A record may come long after its call.
    fn is_of_call_gone(&self, card: &Card) -> bool {
        let has_come_again = |id| {
            let is_span = card.span.is_set() && card.start_ns < card.end_ns;
            let begins_after = || self.base_until.is_some_and(|until| card.place() > until);
            let mut cards = self.window.cards().iter();
            (is_span && begins_after()) || cards.any(|other| other.call_id() == Some(id))
        };
        call_id(card).is_some_and(|id| self.folded_calls.contains(id) && !has_come_again(id))
    }

    /// Puts a report into its place among the others.
    fn insert(&mut self, card: &Card, event: &Event) {
        let place = self.window.insert(card, event);
        self.older += usize::from(place < self.older);
        self.disturb(place);
        self.near.take_if(|near| place < near.places);
    }

    fn remove_all(&mut self, places: &[usize]) {
        self.older -= places.iter().filter(|place| **place < self.older).count();
        self.window.remove_all(places);
    }

    fn disturb(&mut self, place: usize) {
        self.disturbed = Some(self.disturbed.map_or(place, |known| known.min(place)));
    }

    /// Takes in a run that turned out to be this one. What it had let go is known here as it was there: where nothing has left this
    /// run's window, all of that; else its sums, for the order of its events is lost, and which reports they were. So it is with
    /// those that it has still, and that are older than what has left here.
    fn absorb(&mut self, other: &Self, policy: &Policy) {
        self.heard_ms = self.heard_ms.max(other.heard_ms);
        self.label(other.session_id.as_ref(), other.service.as_ref());
        let name = text_hash(&other.id);
        let is_new = !self.absorbed.contains(name);
        let shortened;
        let other = match self.base_until {
            Some(until) if is_new => {
                shortened = other.clone().let_go_until(until, policy);
                &shortened
            }
            _ => other,
        };
        if is_new {
            self.note_absorbed(other);
            self.absorbed.push(name);
            self.base = self.base_with(other);
            self.late += other.late;
            self.tip = None;
            self.near = None;
        }
        // All of them before any leaves: else those that follow would come too late.
        for (_, event) in &other.window.unpack_all() {
            self.take_in(event, policy);
        }
        self.make_room(policy);
        self.base_until = self.base_until.max(other.base_until);
        for id in other.recent_ids.iter() {
            if !self.recent_ids.contains(id) {
                self.recent_ids.push(id);
            }
        }
        for call in other.folded_calls.iter() {
            if !self.folded_calls.contains(call) {
                self.folded_calls.push(call);
            }
        }
    }

    /// Notes what another run had absorbed: with its base, that is here. Of each, the newest may still be on their way.
    fn note_absorbed(&mut self, other: &Self) {
        let newest = |absorbed: &RecentHashes<ABSORBED_KEPT_MAX>| {
            let all: Vec<u64> = absorbed.iter().collect();
            all[all.len().saturating_sub(ABSORBED_MAX)..].to_vec()
        };
        let mut others = newest(&other.absorbed);
        others.retain(|hash| !self.absorbed.contains(*hash));
        if !others.is_empty() {
            others.extend(newest(&self.absorbed));
            self.absorbed = others.into_iter().collect();
        }
    }

    /// The base with that of another run.
    fn base_with(&self, other: &Self) -> Packed {
        let mut base = self.base.unpack();
        let mut others = other.base.unpack();
        if self.base_until.is_none() {
            others.is_swarm = base.is_swarm;
            others.notes.begun_anew |= base.notes.begun_anew;
            base = others;
        } else {
            base.absorb(&others);
        }
        Packed::of(&base)
    }
}

/// Whether it tells that an agent asked the guard, and not yet what came of it.
fn is_question(event: &Event) -> bool {
    let Body::ToolCall(call) = &event.body else {
        return false;
    };
    let guarded = call.guarded.as_ref();
    guarded.is_some_and(|guarded| guarded.part == Part::Question)
}

fn call_id(card: &Card) -> Option<u64> {
    card.call_id().filter(|_| card.kind != Kind::Requested)
}
