//! Tells an object that says of itself that the call was refused from one that tells of something else.
//!
//! Many tools never raise, but answer `{"success": false, "message": …}` or `{"status": "error", "message": …}`. Such an object
//! is a failure where it has nothing to tell but why. `ok` and `status` may as well be what was asked for, of a file that was
//! checked, a job or a server; so an object that names a thing, or brings a list, is a result like any other. A response of
//! GraphQL is a failure where it has errors and no data.

use std::borrow::Cow;

use crate::engine::ids::names_id;

use super::super::digest::PRINTED;
use super::super::emptiness::{is_nothing, says_there_is_nothing};
use super::super::mask::is_volatile_key;
use super::super::pending::{self, says_pending};
use super::super::sample::cut;
use super::super::{Object, items, member, members, unquote};

/// Members that say whether the call went well.
const FLAGS: [&str; 6] = [
    "success",
    "ok",
    "succeeded",
    "isSuccess",
    "erfolg",
    "erfolgreich",
];

/// Members that say so in a word.
const STATES: [&str; 3] = ["status", "result", "outcome"];

/// Members that say what went wrong with a call, of which the first one with something in it is the error. A `reason` tells why
/// something is so, which may be what was asked.
const REASONS: [&str; 10] = [
    "message",
    "msg",
    "meldung",
    "nachricht",
    "fehlermeldung",
    "error_message",
    "errorMessage",
    "detail",
    "description",
    "errors",
];

/// Members beside a `status` that name nothing of which it might be the status.
const ASIDES: [&str; 15] = [
    "code",
    "error_code",
    "errorCode",
    "error_type",
    "type",
    "details",
    "hint",
    "suggestion",
    "retryable",
    "timestamp",
    "request_id",
    "correlationId",
    "category",
    "log_id",
    "error_id",
];

/// Longest object that may be nothing but a refusal.
pub(super) const REFUSAL_BYTES_MAX: usize = 512;

/// The error of an object that says at its top that the call was refused, and tells nothing but why: empty where it does not say
/// why, `None` where it is a result.
pub(super) fn refusal<'o>(object: &Object<'o>) -> Option<Cow<'o, str>> {
    let mut members = object.members();
    if object.bytes() > REFUSAL_BYTES_MAX || !members.any(|(name, value)| refuses(name, value)) {
        return None;
    }
    let told = |name: &str| object.member(name).filter(|value| !is_nothing(value));
    let flag = object.first_of(&FLAGS);
    let mut told_states = STATES.iter().filter_map(|name| object.member(name));
    let status = told_states.find(|state| state.starts_with('"'));
    if status.is_some_and(|status| says_pending(&unquote(status))) {
        return None;
    }
    let is_check = flag == Some("false") && object.member("success").is_none();
    if is_check && told("errors").is_some_and(lists_places) {
        return None;
    }
    let why = REASONS.iter().find_map(|name| told(name)).map(unquote);
    let mut others = object.members().filter(|(name, value)| {
        let is_verdict = FLAGS.contains(name) || STATES.contains(name);
        !is_verdict && !REASONS.contains(name) && !is_nothing(value)
    });
    let printed = |name: &str| told(name).filter(|value| value.starts_with('"'));
    let why = why.or_else(|| {
        let failed = object.member("success") == Some("false");
        let mut told = PRINTED.iter().chain(&["details"]).filter(|_| failed);
        told.find_map(|name| printed(name)).map(unquote)
    });
    let tells_nothing_else = match (flag, &why) {
        // That there is nothing, or nothing yet, is an answer.
        (_, Some(why)) if says_there_is_nothing(why, &[]) || says_pending(why) => false,
        (Some("false"), Some(_)) => others.all(|(_, value)| is_scalar(value)),
        // `{"ok": false}` and `{"status": "failed"}` may be what was asked for.
        (Some("false"), None) => object
            .members()
            .all(|(name, value)| name == "success" || value == "null"),
        (None, Some(_)) if status.is_some_and(is_failed) => {
            others.all(|(name, _)| ASIDES.contains(&name) || is_volatile_key(name))
        }
        _ => false,
    };
    tells_nothing_else.then(|| why.unwrap_or_default())
}

/// Whether a member says that the call was refused.
pub(super) fn refuses(name: &str, value: &str) -> bool {
    (value == "false" && FLAGS.contains(&name)) || (is_failed(value) && STATES.contains(&name))
}

