//! Ids in arguments, which a service hands out anew each time that something is begun: calls that differ in one alone ask for the
//! same of the next attempt.

use crate::engine::hash::{mix, text_hash};

/// Shortest word with a digit that may be such an id: shorter ones count things, and are places in lists.
const ID_BYTES_MIN: usize = 5;

/// Hash of arguments without the words that may be ids, and without the digits of the others.
pub(crate) fn form(sample: &str) -> u64 {
    let words = sample.split_inclusive(|sign: char| !sign.is_ascii_alphanumeric());
    words.fold(0, |hash, word| {
        let sign = word.trim_start_matches(|sign: char| sign.is_ascii_alphanumeric());
        let bare = &word[..word.len() - sign.len()];
        if is_id(bare) {
            return mix(hash, text_hash(sign));
        }
        let parts = word.split(|sign: char| sign.is_ascii_digit());
        let parts = parts.filter(|part| !part.is_empty());
        parts.fold(hash, |hash, part| mix(hash, text_hash(part)))
    })
}

/// Whether two calls of one form have other words that may be ids.
pub(crate) fn have_other_ids(left: &str, right: &str) -> bool {
    fn ids(text: &str) -> impl Iterator<Item = &str> {
        text.split(|sign: char| !sign.is_ascii_alphanumeric())
            .filter(|word| is_id(word))
    }
    ids(left).zip(ids(right)).any(|(left, right)| left != right)
}

fn is_id(word: &str) -> bool {
    word.len() >= ID_BYTES_MIN && word.bytes().any(|sign| sign.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::{form, have_other_ids};

    /// Given calls that ask for the next attempt, they have one form and differ in an id; those about another thing do not.
    #[test]
    fn ids_of_attempts() {
        for (left, right) in [
            (r#"{"job":5100000}"#, r#"{"job":5107313}"#),
            (
                "gh run view 11893400001 --log",
                "gh run view 11893499992 --log",
            ),
            (
                r#"{"run":"jr_3f2a91c077d1"}"#,
                r#"{"run":"jr_9b3dba9381f0"}"#,
            ),
        ] {
            assert_eq!(form(left), form(right), "{left}");
            assert!(have_other_ids(left, right), "{left}");
        }
        for (left, right) in [
            ("ssh worker-01 reboot", "ssh worker-02 reboot"),
            (
                r#"{"seed":1,"timeout":120000}"#,
                r#"{"seed":2,"timeout":120000}"#,
            ),
        ] {
            assert_eq!(form(left), form(right), "{left}");
            assert!(!have_other_ids(left, right), "{left}");
        }
        assert_ne!(form("log 5100000"), form("status 5100000"));
    }
}
