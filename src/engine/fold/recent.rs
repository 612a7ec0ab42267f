//! The newest calls. Every call is compared with them, by one rule after the other, and most are like none of them: so what
//! they are searched by lies together in few cache lines, and a call itself is looked at only where that agrees.

use std::collections::VecDeque;
use std::ops::Deref;
use std::ptr;

use crate::engine::bounded::push_bounded;
use crate::engine::event::Text;
use crate::engine::policy::LOOKED_BACK_CALLS_MAX;
use crate::engine::similarity::Sketch;

use super::marks::CallMark;
use super::trend::Trend;

/// Calls that are remembered one by one.
pub(crate) const RECENT_CALLS_MAX: usize = LOOKED_BACK_CALLS_MAX as usize - 1;

/// The newest calls, newest last, at most [`RECENT_CALLS_MAX`].
#[derive(Debug, Default)]
pub(crate) struct Recent {
    marks: VecDeque<CallMark>,
    /// For each of them, what it is searched by: parts of the hashes of its key and of its tool, and of its shape the upper 48
    /// bits, which alone tell two shapes apart.
    keys: [u32; RECENT_CALLS_MAX],
    tools: [u16; RECENT_CALLS_MAX],
    shapes: ([u32; RECENT_CALLS_MAX], [u16; RECENT_CALLS_MAX]),
    /// And of what came back, a part of its hash, and what tells it but for the values of its numbers.
    results: [u32; RECENT_CALLS_MAX],
    forms: [u32; RECENT_CALLS_MAX],
    /// The sketch of its arguments.
    sketches: [u64; RECENT_CALLS_MAX],
}

impl Recent {
    /// Remembers a call.
    pub(crate) fn push(&mut self, mark: CallMark) {
        if self.marks.len() == RECENT_CALLS_MAX {
            self.keys.copy_within(1.., 0);
            self.tools.copy_within(1.., 0);
            self.shapes.0.copy_within(1.., 0);
            self.shapes.1.copy_within(1.., 0);
            self.results.copy_within(1.., 0);
            self.forms.copy_within(1.., 0);
            self.sketches.copy_within(1.., 0);
        }
        let place = self.marks.len().min(RECENT_CALLS_MAX - 1);
        self.keys[place] = mark.known_key as u32;
        self.tools[place] = mark.tool as u16;
        (self.shapes.0[place], self.shapes.1[place]) = upper_bits(mark.shape);
        self.results[place] = mark.known_result as u32;
        self.forms[place] = form_of(mark.trend.as_deref());
        self.sketches[place] = mark.sketch;
        push_bounded(&mut self.marks, mark, RECENT_CALLS_MAX);
    }

    /// Those of a tool and its arguments, the newest first; none where these are not known.
    pub(crate) fn of_key(&self, key: Option<u64>) -> impl Iterator<Item = &CallMark> {
        let part = key.map(|key| key as u32);
        // Most calls are among them for the first time, which is seen for many keys at a time.
        let any = part.is_some_and(|part| self.keys.contains(&part));
        self.newest(any, move |place| Some(self.keys[place]) == part)
            .filter(move |mark| mark.key() == key)
    }

