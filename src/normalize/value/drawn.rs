//! Arguments that are made up anew for each call: keys by which a server knows that it is sent twice, ids of the request, and what
//! a clock showed. They say nothing of what is asked.
//!
//! A name alone is not enough, but for keys: `request_id` may name a request that is asked about, and `timestamp` a time. So the
//! value must look drawn or read off a clock, and where the name leaves a doubt, the tool must look, at something that its own
//! name and another argument name.

use crate::engine::policy::ToolSettings;
use crate::engine::tool_name;

use super::clock;
use super::mask::{is_clock_reading, is_epoch};

/// Keys: whatever they hold, they are another one for each call.
const KEYS: [&str; 4] = ["idempotencykey", "clienttoken", "nonce", "cachebuster"];

/// Ids of a request, and those that may be ids of what is asked for.
const IDS: [&str; 9] = [
    "correlationid",
    "xcorrelationid",
    "clientrequestid",
    "xrequestid",
    "requestuuid",
    "attemptid",
    "invocationid",
    "toolcallid",
    "traceparent",
];
const MAYBE_IDS: [&str; 4] = ["requestid", "reqid", "traceid", "spanid"];

/// When a request was made, and what may be a time that is asked for.
const TIMES: [&str; 8] = [
    "requestedat",
    "requesttime",
    "requesttimestamp",
    "calledat",
    "clienttime",
    "clienttimestamp",
    "currenttime",
    "now",
];
const MAYBE_TIMES: [&str; 3] = ["time", "timestamp", "ts"];

/// Longest of these names, without `_` and `-`.
const NAME_BYTES_MAX: usize = 16;

/// What the ids that a model counts up begin with: `req-17`.
const COUNTED: [&str; 8] = [
    "req", "request", "r", "call", "attempt", "corr", "trace", "span",
];

/// Longest id, and fewest bytes of one in hex digits and of one in letters and digits.
const ID_BYTES_MAX: usize = 64;
const HEX_BYTES_MIN: usize = 8;
const MIXED_BYTES_MIN: usize = 10;

/// Fewest digits of a number that names something.
const NUMBER_DIGITS_MIN: usize = 3;

/// What a member of arguments may be, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Drawn {
    /// A key.
    Key,
    /// The id of a request; in doubt, of one that is asked about.
    Id { in_doubt: bool },
    /// When a request was made; in doubt, a time that is asked about.
    Time { in_doubt: bool },
}

impl Drawn {
    /// By the name of a member, however it is spelled.
    pub(super) fn named(name: &str) -> Option<Self> {
        let mut plain = [0; NAME_BYTES_MAX];
        let mut length = 0;
        for byte in name.bytes().filter(|byte| !matches!(byte, b'_' | b'-')) {
            *plain.get_mut(length)? = byte.to_ascii_lowercase();
            length += 1;
        }
        let plain = &plain[..length];
        let is_of = |names: &[&str]| names.iter().any(|name| name.as_bytes() == plain);
        if is_of(&KEYS) {
            return Some(Self::Key);
        }
        let sure = |names| is_of(names).then_some(false);
        let in_doubt = |names| is_of(names).then_some(true);
        let id = sure(&IDS).or_else(|| in_doubt(&MAYBE_IDS));
        let time = || sure(&TIMES).or_else(|| in_doubt(&MAYBE_TIMES));
        id.map(|in_doubt| Self::Id { in_doubt })
            .or_else(|| time().map(|in_doubt| Self::Time { in_doubt }))
    }

    /// Whether a text under such a name was made up for the call.
    pub(super) fn is_text(self, text: &str) -> bool {
        match self {
            Self::Key => true,
            Self::Id { .. } => is_id(text),
            Self::Time { .. } => is_time(text),
        }
    }

    /// The same of a number.
    pub(super) fn is_number(self, number: u64) -> bool {
        match self {
            Self::Key => true,
            Self::Id { .. } => number > 0,
            Self::Time { .. } => is_epoch(number) && !is_full_minute(number),
        }
    }

    /// Whether what the other members hold, and the tool, must tell that nothing is asked by it.
    pub(super) fn is_in_doubt(self) -> bool {
        matches!(
            self,
            Self::Id { in_doubt: true } | Self::Time { in_doubt: true }
        )
    }
}

/// Whether, in arguments of which one is in doubt and these are the others, as JSON, something else is asked about by a tool that
/// looks at it.
pub(super) fn asks_for_another(how: &ToolSettings<'_>, others: &str) -> bool {
    tool_name::looks_at_a_thing(how.tool) && names_something(others)
}

