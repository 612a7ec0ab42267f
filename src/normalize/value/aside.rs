//! Members of a result that stand beside what it tells and are another one each time: tokens that a server draws for each answer,
//! counters that go on by themselves, and how well a hit fits.

/// A token of the answer, or who gave it.
pub(super) const TOKENS: [&str; 26] = [
    "csrf",
    "csrf_token",
    "csrfToken",
    "xsrf_token",
    "xsrfToken",
    "nonce",
    "correlation_id",
    "correlationId",
    "attempt_id",
    "attemptId",
    "invocation_id",
    "invocationId",
    "RequestId",
    "x-request-id",
    "x-correlation-id",
    "x-amz-id-2",
    "x-amz-request-id",
    "HostId",
    "traceparent",
    "served_by",
    "servedBy",
    "cf_ray",
    "cfRay",
    "cf-ray",
    "ray_id",
    "rayId",
];

/// The version of what is told, drawn or reckoned anew with each write: in a list, it tells which one has changed.
pub(super) const VERSIONS: [&str; 5] = ["etag", "eTag", "ETag", "_etag", "@odata.etag"];

/// How far the clock of a world has gone that stands still without the agent.
pub(super) const TURNS: [&str; 7] = [
    "turn",
    "turns",
    "turn_number",
    "turnNumber",
    "tick",
    "ticks",
    "execution_count",
];

/// How often the thing was looked at.
pub(super) const VIEWS: [&str; 6] = [
    "views",
    "view_count",
    "viewCount",
    "page_views",
    "pageviews",
    "visits",
];

/// How often it was written, or how long it may be kept.
pub(super) const WRITES: [&str; 4] = ["rev", "revision", "ttl", "TTL"];

/// Names under which stores of vectors and searches on the web say how well a hit fits the query.
pub(super) const SCORES: [&str; 11] = [
    "score",
    "_score",
    "@search.score",
    "@search.rerankerScore",
    "distance",
    "_distance",
    "similarity",
    "similarity_score",
    "relevance_score",
    "relevanceScore",
    "rerank_score",
];

#[cfg(test)]
mod tests {
    use crate::normalize::value::tests::check_masked;

    /// Given a token of the answer's beside what it tells, another one makes it no other answer; what names or counts what was
    /// asked for does.
    #[test]
    fn tokens_of_answers() {
        let check = |member: &str, (one, other): (&str, &str), expected: bool| {
            let [one, other] = [one, other].map(|value| {
                format!(r#"{{"name":"Rosa Quinn","city":"Leeds","{member}":{value}}}"#)
            });
            check_masked(&one, &other, expected);
        };
        for member in [
            "etag",
            "csrf_token",
            "correlationId",
            "served_by",
            "cf_ray",
            "x-amz-id-2",
        ] {
            check(member, ("\"7f724392\"", "\"18a1f361\""), true);
        }
        check("turn", ("3", "4"), true);
        for member in ["token", "cursor", "hash", "digest", "id", "ticket", "node"] {
            check(member, ("\"7f724392\"", "\"18a1f361\""), false);
        }
        check("turn", ("\"white\"", "\"black\""), false);
        check("rows", ("3", "4"), false);
    }

    /// Given a counter beside a passage, several things or a list, it does not count; where hardly anything else is told, it may be
    /// the answer.
    #[test]
    fn counters_beside_what_is_told() {
        let passage = r#""body":"Reinstall the client. If this does not help, contact us.""#;
        let check = |form: &str, expected: bool| {
            let [one, other] = ["211", "212"].map(|count| form.replace("COUNT", count));
            check_masked(&one, &other, expected);
        };
        check(&format!(r#"{{{passage},"views":COUNT}}"#), true);
        check(r#"{"title":"VPN drops","views":COUNT}"#, false);
        check(&format!(r#"{{{passage},"comments":COUNT}}"#), false);
        check(
            r#"{"rev":COUNT,"changed":"Q3!B2:B9","preview":[[0],[0]]}"#,
            true,
        );
        check(r#"{"name":"a","type":1,"TTL":COUNT,"data":"b"}"#, true);
        check(r#"{"order":"A-7","state":"hold","expires_in":COUNT}"#, true);
        for left in [
            "rate_limit_remaining",
            "X-RateLimit-Remaining",
            "ratelimit_reset",
        ] {
            let left = format!(r#"{{"order":"A-7","{left}":COUNT}}"#);
            check(&left, true);
        }
        check(r#"{"key":"a","ttl":COUNT}"#, false);
        check(r#"{"status":"deployed","revision":COUNT}"#, false);
        check(
            r#"[{"id":"a","etag":"xCOUNT"},{"id":"b","etag":"y1"}]"#,
            false,
        );
    }
}