    /// Those that came behind one of them, the newest first. Spans do not tell: who asks the guard alone has none.
    pub(crate) fn behind<'r>(&'r self, mark: &CallMark) -> impl Iterator<Item = &'r CallMark> {
        let newest = self.iter().rev();
        newest.take_while(move |other| !ptr::eq(*other, mark))
    }

    /// Whether one of them is the only one of its tool and arguments.
    pub(crate) fn is_only(&self, mark: &CallMark) -> bool {
        mark.has_key && self.of_key(mark.key()).nth(1).is_none()
    }

    /// Those of a tool, the newest first.
    pub(crate) fn of_tool(&self, tool: u64) -> impl Iterator<Item = &CallMark> {
        self.newest(true, move |place| self.tools[place] == tool as u16)
            .filter(move |mark| mark.tool == tool)
    }

    /// Those of a tool whose arguments have another shape, the newest first.
    pub(crate) fn of_other_shape(&self, tool: u64, shape: u64) -> impl Iterator<Item = &CallMark> {
        self.of_other_shape_where(tool, shape, |_| true)
    }

    /// Those of them whose arguments, as far as they have sketches, may be like those of this sketch.
    pub(crate) fn of_other_shape_near(
        &self,
        tool: u64,
        shape: u64,
        sketch: Sketch,
    ) -> impl Iterator<Item = &CallMark> {
        let is_near = move |place: usize| sketch.allows(self.sketches[place]);
        self.of_other_shape_where(tool, shape, is_near)
    }

    #[allow(
        clippy::needless_bitwise_bool,
        reason = "many signs are compared at a time"
    )]
    fn of_other_shape_where(
        &self,
        tool: u64,
        shape: u64,
        is_meant: impl Fn(usize) -> bool,
    ) -> impl Iterator<Item = &CallMark> {
        let (upper, lower) = upper_bits(shape);
        let is_it = move |place: usize| {
            let other = (self.shapes.0[place] != upper) | (self.shapes.1[place] != lower);
            (self.tools[place] == tool as u16) & other
        };
        // Mostly there is none.
        let is_it = move |place: usize| is_it(place) & is_meant(place);
        let any = (0..RECENT_CALLS_MAX).fold(false, |any, place| any | is_it(place));
        self.newest(any, is_it)
            .filter(move |mark| mark.tool == tool)
    }

    /// The newest first, each with whether what came back differs in its numbers alone from something that has these.
    pub(crate) fn compared(
        &self,
        trend: Option<&Trend>,
    ) -> impl Iterator<Item = (&CallMark, bool)> {
        let form = form_of(trend);
        let newest = self.marks.iter().zip(&self.forms).rev();
        newest.map(move |(mark, other)| (mark, form != NO_FORM && *other == form))
    }

    /// How many may have given a result, or one that differs from it in its numbers alone: never fewer than did.
    pub(crate) fn may_have_given(&self, result: Option<u64>, trend: Option<&Trend>) -> usize {
        let (result, form) = (result.unwrap_or(0) as u32, form_of(trend));
        let marks = self.results.iter().zip(&self.forms).take(self.marks.len());
        let same =
            marks.filter(|(other, its)| **other == result || (form != NO_FORM && **its == form));
        same.count()
    }

    /// Those at certain places, if there are any, the newest first.
    fn newest(&self, any: bool, is_it: impl Fn(usize) -> bool) -> impl Iterator<Item = &CallMark> {
        let length = if any { self.marks.len() } else { 0 };
        let places = (0..length).rev().filter(move |place| is_it(*place));
        places.map(|place| &self.marks[place])
    }

    /// As [`RunState::bring_near`](crate::engine::run::RunState::bring_near): what is searched, the newest call, and that which
    /// leaves next and lets go of what it holds.
    pub(crate) fn bring_near(&self) -> u64 {
        let ends = self.marks.front().into_iter().chain(self.marks.back());
        let marks = ends.fold(0, |all, mark| all ^ mark.start_ns ^ mark.asked);
        let marks = marks ^ self.marks.front().map_or(0, CallMark::bring_near);
        let (upper, lower) = &self.shapes;
        let signs = self.keys[0] ^ u32::from(self.tools[0]) ^ upper[0] ^ u32::from(lower[0]);
        marks ^ u64::from(signs) ^ self.sketches[0] ^ self.sketches[RECENT_CALLS_MAX / 2]
    }

    /// Gives the calls their samples back, which are not packed with them.
    pub(super) fn set_samples(&mut self, samples: &[Text]) {
        for (mark, sample) in self.marks.iter_mut().zip(samples) {
            mark.sample = sample.clone();
        }
    }
}

/// What came back has no numbers.
const NO_FORM: u32 = 0;

/// What tells something that came back but for the values of its numbers.
fn form_of(trend: Option<&Trend>) -> u32 {
    let form = trend.map(|trend| trend.frame().wrapping_add(trend.numbers.count.into()));
    form.map_or(NO_FORM, |form| form.max(NO_FORM + 1))
}

fn upper_bits(hash: u64) -> (u32, u16) {
    ((hash >> 32) as u32, (hash >> 16) as u16)
}

impl Deref for Recent {
    type Target = VecDeque<CallMark>;

    fn deref(&self) -> &VecDeque<CallMark> {
        &self.marks
    }
}

impl Clone for Recent {
    fn clone(&self) -> Self {
        let mut copy = Self::default();
        copy.clone_from(self);
        copy
    }

    fn clone_from(&mut self, other: &Self) {
        self.marks.clone_from(&other.marks);
        self.keys = other.keys;
        self.tools = other.tools;
        self.shapes = other.shapes;
        self.results = other.results;
        self.forms = other.forms;
        self.sketches = other.sketches;
    }
}

impl PartialEq for Recent {
    fn eq(&self, other: &Self) -> bool {
        self.marks == other.marks
    }
}

