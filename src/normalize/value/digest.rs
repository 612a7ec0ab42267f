//! What is kept of a value, and of the lists and objects that are being read.

use std::ops::Range;

use super::beside::{Beside, Words};
use super::emptiness::Members;
use super::faults::Fault;
use super::hash::mix;
use super::items::Items;
use super::member_name::{MemberName, Said, Says};
use super::reader::VOLATILE;
use super::redact::names::is_secret;
use super::redact::programs::Arguments;

/// What a value is, as far as its surroundings want to know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Shape {
    /// `null`, or the printed address of an object: a member that is left out.
    #[default]
    Nothing,
    Flag,
    Zero,
    Number,
    Text,
    List,
    Map,
}

/// All that is kept of a value.
#[derive(Clone, Copy, Debug, Default)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "seven facts that do not depend on each other"
)]
pub(super) struct Digest {
    pub(super) hash: u64,
    /// The same with volatile text masked.
    pub(super) masked: u64,
    /// Of a result: the same without its numbers.
    pub(super) frame: u64,
    /// Length of the canonical form in bytes, with escapes counted as the character that they stand for.
    pub(super) bytes: usize,
    pub(super) empty: bool,
    /// Of a result: it says that something is still under way.
    pub(super) pending: bool,
    /// Of a result that is a text: it says so where it is the state of something.
    pub(super) doing: bool,
    /// Of a result: it is a verdict that says no.
    pub(super) denies: bool,
    /// Of a result: there are grave faults in it, as compilers tell them.
    pub(super) faulty: bool,
    /// Of a result that is a text: it is short and in words of refusal.
    pub(super) refuses: bool,
    /// Of arguments: a marker that stands for a hidden text.
    pub(super) hidden: bool,
    pub(super) shape: Shape,
}

impl Digest {
    /// Whether it is `false`.
    pub(super) fn is_no(&self) -> bool {
        self.shape == Shape::Flag && self.bytes == "false".len()
    }

    /// Whether it is `true`.
    pub(super) fn is_yes(&self) -> bool {
        self.shape == Shape::Flag && self.bytes == "true".len()
    }
}

/// What is kept of a value that is neither empty nor volatile.
pub(super) fn scalar(hash: u64, bytes: usize, shape: Shape) -> Digest {
    Digest {
        hash,
        masked: hash,
        frame: hash,
        bytes,
        empty: false,
        pending: false,
        doing: false,
        denies: false,
        faulty: false,
        refuses: false,
        hidden: false,
        shape,
    }
}

/// Where a member of an object stands in the sample.
#[derive(Clone, Copy)]
pub(super) struct Member {
    pub(super) place: usize,
    pub(super) value: usize,
    /// Numbers before it.
    pub(super) numbers: usize,
    pub(super) name: MemberName,
}

/// The quotation marks around a member's name, and the colon.
pub(super) const MEMBER_SIGNS: usize = 3;

/// A list being read.
#[derive(Default)]
pub(super) struct List {
    pub(super) hash: u64,
    pub(super) masked: u64,
    pub(super) frame: u64,
    pub(super) bytes: usize,
    pub(super) count: u64,
    pub(super) filled: bool,
    /// Of a result: an item tells of grave faults.
    pub(super) faulty: bool,
    /// Of a result: what is kept of the items one by one.
    pub(super) items: Items,
    /// Of arguments: where the next item stands in the sample.
    pub(super) place: usize,
    /// Of arguments: what those of a program would be, as in `["login", "--password", …]`.
    pub(super) arguments: Arguments,
}

