//! Ids in arguments, which a service hands out anew each time that something is begun: calls that differ in one alone ask for the
//! same of the next attempt.

use crate::engine::fold::Fold;
use crate::engine::fold::batch::are_of_one_form;
use crate::engine::fold::judge::Judged;
use crate::engine::fold::marks::CallMark;
use crate::engine::fold::outcome::Outcome;
use crate::engine::fold::sample::members;
use crate::engine::hash::{mix, text_hash};
use crate::engine::ids::names_id;

/// Shortest word with a digit that may be such an id: shorter ones count things, and are places in lists.
const ID_BYTES_MIN: usize = 5;

/// Words by which a failure says that something is not there, in lower case.
const ABSENT: [&str; 5] = ["not found", "not_found", "no such", "not exist", "unknown"];

/// Most items in a row that are missing of a batch of which some are not.
const MISSES_MAX: usize = 7;

/// Longest failure that says no more than that: `404 Not Found`.
const BARE_BYTES_MAX: usize = 24;

impl Fold {
    /// Whether a call failed because what has this id is not there, and the failure before it was about another id: ids are not
    /// guessed, so each has an answer of its own. What is told in more words without the id is about
    /// something else.
    pub(in crate::engine::fold) fn lacks_another_id(&self, judged: &Judged<'_>) -> bool {
        let Some(failure) = judged.call.error else {
            return false;
        };
        let (sample, said) = (judged.call.input.sample(), &*failure.text);
        let lower = said.to_ascii_lowercase();
        let failed = |mark: &&CallMark| mark.outcome == Outcome::Failed;
        let before = self.recent.of_tool(judged.tool_hash).find(failed);
        let is_about = |id: &str| said.len() <= BARE_BYTES_MAX || said.contains(id);
        let is_other = |mark: &CallMark| {
            let mut others = other_ids(&mark.sample, sample);
            let are_made = |(left, right)| is_made(left) && is_made(right) && is_about(right);
            form(&mark.sample) == form(sample) && others.any(are_made)
        };
        ABSENT.iter().any(|words| lower.contains(words))
            && !self.asked_before(judged)
            && (before.is_some_and(is_other) || self.misses_some(judged))
    }

    /// Whether others of the same form that were asked for before are there, behind some that are not, and not too many in a row
    /// are missing since: of a batch, each item has an answer of its own.
    fn misses_some(&self, judged: &Judged<'_>) -> bool {
        let sample = judged.call.input.sample();
        let of_tool = self.recent.of_tool(judged.tool_hash);
        let mut of_form = of_tool.filter(|mark| are_of_one_form(&mark.sample, sample));
        let is_miss = |mark: &CallMark| mark.outcome == Outcome::Failed;
        let in_a_row = of_form.by_ref().take_while(|mark| is_miss(mark)).count();
        in_a_row < MISSES_MAX && of_form.any(is_miss)
    }
}

/// Hash of arguments without the words that may be ids, and without the digits of the others.
pub(crate) fn form(sample: &str) -> u64 {
    let words = sample.split_inclusive(|sign: char| !sign.is_ascii_alphanumeric());
    words.fold(0, |hash, word| {
        let sign = word.trim_start_matches(|sign: char| sign.is_ascii_alphanumeric());
        let bare = &word[..word.len() - sign.len()];
        if is_id(bare) {
            return mix(hash, text_hash(sign));
        }
        let parts = word.split(|sign: char| sign.is_ascii_digit());
        let parts = parts.filter(|part| !part.is_empty());
        parts.fold(hash, |hash, part| mix(hash, text_hash(part)))
    })
}

/// Whether two calls of one form have other words that may be ids.
pub(crate) fn have_other_ids(left: &str, right: &str) -> bool {
    other_ids(left, right).next().is_some()
}

/// The words of both that may be ids and differ, side by side.
fn other_ids<'t>(left: &'t str, right: &'t str) -> impl Iterator<Item = (&'t str, &'t str)> {
    fn ids(text: &str) -> impl Iterator<Item = &str> {
        text.split(|sign: char| !sign.is_ascii_alphanumeric())
            .filter(|word| is_id(word))
    }
    ids(left)
        .zip(ids(right))
        .filter(|(left, right)| left != right)
}

/// Whether two calls name one thing by an id, and no other one: it is tried in another way.
pub(crate) fn share_id(left: &str, right: &str) -> bool {
    let ids =
        |sample| members(sample).filter(|member| names_id(member.name) && is_id(member.value));
    let others = || ids(right).map(|member| (member.name, member.value));
    let mut shared = ids(left).peekable();
    shared.peek().is_some()
        && shared
            .map(|member| (member.name, member.value))
            .eq(others())
}

/// Whether an id was made by a machine: it is long, and has nothing but digits, or letters behind one. A name with a number at its
/// end may be guessed.
fn is_made(id: &str) -> bool {
    let behind = id.trim_start_matches(|sign: char| sign.is_ascii_alphabetic());
    let is_number = behind.len() == id.len() && id.bytes().all(|sign| sign.is_ascii_digit());
    let has_letters = behind.bytes().any(|sign| sign.is_ascii_alphabetic());
    id.len() >= MADE_BYTES_MIN && (is_number || has_letters)
}

/// Shortest id that is known as made by a machine: abbreviated commits have so many signs.
const MADE_BYTES_MIN: usize = 7;

/// Whether a word may be an id, a port or an address.
pub(crate) fn is_id(word: &str) -> bool {
    word.len() >= ID_BYTES_MIN && word.bytes().any(|sign| sign.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::{form, have_other_ids, share_id};

    /// Given calls that name one thing by its id, they share it; not where one names another thing as well, or nothing has an id.
    #[test]
    fn ids_that_are_shared() {
        let asks = |id: &str, label: &str| format!(r#"{{"item_id":"{id}","label":"{label}"}}"#);
        assert!(share_id(&asks("img_4711", "car"), &asks("img_4711", "van")));
        assert!(!share_id(
            &asks("img_4711", "car"),
            &asks("img_4712", "van")
        ));
        let of_project = |id: &str| format!(r#"{{"itemId":{id},"project_id":"p4711"}}"#);
        assert!(!share_id(&of_project("100001"), &of_project("100002")));
        assert!(!share_id(r#"{"label":"car12"}"#, r#"{"label":"car12"}"#));
    }

    /// Given calls that ask for the next attempt, they have one form and differ in an id; those about another thing do not.
    #[test]
    fn ids_of_attempts() {
        for (left, right) in [
            (r#"{"job":5100000}"#, r#"{"job":5107313}"#),
            (
                "gh run view 11893400001 --log",
                "gh run view 11893499992 --log",
            ),
            (
                r#"{"run":"jr_3f2a91c077d1"}"#,
                r#"{"run":"jr_9b3dba9381f0"}"#,
            ),
        ] {
            assert_eq!(form(left), form(right), "{left}");
            assert!(have_other_ids(left, right), "{left}");
        }
        for (left, right) in [
            ("ssh worker-01 reboot", "ssh worker-02 reboot"),
            (
                r#"{"seed":1,"timeout":120000}"#,
                r#"{"seed":2,"timeout":120000}"#,
            ),
        ] {
            assert_eq!(form(left), form(right), "{left}");
            assert!(!have_other_ids(left, right), "{left}");
        }
        assert_ne!(form("log 5100000"), form("status 5100000"));
    }
}