impl FromIterator<CallMark> for Recent {
    fn from_iter<I: IntoIterator<Item = CallMark>>(marks: I) -> Self {
        let mut recent = Self::default();
        marks.into_iter().for_each(|mark| recent.push(mark));
        recent
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::event::{SpanId, Text};
    use crate::engine::fold::outcome::Outcome;
    use crate::engine::fold::trend::Trend;

    use super::{CallMark, Recent};

    fn mark((tool, key, shape): (u64, Option<u64>, u64)) -> CallMark {
        CallMark {
            tool,
            known_key: key.unwrap_or(0),
            has_key: key.is_some(),
            sample: Text::default(),
            shape,
            input_bytes: 0,
            group: 0,
            span: SpanId::default(),
            start_ns: 0,
            round: 0,
            outcome: Outcome::Unknown,
            known_result: 0,
            has_result: false,
            trend: None,
            sketch: 0,
            hands_off: false,
            may_act: false,
            retells: false,
            denies: false,
            gap_ns: 0,
            waited_ns: 0,
            asked: 0,
        }
    }

    /// Given more calls than are remembered, some with hashes that agree by half or with arguments that are not known, a search
    /// finds what a look at each of the newest finds.
    #[test]
    fn a_search_finds_what_a_look_at_each_finds() {
        let half = 1 << 40;
        let hashes = [0, 1, half, half + 1];
        let shapes = hashes.map(|hash| hash << 16);
        let keys = [None, Some(0), Some(1), Some(half), Some(half + 1)];
        let calls =
            (0..40).map(|call| mark((hashes[call % 4], keys[call * 7 % 5], shapes[call / 3 % 4])));
        let recent: Recent = calls.collect();
        let look = |is_it: &dyn Fn(&CallMark) -> bool| -> Vec<_> {
            recent.iter().rev().filter(|mark| is_it(mark)).collect()
        };
        for tool in hashes {
            let found: Vec<_> = recent.of_tool(tool).collect();
            assert_eq!(found, look(&|mark| mark.tool == tool));
            for shape in shapes {
                let found: Vec<_> = recent.of_other_shape(tool, shape).collect();
                assert_eq!(
                    found,
                    look(&|mark| mark.tool == tool && mark.shape != shape)
                );
            }
        }
        for key in keys {
            let found: Vec<_> = recent.of_key(key).collect();
            assert_eq!(found, look(&|mark| key.is_some() && mark.key() == key));
        }
    }

    /// Given calls without spans, some of them equal, those behind one of them are the later ones.
    #[test]
    fn what_came_behind_a_call_needs_no_spans() {
        let recent: Recent = [1, 1, 2]
            .map(|tool| mark((tool, None, 0)))
            .into_iter()
            .collect();
        let marks: Vec<_> = recent.iter().collect();
        for place in 0..marks.len() {
            assert_eq!(recent.behind(marks[place]).count(), marks.len() - 1 - place);
        }
    }

    /// Given calls whose results are equal, differ in their numbers alone, or are not known, none of them is missed.
    #[test]
    fn equal_results_are_found() {
        let trend = |frame: u32, count: u8, number: f64| {
            let mut trend = Trend::default();
            trend.numbers.frame = frame;
            trend.numbers.count = count;
            trend.numbers.all[0] = number;
            Box::new(trend)
        };
        let results = [None, Some(0), Some(1 << 40), Some(7)];
        let trends = [None, Some((0, 1)), Some((5, 1)), Some((5, 2))];
        let calls = (0..40_usize).map(|call| CallMark {
            known_result: results[call % 4].unwrap_or(0),
            has_result: results[call % 4].is_some(),
            trend: trends[call / 3 % 4].map(|(frame, count)| trend(frame, count, call as f64)),
            ..mark((1, None, 0))
        });
        let recent: Recent = calls.collect();
        for result in results {
            for own in trends.map(|told| told.map(|(frame, count)| trend(frame, count, 0.5))) {
                let form = |trend: &Trend| (trend.frame(), trend.numbers.count);
                let is_alike = |mark: &CallMark| {
                    let both = mark.trend.as_deref().zip(own.as_deref());
                    both.is_some_and(|(theirs, own)| form(theirs) == form(own))
                };
                let compared = recent.compared(own.as_deref());
                let differ = recent.iter().rev().map(|mark| (mark, is_alike(mark)));
                assert!(compared.eq(differ), "{own:?}");
                let gave = recent
                    .iter()
                    .filter(|mark| mark.result() == result || is_alike(mark));
                assert!(recent.may_have_given(result, own.as_deref()) >= gave.count());
            }
        }
    }
}
