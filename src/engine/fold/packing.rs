//! A fold as bytes, in half the memory, while nobody looks at it.
//!
//! The bytes do not leave the process: on disk a fold has the form of the store. A list is written as its items, however it is
//! kept in memory, and built anew when it is read. Hashes, ids and times, which are never small, are written in full; other
//! numbers take fewer bytes the smaller they are.

use postcard::ser_flavors::Flavor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::engine::bounded::{BoundedVec, MostlyOne, RecentHashes};
use crate::engine::event::{SpanId, Text};
use crate::engine::fold::marks::CallMark;
use crate::engine::fold::recent::Recent;
use crate::engine::fold::tags::Tags;
use crate::engine::fold::tally::{Tallies, Tally};
use crate::engine::warning::kept::Proof;

use super::Fold;

/// A fold that is not looked at; without bytes, that of no reports.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Packed {
    bytes: Box<[u8]>,
    /// The samples of its newest calls, which others hold too.
    samples: Box<[Text]>,
}

/// More than most folds take.
const USUAL_BYTES: usize = 4 * 1024;

impl Packed {
    pub(crate) fn of(fold: &Fold) -> Self {
        // That of every run whose window has not been full yet.
        if *fold == Fold::default() {
            return Self::default();
        }
        let bytes = Bytes(Vec::with_capacity(USUAL_BYTES));
        let bytes = postcard::serialize_with_flavor(fold, bytes);
        let bytes = bytes.expect("all lists of a fold know how long they are");
        let packed = Self {
            bytes: bytes.as_slice().into(),
            samples: fold.recent.iter().map(|mark| mark.sample.clone()).collect(),
        };
        debug_assert_eq!(packed.unpack(), *fold, "what comes back is what was packed");
        packed
    }

    pub(crate) fn unpack(&self) -> Fold {
        if self.bytes.is_empty() {
            return Fold::default();
        }
        let fold = postcard::from_bytes(&self.bytes);
        let mut fold: Fold = fold.expect("what was packed here can be unpacked");
        fold.recent.set_samples(&self.samples);
        fold
    }
}

/// Where a fold is written to. Most of its numbers are small and come as one byte.
struct Bytes(Vec<u8>);

impl Flavor for Bytes {
    type Output = Vec<u8>;

    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.0.push(byte);
        Ok(())
    }

    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        match bytes {
            [byte] => self.0.push(*byte),
            bytes => self.0.extend_from_slice(bytes),
        }
        Ok(())
    }

    fn finalize(self) -> postcard::Result<Vec<u8>> {
        Ok(self.0)
    }
}

impl<T: Serialize, const MAX: usize> Serialize for BoundedVec<T, MAX> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de, T, const MAX: usize> Deserialize<'de> for BoundedVec<T, MAX>
where
    T: Copy + Default + Deserialize<'de>,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::<T>::deserialize(deserializer).map(Self::from_iter)
    }
}

/// What is always eight bytes: for the fields of a fold that are hashes, ids or times.
pub(crate) mod eight_bytes {
    use super::{Deserialize, Deserializer, EightBytes, Serializer};

    // Postcard writes a number with a point in eight bytes at once, whatever these are, and a whole one byte by byte.
    pub(crate) fn serialize<T, S>(value: &T, serializer: S) -> Result<S::Ok, S::Error>
    where
        T: EightBytes,
        S: Serializer,
    {
        serializer.serialize_f64(f64::from_le_bytes(value.bytes()))
    }

    pub(crate) fn deserialize<'de, T, D>(deserializer: D) -> Result<T, D::Error>
    where
        T: EightBytes,
        D: Deserializer<'de>,
    {
        f64::deserialize(deserializer).map(|bytes| T::of(bytes.to_le_bytes()))
    }
}

pub(crate) trait EightBytes: Copy {
    fn bytes(self) -> [u8; 8];
    fn of(bytes: [u8; 8]) -> Self;
}

impl EightBytes for u64 {
    fn bytes(self) -> [u8; 8] {
        self.to_le_bytes()
    }

    fn of(bytes: [u8; 8]) -> Self {
        Self::from_le_bytes(bytes)
    }
}

impl EightBytes for SpanId {
    fn bytes(self) -> [u8; 8] {
        self.0
    }

    fn of(bytes: [u8; 8]) -> Self {
        Self(bytes)
    }
}

/// One of a list.
#[derive(Serialize, Deserialize)]
struct Eight<T: EightBytes>(#[serde(with = "eight_bytes")] T);

impl<T, const MAX: usize> Serialize for MostlyOne<T, MAX>
where
    T: EightBytes + Default + PartialEq,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().copied().map(Eight))
    }
}

impl<'de, T, const MAX: usize> Deserialize<'de> for MostlyOne<T, MAX>
where
    T: EightBytes + Default + PartialEq,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let values = Vec::<Eight<T>>::deserialize(deserializer)?;
        Ok(values.into_iter().map(|value| value.0).collect())
    }
}

// Most tallies have one call, which is first and last.
impl Serialize for Proof {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self {
            evidence,
            first_ns,
            last_ns,
            spent,
            longest_ns,
        } = self;
        let later_ns = last_ns.wrapping_sub(*first_ns);
        (evidence, Eight(*first_ns), later_ns, spent, longest_ns).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Proof {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (evidence, Eight(first_ns), later_ns, spent, longest_ns) =
            Deserialize::deserialize(deserializer)?;
        Ok(Self {
            evidence,
            first_ns,
            last_ns: first_ns.wrapping_add(later_ns),
            spent,
            longest_ns,
        })
    }
}

impl Serialize for Tags {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.packed())
    }
}

impl<'de> Deserialize<'de> for Tags {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&[u8]>::deserialize(deserializer).map(Self::of_packed)
    }
}

impl<const MAX: usize> Serialize for RecentHashes<MAX> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::with_capacity(MAX * size_of::<u64>());
        for hash in self.iter() {
            bytes.extend_from_slice(&hash.to_le_bytes());
        }
        serializer.serialize_bytes(&bytes)
    }
}

impl<'de, const MAX: usize> Deserialize<'de> for RecentHashes<MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = <&[u8]>::deserialize(deserializer)?;
        let hashes = bytes.as_chunks().0.iter();
        Ok(hashes.copied().map(u64::from_le_bytes).collect())
    }
}

impl Serialize for Recent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Recent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::<CallMark>::deserialize(deserializer).map(Self::from_iter)
    }
}

impl Serialize for Tallies {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Tallies {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::<Tally>::deserialize(deserializer).map(Self::from_iter)
    }
}
