//! What the name of a member says, whatever the member holds.
//!
//! A result is asked some thirty things of each of its members' names: whether it holds a secret, a state, a verdict, a count. A
//! program has few names and writes them over and over, so what each says is told once, and remembered with its hash. Each thread
//! has a table of a limited size, in which a name takes the place of another one.

use std::cell::Cell;

use crate::engine::ids::names_id;

use super::drawn::Drawn;
use super::{
    aside, attempts, beside, digest, echo, elements, emptiness, faults, hash, hits, mask, pending,
    redact, sample,
};

/// Something that a name may say.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
pub(super) enum Says {
    /// A secret.
    Secret,
    /// Something new in every result.
    Volatile,
    /// The state of something, or a verdict on it.
    State,
    /// Whether what was checked will do.
    Verdict,
    /// Whether what was begun has come to its end.
    End,
    /// Whether it is still under way.
    UnderWay,
    /// A list that may be of what was asked about.
    Asked,
    /// How many checks ended well.
    Passed,
    /// How many did not.
    Failed,
    /// What went wrong.
    Mishaps,
    /// Errors.
    Errors,
    /// What a program printed.
    Printed,
    /// How well a hit fits.
    Score,
    /// What an envelope was sent to carry.
    Carried,
    /// The same, where it may be a number of such things as well.
    CarriedOrCounted,
    /// A number of things.
    Count,
    /// Pages, if it is a number.
    Pages,
    /// Which page it is.
    Page,
    /// Something that stands on envelopes.
    OfEnvelope,
    /// What was asked, or how it was answered.
    Echo,
    /// Where something stands in a file.
    FilePlace,
    /// How grave a fault is.
    Gravity,
    /// What a fault is.
    Saying,
    /// Which attempt it is.
    Attempt,
    /// Whether it was found.
    Found,
    /// Whether it went well.
    WentWell,
    /// What may have been asked.
    Query,
    /// A picture, if it is long.
    Picture,
    /// An id.
    Id,
    /// What has the number of an attempt.
    Numbered,
    /// A token of the answer, or who gave it.
    Token,
    /// The version of what is told.
    Version,
    /// How far the clock of a world has gone.
    Turn,
    /// How often something was looked at.
    Views,
    /// How often it was written.
    Writes,
    /// What may be drawn anew for each call.
    Drawn,
    /// An element of a page.
    Element,
    /// What another member holds.
    NameOfValue,
    /// What another member names.
    NamedValue,
    /// What is searched for.
    Question,
    /// Which part of a list is asked for.
    PageAsked,
    /// The command line of a shell.
    CommandLine,
    /// A command, or a plan.
    Command,
    /// Words beside it.
    Words,
    /// A shell's setting.
    Setting,
    /// A sample has it as it stands.
    Plain,
}

/// What a name may say, and how that is told.
type Teller = (Says, fn(&str) -> bool);

/// How each is told.
const TELLERS: [Teller; 46] = [
    (Says::Secret, |key| redact::names::is_secret(key.as_bytes())),
    (Says::Volatile, mask::is_volatile_key),
    (Says::State, pending::names_state),
    (Says::Verdict, |key| digest::VERDICTS.contains(&key)),
    (Says::End, |key| digest::ENDS.contains(&key)),
    (Says::UnderWay, |key| digest::UNDER_WAY.contains(&key)),
    (Says::Asked, pending::lists_asked),
    (Says::Passed, |key| digest::counts(key, "passed")),
    (Says::Failed, |key| digest::counts(key, "failed")),
    (Says::Mishaps, emptiness::tells_mishaps),
    (Says::Errors, |key| key == "errors"),
    (Says::Printed, |key| digest::PRINTED.contains(&key)),
    (Says::Score, |key| aside::SCORES.contains(&key)),
    (Says::Carried, emptiness::carries),
    (Says::CarriedOrCounted, emptiness::carries_or_counts),
    (Says::Count, emptiness::is_count),
    (Says::Pages, |key| key.contains("page")),
    (Says::Page, emptiness::is_place),
    (Says::OfEnvelope, emptiness::is_of_envelope),
    (Says::Echo, emptiness::is_echo),
    (Says::FilePlace, faults::is_place),
    (Says::Gravity, |key| faults::GRAVITIES.contains(&key)),
    (Says::Saying, |key| faults::SAYINGS.contains(&key)),
    (Says::Attempt, |key| attempts::NAMES.contains(&key)),
    (Says::Found, |key| key == "found"),
    (Says::WentWell, |key| matches!(key, "success" | "ok")),
    (Says::Query, |key| key == "query"),
    (Says::Picture, |key| matches!(key, "data" | "image_url")),
    (Says::Id, names_id),
    (Says::Numbered, |key| attempts::NUMBERED.contains(&key)),
    (Says::Token, |key| aside::TOKENS.contains(&key)),
    (Says::Version, |key| aside::VERSIONS.contains(&key)),
    (Says::Turn, |key| aside::TURNS.contains(&key)),
    (Says::Views, |key| aside::VIEWS.contains(&key)),
    (Says::Writes, |key| aside::WRITES.contains(&key)),
    (Says::Drawn, |key| Drawn::named(key).is_some()),
    (Says::Element, |key| elements::NAMES.contains(&key)),
    (Says::NameOfValue, |key| digest::VALUE_NAMES.contains(&key)),
    (Says::NamedValue, |key| digest::NAMED_VALUES.contains(&key)),
    (Says::Question, |key| hits::QUESTIONS.contains(&key)),
    (Says::PageAsked, |key| echo::PAGES.contains(&key)),
    (Says::CommandLine, |key| matches!(key, "command" | "cmd")),
    (Says::Command, |key| beside::COMMANDS.contains(&key)),
    (Says::Words, |key| beside::WORDS.contains(&key)),
    (Says::Setting, |key| beside::SETTINGS.contains(&key)),
    (Says::Plain, sample::is_plain_name),
];

