//! States that are known by their form: `transcribing`, `CREATE_IN_PROGRESS`, `awaiting_payment`, `under review`, `審査中`. As
//! the value of a member that holds a state, or alone, as programs print it that are asked for nothing else, such a word says
//! that something is under way.

use super::begins;

/// Longest state of such a form.
const STATE_BYTES_MAX: usize = 48;

/// How a state ends that is being worked on, in lower case, `_` for any sign between words.
const PROGRESS: [&str; 2] = ["in_progress", "inprogress"];

/// How a state begins that waits for something, in the same form.
const AWAITED: [&str; 3] = ["pending_", "awaiting_", "waiting_"];

/// States of what was handed in or sent and has not come to its end, in the same form.
const HANDED_IN: [&str; 20] = [
    "accepted",
    "delayed",
    "dispatched",
    "enqueued",
    "in_review",
    "in_transit",
    "initiated",
    "laufend",
    "läuft",
    "on_hold",
    "out_for_delivery",
    "received",
    "requested",
    "runnable",
    "shipped",
    "submitted",
    "under_review",
    "unterwegs",
    "wartend",
    "wird_geprüft",
];

/// What may stand behind a word for what is being done: `backing-up`, `shutting down`.
const ASIDES: [&str; 2] = ["_up", "_down"];

/// Letters of the shortest word for what is being done, `paying`.
const DOING_BYTES_MIN: usize = 6;

/// Words of that form that tell how something is, that it does not go well, or the name of a place, in lower case.
const NOT_DOING: [&str; 30] = [
    "anything",
    "conflicting",
    "crashing",
    "erroring",
    "everything",
    "evening",
    "existing",
    "expiring",
    "failing",
    "flapping",
    "functioning",
    "hanging",
    "listening",
    "living",
    "missing",
    "morning",
    "nothing",
    "operating",
    "outstanding",
    "passing",
    "remaining",
    "something",
    "spring",
    "staging",
    "standing",
    "string",
    "thing",
    "trending",
    "warning",
    "wyoming",
];

/// What a word of Chinese or Japanese, or of Korean, ends with that says what is being done, and how many bytes it has at most.
const AMID: [&str; 2] = ["中", "중"];
const AMID_BYTES_MAX: usize = 24;

/// Such words that tell how something is as long as all is well: in use, in operation, open, public, on sale, in force.
const NOT_AMID: [&str; 16] = [
    "使用中",
    "利用中",
    "启用中",
    "營業中",
    "营业中",
    "営業中",
    "稼働中",
    "公開中",
    "販売中",
    "在职中",
    "有効中",
    "사용",
    "운영",
    "영업",
    "판매",
    "공개",
];

/// Whether a text, as the state of something, says by its form that this is under way.
pub(super) fn is_doing(text: &str) -> bool {
    // Nearly every text is longer, or ends and begins otherwise.
    let bytes = text.as_bytes();
    if bytes.len() > STATE_BYTES_MAX || bytes.len() < DOING_BYTES_MIN {
        return false;
    }
    names_doing(bytes)
        || is_amid(text)
        || PROGRESS
            .iter()
            .any(|end| ends(bytes, end) && !begins(bytes, "no"))
        || AWAITED.iter().any(|start| begins(bytes, start))
        || HANDED_IN
            .iter()
            .any(|state| state.len() == bytes.len() && begins(bytes, state))
}

/// Whether a text that nothing names a state says so: alone, `accepted` may be a word that something was done.
pub(super) fn is_doing_alone(text: &str) -> bool {
    let bytes = text.as_bytes();
    (DOING_BYTES_MIN..=STATE_BYTES_MAX).contains(&bytes.len())
        && (names_doing(bytes) || is_amid(text) || ends(bytes, PROGRESS[0]))
        && !begins(bytes, "no")
}

/// Whether a text is one word for what is being done: `rendering`, `ContainerCreating`, `backing-up`.
fn names_doing(text: &[u8]) -> bool {
    let aside = ASIDES.iter().find(|aside| ends(text, aside));
    let word = &text[..text.len() - aside.map_or(0, |aside| aside.len())];
    word.len() >= DOING_BYTES_MIN
        && ends(word, "ing")
        && word.iter().all(u8::is_ascii_alphabetic)
        && !NOT_DOING
            .iter()
            .any(|known| word.eq_ignore_ascii_case(known.as_bytes()))
}

/// Whether a text is one word for what is being done in a language that says so at its end: `審査中`, `심사 중`.
fn is_amid(text: &str) -> bool {
    // Most texts are told by their last byte.
    text.len() <= AMID_BYTES_MAX
        && AMID.iter().any(|end| text.ends_with(end))
        && text
            .chars()
            .all(|letter| letter == ' ' || letter.len_utf8() >= 3)
        && !NOT_AMID.iter().any(|known| text.starts_with(known))
}

fn ends(text: &[u8], words: &str) -> bool {
    let start = text.len().checked_sub(words.len());
    start.is_some_and(|start| begins(&text[start..], words))
}

#[cfg(test)]
mod tests {
    use super::is_doing;

    /// Given states of what is being done, waited for or handed in, they are known by their form; those that tell an end, a fault,
    /// or a thing are not.
    #[test]
    fn forms_of_states() {
        for state in [
            "transcribing",
            "Rendering",
            "ContainerCreating",
            "shutting-down",
            "warming up",
            "CREATE_IN_PROGRESS",
            "update in progress",
            "pending_review",
            "PENDING-VALIDATION",
            "awaiting payment",
            "waiting on vendor",
            "RUNNABLE",
            "on hold",
            "under_review",
            "Läuft",
            "審査中",
            "审核中",
            "심사 중",
        ] {
            assert!(is_doing(state), "{state}");
        }
        for other in [
            "",
            "ing",
            "king",
            "missing",
            "Warning",
            "FAILING",
            "nothing",
            "Wyoming",
            "not in progress",
            "completed",
            "impending doom",
            "the sun is rising",
            "receivedness",
            "accept",
            "rewritten in progressive steps",
            "使用中",
            "稼働中",
            "사용 중",
            "心中有数",
        ] {
            assert!(!is_doing(other), "{other}");
        }
    }
}
