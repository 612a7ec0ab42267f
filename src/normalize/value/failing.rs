//! Tells the failure of which a result speaks: the signs in the order in which they are asked.
//!
//! 1. A cell of a sheet, or of a notebook (`crashes`), that shows an error.
//! 2. Of an object, what its members say at its top, within a response of JSON-RPC that carries it (`rpc`): `isError`; an `error`
//!    with something in it, which is no `remark`, nor that of a thing that was asked for; that the call was refused, or errors of
//!    GraphQL (`refusal`); the error of a service that has a form of its own for it (`services`); a `response` of HTTP's that
//!    failed, and words by which a caller is `turned_away`.
//! 3. Of anything else, a fault in XML (`services`), and its words (`text`).
//! 4. Of a list, its only item, where that is an object with the code of an error.
//!
//! What these say is the error; where they say nothing, the result is. Nearly every object tells nothing, which `told` knows
//! without a walk through it.

pub(in crate::normalize) mod closing;
pub(super) mod complaint;
pub(super) mod crashes;
mod forms;
mod refusal;
mod remark;
mod response;
pub(in crate::normalize) mod rpc;
mod services;
mod system;
mod text;
mod told;
pub(super) mod traceback;
mod turned_away;
pub(super) mod walls;

use std::borrow::Cow;

use crate::engine::event::Failure;

use self::refusal::{graphql_error, refusal, tells_of_thing};
use self::remark::{is_beside_result, tells_error};
use self::response::error_told;
use self::services::{error_of_service, fault_in_xml};
use super::wide::trimmed_start;
use super::{Object, failure, failure_of_call, items, member, unquote};

pub(in crate::normalize) use self::text::{reads_as_failure, says_no_error};
pub(in crate::normalize) use self::traceback::{is_bracketed, without_way};

/// The failure that only the result tells of, in its envelope or within.
pub(crate) fn failure_of(
    whole: Option<&str>,
    result: Option<&str>,
    arguments: &str,
) -> Option<Failure> {
    let inner = result.filter(|_| whole != result);
    let failure_in = |result| failure_in(result, arguments);
    let error = whole.and_then(failure_in).or_else(|| failure_in(inner?))?;
    Some(told_by_result(error, result, arguments))
}

/// Longest result that is undone from its quotes to see whether it reads as a failure, and longest one that holds JSON.
const SHORT_BYTES_MAX: usize = 512;
const QUOTED_BYTES_MAX: usize = 8_192;

/// The failure that a result tells of: what an object says of itself at its top, the line with which command runners report how a
/// process ended, or words with which programs begin to say that they failed.
fn failure_in(result: &str, arguments: &str) -> Option<Failure> {
    if let Some(error) = cell_error(result) {
        return Some(failure(error));
    }
    if let Some(error) = crashes::met_in_notebook(trimmed_start(result)) {
        return Some(failure_of_call(&error, arguments));
    }
    if !trimmed_start(result).starts_with('{') {
        // JSON within a text says what the JSON itself does; one that was cut off is not undone from its quotes.
        if holds_json(result) {
            let within = unquote(result);
            if !within.starts_with('"') {
                return failure_in(&within, arguments);
            }
        }
        // What tells it stands at the beginning, or in a result that is short as a whole.
        let words = if result.len() <= SHORT_BYTES_MAX {
            unquote(result)
        } else {
            Cow::Borrowed(result.trim_start().trim_start_matches('"'))
        };
        if words.starts_with('{') {
            return failure_in_object(&words, arguments);
        }
        if let Some(fault) = fault_in_xml(&words) {
            return Some(failure_of_call(fault, arguments));
        }
        return reads_as_failure(&words)
            .then(|| failure_of_call(&unquote(result), arguments))
            .or_else(|| failure_in_list(result, arguments));
    }
    failure_in_object(result, arguments)
}

/// Whether a result is a text that holds an object or a list of objects, and is short enough to be undone from its quotes.
fn holds_json(result: &str) -> bool {
    let within = result.strip_prefix('"').map(str::trim_start);
    let begins = |within: &str| within.starts_with("{\\\"") || within.starts_with("[{\\\"");
    result.len() <= QUOTED_BYTES_MAX && within.is_some_and(begins)
}

/// The failure of which a list's only item tells, where that is an object with the code of an error: `[{"errorCode": …,
/// "message": …}]`, as Salesforce answers.
fn failure_in_list(list: &str, arguments: &str) -> Option<Failure> {
    let list = trimmed_start(list);
    if list.len() > SHORT_BYTES_MAX || !list.starts_with('[') {
        return None;
    }
    let mut items = items(list);
    let object = items.next().filter(|item| item.starts_with('{'))?;
    let is_only = items.next().is_none();
    let code = member(object, &["errorCode"]).or_else(|| member(object, &["error_code"]));
    code.filter(|_| is_only)?;
    let words = || member(object, &["message"]).filter(|words| words.starts_with('"'));
    failure_in_object(object, arguments)
        .or_else(|| Some(failure_of_call(&unquote(words()?), arguments)))
}