/// What is known of a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct MemberName {
    /// Its hash.
    pub(super) hash: u64,
    pub(super) said: Said,
}

/// What a name says, or several names together: a bit for each of [`Says`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Said(u64);

impl Said {
    const NOTHING: Self = Self(0);

    /// All of these.
    pub(super) const fn all(says: &[Says]) -> Self {
        let (mut said, mut at) = (0, 0);
        while at < says.len() {
            said |= 1 << says[at] as u8;
            at += 1;
        }
        Self(said)
    }

    /// Whether one of them says any of these.
    #[inline]
    pub(super) fn says_any(self, of: Self) -> bool {
        self.0 & of.0 != 0
    }

    /// Whether one of them says so.
    #[inline]
    pub(super) fn says(self, what: Says) -> bool {
        self.0 >> what as u8 & 1 != 0
    }

    /// Adds what another name says.
    #[inline]
    pub(super) fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl MemberName {
    /// What is known of this one.
    pub(super) fn of(key: &str) -> Self {
        if key.len() > KEY_BYTES_MAX {
            return Self::told(key);
        }
        let asked = written(key);
        let place = place(&asked);
        KNOWN.with(|known| {
            let Known { written, name } = known[place].get();
            if written == asked {
                return name;
            }
            let name = Self::told(key);
            let written = asked;
            known[place].set(Known { written, name });
            name
        })
    }

    fn told(key: &str) -> Self {
        let tell = |said, (says, tells): &Teller| said | u64::from(tells(key)) << *says as u8;
        Self {
            hash: hash::text(key),
            said: Said(TELLERS.iter().fold(0, tell)),
        }
    }

    /// Whether it says so.
    #[inline]
    pub(super) fn says(self, what: Says) -> bool {
        self.said.says(what)
    }
}

/// Longest name that is remembered.
const KEY_BYTES_MAX: usize = 31;

/// A name that is remembered, in zeros, and its length plus one: no name has none.
type Written = [u64; (KEY_BYTES_MAX + 1) / 8];

/// A name and what is known of it.
#[derive(Clone, Copy)]
struct Known {
    written: Written,
    name: MemberName,
}

impl Known {
    const NONE: Self = Self {
        written: [0; _],
        name: MemberName {
            hash: 0,
            said: Said::NOTHING,
        },
    };
}

/// How many names are remembered: several times what one request has.
const PLACES: usize = 256;

thread_local! {
    static KNOWN: [Cell<Known>; PLACES] = const {
        [const { Cell::new(Known::NONE) }; PLACES]
    };
}

fn written(key: &str) -> Written {
    let mut bytes = [0; KEY_BYTES_MAX + 1];
    bytes[..key.len()].copy_from_slice(key.as_bytes());
    bytes[KEY_BYTES_MAX] = key.len() as u8 + 1;
    let mut written = [0; _];
    for (eight, bytes) in written.iter_mut().zip(bytes.as_chunks().0) {
        *eight = u64::from_le_bytes(*bytes);
    }
    written
}

fn place(written: &Written) -> usize {
    let mixed = written.iter().fold(0, |mixed: u64, eight| {
        (mixed ^ eight)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(32)
    });
    mixed as usize % PLACES
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Given names of each length, some of which share a place, what is remembered of each is what it says.
    #[test]
    fn what_is_remembered_is_what_is_said() {
        let keys = (0..40).flat_map(|length| {
            ["password_", "status", "pages\u{0}", "line", "é"].map(|part| {
                let long = part.repeat(length);
                long[..long.floor_char_boundary(length)].to_owned()
            })
        });
        let keys: Vec<String> = keys.chain((0..2_000).map(|n| format!("key{n}"))).collect();
        for _ in 0..2 {
            for key in &keys {
                assert_eq!(MemberName::of(key), MemberName::told(key), "{key}");
            }
        }
    }

    /// Given a name, it says what it is known to say and nothing else; each thing has one teller.
    #[test]
    fn each_thing_has_a_teller() {
        for (place, (says, _)) in TELLERS.iter().enumerate() {
            assert_eq!(*says as usize, place);
        }
        let name = MemberName::of("api_key");
        assert!(name.says(Says::Secret) && name.says(Says::Plain) && !name.says(Says::State));
        assert!(MemberName::of("job_status").says(Says::State));
        assert!(!MemberName::of("tasks").says(Says::Asked));
        assert_eq!(name.hash, hash::text("api_key"));
    }
}
