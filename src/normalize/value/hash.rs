//! The hash functions behind fingerprints and identities.
//!
//! xxh3 for bytes, and one multiplication to put two hashes together. Neither withstands a sender who looks for
//! collisions; such a sender can only fool the watch over his own runs.

use xxhash_rust::const_xxh3::const_custom_default_secret;
use xxhash_rust::xxh3::{xxh3_64_with_secret, xxh3_64_with_seed};

/// Seed of every hash. Fingerprints are kept on disk: a change to anything in this file, in `reader` or in `mask` that changes most
/// of them changes this number too. One that changes a few makes results of these look new once, and leaves it.
const SEED: u64 = 0x4564_6479_0000_0002;

/// The hash of a text.
pub(crate) fn text(text: &str) -> u64 {
    bytes(text.as_bytes())
}

/// The hash of bytes.
pub(crate) fn bytes(bytes: &[u8]) -> u64 {
    if bytes.len() > SEEDED_BYTES_MAX {
        return xxh3_64_with_secret(bytes, &SECRET);
    }
    xxh3_64_with_seed(bytes, SEED)
}

/// Longest text that xxh3 hashes with the seed itself; for a longer one it would make [`SECRET`] of it each time.
const SEEDED_BYTES_MAX: usize = 240;

/// What xxh3 makes of the seed.
static SECRET: [u8; 192] = const_custom_default_secret(SEED);

/// Identity out of several parts in their order, such as a trace id and a span id. Where one ends and the next begins matters.
pub(crate) fn id_hash(parts: &[&[u8]]) -> u64 {
    parts.iter().fold(SEED ^ parts.len() as u64, |hash, part| {
        mix(hash, bytes(part))
    })
}

/// Folds two numbers into one, order mattering: both halves of their product.
pub(crate) fn mix(first: u64, second: u64) -> u64 {
    let product =
        u128::from(first ^ 0x9e37_79b9_7f4a_7c15) * u128::from(second ^ 0xd1b5_4a32_d192_ed03);
    (product as u64) ^ ((product >> 64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Given texts of each length, their hash is that of the seed.
    #[test]
    fn the_secret_is_that_of_the_seed() {
        let text: Vec<u8> = (0..2_000_u16).map(|at| (at % 251) as u8).collect();
        for length in 0..text.len() {
            let text = &text[..length];
            assert_eq!(bytes(text), xxh3_64_with_seed(text, SEED));
        }
    }
}