/// An object being read.
#[derive(Default)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "facts that its members tell, each by itself"
)]
pub(super) struct Map {
    pub(super) hash: u64,
    pub(super) masked: u64,
    pub(super) frame: u64,
    pub(super) bytes: usize,
    pub(super) count: u64,
    /// What the names of all members say.
    pub(super) said: Said,
    pub(super) members: Members,
    pub(super) pending: bool,
    pub(super) denies: bool,
    /// A member says that it did not go well, and another one lists faults: both together are a verdict.
    goes_wrong: bool,
    has_faults: bool,
    /// A member holds what a program printed, which says why beside one that says that it did not go well.
    has_print: bool,
    /// A member lists errors in words: alone it is a verdict.
    lists_errors: bool,
    /// What the members say of a fault that it may be.
    pub(super) fault: Fault,
    /// A member tells of grave faults.
    faulty: bool,
    /// A member counts what failed, and is above nought; another one counts what passed.
    some_failed: bool,
    counts_passed: bool,
    /// Of arguments: where the first member stands in the sample.
    pub(super) place: usize,
    /// Of arguments: whether these are a shell's.
    pub(super) beside: Beside,
    /// Of arguments: members that may have been made up for the call, if nothing is asked by them.
    pub(super) drawn: Vec<Words>,
    /// Of arguments: a member names a secret that another one holds.
    names_secret: bool,
    /// Of arguments: where in the sample a value stands that a later member may name.
    unnamed: Option<Range<usize>>,
    /// What a member that may say what was asked adds to `masked` and `frame`, if there is one.
    question: Option<u64>,
    /// A member holds several values.
    is_nested: bool,
    /// What members that may say how well this was found add to `masked` and to `frame`.
    scores: (u64, u64),
    /// What members that count writes add to `masked` and to `frame`.
    counters: (u64, u64),
    /// A member is a text of some length.
    has_passage: bool,
}

/// What names say of how something is, or how it went; those of most members say nothing of it.
const HOW_IT_IS: Said = Said::all(&[
    Says::State,
    Says::Asked,
    Says::End,
    Says::UnderWay,
    Says::Verdict,
    Says::WentWell,
    Says::Mishaps,
    Says::Printed,
    Says::Errors,
    Says::Passed,
    Says::Failed,
]);

/// What names say that gives their members a role.
const ROLES: Said = Said::all(&[
    Says::Volatile,
    Says::Token,
    Says::Turn,
    Says::Version,
    Says::Views,
    Says::Writes,
    Says::Query,
    Says::Score,
    Says::Picture,
]);

impl List {
    /// A list whose items stand in a sample from a place on.
    pub(super) fn at(place: usize) -> Self {
        Self {
            place,
            ..Self::default()
        }
    }
}

/// Members that name what stands in another one of the same object, and that one.
pub(super) const VALUE_NAMES: [&str; 11] = [
    "name", "key", "Name", "Key", "element", "selector", "field", "label", "id", "variable", "type",
];
pub(super) const NAMED_VALUES: [&str; 4] = ["value", "Value", "val", "text"];

impl Map {
    /// An object whose members stand in a sample from a place on.
    pub(super) fn at(place: usize) -> Self {
        Self {
            place,
            ..Self::default()
        }
    }

    /// Whether the next member of arguments, with its value as the sample has it from a place on, holds a secret: its name says
    /// so, or another member, as in the lists of variables and headers, `{"name": "API_KEY", "value": …}`, and in what is typed
    /// into a page. `true` and `false` are no secrets.
    pub(super) fn holds_secret(
        &mut self,
        name: MemberName,
        value: &Digest,
        place: usize,
        written: &str,
    ) -> bool {
        if value.shape == Shape::Text && name.says(Says::NameOfValue) {
            self.names_secret |= is_secret(written.as_bytes());
        }
        if !name.says(Says::NamedValue) {
            return value.shape != Shape::Flag && name.says(Says::Secret);
        }
        if !self.names_secret {
            self.unnamed = Some(place..place + written.len());
        }
        self.names_secret
    }

    /// Where a secret stands in the sample that was named behind it.
    pub(super) fn named_later(&self) -> Option<Range<usize>> {
        self.unnamed.clone().filter(|_| self.names_secret)
    }

