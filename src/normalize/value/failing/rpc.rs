//! What a response of JSON-RPC carries. Its `id` counts the requests, so that no two responses would be the same.

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::super::Object;
use super::super::wide::trimmed_start;
use super::told::written_first;

/// The members of a response, of which servers write any first (JSON-RPC 2.0, 5).
const MEMBERS: [&str; 4] = ["jsonrpc", "id", "result", "error"];

/// Most results that begin alike are spared the walk through their members.
static JSONRPC: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\"jsonrpc\""));

/// What was asked for, or an object with nothing but the error; `None` of anything but a response.
pub(in crate::normalize) fn carried(response: &str) -> Option<Cow<'_, str>> {
    let response = trimmed_start(response);
    let first = written_first(response)?.trim_matches('"');
    if !MEMBERS.contains(&first) || JSONRPC.find(response.as_bytes()).is_none() {
        return None;
    }
    let response = Object::of(response);
    response.member("jsonrpc")?;
    if !response.members().all(|(name, _)| MEMBERS.contains(&name)) {
        return None;
    }
    match response.member("error").filter(|error| *error != "null") {
        Some(error) => Some(Cow::Owned(format!(r#"{{"error":{error}}}"#))),
        None => response.member("result").map(Cow::Borrowed),
    }
}

#[cfg(test)]
mod tests {
    use super::carried;

    /// Given a response of JSON-RPC, what it carries is told; a request, and any other object, carries nothing.
    #[test]
    fn responses_carry_a_result_or_an_error() {
        for (response, expected) in [
            (
                r#"{"jsonrpc":"2.0","id":7,"result":{"rows":[]}}"#,
                Some(r#"{"rows":[]}"#),
            ),
            (
                r#" {"result":"done","jsonrpc":"2.0","id":8,"error":null}"#,
                Some(r#""done""#),
            ),
            (
                r#"{"id":9,"jsonrpc":"2.0","error":{"code":-32602,"message":"Invalid params"}}"#,
                Some(r#"{"error":{"code":-32602,"message":"Invalid params"}}"#),
            ),
            (r#"{"jsonrpc":"2.0","id":7}"#, None),
            (r#"{"jsonrpc":"2.0","id":7,"method":"list"}"#, None),
            (r#"{"id":7,"result":"done"}"#, None),
            (r#"{"jsonrpc":"2.0","result":"done","more":1}"#, None),
            ("[]", None),
        ] {
            assert_eq!(carried(response).as_deref(), expected, "{response}");
        }
    }
}
