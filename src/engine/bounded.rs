//! Small bounded collections that lie within what holds them, or in one piece beside it: nothing is followed or allocated to
//! look through them.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Deref;

/// At most `MAX` values, in place; the first one leaves when one more comes.
#[derive(Clone, Copy)]
pub(crate) struct BoundedVec<T, const MAX: usize> {
    values: [T; MAX],
    length: u8,
}

impl<T: Copy + Default, const MAX: usize> BoundedVec<T, MAX> {
    /// Adds a value.
    pub(crate) fn push(&mut self, value: T) {
        if self.len() == MAX {
            self.values.copy_within(1.., 0);
            self.length -= 1;
        }
        self.values[usize::from(self.length)] = value;
        self.length += 1;
    }
}

impl<T: Copy + Default, const MAX: usize> Default for BoundedVec<T, MAX> {
    fn default() -> Self {
        Self {
            values: [T::default(); MAX],
            length: 0,
        }
    }
}

impl<T, const MAX: usize> Deref for BoundedVec<T, MAX> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.values[..usize::from(self.length)]
    }
}

impl<T: Copy + Default, const MAX: usize> FromIterator<T> for BoundedVec<T, MAX> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut bounded = Self::default();
        values.into_iter().for_each(|value| bounded.push(value));
        bounded
    }
}

impl<T: PartialEq, const MAX: usize> PartialEq for BoundedVec<T, MAX> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: fmt::Debug, const MAX: usize> fmt::Debug for BoundedVec<T, MAX> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(formatter)
    }
}

/// The newest `MAX` values, newest last, of which there is mostly none or one: that one lies in place, and several (or one
/// that looks like none) in memory of their own.
#[derive(Clone, Default)]
pub(crate) struct MostlyOne<T, const MAX: usize> {
    one: T,
    several: Option<Box<BoundedVec<T, MAX>>>,
}

impl<T: Copy + Default + PartialEq, const MAX: usize> MostlyOne<T, MAX> {
    /// Adds a value; the oldest one leaves when there are too many.
    pub(crate) fn push(&mut self, value: T) {
        if let Some(several) = &mut self.several {
            several.push(value);
        } else if self.is_empty() && value != T::default() {
            self.one = value;
        } else {
            let values = self.iter().copied().chain([value]);
            self.several = Some(Box::new(values.collect()));
        }
    }
}

impl<T: Default + PartialEq, const MAX: usize> Deref for MostlyOne<T, MAX> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.several {
            Some(several) => several,
            None if self.one == T::default() => &[],
            None => std::slice::from_ref(&self.one),
        }
    }
}

impl<T: Copy + Default + PartialEq, const MAX: usize> FromIterator<T> for MostlyOne<T, MAX> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut values_kept = Self::default();
        values.into_iter().for_each(|value| values_kept.push(value));
        values_kept
    }
}

impl<T: Default + PartialEq, const MAX: usize> PartialEq for MostlyOne<T, MAX> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: fmt::Debug + Default + PartialEq, const MAX: usize> fmt::Debug for MostlyOne<T, MAX> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(formatter)
    }
}

/// The newest `MAX` hashes, newest last. Looking one up reads two bytes of each; the others, which lie apart, only where those
/// agree.
#[derive(Debug, Default)]
pub(crate) struct RecentHashes<const MAX: usize> {
    /// Once there are `MAX`, the newest takes the place of the oldest.
    tags: Vec<u16>,
    rests: Vec<[u8; REST]>,
    oldest: usize,
}

/// Bytes of a hash that are not in its tag.
const REST: usize = size_of::<u64>() - size_of::<u16>();

impl<const MAX: usize> Clone for RecentHashes<MAX> {
    fn clone(&self) -> Self {
        Self {
            tags: self.tags.clone(),
            rests: self.rests.clone(),
            oldest: self.oldest,
        }
    }

    fn clone_from(&mut self, other: &Self) {
        self.tags.clone_from(&other.tags);
        self.rests.clone_from(&other.rests);
        self.oldest = other.oldest;
    }
}

