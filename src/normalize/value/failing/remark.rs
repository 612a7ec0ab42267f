//! Tells an error that came of a call from a remark that stands beside what the call brought.
//!
//! Envelopes have a place for an error whether there is one or not, and say there that there is none in many ways: `"None"`,
//! `"OK"`, `{"code": 0}`. A search of several sources may tell beside its hits that one of them did not answer. And the error of
//! a fit is a number.

use super::super::emptiness::{carries, is_nothing, tells_mishaps};
use super::super::nothing::is_no_value;
use super::super::{Object, items, member, unquote};
use super::refusal::{is_flagged, tells_how_it_went};

/// Texts that say that there is no error, in lower case, besides the words for no value: as an id or a result they say something.
const NO_ERROR: [&str; 6] = ["0", "no", "no error", "ok", "success", "false"];

/// Whether the value of a member named for an error, as JSON, tells of one: neither that there is none, nor how large it is.
pub(super) fn tells_error(value: &str) -> bool {
    if value.starts_with('{') {
        let code = member(value, &["code"]).map(unquote);
        let says_none = || member(value, &["message"]).is_none_or(|said| !tells_error(said));
        return value != "{}" && !(code.as_deref() == Some("0") && says_none());
    }
    let is_measure = value.contains('.') && value.parse::<f64>().is_ok();
    let text = unquote(value);
    let is_one = |words: &&str| text.eq_ignore_ascii_case(words);
    let says_none = text.is_empty() || is_no_value(&text) || NO_ERROR.iter().any(is_one);
    !is_nothing(value) && !is_measure && !says_none
}

/// Whether an object with an error brings a result as well: a list of things, or what envelopes are sent to carry. Where a flag
/// or a status says that the call failed, what stands beside it says why.
pub(super) fn is_beside_result(object: &Object<'_>) -> bool {
    let brings = |(name, value): (&str, &str)| {
        let is_list = value.starts_with('[') && !is_nothing(value);
        let is_of_things = || {
            items(value)
                .next()
                .is_some_and(|item| item.starts_with('{'))
        };
        let is_map = value.starts_with('{') && !is_nothing(value);
        !tells_how_it_went(name)
            && !tells_mishaps(name)
            && ((carries(name) && (is_list || is_map)) || (is_list && is_of_things()))
    };
    object.members().any(brings) && !is_flagged(object)
}

#[cfg(test)]
mod tests {
    use super::{Object, is_beside_result, tells_error};

    /// Given the value of an error, it is none where it says so in whatever way, or is a measure.
    #[test]
    fn what_is_an_error() {
        for value in [
            "null",
            "{}",
            r#""None""#,
            r#""OK""#,
            r#""0""#,
            r#""no error""#,
            "0.31",
            r#"{"code":0,"message":""}"#,
            r#"{"code":"0","message":"Success"}"#,
        ] {
            assert!(!tells_error(value), "{value}");
        }
        for value in [
            r#""no key""#,
            "404",
            "true",
            r#"{"message":"no key"}"#,
            r#"{"code":0,"message":"no network"}"#,
            r#"["no key"]"#,
        ] {
            assert!(tells_error(value), "{value}");
        }
    }

    /// Given an object with an error, it is a remark beside a list of things, or what envelopes carry; what else stands there, or
    /// stands beside a flag, belongs to the error.
    #[test]
    fn what_stands_beside_a_result() {
        for object in [
            r#"{"results":[{"title":"a"}],"error":"one source is away"}"#,
            r#"{"files":["a"],"error":"some were not read"}"#,
            r#"{"hotels":[{"name":"a"}],"error":"one source is away","success":true}"#,
            r#"{"data":{"a":1},"error":"b is missing"}"#,
        ] {
            assert!(is_beside_result(&Object::of(object)), "{object}");
        }
        for object in [
            r#"{"results":[],"error":"no key"}"#,
            r#"{"data":{},"error":"no key"}"#,
            r#"{"error":"no such tool","tools":["a","b"]}"#,
            r#"{"error":"no key","details":[{"field":"a"}]}"#,
            r#"{"error":"no key","errors":[{"field":"a"}]}"#,
            r#"{"success":false,"items":[{"a":1}],"error":"no key"}"#,
            r#"{"status":"failed","items":[{"a":1}],"error":"no key"}"#,
            r#"{"output":"it began","error":"no key"}"#,
        ] {
            assert!(!is_beside_result(&Object::of(object)), "{object}");
        }
    }
}
