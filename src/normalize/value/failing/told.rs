//! Which objects may tell a failure. What one says of a call stands in its members at its top, which one walk finds for all
//! who ask.
//!
//! Nearly every object tells none, and is spared the walk: it has not the letters of `error`, nor SAP's name for how a call went;
//! no status or code stands near its ends; it does not begin as errors do; and no member of a short one says that it was refused.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::super::wide::{any_three, ends, trimmed_start};
use super::super::{Object, members};
use super::refusal::{REFUSAL_BYTES_MAX, refuses};
use super::services::KNOWN;
use super::turned_away::{CODES, FAULTS, MARKS, SAYINGS};

/// The members of an object, where it may tell a failure.
pub(super) fn asked(object: &str) -> Option<Object<'_>> {
    static ANYWHERE: LazyLock<[Finder<'_>; 2]> =
        LazyLock::new(|| ["rro", "\"RETURN\""].map(Finder::new));
    static NEAR_ENDS: LazyLock<[Finder<'_>; 2]> =
        LazyLock::new(|| ["\"status", "ode\""].map(Finder::new));
    let has =
        |part: &[u8], names: &[Finder<'_>]| names.iter().any(|name| name.find(part).is_some());
    let bytes = object.as_bytes();
    let mut ends = ends(bytes, ENDS_BYTES_MAX).into_iter();
    let may_tell = has(bytes, &*ANYWHERE)
        || ends.any(|end| has(end, &*NEAR_ENDS))
        || begins_as_failure(object)
        || (object.len() <= REFUSAL_BYTES_MAX && may_refuse(object));
    may_tell.then(|| Object::of(object))
}

/// How far from either end of an object a status or a code is looked for.
const ENDS_BYTES_MAX: usize = 256;

/// Whether an object begins as those do that are the error of a service, or, where it is short, say nothing but why a request was
/// turned away.
fn begins_as_failure(object: &str) -> bool {
    let first = written_first(trimmed_start(object)).unwrap_or_default();
    let first = &first.trim_matches('"');
    let mut alone = [FAULTS, SAYINGS, MARKS, CODES].into_iter();
    matches!(*first, "ret" | "msg")
        || KNOWN.contains(first)
        || (object.len() <= REFUSAL_BYTES_MAX && alone.any(|names| names.contains(first)))
}

/// Whether a member says that the call was refused. In most objects no value begins like one that does.
#[allow(
    clippy::needless_bitwise_bool,
    reason = "all places of an object at a time"
)]
fn may_refuse(object: &str) -> bool {
    let begins = |before: u8, first: u8, second: u8| {
        let (first, second) = (first | 0x20, second | 0x20);
        let is_failed = (first == b'f') & (second == b'a') | (first == b'e') & (second == b'r');
        ((before == b'"') | (before == b':') | (before == b' ')) & is_failed
    };
    any_three(object.as_bytes(), begins)
        && members(object).any(|(name, value)| refuses(&name, value))
}

/// The name of an object's first member, in its quotes.
pub(super) fn written_first(object: &str) -> Option<&str> {
    let rest = object.strip_prefix('{')?.trim_start();
    // Names are short: a search for many bytes at a time would take longer to begin.
    let end = rest.get(1..)?.bytes().position(|byte| byte == b'"')?;
    Some(&rest[..end + 2])
}

#[cfg(test)]
mod tests {
    use super::asked;

    /// Given an object of any length with a name by which it may tell a failure, its members are found; of any other they are not.
    #[test]
    fn what_may_tell_is_asked() {
        let check = |members: &str, expected: [bool; 2]| {
            let long = "text and so on ".repeat(40);
            let long = format!(r#"{{{members},"title":"{long}","id":7,"note":"{long}"}}"#);
            let told = [format!("{{{members}}}"), long].map(|object| {
                let name = members.split('"').nth(1).unwrap_or_default();
                asked(&object).is_some_and(|object| object.member(name).is_some())
            });
            assert_eq!(told, expected, "{members}");
        };
        for name in ["error", "erro", "isError", "errors", "Error", "odata.error"] {
            check(&format!(r#""{name}":true"#), [true; 2]);
        }
        for name in [
            "status",
            "statusCode",
            "code",
            "retcode",
            "ret",
            "msg",
            "RETURN",
        ] {
            check(&format!(r#""{name}":7"#), [true; 2]);
        }
        for name in ["detail", "fault", "faultstring"] {
            check(&format!(r#""{name}":"a""#), [true; 2]);
        }
        // What is refused in few words.
        for members in [
            r#""message":"a""#,
            r#""help_url":"a""#,
            r#""success":false"#,
            r#""title":"a","ok" : false"#,
            r#""result":"Failed""#,
        ] {
            check(members, [true, false]);
        }
        for members in [
            r#""title":"false""#,
            r#""found":false"#,
            r#""success":true"#,
            r#""data":{"success":false}"#,
        ] {
            check(members, [false; 2]);
        }
    }
}