    /// Adds a member of a name of so many bytes.
    pub(super) fn add(&mut self, name: MemberName, name_bytes: usize, value: &Digest, role: Role) {
        let is_nested = matches!(value.shape, Shape::List | Shape::Map);
        self.is_nested |= is_nested;
        self.faulty |= value.faulty;
        self.has_passage |= value.shape == Shape::Text && value.bytes >= PASSAGE_BYTES_MIN;
        if is_nested || name.said.says_any(HOW_IT_IS) {
            self.note_how_it_is(name, value);
        }
        let (masked, frame) = match role {
            Role::Volatile => (VOLATILE, VOLATILE),
            Role::Question => {
                self.question = Some(mix(name.hash, value.masked));
                (value.masked, value.masked)
            }
            Role::Score => {
                self.scores.0 = self.scores.0.wrapping_add(mix(name.hash, value.masked));
                self.scores.1 = self.scores.1.wrapping_add(mix(name.hash, value.frame));
                (value.masked, value.frame)
            }
            Role::Counter => {
                self.counters.0 = self.counters.0.wrapping_add(mix(name.hash, value.masked));
                self.counters.1 = self.counters.1.wrapping_add(mix(name.hash, value.frame));
                (value.masked, value.frame)
            }
            Role::Picture => (value.hash, value.hash),
            Role::Other => (value.masked, value.frame),
        };
        // Addition makes the order of members meaningless; mixing before it keeps name and value together.
        self.hash = self.hash.wrapping_add(mix(name.hash, value.hash));
        self.masked = self.masked.wrapping_add(mix(name.hash, masked));
        self.frame = self.frame.wrapping_add(mix(name.hash, frame));
        self.bytes += name_bytes + MEMBER_SIGNS + value.bytes;
        self.count += 1;
    }

    /// Notes what a member says of how what the object is about is, or how it went.
    fn note_how_it_is(&mut self, name: MemberName, value: &Digest) {
        // What an object within says is said of it as a whole.
        self.pending |= (value.pending || value.doing)
            && match value.shape {
                Shape::Map => true,
                Shape::List => name.says(Says::Asked),
                _ => name.says(Says::State),
            };
        self.pending |= value.is_no() && name.says(Says::End);
        self.pending |= value.is_yes() && name.says(Says::UnderWay);
        let is_state = value.denies && (value.shape == Shape::Map || name.says(Says::State));
        self.denies |= is_state || (value.is_no() && name.says(Says::Verdict));
        self.goes_wrong |= value.is_no() && name.says(Says::WentWell);
        let is_list = value.shape == Shape::List && !value.empty;
        self.has_faults |= is_list && name.says(Says::Mishaps);
        self.has_print |= value.shape == Shape::Text && name.says(Says::Printed);
        self.lists_errors |= is_list && name.says(Says::Errors);
        self.denies |= self.goes_wrong && (self.has_faults || self.has_print);
        if matches!(value.shape, Shape::Number | Shape::Zero) {
            self.counts_passed |= name.says(Says::Passed);
            self.some_failed |= value.shape == Shape::Number && name.says(Says::Failed);
        }
        self.denies |= self.counts_passed && (self.some_failed || self.has_faults);
    }

    /// Takes out a member of arguments, of which all hashes are one.
    pub(super) fn leave_out(&mut self, words: &Words) {
        for hash in [&mut self.hash, &mut self.masked, &mut self.frame] {
            *hash = hash.wrapping_sub(words.hash);
        }
        self.bytes -= words.bytes;
        self.count -= 1;
    }

    /// Whether it is a grave fault, as compilers tell them, or holds some.
    pub(super) fn is_faulty(&self) -> bool {
        self.faulty || self.fault.is_told()
    }

    /// Whether it is a verdict that says no, which may take all of its members to know.
    pub(super) fn is_verdict(&self) -> bool {
        self.denies || (self.lists_errors && self.count == 1)
    }

    /// The hashes of the members without volatile text, and without numbers as well. What was asked is no part of an answer
    /// that holds more, nor is how well a passage, or whatever was searched for, fits what was asked a part of it, nor how often
    /// something was written of which more is told.
    pub(super) fn told(&self, is_searched: bool) -> (u64, u64) {
        let question = self.question.filter(|_| self.is_nested).unwrap_or_default();
        let (masked, frame) = if self.has_passage || is_searched {
            self.scores
        } else {
            (0, 0)
        };
        let tells = self.has_passage || self.is_nested || self.count >= TELLING_MEMBERS_MIN;
        let counters = if tells { self.counters } else { (0, 0) };
        let masked = masked.wrapping_add(counters.0).wrapping_add(question);
        let frame = frame.wrapping_add(counters.1).wrapping_add(question);
        (
            self.masked.wrapping_sub(masked),
            self.frame.wrapping_sub(frame),
        )
    }
}

