//! From the tree to typed shapes, finding every mistake and not only the first.
//!
//! serde stops at the first error. So a shape is read again and again: each time the part at fault is noted and taken
//! out, until what is left is right. Every key has a default or is reported missing once, so this ends, after at most as
//! many rounds as there are keys and items of lists.

use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error, Expected, IntoDeserializer,
    MapAccess, SeqAccess, VariantAccess, Visitor,
};

use super::mistake::{Mistake, Mistakes, listed, shown};
use super::tree::{Entry, Node, Value};
use super::wrong::ReadError;

/// Reads a shape out of a tree laid over a base, noting every mistake of the tree. `known` are the paths of all keys, to
/// say where a key belongs that stands in the wrong section. Nothing comes back where the base itself is at fault.
pub(super) fn read<T: DeserializeOwned>(
    tree: &Node,
    base: Option<&Node>,
    known: &[String],
    mistakes: &mut Mistakes,
) -> Option<T> {
    let mut left = tree.clone();
    let mut removed: Vec<Vec<String>> = Vec::new();
    loop {
        let whole = base.map_or_else(|| left.clone(), |base| base.overlaid(&left));
        let error = match T::deserialize(&whole) {
            Ok(shape) => return Some(shape),
            Err(error) => error,
        };
        let path: Vec<&str> = error.path.iter().map(String::as_str).collect();
        if !error.follows_from(&removed) {
            mistakes.note(Mistake {
                place: whole.place(&path),
                key: path.join("."),
                text: error.text(known),
            });
        }
        left.take(&path)?;
        removed.push(error.path);
    }
}

impl Node {
    fn refuse<T>(&self, expected: &str) -> Result<T, ReadError> {
        Err(ReadError::invalid_type(self.unexpected(), &expected))
    }

    /// The same where a text in quotes would be right without them.
    fn refuse_quoted<T>(&self, expected: &str, is_right: fn(&str) -> bool) -> Result<T, ReadError> {
        match &self.value {
            Value::Text(text) if is_right(text) => Err(ReadError::custom(format!(
                "expected {expected}, found a text: write `{}` without quotes",
                shown(text)
            ))),
            _ => self.refuse(expected),
        }
    }

    fn whole_number(&self, max: u64, wanted: &dyn Expected) -> Result<u64, ReadError> {
        let number = match &self.value {
            Value::Int(value) => u64::try_from(*value).ok(),
            // `1e4`, and `010`, which are written as other numbers are and are whole.
            Value::Float(value) if *value >= 0.0 && value.fract() == 0.0 => Some(*value as u64),
            Value::Untyped(text) => text.trim().parse().ok(),
            _ => None,
        };
        match number.filter(|number| *number <= max) {
            Some(number) => Ok(number),
            None => self.refuse_quoted(&limits(max, wanted), is_number),
        }
    }
}

/// What a whole number must be: what `wanted` says, or within its type, where it says no more than which that is.
fn limits(max: u64, wanted: &dyn Expected) -> String {
    match &*wanted.to_string() {
        "u64" => "a whole number, 0 or more".to_owned(),
        "u8" | "u16" | "u32" => format!("a whole number from 0 to {max}"),
        wanted => wanted.to_owned(),
    }
}

/// Words by which somebody meant to switch something on, which is done by leaving it as it is, or off, in YAML's older words.
const SWITCHES: [&str; 3] = ["on", "yes", "no"];

/// What is expected in their place.
const SECTION_OR_OFF: &str = "a section with keys, or `off`";

fn is_number(text: &str) -> bool {
    text.parse().is_ok_and(f64::is_finite)
}

/// Implements the readings of unsigned numbers, which differ in their largest value alone.
macro_rules! whole_numbers {
    ($($method:ident $visit:ident $type:ty),*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
            let number = self.whole_number(u64::from(<$type>::MAX), &visitor)?;
            visitor.$visit(number as $type)
        }
    )*};
}

