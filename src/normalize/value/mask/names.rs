//! Names of members that hold something else each time: how long something took, when it was, how much may be asked yet.

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
    use super::*;

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
