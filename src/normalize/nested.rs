//! What is kept of a value, and of the lists and objects that are being read.

use super::digest::VOLATILE;
use super::emptiness::Members;
use super::hash::{self, mix};
use super::mask;

/// What a value is, as far as its surroundings want to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// `null`, or the printed address of an object: a member that is left out.
    Nothing,
    Flag,
    Zero,
    Number,
    Text,
    List,
    Map,
}

/// All that is kept of a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Digest {
    pub(super) hash: u64,
    /// The same with volatile text masked.
    pub(super) masked: u64,
    /// Of a result: the same without its numbers.
    pub(super) frame: u64,
    /// Length of the canonical form in bytes, with escapes counted as the character that they stand for.
    pub(super) bytes: usize,
    pub(super) empty: bool,
    pub(super) shape: Shape,
}

/// Where a member of an object stands in the sample.
#[derive(Clone, Copy)]
pub(super) struct Member {
    pub(super) place: usize,
    pub(super) value: usize,
    /// Numbers before it.
    pub(super) numbers: usize,
}

/// A list being read.
#[derive(Default)]
pub(super) struct List {
    pub(super) hash: u64,
    pub(super) masked: u64,
    pub(super) frame: u64,
    pub(super) bytes: usize,
    pub(super) count: u64,
    pub(super) filled: bool,
}

/// An object being read.
#[derive(Default)]
pub(super) struct Map {
    pub(super) hash: u64,
    pub(super) masked: u64,
    pub(super) frame: u64,
    pub(super) bytes: usize,
    pub(super) count: u64,
    pub(super) members: Members,
    /// What a member that may say what was asked adds to `masked` and `frame`, if there is one.
    question: Option<u64>,
    /// A member holds several values.
    is_nested: bool,
}

impl Map {
    pub(super) fn add(&mut self, key: &str, value: Digest) {
        let name = hash::text(key);
        self.is_nested |= matches!(value.shape, Shape::List | Shape::Map);
        let (masked, frame) = if is_volatile_member(key, &value) {
            (VOLATILE, VOLATILE)
        } else if repeats_question(key, &value) {
            self.question = Some(mix(name, value.masked));
            (value.masked, value.masked)
        } else if is_picture(key, &value) {
            (value.hash, value.hash)
        } else {
            (value.masked, value.frame)
        };
        // Addition makes the order of members meaningless; mixing before it keeps name and value together.
        self.hash = self.hash.wrapping_add(mix(name, value.hash));
        self.masked = self.masked.wrapping_add(mix(name, masked));
        self.frame = self.frame.wrapping_add(mix(name, frame));
        self.bytes += key.len() + 3 + value.bytes;
        self.count += 1;
    }

    /// The hashes of the members without volatile text, and without numbers as well. What was asked is no part of an answer
    /// that holds more.
    pub(super) fn told(&self) -> (u64, u64) {
        let question = self.question.filter(|_| self.is_nested).unwrap_or_default();
        (
            self.masked.wrapping_sub(question),
            self.frame.wrapping_sub(question),
        )
    }
}

/// Whether a member of a result may say what was asked, as searches do beside their hits.
pub(super) fn repeats_question(key: &str, value: &Digest) -> bool {
    value.shape == Shape::Text && key == "query"
}

/// Shortest picture: ids are shorter.
const PICTURE_BYTES_MIN: usize = 256;

/// Whether a member holds the bytes of a picture as content blocks do, where it is what came back, and no id however much it
/// looks like one.
fn is_picture(key: &str, value: &Digest) -> bool {
    value.shape == Shape::Text
        && value.bytes >= PICTURE_BYTES_MIN
        && matches!(key, "data" | "image_url")
}

pub(super) fn is_volatile_member(key: &str, value: &Digest) -> bool {
    !matches!(value.shape, Shape::List | Shape::Map) && mask::is_volatile_key(key)
}