impl<'de> Deserializer<'de> for &Node {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match &self.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Int(value) => match (i64::try_from(*value), u64::try_from(*value)) {
                (Ok(value), _) => visitor.visit_i64(value),
                (_, Ok(value)) => visitor.visit_u64(value),
                _ => visitor.visit_i128(*value),
            },
            Value::Float(value) => visitor.visit_f64(*value),
            Value::Text(text) | Value::Untyped(text) => visitor.visit_str(text),
            Value::List(items) => visitor.visit_seq(Items(items.iter())),
            Value::Map(entries) => visitor.visit_map(Entries::new(entries)),
        }
    }

    whole_numbers!(
        deserialize_u8 visit_u8 u8, deserialize_u16 visit_u16 u16,
        deserialize_u32 visit_u32 u32, deserialize_u64 visit_u64 u64
    );

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match &self.value {
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Untyped(text) if text == "true" => visitor.visit_bool(true),
            Value::Untyped(text) if text == "false" => visitor.visit_bool(false),
            _ => self.refuse_quoted("true or false", |text| ["true", "false"].contains(&text)),
        }
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        let number = match &self.value {
            Value::Int(value) => Some(*value as f64),
            Value::Float(value) => Some(*value),
            Value::Untyped(text) => text.trim().parse().ok(),
            _ => None,
        };
        match number.filter(|number| number.is_finite()) {
            Some(number) => visitor.visit_f64(number),
            None => self.refuse_quoted("a number", is_number),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match &self.value {
            Value::Text(text) | Value::Untyped(text) => visitor.visit_str(text),
            _ => self.refuse("a text (put it between quotes)"),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match &self.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match &self.value {
            Value::List(items) => visitor.visit_seq(Items(items.iter())),
            _ => self.refuse("a list"),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match &self.value {
            Value::Map(entries) => visitor.visit_map(Entries::new(entries)),
            // `terminal:` with nothing after it is a section in which everything has its default.
            Value::Null => visitor.visit_map(Entries::new(&[])),
            Value::Bool(true) => self.refuse(SECTION_OR_OFF),
            Value::Text(text) | Value::Untyped(text) if SWITCHES.contains(&text.as_str()) => {
                self.refuse(SECTION_OR_OFF)
            }
            _ => self.refuse("a section with keys"),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        match &self.value {
            Value::Text(text) | Value::Untyped(text) => visitor.visit_enum(Word(text)),
            Value::Float(number) if variants.contains(&number.to_string().as_str()) => {
                Err(ReadError::custom(format!(
                    "expected a text: put the number between quotes, `\"{number}\"`"
                )))
            }
            _ => self.refuse(&format!("one of {}", listed(variants))),
        }
    }

    serde::forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u128 f32 char bytes byte_buf unit unit_struct tuple tuple_struct identifier ignored_any
    }
}

struct Items<'a>(std::slice::Iter<'a, Entry>);

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = ReadError;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, ReadError> {
        let read = |entry: &Entry| {
            let item = seed.deserialize(&entry.node);
            item.map_err(|error| error.under(&entry.key))
        };
        self.0.next().map(read).transpose()
    }
}

struct Entries<'a> {
    left: std::slice::Iter<'a, Entry>,
    current: Option<&'a Entry>,
}

impl<'a> Entries<'a> {
    fn new(entries: &'a [Entry]) -> Self {
        Self {
            left: entries.iter(),
            current: None,
        }
    }
}

impl<'de> MapAccess<'de> for Entries<'_> {
    type Error = ReadError;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, ReadError> {
        self.current = self.left.next();
        let Some(entry) = self.current else {
            return Ok(None);
        };
        let key = seed.deserialize(entry.key.as_str().into_deserializer());
        key.map(Some)
            .map_err(|error: ReadError| error.under(&entry.key))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, ReadError> {
        let entry = self
            .current
            .take()
            .expect("a value is asked for after its key");
        seed.deserialize(&entry.node)
            .map_err(|error| error.under(&entry.key))
    }
}

/// One of an enum's words.
struct Word<'a>(&'a str);

impl<'de> EnumAccess<'de> for Word<'_> {
    type Error = ReadError;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), ReadError> {
        let variant = seed.deserialize(self.0.into_deserializer())?;
        Ok((variant, self))
    }
}

impl<'de> VariantAccess<'de> for Word<'_> {
    type Error = ReadError;

    fn unit_variant(self) -> Result<(), ReadError> {
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, _: S) -> Result<S::Value, ReadError> {
        Err(ReadError::custom("expected a single word"))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, ReadError> {
        Err(ReadError::custom("expected a single word"))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, ReadError> {
        Err(ReadError::custom("expected a single word"))
    }
}