/// The failure of which an object tells at its top: `isError`, an `error` with something in it, that it was refused, errors of
/// GraphQL, or a status of HTTP's.
fn failure_in_object(object: &str, arguments: &str) -> Option<Failure> {
    // A response within a response is none of anybody's.
    let carried = rpc::carried(object);
    let object = carried.as_deref().unwrap_or(object);
    let object = &told::asked(object)?;
    let said = || {
        refusal(object)
            .or_else(|| graphql_error(object))
            .or_else(|| error_of_service(object))
            .or_else(|| error_told(object, arguments).map(Cow::Owned))
    };
    error_in(object, arguments).or_else(|| said().map(|why| failure_of_call(&why, arguments)))
}

/// The same where a member named for errors tells it, as English, Portuguese and Italian services name them.
fn error_in(object: &Object<'_>, arguments: &str) -> Option<Failure> {
    let is_true = |flag: &&str| object.member(flag) == Some("true");
    if ["isError", "is_error"].iter().any(is_true) {
        return Some(failure(""));
    }
    let error = object.first_of(&["error", "erro", "errore"])?;
    let fails =
        tells_error(error) && !is_beside_result(object) && !tells_of_thing(object, arguments);
    fails.then(|| failure_of_call(&unquote(error), arguments))
}

/// What a sheet shows in a cell whose formula fails.
const CELL_ERRORS: [&str; 7] = [
    "#REF!", "#N/A", "#NAME?", "#VALUE!", "#DIV/0!", "#NUM!", "#ERROR!",
];

/// Longest result that is of one cell.
const CELL_BYTES_MAX: usize = 128;

/// The error that a cell shows which was read alone: it stands at the end of a short result, and no other value before it.
fn cell_error(result: &str) -> Option<&'static str> {
    if result.len() > CELL_BYTES_MAX {
        return None;
    }
    let text = result.trim_end_matches(['"', ']', '}', '\\', ' ', '\n']);
    let (before, error) = text.rsplit_once('#')?;
    let is_alone = before.is_empty() || before.ends_with([':', '[', '"']);
    let is_row = before.trim_end_matches(['"', '\\', ' ']).ends_with(',');
    let known = CELL_ERRORS.iter().find(|known| known[1..] == *error);
    known.copied().filter(|_| is_alone && !is_row)
}

/// A failure without words takes the result's, which is then all that was said to these arguments.
pub(crate) fn told_by_result(error: Failure, result: Option<&str>, arguments: &str) -> Failure {
    match result {
        Some(result) if error.text.is_empty() => failure_of_call(result, arguments),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::{cell_error, failure_of};

    /// Given an object that tells of an error by its name in another language, it failed, unless it says that there was none.
    #[test]
    fn errors_abroad_fail() {
        let fails = |result: &str| failure_of(None, Some(result), "{}").is_some();
        assert!(fails(r#"{"erro": true}"#));
        assert!(fails(r#"{"erro": "true"}"#));
        assert!(fails(r#"{"errore": "sconosciuto", "codice": 7}"#));
        assert!(!fails(r#"{"erro": false, "cep": "01001-000"}"#));
        assert!(!fails(r#"{"erro": "", "itens": []}"#));
        assert!(!fails(r#"{"tomorrow": "sunny"}"#));
    }

    /// Given an object that tells of a failure, it does so however it is spaced.
    #[test]
    fn blanks_hide_no_failure() {
        for object in [
            r#"{"ret": -1, "msg": "查询失败"}"#,
            r#"{"detail": [{"loc": ["to"], "msg": "Field required"}]}"#,
            r#"{"detail": "Invalid token."}"#,
        ] {
            let told = |object: &str| Some(failure_of(None, Some(object), "{}")?.text);
            let spaced = object.replace("{\"", "{\n  \"");
            assert!(told(object).is_some(), "{object}");
            assert_eq!(told(object), told(&spaced), "{object}");
        }
    }

    /// Given a text that holds JSON, it failed where the JSON itself would have, at any length that an object is looked at.
    #[test]
    fn json_in_a_text_fails_as_json_does() {
        let crash = r#"{"execution_count": 7, "outputs": [{"output_type": "error", "ename": "KeyError", "evalue": "'size'"}]}"#;
        let long = format!(
            r#"{{"isError": true, "log": "{}"}}"#,
            "went on\\n".repeat(99)
        );
        let told = [
            crash,
            &long,
            r#"[{"errorCode": "MALFORMED_QUERY", "message": "unexpected token"}]"#,
            r#"{"error": "no quota left"}"#,
            r#"{"results": [{"error": "none"}]}"#,
        ];
        for json in told {
            let text = serde_json::to_string(json).expect("text");
            let failure = |result: &str| Some(failure_of(None, Some(result), "{}")?.masked);
            assert_eq!(failure(&text), failure(json), "{json}");
            for (end, _) in text.char_indices() {
                failure(&text[..end]);
            }
        }
    }

    /// Given a cell that was read alone and shows an error, that is a failure; in a row it is one value of many.
    #[test]
    fn cells_fail() {
        let check = |text: &str, expected| assert_eq!(cell_error(text), expected, "{text}");
        check(r##"{"values": [["#REF!"]]}"##, Some("#REF!"));
        check(r##"{"cell":"D2","value":"#N/A"}"##, Some("#N/A"));
        check("#NAME?", Some("#NAME?"));
        check(r##"{"values": [["copper", "#N/A"]]}"##, None);
        check("channel #general", None);
        check("see the page on #REF!", None);
    }
}
