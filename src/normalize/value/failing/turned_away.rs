//! Tells an object that holds nothing but why a request was turned away, as servers answer one: `{"detail": "Invalid token."}`,
//! `{"errors": ["Forbidden"]}`, `{"message": "jwt expired"}`, `{"error_code": 17, "error_message": "…"}`.
//!
//! Such answers have few members, whose names are known, and words. A message may also be one that was sent to somebody, and a
//! list of errors what was looked for; so their words have to speak of the caller, or another member of an error.

use std::borrow::Cow;

use super::super::emptiness::is_nothing;
use super::super::{Object, items, member, members, unquote};
use super::complaint::{complains, refuses, turns_caller_away};
use super::refusal::REFUSAL_BYTES_MAX;

/// Members that hold what went wrong, and nothing else.
pub(super) const FAULTS: &[&str] = &[
    "detail",
    "err",
    "Error Message",
    "errorMessage",
    "error_message",
    "errorSummary",
    "error_description",
];

/// Members that may hold that.
pub(super) const SAYINGS: &[&str] = &[
    "message",
    "Message",
    "msg",
    "errors",
    "errorMessages",
    "non_field_errors",
];

/// Members that say beside a message that it is an error's.
pub(super) const MARKS: &[&str] = &[
    "__type",
    "documentation_url",
    "errorCode",
    "error_code",
    "errorCauses",
    "errorId",
    "errorLink",
    "help_url",
    "more_info",
    "ECODE",
];

/// Members that say which error it is, or that it is one.
pub(super) const CODES: &[&str] = &[
    "cod",
    "code",
    "codeName",
    "ok",
    "status",
    "statusCode",
    "status_code",
];

/// Members that tell nothing of what was asked for.
const ASIDES: &[&str] = &[
    "correlationId",
    "help",
    "hint",
    "path",
    "request_id",
    "requestId",
    "timestamp",
    "trace",
    "type",
];

/// The words with which a request was turned away, where these and their like are all that an object holds.
pub(super) fn words_alone(object: &Object<'_>) -> Option<String> {
    let (first, _) = object.members().next()?;
    let mut firsts = [FAULTS, SAYINGS, MARKS, CODES].into_iter();
    if object.bytes() > REFUSAL_BYTES_MAX || !firsts.any(|names| names.contains(&first)) {
        return None;
    }
    let mut told: Option<Cow<'_, str>> = None;
    let (mut is_named, mut is_marked, mut is_clear) = (false, false, false);
    for (name, value) in object.members() {
        if CODES.contains(&name) && says_well(name, value) {
            return None;
        }
        if is_nothing(value) {
            continue;
        }
        let is_fault = FAULTS.contains(&name);
        if is_fault || SAYINGS.contains(&name) {
            let Some(words) = words_in(value) else {
                // What is said of each field stands behind what is said of all.
                told.as_ref()?;
                continue;
            };
            // What is said twice is said of an error.
            is_marked |= told.is_some();
            is_named |= is_fault && (refuses(&words) || complains(&words));
            is_clear |= turns_caller_away(&words);
            told.get_or_insert(words);
        } else if MARKS.contains(&name) {
            is_marked = true;
        } else if !CODES.contains(&name) && !ASIDES.contains(&name) {
            return None;
        }
    }
    let is_refusal = |words: &Cow<'_, str>| is_named || is_clear || (is_marked && refuses(words));
    told.filter(is_refusal).map(Cow::into_owned)
}

/// Whether a code says that the request was not turned away.
fn says_well(name: &str, code: &str) -> bool {
    if name == "ok" {
        return matches!(code, "true" | "1");
    }
    let code = code.trim_matches('"');
    let is_success = |number: u64| number == 0 || (200..300).contains(&number);
    let mut words = WELL.iter();
    code.parse().is_ok_and(is_success) || words.any(|well| code.eq_ignore_ascii_case(well))
}

/// How a status says so, in lower case.
const WELL: [&str; 5] = ["ok", "success", "succeeded", "completed", "done"];