/// Whether the first one of a list of errors says where it stands: these were found in a thing that was checked.
fn lists_places(errors: &str) -> bool {
    let first = items(errors).next();
    first.is_some_and(|first| member(first, &["line"]).is_some())
}

/// Whether a flag of an object or its status says that the call failed.
pub(super) fn is_flagged(object: &Object<'_>) -> bool {
    FLAGS
        .iter()
        .any(|name| object.member(name) == Some("false"))
        || object.member("status").is_some_and(is_failed)
}

/// Whether a member of this name says how the call went, or what went wrong with it.
pub(super) fn tells_how_it_went(name: &str) -> bool {
    matches!(name, "error" | "status" | "state")
        || [&FLAGS[..], &REASONS, &ASIDES, &PRINTED]
            .iter()
            .any(|names| names.contains(&name))
}

/// Members that say how a thing is that was looked at.
const VERDICTS: [&str; 7] = [
    "valid",
    "is_valid",
    "isValid",
    "healthy",
    "reachable",
    "alive",
    "passed",
];

/// Members that name a thing, besides those that end in `id`.
const THINGS: [&str; 10] = [
    "name",
    "job",
    "task",
    "build",
    "deployment",
    "service",
    "server",
    "host",
    "node",
    "pod",
];

/// How much of arguments is looked at for what they name: behind it stands a text that is handed over.
const ARGUMENTS_BYTES_MAX: usize = 16 * 1_024;

/// Whether an object tells how a thing is that was asked for by its name, such as a job, or is a verdict: an error in it is the
/// thing's, and the call that asked for it went well. A thing that the arguments do not name came of the call, and failed with it.
pub(super) fn tells_of_thing(object: &Object<'_>, arguments: &str) -> bool {
    let arguments = cut(arguments, ARGUMENTS_BYTES_MAX);
    let is_asked_for = |value: &str| !is_nothing(value) && arguments.contains(&*unquote(value));
    let names = |name: &str| {
        (names_id(name) && !matches!(name, "request_id" | "trace_id" | "correlation_id"))
            || THINGS.contains(&name)
    };
    let mut verdicts = VERDICTS.iter().filter_map(|name| object.member(name));
    let mut states = ["status", "state"]
        .iter()
        .filter_map(|name| object.member(name));
    verdicts.any(|verdict| matches!(verdict, "true" | "false"))
        || (states
            .any(|state| state.starts_with('"') && !unquote(state).eq_ignore_ascii_case("error"))
            && (is_record(object, arguments)
                || object
                    .members()
                    .any(|(name, value)| names(name) && is_asked_for(value))))
}

/// Fewest members of a record besides the thing and how it is.
const RECORD_MEMBERS_MIN: usize = 2;

/// Whether an object says of a thing, which the arguments name in the same way, more than how it is.
fn is_record(object: &Object<'_>, arguments: &str) -> bool {
    let arguments = Object::of(arguments);
    let is_said = |name: &str, value: &str| {
        let said = arguments.text(name).filter(|_| is_scalar(value));
        said.is_some_and(|said| said == unquote(value))
    };
    let told = object
        .members()
        .filter(|(name, value)| !tells_how_it_went(name) && !is_nothing(value));
    let (said, others): (Vec<_>, Vec<_>) = told.partition(|(name, value)| is_said(name, value));
    !said.is_empty() && others.len() >= RECORD_MEMBERS_MIN
}

/// The first error of a response of GraphQL that brings nothing: its `errors` stand beside `data` that is absent, null, or has
/// null in all members (GraphQL, October 2021, 7.1), or stand in it, as mutations tell what is wrong with what was sent. `None` of
/// anything else, and where the error is that there is nothing.
pub(super) fn graphql_error<'o>(response: &Object<'o>) -> Option<Cow<'o, str>> {
    let is_part = |(name, value): (&str, &str)| match name {
        "errors" => value.starts_with('['),
        "data" => brings_nothing(value) || payload_error(value).is_some(),
        "extensions" => true,
        _ => false,
    };
    if !response.members().all(is_part) {
        return None;
    }
    let error = match response.member("errors") {
        Some(errors) => items(errors).next()?,
        None => payload_error(response.member("data")?)?,
    };
    let message = member(error, &["message"]).map(unquote);
    message.filter(|message| !says_there_is_nothing(message, &[]))
}