/// Whether one of some members of an object names something: in words, by a name or by a number. How an answer is wanted names
/// nothing.
fn names_something(members: &str) -> bool {
    let mut name = members;
    members.split("\":").skip(1).any(|value| {
        let name = std::mem::replace(&mut name, value);
        let name = name.rsplit('"').next().unwrap_or_default();
        if OPTIONS.contains(&name) {
            return false;
        }
        let Some(text) = value.strip_prefix('"') else {
            let digits = value.bytes().take_while(u8::is_ascii_digit);
            return digits.count() >= NUMBER_DIGITS_MIN;
        };
        let text = text.split('"').next().unwrap_or_default();
        let names = |sign: char| !sign.is_ascii() || sign.is_ascii_uppercase();
        let letters = text.chars().filter(|sign| sign.is_alphabetic()).count();
        text.contains(|sign: char| names(sign) || sign == ' ' || sign.is_ascii_digit())
            || (letters >= WORD_LETTERS_MIN && !OPTION_WORDS.contains(&text))
    })
}

/// Fewest letters of a word that names something.
const WORD_LETTERS_MIN: usize = 3;

/// Members that say how an answer is wanted, and words for that.
const OPTIONS: [&str; 13] = [
    "format",
    "mode",
    "sort",
    "sort_by",
    "order_by",
    "lang",
    "language",
    "locale",
    "units",
    "encoding",
    "detail",
    "level",
    "verbosity",
];
const OPTION_WORDS: [&str; 24] = [
    "json", "xml", "csv", "text", "html", "yaml", "markdown", "full", "short", "brief", "long",
    "compact", "detailed", "summary", "asc", "desc", "all", "any", "none", "auto", "default",
    "true", "false", "latest",
];

/// Whether an id was drawn, or counted up behind a word for it.
fn is_id(text: &str) -> bool {
    let bytes = text.as_bytes();
    if !(1..=ID_BYTES_MAX).contains(&bytes.len()) {
        return false;
    }
    let is_sign = |byte: &u8| matches!(byte, b'-' | b'_' | b'.');
    if !bytes
        .iter()
        .all(|byte| byte.is_ascii_alphanumeric() || is_sign(byte))
    {
        return false;
    }
    let digits = bytes.iter().rev().take_while(|byte| byte.is_ascii_digit());
    let before = text[..text.len() - digits.count()].trim_end_matches(['-', '_']);
    let is_counted =
        before.len() < text.len() && COUNTED.iter().any(|word| before.eq_ignore_ascii_case(word));
    // A word before it, as in `req_8f3a2b1c`, says nothing of it.
    let rest = match text.split_once(['-', '_']) {
        Some((word, rest)) if word.bytes().all(|byte| byte.is_ascii_alphabetic()) => rest,
        _ => text,
    };
    is_counted || is_by_chance(rest.as_bytes())
}

/// Whether letters and digits stand together by chance.
fn is_by_chance(id: &[u8]) -> bool {
    let is_digit = u8::is_ascii_digit;
    let has_both = id.iter().any(is_digit) && id.iter().any(u8::is_ascii_alphabetic);
    let letters = || id.iter().filter(|byte| byte.is_ascii_alphanumeric());
    let is_hex = letters().all(u8::is_ascii_hexdigit);
    let numbers = id
        .chunk_by(|one, next| is_digit(one) == is_digit(next))
        .filter(|part| is_digit(&part[0]));
    let count = letters().count();
    has_both
        && ((is_hex && count >= HEX_BYTES_MIN) || (count >= MIXED_BYTES_MIN && numbers.count() > 1))
}

/// Whether a text is what a clock showed: a day and a time with its seconds, which are not those of a full minute.
fn is_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    if let Ok(number) = text.parse() {
        return is_epoch(number) && !is_full_minute(number);
    }
    let is_day = clock::date(bytes, 0).is_some() && matches!(bytes.get(10), Some(b'T' | b' '));
    let seconds = is_day
        .then(|| text.get(16..))
        .flatten()
        .and_then(|rest| rest.strip_prefix(':'));
    let is_zero = |seconds: &str| {
        let digits = seconds
            .bytes()
            .take_while(|byte| byte.is_ascii_digit() || *byte == b'.');
        digits.clone().count() < 2 || digits.filter(|byte| *byte != b'.').all(|byte| byte == b'0')
    };
    seconds.is_some_and(|seconds| clock::clock_time(bytes, 11).is_some() && !is_zero(seconds))
}

