//! Which folds a run has of its reports, and when a report comes into which.
//!
//! `base` is of what has left the window, `near` of that and the first reports of the window, `tip` of all. Only `base` is
//! stored: the others are derived, and the same state comes out whether they were there or not.
//!
//! Where reports come in order, `near` holds those that leave next, and takes the place of `base` when they do: no report is
//! folded twice. Where calls are told of twice (by two spans, or by the guard and a span), the second report comes soon after
//! the first: then `near` holds what lies before the newest such call, and what comes into its place behind that is folded on
//! top of it. A question of the guard is such a call from the start.

use super::{RunState, WINDOW_EVENTS_MAX, call_id};
use crate::engine::event::{Body, is_of_place};
use crate::engine::fold::{Fold, Packed};
use crate::engine::policy::Policy;
use crate::engine::window::Window;
use crate::engine::window::calls::{self, Step};
use crate::engine::window::place::Place;

/// Newest reports among which a question whose answer is still to come is kept in front of what is folded again.
const OPEN_QUESTION_REPORTS: usize = 16;

/// Most tools asked for that stay in the window, beyond their time, with the calls that came of them.
const ASKED_KEPT_MAX: usize = WINDOW_EVENTS_MAX / 8;

/// A fold of the first reports of the window, to which none of the others belongs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Near {
    /// How many reports it holds.
    pub(super) places: usize,
    /// Of these, what a model asked for and none of their calls has taken.
    asked: Vec<usize>,
    fold: Held,
}

/// A fold beside `base` and `tip`.
#[derive(Clone, Debug, PartialEq)]
enum Held {
    /// Reports are probably folded on top of it soon.
    Open(Box<Fold>),
    /// It probably takes the place of `base` as it is.
    Packed(Packed),
}

impl RunState {
    /// Lets reports go while there are too many.
    pub(super) fn make_room(&mut self, policy: &Policy) {
        if self.older == 0 && self.window.is_half_full() {
            self.older = self.window.len();
            self.keep_near();
        }
        while self.window.is_full() {
            self.leave(policy);
        }
    }

    /// Lets the older half of the window go into the base.
    fn leave(&mut self, policy: &Policy) {
        let length = self.window.len();
        let is_about_half = (length / 4..=length - length / 4).contains(&self.older);
        let half = if is_about_half {
            self.older
        } else {
            length / 2
        };
        let leaving = half.max(1);
        if self.window.has_asked(leaving) || self.window.is_entwined_at(leaving, &[]) {
            let gone = self.fold_entwined(leaving, policy);
            self.note_gone(&gone);
            self.remove_all(&gone);
        } else {
            self.fold_first(leaving, policy);
            self.note_gone(&(0..leaving).collect::<Vec<_>>());
            self.window.remove_first(leaving);
        }
        self.older = self.window.len();
    }

    /// The run when all reports up to a place have gone into the base.
    pub(super) fn let_go_until(mut self, until: Place, policy: &Policy) -> Self {
        let cards = self.window.cards().iter();
        let leaving = cards.take_while(|card| card.place() <= until).count();
        if leaving > 0 {
            let gone = self.fold_entwined(leaving, policy);
            self.note_gone(&gone);
            self.remove_all(&gone);
        }
        self
    }

    /// Notes that the reports at these places leave, by the ids of their calls; each once, or one that comes again with every call
    /// would push out the others.
    fn note_gone(&mut self, gone: &[usize]) {
        for place in gone {
            let id = call_id(&self.window.cards()[*place]);
            let is_new = |id: &u64| !is_of_place(*id) && !self.folded_calls.contains(*id);
            if let Some(id) = id.filter(is_new) {
                self.folded_calls.push(id);
            }
        }
        let before = |place: usize| place - gone.iter().filter(|other| **other < place).count();
        self.disturbed = self.disturbed.map(before);
        self.near = self.near.take().and_then(|near| near.without(gone));
    }

    /// Folds the first reports into the base, to which none of the others belongs.
    fn fold_first(&mut self, leaving: usize, policy: &Policy) {
        let until = self.window.cards()[leaving - 1].place();
        self.base_until = self.base_until.max(Some(until));
        let ready = self.near.take_if(|near| near.places == leaving);
        self.base = if let Some(near) = ready {
            near.fold.packed()
        } else {
            let mut base = self.base.unpack();
            let reports = self.window.unpack(0..leaving);
            for step in &calls::steps(&self.window, &reports) {
                base.apply(step, policy);
            }
            Packed::of(&base)
        };
        // Where what stays is in order, the same can be done with that.
        self.keep_near();
    }

    /// Keeps the fold of all reports of the window, where they are in order: it is that of what leaves next.
    fn keep_near(&mut self) {
        if self.near.is_none()
            && self.is_in_order()
            && let Some(tip) = &self.tip
        {
            let fold = Held::Packed(Packed::of(tip));
            self.near = Some(Near::of_all(&self.window, fold));
        }
    }

    /// Keeps the fold of all reports of the window before a question: what came of the call will be put into its place soon.
    pub(super) fn keep_before_question(&mut self) {
        if self.window.len() > 0
            && self.is_in_order()
            && let Some(tip) = &self.tip
        {
            let mut fold = match self.near.take().map(|near| near.fold) {
                Some(Held::Open(memory)) => memory,
                _ => Box::default(),
            };
            fold.clone_from(tip);
            self.near = Some(Near::of_all(&self.window, Held::Open(fold)));
        }
    }

    fn is_in_order(&self) -> bool {
        self.disturbed.is_none() && !self.window.has_asked(self.window.len())
    }

