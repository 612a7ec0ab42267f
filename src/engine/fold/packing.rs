//! A fold as bytes: in half the memory, where it is not looked at for a while.
//!
//! The bytes do not leave the process: on disk a fold has the form of the store. Lists are written as lists, whatever memory they
//! have, and made anew from what is read. Hashes and times, which are never small, are written as they are; other numbers are
//! short where they are small.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Fold;
use crate::engine::event::Text;
use crate::engine::few::{Few, Newest, Seldom};
use crate::engine::tally::{Tallies, Tally};

/// A fold that is not looked at; without bytes, that of no reports.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Packed {
    bytes: Box<[u8]>,
    /// The samples of its newest calls, which others hold too.
    samples: Box<[Text]>,
}

impl Packed {
    pub(crate) fn of(fold: &Fold) -> Self {
        let bytes = postcard::to_allocvec(fold);
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
        for (mark, sample) in fold.recent.iter_mut().zip(&self.samples) {
            mark.sample = sample.clone();
        }
        fold
    }
}

impl<T: Serialize, const MAX: usize> Serialize for Few<T, MAX> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de, T, const MAX: usize> Deserialize<'de> for Few<T, MAX>
where
    T: Copy + Default + Deserialize<'de>,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::<T>::deserialize(deserializer).map(Self::from_iter)
    }
}

impl<T: Default + PartialEq + Serialize, const MAX: usize> Serialize for Seldom<T, MAX> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de, T, const MAX: usize> Deserialize<'de> for Seldom<T, MAX>
where
    T: Copy + Default + PartialEq + Deserialize<'de>,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::<T>::deserialize(deserializer).map(Self::from_iter)
    }
}

impl<const MAX: usize> Serialize for Newest<MAX> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::with_capacity(MAX * size_of::<u64>());
        for hash in self.iter() {
            bytes.extend_from_slice(&hash.to_le_bytes());
        }
        serializer.serialize_bytes(&bytes)
    }
}

impl<'de, const MAX: usize> Deserialize<'de> for Newest<MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = <&[u8]>::deserialize(deserializer)?;
        let hashes = bytes.as_chunks().0.iter();
        Ok(hashes.copied().map(u64::from_le_bytes).collect())
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