/// Whether an epoch in seconds or parts of them is that of a full minute, as people ask for.
fn is_full_minute(number: u64) -> bool {
    let mut unit = 60;
    while !is_clock_reading(number / (unit / 60)) {
        unit *= 1_000;
    }
    number.is_multiple_of(unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::event::Value;
    use crate::normalize::value::input_json;

    fn read(tool: &str, arguments: &str) -> Value {
        let how = ToolSettings {
            tool,
            ..ToolSettings::PLAIN
        };
        let input = input_json(&how, arguments);
        input.value().expect("arguments").clone()
    }

    /// Given an id or a time of the request, however it is written and wherever it stands, the call is the same without it.
    #[test]
    fn ids_and_times_of_requests_do_not_count() {
        let plain = read(
            "get_customer_status",
            r#"{"customer":"C-8812","deep":true}"#,
        );
        for drawn in [
            r#""request_id":"1b28d3bb-9a05-465d-a0d3-62f17f71d816""#,
            r#""requestId":"req_8f3a2b1c""#,
            r#""requestId":"req-17""#,
            r#""request_id":17"#,
            r#""trace-id":"V1StGXR8_Z5jdHi6B""#,
            r#""correlation_id":"5pgp9e4pgk97""#,
            r#""timestamp":"2026-10-01T21:01:10.337Z""#,
            r#""timestamp":1790888470"#,
            r#""ts":1790888470337"#,
            r#""requested_at":"2026-10-01 21:01:10""#,
            r#""now":1790888470.337"#,
        ] {
            for arguments in [
                format!(r#"{{{drawn},"customer":"C-8812","deep":true}}"#),
                format!(r#"{{"customer":"C-8812",{drawn},"deep":true}}"#),
                format!(r#"{{"customer":"C-8812","deep":true,{drawn}}}"#),
            ] {
                assert_eq!(
                    read("get_customer_status", &arguments),
                    plain,
                    "{arguments}"
                );
            }
        }
        let id = r#""request_id":"1b28d3bb-9a05-465d-a0d3-62f17f71d816""#;
        let plain = read("get_order", r#"{"customer":"acme","format":"json"}"#);
        let drawn = format!(r#"{{"customer":"acme",{id},"format":"json"}}"#);
        assert_eq!(read("get_order", &drawn), plain);
        let act = read("transfer_call", r#"{"queue":"billing"}"#);
        let id = "6b1b7634-8ae2-4e0b-963b-3ac4dd65adc8";
        let again = format!(r#"{{"queue":"billing","attempt_id":"{id}"}}"#);
        assert_eq!(read("transfer_call", &again), act);
    }

    /// Given an id or a time that is asked about, it counts: what else is asked, the tool, or its form tells.
    #[test]
    fn what_is_asked_about_counts() {
        let id = "1b28d3bb-9a05-465d-a0d3-62f17f71d816";
        for (tool, member, rest) in [
            ("get_customer_status", "request_id", r#""format":"json""#),
            (
                "get_customer_status",
                "request_id",
                r#""as":"json","sort":"name""#,
            ),
            ("get_status", "request_id", r#""user":"C-8812""#),
            ("get_request", "request_id", r#""user":"C-8812""#),
            ("search_logs", "trace_id", r#""service":"API 2""#),
            ("approve", "request_id", r#""by":"C-8812""#),
            ("", "request_id", r#""customer":"C-8812""#),
            ("get_customer_status", "order_id", r#""customer":"C-8812""#),
            ("get_customer_status", "ticket", r#""customer":"C-8812""#),
        ] {
            let [one, other] = [id, "a5ad2f2b-c838-4827-836a-d169c1a52824"].map(|id| {
                let arguments = format!(r#"{{"{member}":"{id}",{rest}}}"#);
                read(tool, &arguments).fingerprint
            });
            assert_ne!(one, other, "{tool} {member}");
        }
        for member in [
            r#""timestamp":"2026-10-01T21:01:00Z""#,
            r#""timestamp":"2026-10-01""#,
            r#""timestamp":"00:01:23""#,
            r#""timestamp":1790888460"#,
            r#""since":"2026-10-01T21:01:10Z""#,
            r#""ts":"1790888470.123456""#,
            r#""request_id":"vacation""#,
            r#""request_id":"HR-2026""#,
        ] {
            let arguments = format!(r#"{{"customer":"C-8812",{member}}}"#);
            let plain = read("get_customer_status", r#"{"customer":"C-8812"}"#);
            assert_ne!(
                read("get_customer_status", &arguments).fingerprint,
                plain.fingerprint,
                "{member}"
            );
        }
    }
}
