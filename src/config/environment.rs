//! `${env:NAME}` and `${env:NAME:-default}` in any text of the configuration.
//!
//! What is put in is never parsed as YAML again: a variable cannot smuggle keys in. A value that is one reference and
//! nothing else takes the type that its reader expects. `$${` is a literal `${`.

use super::mistake::{Mistake, Mistakes};
use super::tree::{Node, Value, joined};

/// How variables are looked up; a parameter, so that tests need not change the process's environment.
pub(super) type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Puts variables into every text of the tree.
pub(super) fn substitute(node: &mut Node, path: &str, lookup: Lookup<'_>, mistakes: &mut Mistakes) {
    match &mut node.value {
        Value::Text(text) if text.contains("${") => match expanded(text, lookup) {
            Ok(text) => node.value = Value::Untyped(text),
            Err(text) => mistakes.0.push(Mistake {
                place: node.place.clone(),
                key: path.to_owned(),
                text,
            }),
        },
        Value::Map(entries) | Value::List(entries) => {
            for entry in entries {
                substitute(&mut entry.node, &joined(path, &entry.key), lookup, mistakes);
            }
        }
        _ => {}
    }
}

fn expanded(text: &str, lookup: Lookup<'_>) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let before = &rest[..start];
        let after = &rest[start + 2..];
        if let Some(before) = before.strip_suffix('$') {
            out.push_str(before);
            out.push_str("${");
            rest = after;
            continue;
        }
        out.push_str(before);
        let end = after.find('}').ok_or_else(|| {
            "`${` without a closing `}`; a literal `${` is written `$${`".to_owned()
        })?;
        out.push_str(&variable(&after[..end], lookup)?);
        rest = &after[end + 1..];
    }
    out.push_str(rest);
    Ok(out)
}

fn variable(reference: &str, lookup: Lookup<'_>) -> Result<String, String> {
    let Some(name) = reference.strip_prefix("env:") else {
        return Err(format!(
            "`${{{reference}}}` is not known; an environment variable is written `${{env:NAME}}`"
        ));
    };
    let (name, default) = match name.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (name, None),
    };
    if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        return Err(format!(
            "`{name}` is not the name of an environment variable"
        ));
    }
    // As in a shell, `:-` also stands in for a variable that is set to nothing.
    match (lookup(name).filter(|value| !value.is_empty()), default) {
        (Some(value), _) => Ok(value),
        (None, Some(default)) => Ok(default.to_owned()),
        (None, None) => Err(format!(
            "the environment variable {name} is not set; a default is written `${{env:{name}:-default}}`"
        )),
    }
}
