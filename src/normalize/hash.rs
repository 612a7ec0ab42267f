//! The hash functions behind fingerprints and identities.
//!
//! xxh3 for bytes, and one multiplication to put two hashes together. Neither withstands a sender who looks for
//! collisions; such a sender can only fool the watch over his own runs.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Seed of every hash. Fingerprints are kept on disk: a change to anything in this file, in `digest` or in `mask` that changes most
/// of them changes this number too. One that changes a few makes results of these look new once, and leaves it.
const SEED: u64 = 0x4564_6479_0000_0002;

/// The hash of a text.
pub(super) fn text(text: &str) -> u64 {
    bytes(text.as_bytes())
}

/// The hash of bytes.
pub(super) fn bytes(bytes: &[u8]) -> u64 {
    xxh3_64_with_seed(bytes, SEED)
}

/// The hash of several parts in their order; where one ends and the next begins matters.
pub(super) fn parts(parts: &[&[u8]]) -> u64 {
    parts.iter().fold(SEED ^ parts.len() as u64, |hash, part| {
        mix(hash, bytes(part))
    })
}

/// Folds two numbers into one, order mattering: both halves of their product.
pub(super) fn mix(first: u64, second: u64) -> u64 {
    let product =
        u128::from(first ^ 0x9e37_79b9_7f4a_7c15) * u128::from(second ^ 0xd1b5_4a32_d192_ed03);
    (product as u64) ^ ((product >> 64) as u64)
}
