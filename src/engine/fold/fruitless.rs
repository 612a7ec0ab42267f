//! Tells deeds that change nothing from those that do: what is looked at after each of them stays as it was.
//!
//! What is written is news by itself, and usually who looks in between confirms it. But where one tool is answered by the same word
//! each time, and one look between each two of its calls shows the same again and again, nothing comes of them: an editor that
//! does not save, clicks beside a button. That holds only where the look is at what was written, or where the deeds differ in
//! their places on a screen alone: who looks up the same rules before each letter gets on.

use std::iter::zip;

use crate::engine::event::Manner;
use crate::engine::tool_name;

use super::Fold;
use super::judge::Judged;
use super::marks::CallMark;
use super::outcome::Outcome;
use super::pressed;
use super::question::{Relation, relation};
use super::rewriting::Named;
use super::sample::{members, quotes};

/// Fewest equal looks before the present one, each after another deed.
const LOOKS_MIN: usize = 6;

impl Fold {
    /// Whether a look shows what it has shown after each of several deeds, of which thus nothing came.
    pub(super) fn shows_deeds_in_vain(&self, judged: &Judged<'_>) -> bool {
        let looks = judged.call.manner == Manner::Looks && !judged.is_terse();
        let scores = tells_score(judged);
        let is_look = (looks || scores) && judged.outcome == Outcome::Stale;
        if !is_look || judged.pending {
            return false;
        }
        // A look and a deed in turn, the deed last.
        let deeds = || self.recent.iter().rev().step_by(2);
        let mut looks = self.recent.iter().rev().skip(1).step_by(2);
        let is_same = |look: &CallMark| look.key() == judged.key && look.result() == judged.result;
        if looks.len() < LOOKS_MIN || !looks.all(is_same) {
            return false;
        }
        let sample = judged.call.input.sample();
        let mut neighbours = zip(deeds().skip(1), deeds());
        let are_alike = |deed: &CallMark, later: &CallMark| {
            are_alike(deed, later, sample) || (scores && are_of_one_text(deed, later))
        };
        deeds().all(is_deed) && neighbours.all(|(deed, later)| are_alike(deed, later))
    }
}

/// Whether a tool that measures tells a share or a score between nought and one, which hardly anything leaves quite as it was.
pub(crate) fn tells_score(judged: &Judged<'_>) -> bool {
    let numbers = judged.trend.as_ref().map(|trend| &trend.numbers);
    let is_score = |number: &f64| 0.0 < *number && *number < 1.0;
    let tells = numbers.is_some_and(|numbers| {
        let mut all = numbers.all.iter().take(numbers.count.into());
        all.any(is_score)
    });
    tells && tool_name::measures(judged.tool)
}

fn is_deed(mark: &CallMark) -> bool {
    mark.is_deed()
}

/// Whether a deed is like the next one: one tool gives the same word, and the look is at what was written, or the deeds differ in
/// their places on a screen alone.
fn are_alike(deed: &CallMark, later: &CallMark, look: &str) -> bool {
    deed.tool == later.tool
        && are_answered_alike(deed, later)
        && (is_of(look, &deed.sample)
            || (is_at_place(&deed.sample)
                && relation(&deed.sample, &later.sample) == Relation::Numbered))
}

/// Whether two deeds have the same answer, or one that differs in numbers alone, such as those that were sent.
fn are_answered_alike(deed: &CallMark, later: &CallMark) -> bool {
    let frame = |mark: &CallMark| mark.trend.as_ref().map(|trend| trend.frame());
    deed.result() == later.result() || (deed.trend.is_some() && frame(deed) == frame(later))
}

/// Whether two deeds of one tool have the same answer and change one text: both name it, or say nothing else, as where the tool has
/// but one: `{"prompt": "Be brief."}`.
fn are_of_one_text(deed: &CallMark, later: &CallMark) -> bool {
    let is_text = |sample: &str| {
        let mut all = members(sample);
        let first = all.next();
        first.is_some_and(|first| first.value.contains(' ')) && all.next().is_none()
    };
    deed.tool == later.tool
        && deed.result() == later.result()
        && (Named::of(&deed.sample).is_named_in(&later.sample)
            || (is_text(&deed.sample) && is_text(&later.sample)))
}

/// Whether a look names a thing, such as a file, that a deed names, too.
fn is_of(look: &str, deed: &str) -> bool {
    let mut names = look.split("\":\"").skip(1);
    names.any(|value| {
        let name = value.split('"').next().unwrap_or_default();
        name.len() >= NAME_BYTES_MIN && deed.contains(&format!(":\"{name}\""))
    })
}

/// Whether a deed is done at a place of a screen.
#[allow(clippy::needless_bitwise_bool, reason = "as `quotes` has it")]
pub(crate) fn is_at_place(deed: &str) -> bool {
    // Hardly any names one.
    let begins_so = |[first, second, third]: [u8; 3]| {
        let coordinate = (first == b'c') & (second == b'o') & (third == b'o');
        coordinate | ((first == b'x') & (second == b'"'))
    };
    (quotes(deed, begins_so) && is_placed(deed)) || pressed::is_command(deed)
}

fn is_placed(deed: &str) -> bool {
    (deed.contains("\"x\":") && deed.contains("\"y\":")) || deed.contains("\"coordinate\":")
}

/// Shortest name of a thing.
const NAME_BYTES_MIN: usize = 3;
