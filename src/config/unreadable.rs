//! A file that is no YAML: what the parser says of it, in words of a configuration.

use std::sync::Arc;

use serde_saphyr::Location;

use super::mistake::{Mistake, shown};
use super::tree::{DEPTH_MAX, NODES_MAX, place};

/// Why a file cannot be read, and where in it.
pub(super) fn broken(error: &serde_saphyr::Error, file: &str, source: &Arc<str>) -> Mistake {
    let mut place = place(error.location().unwrap_or(Location::UNKNOWN));
    let line = file.lines().nth((place.line as usize).saturating_sub(1));
    let has_variable = line.is_some_and(|line| line.contains("${"));
    let text = error.to_string();
    // The parser repeats the place at the end of its message.
    let text = text.split(" at line ").next().unwrap_or_default();
    let text = if text.starts_with("budget breached") {
        format!(
            "it is larger than any configuration: {NODES_MAX} values at most, nested {DEPTH_MAX} deep"
        )
    } else if text.starts_with("non-finite float") {
        "a number is larger than any may be, or is none (`.nan`)".to_owned()
    } else if text.starts_with("multiple YAML documents") {
        "a configuration is one document: leave out this `---` and what follows it".to_owned()
    } else if text.starts_with("alias references unknown anchor") {
        "what begins with `*` is an alias; a pattern goes in quotes, as in `\"*_poll\"`".to_owned()
    } else if text.starts_with("cannot deserialize null into string") {
        "a key is missing before `:`".to_owned()
    } else if text.contains("did not find expected") && has_variable {
        let text = shown(text);
        format!(
            "{text}; within `{{…}}` or `[…]`, `${{env:NAME}}` goes in quotes: `\"${{env:NAME}}\"`"
        )
    } else {
        shown(text)
    };
    place.source = Some(Arc::clone(source));
    Mistake {
        place,
        key: String::new(),
        text: format!("not readable as YAML: {text}"),
    }
}
