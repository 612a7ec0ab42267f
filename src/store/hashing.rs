//! Hash tables for what every report passes: run ids, traces, and the texts of a record.
//!
//! They hash with xxh3, several times as fast as the standard library's hasher on keys this short. The seed is drawn anew
//! by each process, so that nobody can send ids which are known to collide.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// A hash table with a fast keyed hash.
pub(crate) type FastMap<K, V> = HashMap<K, V, Seeded>;

/// A hash set with the same.
pub(crate) type FastSet<K> = HashSet<K, Seeded>;

/// Makes hashers with the seed of this process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seeded(u64);

impl Default for Seeded {
    fn default() -> Self {
        static SEED: OnceLock<u64> = OnceLock::new();
        Self(*SEED.get_or_init(|| RandomState::new().hash_one(0)))
    }
}

impl BuildHasher for Seeded {
    type Hasher = Xxh3;

    fn build_hasher(&self) -> Xxh3 {
        Xxh3(self.0)
    }
}

/// Hashes each piece with the hash of those before it as its seed.
pub(crate) struct Xxh3(u64);

impl Hasher for Xxh3 {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64_with_seed(bytes, self.0);
    }

    /// The end of a text: nothing follows it in the keys that are hashed here.
    fn write_u8(&mut self, _: u8) {}

    /// The length of an array, which all keys of one table share.
    fn write_usize(&mut self, _: usize) {}

    fn finish(&self) -> u64 {
        self.0
    }
}
