//! What an error says besides what is drawn or counted anew for each attempt: by its stem, the very same call is known to fail in
//! the same way.
//!
//! A program that is run again and fails tells of its run: an id, the directory that it made, who answered, the number of the
//! run. With the same arguments, and nothing done in between, none of that is news. What is counted may be: rows that were read,
//! replicas that are up. So a number is left out only behind a word for an attempt, or a sign for one.

use crate::engine::event::Failure;
use crate::engine::hash::{mix, text_hash};
use crate::engine::window::calls::Call;

use super::Fold;
use super::outcome::Outcome;

/// Fewest words that an error must have besides those, to be known by them.
const WORDS_MIN: usize = 3;

/// Words behind which a number counts the attempts.
const ATTEMPTS: [&str; 24] = [
    "attempt",
    "attempts",
    "build",
    "builds",
    "deploy",
    "deployment",
    "execution",
    "export",
    "import",
    "invocation",
    "job",
    "nr",
    "pid",
    "pipeline",
    "process",
    "release",
    "request",
    "retry",
    "revision",
    "run",
    "session",
    "thread",
    "transaction",
    "try",
];

/// Fewest parts of an address of a machine.
const ADDRESS_PARTS: usize = 4;

/// Longest unit behind an amount: `12MB`, `3GiB`.
const UNIT_BYTES_MAX: usize = 3;

/// Units of time, as they stand behind a number: how long something took is no amount.
const TIMES: [&str; 6] = ["s", "ms", "us", "ns", "m", "h"];

impl Fold {
    /// The stem of an error, where the same call failed with it before, in other words, and nothing was done since.
    pub(super) fn fails_again(&self, call: &Call<'_>, key: Option<u64>) -> Option<u64> {
        let failure = call.error?;
        let before = self.recent.of_key(key).next()?;
        let is_other = before.outcome == Outcome::Failed && before.result() != call.result();
        if !is_other || self.acted_since(before) {
            return None;
        }
        let stem = stem_of(failure, key?)?;
        self.is_known(stem).then_some(stem)
    }
}

/// An error among what is known of a tool: apart from its results.
pub(super) fn error_tag(tool: u64, error: u64) -> u64 {
    mix(tool, mix(error, 1))
}

/// The stem of an error among what is known of a call.
pub(super) fn stem_of(failure: &Failure, call: u64) -> Option<u64> {
    stem(failure).map(|stem| mix(call, mix(stem, 3)))
}

/// Hash of an error's words without what is drawn or counted anew for each attempt; `None` where nothing of that stands in it, or
/// little else.
fn stem(failure: &Failure) -> Option<u64> {
    if !failure.is_whole() {
        return None;
    }
    let is_one = |sign: char| sign.is_ascii_alphanumeric() || "+/=_-.".contains(sign);
    // Letters of other scripts are words of their own.
    let foreign = |signs: &str| usize::from(signs.contains(char::is_alphabetic));
    let (mut hash, mut words, mut left_out) = (0, 0, false);
    let (mut before, mut rest) = ("", &*failure.text);
    while let Some(start) = rest.find(is_one) {
        let (signs, behind) = (&rest[..start], rest[start..].trim_start_matches(is_one));
        let word = rest[start..rest.len() - behind.len()].trim_end_matches(['.', '-']);
        let is_aside = match kind(word) {
            Kind::Token => true,
            Kind::Number => counts_attempts(before, signs) && !is_share(behind),
            Kind::Word => {
                words += 1;
                false
            }
        };
        words += foreign(signs);
        hash = mix(hash, text_hash(signs));
        if is_aside {
            left_out = true;
        } else {
            hash = mix(hash, text_hash(word));
        }
        (before, rest) = (word, behind);
    }
    words += foreign(rest);
    (left_out && words >= WORDS_MIN).then(|| mix(hash, text_hash(rest)))
}

/// Whether a number behind this word and these signs counts the attempts.
fn counts_attempts(word: &str, signs: &str) -> bool {
    let is_one = |name: &&str| word.eq_ignore_ascii_case(name);
    signs.ends_with('#') || (signs == " " && ATTEMPTS.iter().any(is_one))
}

/// Whether this stands behind a number that is a share of another one.
fn is_share(behind: &str) -> bool {
    let all = [" of ", " out of "].iter();
    let mut all = all.filter_map(|words| behind.strip_prefix(words));
    behind.starts_with('%') || all.any(|all| all.starts_with(|sign: char| sign.is_ascii_digit()))
}

