//! A small stable hash for ids and keys made inside the engine.
//!
//! FNV-1a with 64 bits (the published parameters of the FNV page) and a final mix, so that ids are the same on every
//! machine and in every release. What it hashes is short; values were hashed before they came here.

/// Hash of several parts; the parts' borders count, so `["ab", "c"]` differs from `["a", "bc"]`.
#[must_use]
pub(crate) fn stable(parts: &[&[u8]]) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut take = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    for part in parts {
        part.iter().for_each(|byte| take(*byte));
        take(0xff);
    }
    mix(hash, 0)
}

/// Hash of a name, as it is kept in states and ids.
#[must_use]
pub(crate) fn text_hash(text: &str) -> u64 {
    stable(&[text.as_bytes()])
}

/// One hash out of two.
#[must_use]
pub(crate) fn mix(left: u64, right: u64) -> u64 {
    let mut hash = left.rotate_left(26) ^ right.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash ^= hash >> 32;
    hash = hash.wrapping_mul(0xd6e8_feb8_6659_fd93);
    hash ^ (hash >> 32)
}