/// Whether a member counts the checks that ended so: `failed`, `tests_failed`, `numFailedTests`.
pub(super) fn counts(key: &str, end: &str) -> bool {
    let letters = key.as_bytes();
    letters
        .windows(end.len())
        .any(|part| part.eq_ignore_ascii_case(end.as_bytes()))
}

/// Whether a member says that none failed, which says nothing of how many were done.
pub(super) fn none_failed(name: MemberName, value: &Digest) -> bool {
    value.shape == Shape::Zero && name.says(Says::Failed)
}

/// Members that say of what was checked whether it will do.
pub(super) const VERDICTS: [&str; 16] = [
    "succeeded",
    "passed",
    "pass",
    "valid",
    "is_valid",
    "isValid",
    "approved",
    "accepted",
    "allowed",
    "permitted",
    "authorized",
    "granted",
    "eligible",
    "relevant",
    "correct",
    "verified",
];

/// Members that hold what a program printed, those first that tell most of why it failed.
pub(super) const PRINTED: [&str; 5] = ["stderr", "output", "stdout", "log", "logs"];

/// Members that say of what was begun whether it has come to its end.
pub(super) const ENDS: [&str; 6] = [
    "done",
    "finished",
    "completed",
    "complete",
    "ready",
    "is_ready",
];

/// Members that say so the other way round.
pub(super) const UNDER_WAY: [&str; 5] = [
    "running",
    "in_progress",
    "inProgress",
    "pending",
    "processing",
];

/// What a member is to the object that it stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Something new in every result, as its name says.
    Volatile,
    /// It may say what was asked, as searches do beside their hits.
    Question,
    /// It may say how well a passage was found to fit, as searches do beside each of their hits, or how often it was looked at.
    Score,
    /// It counts how often what is told was written, or how long it may be kept.
    Counter,
    /// It holds the bytes of a picture as content blocks do, where it is what came back, and no id however much it looks like
    /// one.
    Picture,
    Other,
}

/// Fewest members of an object that tells of something, whatever one of them counts.
const TELLING_MEMBERS_MIN: u64 = 4;

/// Shortest text that is a passage that was found, rather than a name or a state, with its quotation marks.
const PASSAGE_BYTES_MIN: usize = 40;

/// Shortest picture: ids are shorter.
const PICTURE_BYTES_MIN: usize = 256;

impl Role {
    /// The role of a member of this name; hits stand in a list.
    pub(super) fn of(name: MemberName, value: &Digest, is_in_list: bool) -> Self {
        let is_text = value.shape == Shape::Text;
        let is_number = matches!(value.shape, Shape::Number | Shape::Zero);
        let is_long = value.bytes >= PICTURE_BYTES_MIN;
        let is_new = |name: MemberName| {
            name.says(Says::Volatile)
                || name.says(Says::Token)
                || (is_number && name.says(Says::Turn))
                || (!is_in_list && name.says(Says::Version))
        };
        let is_nested = matches!(value.shape, Shape::List | Shape::Map);
        // One score may be made of several: `{"score": {"bm25": 12.4}}`.
        let are_scores = is_in_list && value.shape == Shape::Map && name.says(Says::Score);
        if are_scores {
            Self::Score
        } else if is_nested || !name.said.says_any(ROLES) {
            Self::Other
        } else if is_new(name) {
            Self::Volatile
        } else if is_number && name.says(Says::Views) {
            Self::Score
        } else if is_number && name.says(Says::Writes) {
            Self::Counter
        } else if is_text && name.says(Says::Query) {
            Self::Question
        } else if is_in_list && is_number && name.says(Says::Score) {
            Self::Score
        } else if is_text && is_long && name.says(Says::Picture) {
            Self::Picture
        } else {
            Self::Other
        }
    }
}
