//! What tells one receipt from the next: the short name of what was made, or of the request.
//!
//! Whoever makes something twice with the same words has two names for it (`INC48211`, `4614707d`), and each command has a number
//! of its own. Elsewhere a word with a digit in it may be the answer. So such words are left out where a tool makes something
//! with words that say what, where a result says that something was done and nothing else, and behind the name of an id in an
//! error.

use std::borrow::Cow;

use memchr::memmem;

use crate::engine::ids::names_id;

use super::emptiness::is_nothing;
use super::scratch::{Scratch, Written};
use super::{members, wide};

/// What stands for such a word.
const NAME: &str = "<id>";

/// Longest result that says no more than that something was done.
const DONE_BYTES_MAX: usize = 128;

/// Longest result that says of a call that it failed and nothing else.
const FAILED_BYTES_MAX: usize = 512;

/// Shortest token that may be drawn by chance, in hex digits one of which is a decimal one.
const TOKEN_BYTES_MIN: usize = 6;

/// Words that say that something was done.
const DONE: [&str; 8] = [
    "ok", "success", "done", "accepted", "sent", "queued", "applied", "updated",
];

/// How far before a part of an id its name is looked for, in bytes.
const ID_BYTES_MAX: usize = 128;

/// What stands before an id in an error that is JSON.
const IDS: [&str; 3] = ["\"id\"", "_id\"", "Id\""];

