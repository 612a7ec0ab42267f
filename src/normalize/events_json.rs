//! How the events format reads its JSON: what has to be an object, and what is said where the JSON is wrong, in the words of the
//! format's manual and not of the parser.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::error::Category;

/// What only an object tells: serde alone would take a list for its members in their order.
pub(super) struct Object<T>(pub(super) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_map(ObjectVisitor(PhantomData)).map(Object)
    }
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = T;

    fn expecting(&self, expected: &mut fmt::Formatter<'_>) -> fmt::Result {
        expected.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(members))
    }
}

/// What serde calls what it expects or finds, and what the manual calls that.
const KINDS: [(&str, &str); 7] = [
    ("type: sequence", "type: a list"),
    ("expected f64", "expected a number"),
    ("expected u64", "expected a whole number"),
    ("expected a boolean", "expected true or false"),
    ("expected a string", "expected a text"),
    ("expected a sequence", "expected a list"),
    // What begins like `true`, `false` or `null` and is none of these.
    ("expected ident", "expected value"),
];

/// Serde's message in the words of the manual and with the member at fault, without its own line number, which is always one.
pub(super) fn described(error: &serde_json::Error, line: &[u8]) -> String {
    let text = error.to_string();
    let message = text.split(" at line ").next().unwrap_or(&text);
    let in_our_words =
        |message: String, (serdes, ours): &(&str, &str)| message.replacen(serdes, ours, 1);
    let told = KINDS.iter().fold(message.to_owned(), in_our_words);
    let is_of_value = message.starts_with("invalid ");
    let member = last_member(&line[..error.column().min(line.len())]).filter(|_| is_of_value);
    let member = member.map_or_else(String::new, |member| format!("`{member}`: "));
    let kind = match error.classify() {
        Category::Eof => "not whole JSON: ",
        Category::Syntax => "no JSON: ",
        Category::Data | Category::Io => "",
    };
    format!("{kind}{member}{told} (column {})", error.column())
}

/// The member whose value begins last in a part of a line.
fn last_member(line: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(line);
    let (before, _) = text.rsplit_once("\":")?;
    Some(before.rsplit('"').next()?.to_owned())
}
