//! A program's settings, changed without touching what is not ours: members keep their order and their very text.

use std::fmt;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// A JSON object whose members stay where and as they are.
#[derive(Debug, Default)]
pub(super) struct Members(Vec<(String, Box<RawValue>)>);

impl Members {
    /// A member, read as what it is expected to be.
    pub(super) fn get<'a, T: Deserialize<'a>>(
        &'a self,
        name: &str,
    ) -> serde_json::Result<Option<T>> {
        let member = self.0.iter().find(|(known, _)| known == name);
        let value = member.map(|(_, value)| serde_json::from_str(value.get()));
        value.transpose()
    }

    /// Puts JSON in place of the member of this name, else behind the others.
    pub(super) fn set(&mut self, name: &str, json: String) -> serde_json::Result<()> {
        let value = RawValue::from_string(json)?;
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, member)) => *member = value,
            None => self.0.push((name.to_owned(), value)),
        }
        Ok(())
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.0.retain(|(known, _)| known != name);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The object's JSON where it stands at a depth: new lines are indented by two blanks a level.
    pub(super) fn json(&self, depth: usize) -> String {
        let member = |(name, value): &(String, Box<RawValue>)| {
            format!("{}: {}", Value::from(name.as_str()), value.get())
        };
        laid_out('{', self.0.iter().map(member), '}', depth)
    }
}

/// The JSON of a list where it stands at a depth.
pub(super) fn list_json(items: &[Box<RawValue>], depth: usize) -> String {
    let items = items.iter().map(|item| item.get().to_owned());
    laid_out('[', items, ']', depth)
}

/// The JSON of a new value where it stands at a depth.
pub(super) fn value_json(value: &Value, depth: usize) -> String {
    let indent = format!("\n{}", "  ".repeat(depth));
    format!("{value:#}").replace('\n', &indent)
}

fn laid_out(open: char, items: impl Iterator<Item = String>, close: char, depth: usize) -> String {
    let indent = "  ".repeat(depth);
    let items: Vec<String> = items.map(|item| format!("\n{indent}  {item}")).collect();
    if items.is_empty() {
        return format!("{open}{close}");
    }
    format!("{open}{}\n{indent}{close}", items.join(","))
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members: Vec<(String, Box<RawValue>)> = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, _>()? {
                    if members.iter().any(|(known, _)| *known == name) {
                        return Err(A::Error::custom(format!("`{name}` is there twice")));
                    }
                    members.push((name, value));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}