/// A result's text, of which the numbers are read apart, without the words that name something with a digit in them.
pub(super) fn without_names(text: Written<'_>) -> Written<'_> {
    let is_name = |word: &[u8]| {
        let digits = word.iter().filter(|byte| byte.is_ascii_digit()).count();
        digits > 0 && (digits < word.len() || digits >= TOKEN_BYTES_MIN)
    };
    match replaced(&text, |_, word| is_name(word)) {
        Some(rest) => Written::Anew(rest),
        None => text,
    }
}

/// An error's text, as JSON, without the ids in it that were drawn by chance.
pub(super) fn without_error_ids(text: Cow<'_, str>) -> Cow<'_, str> {
    if !text.starts_with('{') {
        return text;
    }
    let is_named = |before: &str| {
        // An id may have several parts: `job_ab12cd34_18f2c`.
        let is_of_id = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '_' | '-');
        let near = before.floor_char_boundary(before.len().saturating_sub(ID_BYTES_MAX));
        let begin = before[near..].trim_end_matches(is_of_id);
        let name = begin.trim_end_matches([' ', '"']).strip_suffix(':');
        name.is_some_and(|name| IDS.iter().any(|id| name.trim_end().ends_with(id)))
    };
    let is_id = |before: &str, word: &[u8]| is_token(word) && is_named(before);
    match replaced(&text, is_id) {
        Some(rest) => Cow::Owned((*rest).clone()),
        None => text,
    }
}

/// Whether a result, as JSON, says that something was done, and nothing else but tokens that were drawn by chance and no ids of
/// things.
pub(super) fn says_done(json: &str) -> bool {
    if json.len() > DONE_BYTES_MAX || !json.starts_with('{') {
        return false;
    }
    let (mut done, mut tokens) = (false, false);
    for (name, value) in members(json) {
        let text = value.trim_matches('"');
        let is_done = value == "true" || DONE.iter().any(|word| text.eq_ignore_ascii_case(word));
        done |= is_done;
        tokens |= !is_done;
        if !is_done && (names_id(&name) || !value.starts_with('"') || !is_token(text.as_bytes())) {
            return false;
        }
    }
    done && tokens
}

/// Whether a result, as JSON, says that a call failed, and there is an id beside that.
pub(super) fn says_failed(json: &str) -> bool {
    // Nearly every result is spared the walk through its members.
    let holds = |part: &[u8]| memmem::find(json.as_bytes(), part).is_some();
    let may_fail = json.len() <= FAILED_BYTES_MAX && json.starts_with('{');
    if !may_fail || !(holds(b"\"error\"") || holds(b"false")) {
        return false;
    }
    let (mut failed, mut has_id) = (false, false);
    for (name, value) in members(json) {
        has_id |= names_id(&name);
        failed |= match &*name {
            "error" => !is_nothing(value),
            "ok" | "success" => value == "false",
            _ => false,
        };
    }
    failed && has_id
}

fn is_token(word: &[u8]) -> bool {
    word.len() >= TOKEN_BYTES_MIN
        && word.iter().all(u8::is_ascii_hexdigit)
        && word.iter().any(u8::is_ascii_digit)
}

/// The text with the words replaced of which this is true, given what stands before them, if there are any. Each holds a digit.
fn replaced(text: &str, is_one: impl Fn(&str, &[u8]) -> bool) -> Option<Scratch> {
    let bytes = text.as_bytes();
    let is_word = |byte: &&u8| byte.is_ascii_alphanumeric();
    let mut rest = Scratch::default();
    let (mut copied, mut at) = (0, 0);
    while let Some(digit) = wide::digit(bytes, at) {
        let start = digit - bytes[at..digit].iter().rev().take_while(is_word).count();
        let end = digit + bytes[digit..].iter().take_while(is_word).count();
        at = end;
        if is_one(&text[..start], &bytes[start..end]) {
            rest.push_str(&text[copied..start]);
            rest.push_str(NAME);
            copied = end;
        }
    }
    if copied == 0 {
        return None;
    }
    rest.push_str(&text[copied..]);
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::super::tests::is_soon;
    use super::super::{Arguments, ResultKind, answer_json};
    use super::{Cow, says_done, without_error_ids};
    use crate::engine::event::{Recorded, Value};
    use crate::engine::policy::ToolSettings;

    const TICKET: &str = r#"{"title":"VPN down in Riga office","priority":"P2"}"#;

    fn answer(tool: &str, arguments: &str, json: &str) -> Value {
        let arguments = Arguments::of(arguments);
        let answer = answer_json(&ToolSettings::PLAIN, ResultKind::of(tool), json, &arguments);
        let Recorded::Value(value) = answer else {
            panic!("{json}");
        };
        value
    }

    /// Given an error of hardly anything but parts of ids, it is read in a time that grows with its length alone.
    #[test]
    fn errors_of_ids_do_not_take_long() {
        let long = format!("{{{}", "abcde1-".repeat(1 << 15));
        assert!(is_soon(|| drop(without_error_ids(Cow::Borrowed(&long)))));
    }

    /// Given something that is made again with the same words, what came back is the same but for its name, however that is
    /// written; with few words, many of a kind may be wanted; and of who looks, the name is the answer.
    #[test]
    fn names_of_what_was_made() {
        let same = |tool: &str, arguments: &str, one: &str, other: &str| {
            let [one, other] = [one, other].map(|json| answer(tool, arguments, json));
            one.masked == other.masked
        };
        for (one, other) in [
            (r#"{"id":"INC48211"}"#, r#"{"id":"INC51806"}"#),
            (r#"{"id":"4614707d"}"#, r#"{"id":"46147071"}"#),
            ("Created INC48211.", "Created INC51806."),
            (
                r#"{"id":"INC1","url":"https://a.example/INC1","created_at":"2026-11-25T00:48:14Z"}"#,
                r#"{"id":"INC2","url":"https://a.example/INC2","created_at":"2026-11-25T00:48:19Z"}"#,
            ),
        ] {
            assert!(same("create_ticket", TICKET, one, other), "{one}");
            assert!(!same("get_ticket", TICKET, one, other), "{one}");
            assert!(
                !same("create_unit", r#"{"unit":"archer"}"#, one, other),
                "{one}"
            );
        }
        let ids = [
            r#"{"id":"INC48211","queue":"a"}"#,
            r#"{"id":"INC51806","queue":"b"}"#,
        ];
        assert!(!same("create_ticket", TICKET, ids[0], ids[1]));
    }

    /// Given a result that says that something was done, another token beside it makes it no other result; an id, or more than
    /// that, does.
    #[test]
    fn tokens_of_what_was_done() {
        for done in [
            r#"{"ok":true,"cmd":"060637"}"#,
            r#"{"done":true,"order":"4614707d"}"#,
            r#"{"status":"accepted","ref":"a81f03"}"#,
        ] {
            assert!(says_done(done), "{done}");
        }
        for other in [
            r#"{"ok":true}"#,
            r#"{"cmd":"060637"}"#,
            r#"{"ok":true,"id":"4614707d"}"#,
            r#"{"ok":true,"room":"b7"}"#,
            r#"{"ok":true,"left":17}"#,
            r#"{"ok":false,"cmd":"060637"}"#,
            r#"{"ok":true,"cmd":"060637","seen":"a wall"}"#,
            "done 060637",
        ] {
            assert!(!says_done(other), "{other}");
        }
        let set = r#"{"device":"den","level":30}"#;
        let masked = |json: &str| answer("set_volume", set, json).masked;
        assert_eq!(
            masked(r#"{"ok":true,"cmd":"060637"}"#),
            masked(r#"{"ok":true,"cmd":"0b12fe"}"#)
        );
    }

    /// Given a result that says that the call failed, its id makes it no other failure; what is told beside it does.
    #[test]
    fn ids_of_failed_calls() {
        let masked = |json: &str| answer("pull_contacts", "{}", json).masked;
        let one = masked(r#"{"error":"token invalid","id":"03ca23"}"#);
        assert_eq!(one, masked(r#"{"error":"token invalid","id":"9f00d1"}"#));
        assert_ne!(one, masked(r#"{"error":"token gone","id":"03ca23"}"#));
        let found = |id: &str| masked(&format!(r#"{{"error":null,"id":"{id}"}}"#));
        assert_ne!(found("03ca23"), found("9f00d1"));
    }

    /// Given an error with an id that was drawn for it, the id is left out; what is told in words stays.
    #[test]
    fn ids_of_errors() {
        let check = |error: &str, expected: &str| {
            assert_eq!(
                &*without_error_ids(Cow::Borrowed(error)),
                expected,
                "{error}"
            );
        };
        check(
            r#"{"job":{"jobId":"bqx_3f2a91c0_18f2c07"}}"#,
            r#"{"job":{"jobId":"bqx_<id>_<id>"}}"#,
        );
        check(
            r#"{"error":"token 03ca23 invalid","id": "03ca23","event_id":"9f0011aa"}"#,
            r#"{"error":"token 03ca23 invalid","id": "<id>","event_id":"<id>"}"#,
        );
        for kept in [r#"{"error":"a","id":"INC7"}"#, r#""id":"03ca23""#, ""] {
            check(kept, kept);
        }
    }
}
