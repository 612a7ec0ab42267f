//! Every key and word in which a fact is known to stand, read one by one: what a renamed attribute, an older version or another
//! instrumentation calls a tool, its arguments, tokens, a kind of span. The rows are those of the facts' table and of the
//! conventions that it was made from; what dialects do with the facts is tested in their own files.

mod kinds;
mod models;
mod runs;
mod tools;

use serde_json::Value;

use super::captured::Captured;

const ANYBODY: &str = "somebody's tracer";

/// A span of nobody's scope with these attributes and one more.
fn with(attributes: &Value, key: &str, value: &Value) -> Captured {
    let mut all = attributes.clone();
    all[key] = value.clone();
    Captured::new(ANYBODY, "span", &all)
}

#[track_caller]
fn check(span: Captured, expected: &str, about: &str) {
    assert_eq!(span.told(), [expected], "{about}");
}