impl<const MAX: usize> RecentHashes<MAX> {
    /// Adds a hash; the oldest one leaves when there are too many.
    pub(crate) fn push(&mut self, hash: u64) {
        let (tag, rest) = parts(hash);
        let length = self.tags.len();
        if length == MAX {
            self.tags[self.oldest] = tag;
            self.rests[self.oldest] = rest;
            self.oldest = (self.oldest + 1) % MAX;
            return;
        }
        if length == self.tags.capacity() {
            let more = growth::<u16>(length, MAX);
            self.tags.reserve_exact(more);
            self.rests.reserve_exact(more);
        }
        self.tags.push(tag);
        self.rests.push(rest);
    }

    /// Whether a hash is among them.
    pub(crate) fn contains(&self, hash: u64) -> bool {
        is_among(&self.tags, parts(hash).0) && self.iter().any(|known| known == hash)
    }

    /// As [`RunState::bring_near`](super::run::RunState::bring_near): what is searched, and that of which the next one takes the
    /// place.
    pub(crate) fn bring_near(&self) -> u64 {
        let tags = self.tags.iter().step_by(32);
        let oldest = self.rests.get(self.oldest).map_or(0, |rest| rest[0]);
        tags.fold(oldest.into(), |all, tag| all ^ u64::from(*tag))
    }

    /// All of them, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u64> {
        let hashes = self.tags.iter().zip(&self.rests);
        let (newer, older) = (hashes.clone().take(self.oldest), hashes.skip(self.oldest));
        older.chain(newer).map(|(tag, rest)| whole(*tag, *rest))
    }
}

impl<const MAX: usize> PartialEq for RecentHashes<MAX> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

/// A hash as its tag and the rest.
fn parts(hash: u64) -> (u16, [u8; REST]) {
    let [one, two, rest @ ..] = hash.to_le_bytes();
    (u16::from_le_bytes([one, two]), rest)
}

/// What [`parts`] took apart.
fn whole(tag: u16, rest: [u8; REST]) -> u64 {
    let mut bytes = [0; size_of::<u64>()];
    bytes[2..].copy_from_slice(&rest);
    u64::from_le_bytes(bytes) | u64::from(tag)
}

impl<const MAX: usize> FromIterator<u64> for RecentHashes<MAX> {
    fn from_iter<I: IntoIterator<Item = u64>>(hashes: I) -> Self {
        let mut newest = Self::default();
        hashes.into_iter().for_each(|hash| newest.push(hash));
        newest
    }
}

/// Whether a ring of tags holds one.
pub(crate) fn holds(ring: &VecDeque<u16>, tag: u16) -> bool {
    let (front, back) = ring.as_slices();
    is_among(front, tag) || is_among(back, tag)
}

/// Whether a tag is among some. Sixteen are compared at a time.
#[allow(clippy::needless_bitwise_bool, reason = "all of the sixteen at a time")]
fn is_among(tags: &[u16], tag: u16) -> bool {
    let (sixteens, others) = tags.as_chunks::<16>();
    let any = |any, other: &u16| any | (*other == tag);
    sixteens.iter().any(|tags| tags.iter().fold(false, any)) || others.contains(&tag)
}

/// Puts a value at the end of a ring and lets the first one go when the ring is full.
pub(crate) fn push_bounded<T>(ring: &mut VecDeque<T>, value: T, max: usize) {
    if ring.len() >= max {
        ring.pop_front();
    } else if ring.len() == ring.capacity() {
        ring.reserve_exact(growth::<T>(ring.len(), max));
    }
    ring.push_back(value);
}

/// For how many more to make room: as such collections grow, but no less than what is allocated at least, and not beyond what
/// they may hold.
fn growth<T>(length: usize, max: usize) -> usize {
    let least = size_of::<u64>().div_ceil(size_of::<T>());
    length.max(least).min(max - length)
}
