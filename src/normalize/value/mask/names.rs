//! Names of members that hold something else each time: how long something took, when it was, how much may be asked yet.

use super::super::clock::{fraction, skip};
use super::{DURATION, Volatile, Word};

/// Longest name that is looked at, in bytes.
const NAME_BYTES_MAX: usize = 48;

impl Word {
    /// `348` in `duration_ms=348` of a log's line, and `12` in `"took": 12` of JSON within a text.
    pub(super) fn by_name(&self, bytes: &[u8]) -> Option<Volatile> {
        let before = &bytes[..self.start];
        if !matches!(before.last()?, b'=' | b':' | b' ' | b'"') {
            return None;
        }
        let before = before.strip_suffix(b"\"").unwrap_or(before);
        let before = before.strip_suffix(b" ").unwrap_or(before);
        let [before @ .., b'=' | b':'] = before else {
            return None;
        };
        let near = &before[before.len().saturating_sub(NAME_BYTES_MAX)..];
        let near = near.strip_suffix(b"\"").unwrap_or(near);
        let near = near.strip_suffix(b"\\").unwrap_or(near);
        let is_one = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let name = &near[near.len() - near.iter().rev().take_while(is_one).count()..];
        let is_volatile = str::from_utf8(name).is_ok_and(is_volatile_key);
        let to = fraction(bytes, skip(bytes, self.start, u8::is_ascii_digit));
        let is_whole = to >= self.end && !bytes.get(to).is_some_and(u8::is_ascii_alphanumeric);
        (is_volatile && is_whole).then(|| self.replaced(to, DURATION))
    }
}

/// Whether the scalar member of this name is volatile whatever it holds, since its unit or kind stands in the name.
pub(in super::super) fn is_volatile_key(key: &str) -> bool {
    match key {
        "pid" | "ts" | "timestamp" | "uptime" | "uptime_seconds" | "uptimeSeconds"
        | "request_id" | "requestId" | "trace_id" | "traceId" | "span_id" | "spanId" | "took"
        | "resourceVersion" | "expires_in" | "expiresIn" | "max_age" | "maxAge" => true,
        _ if key.ends_with("duration") || key.ends_with("Duration") => true,
        _ => may_be_volatile(key) && VOLATILE_KEYS.iter().any(|begin| begins_name(key, begin)),
    }
}

/// Nearly every name is told by its first two letters.
fn may_be_volatile(key: &str) -> bool {
    let Some(&[first, second]) = key.as_bytes().first_chunk() else {
        return false;
    };
    matches!(
        (first.to_ascii_lowercase(), second),
        (b'd' | b'q', b'u')
            | (b'e', b'l' | b'x')
            | (b'l' | b'w', b'a')
            | (b'p', b'r')
            | (b'r', b'a' | b'e')
            | (b's', b'e')
            | (b'x', b'-')
            | (b't', b'i' | b'o')
    )
}

/// Whether a name begins so, with a small letter or a capital.
fn begins_name(key: &str, begin: &str) -> bool {
    let (key, begin) = (key.as_bytes(), begin.as_bytes());
    key.len() >= begin.len()
        && key[0].eq_ignore_ascii_case(&begin[0])
        && key[1..begin.len()] == begin[1..]
}

/// How the names of members begin that hold how long something took, or how much may be asked yet.
const VOLATILE_KEYS: [&str; 24] = [
    "rate_limit_",
    "ratelimit_",
    "rateLimit",
    "x-ratelimit-",
    "x-RateLimit-",
    "duration",
    "elapsed",
    "latency",
    "took_",
    "wall_time",
    "response_time",
    "responseTime",
    "request_time",
    "requestTime",
    "search_time",
    "searchTime",
    "query_time",
    "queryTime",
    "processing_time",
    "processingTime",
    "execution_time",
    "executionTime",
    "time_taken",
    "total_time_taken",
];

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::*;

    /// Given a number behind the name of a member that holds how long something took, in a log's line, in headers or in JSON within
    /// a text, it is masked; other numbers are not.
    #[test]
    fn numbers_behind_such_names_are_masked() {
        for (text, expected) in [
            (
                "level=info msg=done duration_ms=348 rows=3",
                "level=info msg=done duration_ms=<duration> rows=3",
            ),
            ("done (elapsed_ms=5.25)", "done (elapsed_ms=<duration>)"),
            ("latency=\"12\" b", "latency=\"<duration>\" b"),
            (
                "HTTP/2 200\n{\"took\": 12, \"total\": 3}",
                "HTTP/2 200\n{\"took\": <duration>, \"total\": 3}",
            ),
            (
                "got {\\\"took\\\":12,\\\"n\\\":3}",
                "got {\\\"took\\\":<duration>,\\\"n\\\":3}",
            ),
            (
                "x-ratelimit-remaining: 42\ncontent-length: 42",
                "x-ratelimit-remaining: <duration>\ncontent-length: 42",
            ),
        ] {
            check(text, expected);
        }
        for kept in [
            "it took 12 of them",
            "rows=348 took",
            "duration=3x",
            "duration: of 3",
            "=3 :4 \" 5",
        ] {
            check(kept, kept);
        }
    }

    /// Given the name of each member that holds how long something took, it is known, with a capital too; others are not.
    #[test]
    fn names_of_durations_are_known() {
        for name in VOLATILE_KEYS {
            let capital = name[..1].to_ascii_uppercase() + &name[1..];
            assert!(is_volatile_key(name) && is_volatile_key(&capital), "{name}");
            assert!(is_volatile_key(&format!("{name}_of_it")), "{name}");
        }
        assert!(is_volatile_key("leg_duration") && is_volatile_key("testDuration"));
        for name in [
            "",
            "d",
            "du",
            "tag",
            "price",
            "result",
            "timeout",
            "query",
            "configuration",
        ] {
            assert!(!is_volatile_key(name), "{name}");
        }
    }
}