    /// Folds the first reports into the base, with all that belongs to their calls; says which reports have gone with that.
    fn fold_entwined(&mut self, leaving: usize, policy: &Policy) -> Vec<usize> {
        let mut base = self.base.unpack();
        let mut gone = Vec::with_capacity(leaving);
        let reports = self.window.unpack_all();
        for step in &calls::steps(&self.window, &reports) {
            let first = step.first_place();
            if first < leaving {
                base.apply(step, policy);
                let until = self.window.cards()[first].place();
                self.base_until = self.base_until.max(Some(until));
                gone.extend(step.places());
            }
        }
        self.base = Packed::of(&base);
        // What was asked for stays with a call that stays, but not so much of it that nothing would ever leave.
        let staying: Vec<usize> = (0..leaving).filter(|place| !gone.contains(place)).collect();
        gone.extend(staying.iter().rev().skip(ASKED_KEPT_MAX.min(leaving / 2)));
        gone
    }

    /// What the run was before the report at a place of its window, as far as judging goes. What came later is in it where its
    /// place is before that.
    pub(in crate::engine) fn as_before(&self, place: usize, policy: &Policy) -> Self {
        let mut before = Self {
            id: self.id.clone(),
            window: self.window.clone(),
            base: self.base.clone(),
            ..Self::default()
        };
        let later: Vec<_> = (place..self.window.len()).collect();
        before.window.remove_all(&later);
        before.ensure_tip(policy);
        before
    }

    pub(in crate::engine) fn ensure_tip(&mut self, policy: &Policy) {
        match (&self.tip, self.disturbed) {
            (Some(_), None) => {}
            (Some(_), Some(place)) => self.fold_again(place, policy),
            (None, _) => self.tip = Some(Box::new(self.fold_window(policy))),
        }
        self.disturbed = None;
    }

    pub(in crate::engine) fn fold_window(&self, policy: &Policy) -> Fold {
        let mut fold = self.base.unpack();
        let reports = self.window.unpack_all();
        for step in calls::steps(&self.window, &reports) {
            fold.apply(&step, policy);
        }
        fold
    }

    /// Folds again what has changed from a place of the window on, and keeps the fold of what lies before that.
    fn fold_again(&mut self, disturbed: usize, policy: &Policy) {
        let is_apart = |near: &Near| !self.window.is_entwined_at(near.places, &near.asked);
        let near = self.near.take().filter(is_apart);
        let from = near.unwrap_or_else(|| Near {
            places: 0,
            asked: Vec::new(),
            fold: Held::Packed(self.base.clone()),
        });
        let places = from.asked.iter().copied();
        let reports = self
            .window
            .unpack(places.chain(from.places..self.window.len()));
        let steps = calls::steps(&self.window, &reports);
        let places = self.quiet_places(&steps, disturbed).max(from.places);
        let mut fold = from.fold.open();
        let is_before = |step: &&Step<'_>| step.first_place() < places;
        for step in steps.iter().filter(is_before) {
            fold.apply(step, policy);
        }
        let mut tip = self.tip.take().unwrap_or_default();
        tip.clone_from(&fold);
        for step in steps.iter().filter(|step| !is_before(step)) {
            tip.apply(step, policy);
        }
        self.tip = Some(tip);
        let asked = asked_before(&steps, places);
        self.near = Some(Near {
            places,
            asked,
            fold: Held::Open(fold),
        })
        .filter(|_| places > 0);
    }

    /// How many of the first reports will probably not be disturbed soon: those before the calls from a place on, and before a
    /// question whose answer is still to come; and to which none of the others belongs.
    fn quiet_places(&self, steps: &[Step<'_>], disturbed: usize) -> usize {
        let newest = self.window.len().saturating_sub(OPEN_QUESTION_REPORTS);
        let open = steps.iter().filter(|step| step.is_open());
        let open = open.map(Step::first_place).filter(|place| *place >= newest);
        let mut quiet = open.fold(disturbed, usize::min);
        loop {
            let reaches = |step: &&Step<'_>| step.reports().any(|place| place >= quiet);
            let firsts = steps.iter().filter(reaches).map(Step::first_place);
            let first = firsts.fold(quiet, usize::min);
            if first == quiet {
                return quiet;
            }
            quiet = first;
        }
    }
}

impl Held {
    fn open(self) -> Box<Fold> {
        match self {
            Self::Open(fold) => fold,
            Self::Packed(fold) => Box::new(fold.unpack()),
        }
    }

    fn packed(self) -> Packed {
        match self {
            Self::Open(fold) => Packed::of(&fold),
            Self::Packed(fold) => fold,
        }
    }
}

impl Near {
    fn of_all(window: &Window, fold: Held) -> Self {
        Self {
            places: window.len(),
            asked: Vec::new(),
            fold,
        }
    }

    /// What it is when reports have left the window; nothing where some of them did not come before it.
    fn without(mut self, gone: &[usize]) -> Option<Self> {
        if gone.iter().any(|place| *place >= self.places) {
            return None;
        }
        self.asked.retain(|place| !gone.contains(place));
        for place in &mut self.asked {
            *place -= gone.iter().filter(|other| *other < place).count();
        }
        self.places -= gone.len();
        Some(self).filter(|near| near.places > 0)
    }
}

/// Places of what a model asked for in the first reports and none of their calls has taken.
fn asked_before(steps: &[Step<'_>], places: usize) -> Vec<usize> {
    let untaken = steps.iter().filter_map(|step| match step {
        Step::Tool(call) if step.first_place() >= places => call.asked.map(|(place, _)| place),
        Step::Other(place, event) => matches!(event.body, Body::Requested(_)).then_some(*place),
        _ => None,
    });
    let mut untaken: Vec<_> = untaken.filter(|place| *place < places).collect();
    untaken.sort_unstable();
    untaken
}