/// The first error of a mutation's payload, the only one in `data`, which has nothing else: `{"productUpdate": {"product": null,
/// "userErrors": [{"message": …}]}}`.
fn payload_error(data: &str) -> Option<&str> {
    let mut payloads = members(data).map(|(_, payload)| payload);
    let payload = payloads.next().filter(|payload| payload.starts_with('{'))?;
    let mut told = None;
    for (name, value) in members(payload) {
        match items(value).next() {
            Some(error) if name.ends_with("rrors") => told = Some(error),
            _ if value != "null" => return None,
            _ => {}
        }
    }
    told.filter(|_| payloads.next().is_none())
}

/// Whether a value is null, or an object of nothing else.
fn brings_nothing(value: &str) -> bool {
    value == "null" || (value.starts_with('{') && members(value).all(|(_, value)| value == "null"))
}

/// Whether a value is a word for a failure.
fn is_failed(value: &str) -> bool {
    pending::is_failed(value.trim_matches('"'))
}

fn is_scalar(value: &str) -> bool {
    !value.starts_with(['{', '['])
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::is_soon;
    use super::{Object, graphql_error, refusal};

    fn tells_of_thing(object: &str, arguments: &str) -> bool {
        super::tells_of_thing(&Object::of(object), arguments)
    }

    #[track_caller]
    fn check(object: &str, expected: Option<&str>) {
        let told = refusal(&Object::of(object));
        assert_eq!(told.as_deref(), expected, "{object}");
    }

    /// Given an object that says at its top that the call was refused and tells nothing but why, that is the error.
    #[test]
    fn what_is_refused() {
        check(r#"{"success": false}"#, Some(""));
        check(r#"{"success":false,"data":null}"#, Some(""));
        check(
            r#"{"message":"no \"a\"","ok":false,"attempt":3}"#,
            Some(r#"no "a""#),
        );
        check(r#"{"ok" : false, "errors": [17]}"#, Some("[17]"));
        check(
            r#"{"status":"Error","error_message":"no key","code":7}"#,
            Some("no key"),
        );
        check(
            r#"{"detail":"no key","status":"failed","message":""}"#,
            Some("no key"),
        );
        check(
            r#"{"status":"error","message":"no key","elapsed_ms":7,"log_id":4711}"#,
            Some("no key"),
        );
        for name in ["output", "stderr", "log", "details"] {
            check(
                &format!(r#"{{"success":false,"{name}":"undefined symbol a"}}"#),
                Some("undefined symbol a"),
            );
        }
        check(
            r#"{"erfolg":false,"meldung":"kein Zugang"}"#,
            Some("kein Zugang"),
        );
        for verdict in [
            r#""succeeded":false"#,
            r#""isSuccess":false"#,
            r#""result":"error""#,
            r#""outcome":"failed""#,
        ] {
            check(
                &format!(r#"{{{verdict},"message":"no key"}}"#),
                Some("no key"),
            );
        }
    }

    /// Given an object that names a thing that was asked for and says how it is, or a verdict, its error is the thing's; that of a
    /// thing which came of the call, a status of HTTP's, or that of a tool's own envelope, is the call's.
    #[test]
    fn errors_of_things() {
        for object in [
            r#"{"job_id":"j7","status":"failed","error":"OOMKilled"}"#,
            r#"{"service":"billing","state":"down","error":"connection refused"}"#,
            r#"{"valid":false,"error":"no such domain"}"#,
        ] {
            assert!(
                tells_of_thing(object, r#"{"of":["j7","billing"]}"#),
                "{object}"
            );
        }
        for object in [
            r#"{"timestamp":"t","status":404,"error":"Not Found","path":"/x"}"#,
            r#"{"status":"error","id":"x","error":"no key"}"#,
            r#"{"status":"failed","request_id":"x","error":"no key"}"#,
            r#"{"status":"failed","tool":"x","output":"y","error":"no key"}"#,
            r#"{"job_id":"j7","error":"no such job"}"#,
            r#"{"job_id":"j7","status":"failed","error":"no such file"}"#,
        ] {
            assert!(!tells_of_thing(object, r#"{"of":["x"]}"#), "{object}");
        }
        let paid = r#"{"error":"declined by the bank","status":"declined","amount_paid":20}"#;
        assert!(!tells_of_thing(paid, r#"{"amount":20}"#));
        let record = |object| tells_of_thing(object, r#"{"run":"r7","to":"ann"}"#);
        assert!(record(
            r#"{"run":"r7","status":"failed","error":"OOM","seconds":70,"zone":"b"}"#
        ));
        for object in [
            r#"{"run":"r8","status":"failed","error":"OOM","seconds":70,"zone":"b"}"#,
            r#"{"run":"r7","status":"error","error":"OOM","seconds":70,"zone":"b"}"#,
            r#"{"run":"r7","to":"ann","status":"failed","error":"OOM","zone":"b"}"#,
        ] {
            assert!(!record(object), "{object}");
        }
    }

    /// Given an object of many members in answer to long arguments of many more, what these name is told soon.
    #[test]
    fn long_arguments_are_no_long_search() {
        let object = |of: &str, count: usize| {
            let members: Vec<_> = (0..count).map(|n| format!(r#""{of}{n}":{n}"#)).collect();
            members.join(",")
        };
        let ids: Vec<_> = (0..120).map(|n| format!(r#""k{n}_id":"i{n}""#)).collect();
        let (numbers, ids) = (object("k", 120), ids.join(","));
        let failed = format!(r#"{{"error":"boom","status":"done",{numbers},{ids}}}"#);
        let arguments = format!("{{{}}}", object("argument", 400_000));
        assert!(is_soon(|| assert!(!tells_of_thing(&failed, &arguments))));
    }

    /// Given a response of GraphQL with errors, its first error is one where it has no data; of partial results, of what was not
    /// found, and of other objects there is none.
    #[test]
    fn errors_of_graphql() {
        let check = |object: &str, expected: Option<&str>| {
            let told = graphql_error(&Object::of(object));
            assert_eq!(told.as_deref(), expected, "{object}");
        };
        let errors = r#""errors":[{"message":"no field \"a\"","locations":[]},{"message":"b"}]"#;
        let told = Some(r#"no field "a""#);
        for object in [
            format!("{{{errors}}}"),
            format!("{{ {errors}, \"data\": null}}"),
            format!("{{\"data\":{{\"a\":null,\"b\":null}},{errors},\"extensions\":{{}}}}"),
        ] {
            check(&object, told);
        }
        let mutated = |name: &str, rest: &str| {
            let payload = errors.replace("errors", name);
            format!(r#"{{"data":{{"update":{{{payload}{rest}}}}},"extensions":{{"cost":7}}}}"#)
        };
        check(&mutated("userErrors", r#","product":null"#), told);
        check(&mutated("errors", ""), told);
        check(&mutated("userErrors", r#","product":{"id":7}"#), None);
        check(&mutated("notes", r#","userErrors":[]"#), None);
        for object in [
            format!("{{\"data\":{{\"a\":null,\"b\":1}},{errors}}}"),
            format!("{{\"data\":[],{errors}}}"),
            format!("{{\"file\":\"a\",{errors}}}"),
            format!("{{{errors},\"file\":\"a\"}}"),
        ] {
            check(&object, None);
        }
        for object in [
            r#"{"errors":[]}"#,
            r#"{"errors":["a"]}"#,
            r#"{"errors":{"message":"a"}}"#,
            r#"{"data":null}"#,
            r#"{"errors":[{"message":"User not found"}],"data":null}"#,
            "{",
            "{}",
            "{\"",
            "{é",
        ] {
            check(object, None);
        }
    }

    /// Given an object that brings something, names a thing, says only that something is not well, or that there is nothing, it
    /// is a result; so is one of which only a part was refused.
    #[test]
    fn what_is_a_result() {
        for object in [
            r#"{"ok": false}"#,
            r#"{"status":"failed"}"#,
            r#"{"success":false,"rows":[]}"#,
            r#"{"success":false,"message":"one of two","rows":[1]}"#,
            r#"{"service":"db","status":"error","message":"no route"}"#,
            r#"{"status":"failed","reason":"no memory"}"#,
            r#"{"ok":false,"reason":"no such move"}"#,
            r#"{"id":7,"status":"failed","message":"no memory"}"#,
            r#"{"status":"failing","message":"no key"}"#,
            r#"{"success":false,"message":"User not found"}"#,
            r#"{"success":true,"message":"made"}"#,
            r#"{"success":true,"status":"failed","message":"no key"}"#,
            r#"{"success":false,"status":"in_progress","message":"no key"}"#,
            r#"{"success":false,"message":"Still being made."}"#,
            r#"{"success":false,"details":{"a":1}}"#,
            r#"{"success":true,"output":"undefined symbol a"}"#,
            r#"{"ok":false,"output":"a"}"#,
            r#"{"ok":false,"errors":[{"line":7,"message":"no semicolon"}]}"#,
            r#"{"items":[{"success":false,"message":"no key"}],"message":"done"}"#,
            r#"{"title":"\"ok\": false","message":"a text"}"#,
        ] {
            check(object, None);
        }
    }
}