/// The words in a member: a text, the first one of a list, or what an object says, or says of a field.
fn words_in(value: &str) -> Option<Cow<'_, str>> {
    let value = items(value).next().unwrap_or(value);
    if value.starts_with('"') {
        return Some(unquote(value));
    }
    let mut names = ["message", "detail", "title", "error"].iter();
    let said = names.find_map(|name| member(value, &[name]).filter(|said| said.starts_with('"')));
    if let Some(said) = said {
        return Some(unquote(said));
    }
    let (field, said) = members(value).next()?;
    let said = items(said).next().filter(|said| said.starts_with('"'))?;
    Some(Cow::Owned(format!("{field}: {}", unquote(said))))
}

#[cfg(test)]
mod tests {
    use super::{Object, words_alone};

    /// Given an object with nothing but why a request was turned away, that is told.
    #[test]
    fn requests_that_are_turned_away() {
        for (object, expected) in [
            (
                r#"{"detail":"Method \"GET\" not allowed."}"#,
                "Method \"GET\" not allowed.",
            ),
            (r#"{"detail": "Not authenticated"}"#, "Not authenticated"),
            (
                r#"{"detail":{"error":"Unauthorized: missing or invalid API key."}}"#,
                "Unauthorized: missing or invalid API key.",
            ),
            (
                r#"{"message":"Bad credentials","documentation_url":"https://docs.example/rest"}"#,
                "Bad credentials",
            ),
            (r#"{"message":"Unauthenticated."}"#, "Unauthenticated."),
            (r#"{"message":"jwt expired"}"#, "jwt expired"),
            (
                r#"{"message":"API rate limit exceeded","request_id":"a7"}"#,
                "API rate limit exceeded",
            ),
            (
                r#"{"message":"The data was invalid.","errors":{"mail":["The mail is required."]}}"#,
                "The data was invalid.",
            ),
            (
                r#"{"message":"Validation Failed","errors":[{"resource":"Issue","field":"title"}],"documentation_url":"https://a.example"}"#,
                "Validation Failed",
            ),
            (r#"{"errors":["Forbidden"]}"#, "Forbidden"),
            (
                r#"{"errors":[{"code":"A","detail":"This request could not be authorized."}]}"#,
                "This request could not be authorized.",
            ),
            (
                r#"{"errors":{"base":["Invalid credentials"]}}"#,
                "base: Invalid credentials",
            ),
            (
                r#"{"errorMessages":["You do not have permission to see it."],"errors":{}}"#,
                "You do not have permission to see it.",
            ),
            (
                r#"{"error_message":"This project is not authorized.","results":[],"status":"DENIED"}"#,
                "This project is not authorized.",
            ),
            (
                r#"{"__type":"AccessDenied","Message":"The user is not authorized"}"#,
                "The user is not authorized",
            ),
            (
                r#"{"ok":0,"codeName":"Unauthorized","message":"not authorized on admin"}"#,
                "not authorized on admin",
            ),
            (
                r#"{"err":"Team not authorized","ECODE":"O7"}"#,
                "Team not authorized",
            ),
        ] {
            let told = words_alone(&Object::of(object));
            assert_eq!(told.as_deref(), Some(expected), "{object}");
        }
    }

    /// Given an object that tells anything else, or says nothing of a refusal, nothing is told.
    #[test]
    fn answers_of_another_kind() {
        for object in [
            "{}",
            r#"{"detail":"a long story"}"#,
            r#"{"detail":"An error of the press","page":3}"#,
            r#"{"detail":{"error":"none"}}"#,
            r#"{"message":"Bad weather is on its way"}"#,
            r#"{"message":"I was not able to come."}"#,
            r#"{"message":"Bad weather","documentation_url":"a","wind":3,"rain":4}"#,
            r#"{"message":"I cannot come","type":"text","timestamp":17}"#,
            r#"{"errors":["missing semicolon"]}"#,
            r#"{"errors":[],"message":"done"}"#,
            r#"{"errors":[17]}"#,
            r#"{"status":"ok","message":"Saved"}"#,
            r#"{"code":7,"message":"a seventh note"}"#,
            r#"{"message":"Forbidden city","id":4}"#,
            r#"{"status":"success","message":"The API key was renewed, the old one has expired."}"#,
            r#"{"message":"The access token has expired and was renewed.","code":0}"#,
            r#"{"ok":true,"message":"Throttled to spare the quota."}"#,
        ] {
            assert_eq!(words_alone(&Object::of(object)), None, "{object}");
        }
    }
}