/// What a word of an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Letters, or a number that is no whole one, or an amount.
    Word,
    /// A whole number.
    Number,
    /// Letters and digits, as an id, a directory or a machine has them.
    Token,
}

fn kind(word: &str) -> Kind {
    let is_digit = |byte: u8| byte.is_ascii_digit();
    if !word.bytes().any(is_digit) {
        return Kind::Word;
    }
    if word.bytes().all(is_digit) {
        return Kind::Number;
    }
    let unit = word.trim_start_matches(|sign: char| sign.is_ascii_digit() || sign == '.');
    let is_amount = unit.len() < word.len()
        && unit.len() <= UNIT_BYTES_MAX
        && unit.bytes().all(|byte| byte.is_ascii_alphabetic())
        && !TIMES.contains(&unit);
    let parts = word.split('.').filter(|part| part.bytes().all(is_digit));
    let is_address = unit.is_empty() && parts.count() >= ADDRESS_PARTS;
    let has_letter = word.bytes().any(|byte| byte.is_ascii_alphabetic());
    if is_address || (has_letter && !is_amount) {
        Kind::Token
    } else {
        Kind::Word
    }
}

#[cfg(test)]
mod tests {
    use super::stem;
    use crate::engine::event::Failure;

    fn stem_of(text: &str) -> Option<u64> {
        stem(&Failure {
            text: text.into(),
            masked: 0,
            transient: false,
        })
    }

    /// Given errors that differ in what is drawn or counted for each attempt, their stem is the same.
    #[test]
    fn attempts_are_left_out() {
        for [one, other] in [
            [
                "run 440 failed: disk quota exceeded",
                "run 441 failed: disk quota exceeded",
            ],
            [
                "Import #311 failed: field 'severity' is required",
                "Import #312 failed: field 'severity' is required",
            ],
            [
                "[eb/a10a14] process > ALIGN (S1) failed: 1\nERROR ~ exit status (137)\nWork dir:\n  /data/work/8f/9255b8c8",
                "[f5/2a9507] process > ALIGN (S1) failed: 1\nERROR ~ exit status (137)\nWork dir:\n  /data/work/e3/5c8342cb",
            ],
            [
                "AccessDenied: Access Denied, HostId: N4MTb1d0nyVrZpk0vSQioITLD/QQJoysZZa0NyRI1bUz=",
                "AccessDenied: Access Denied, HostId: qPx+Oe/4kbBZ9iTq4Tir1NdPTL5ZFJPsGIr2dkRZL1Vf=",
            ],
            [
                "job 64 of queue valley failed",
                "job 65 of queue valley failed",
            ],
            [
                "Revision 'api-00031-fbp' is not ready",
                "Revision 'api-00032-iaj' is not ready",
            ],
            [
                "Sorry, you are blocked. Your IP: 203.0.113.57.",
                "Sorry, you are blocked. Your IP: 203.0.113.200.",
            ],
            [
                "it gave up after 31s of trying",
                "it gave up after 29s of trying",
            ],
        ] {
            assert!(stem_of(one).is_some(), "{one}");
            assert_eq!(stem_of(one), stem_of(other), "{one}");
        }
    }

    /// Given errors that differ in words or in amounts, their stem is not the same; and there is none where nothing was left out,
    /// or little else is said.
    #[test]
    fn what_was_met_stays() {
        for [one, other] in [
            [
                "run 440 failed: disk quota exceeded",
                "run 441 failed: no such table here",
            ],
            [
                "job 7: 2 of 6 replicas are up",
                "job 7: 3 of 6 replicas are up",
            ],
            [
                "run r1: 12MB more are needed",
                "run r2: 9MB more are needed",
            ],
            [
                "run r1: line 12 is not valid",
                "run r2: line 14 is not valid",
            ],
            ["the run r1 の取り込み", "the run r2 の書き出し"],
            [
                "attempt 4 of 5 was not enough for r1",
                "attempt 5 of 5 was not enough for r2",
            ],
        ] {
            assert_ne!(stem_of(one), stem_of(other), "{one}");
        }
        for text in [
            "",
            "disk quota exceeded, all of it",
            "run 440 failed",
            "12 3 4",
        ] {
            assert_eq!(stem_of(text), None, "{text}");
        }
    }
}
