//! Serde's visitor for a digest: whatever JSON text holds is handed to the reader as it comes, and no tree is built.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::digest::{Digest, Reader};

/// One value, for the reader.
pub(super) struct ValueSeed<'r>(pub(super) &'r mut Reader);

impl<'de> DeserializeSeed<'de> for ValueSeed<'_> {
    type Value = Digest;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Digest, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueSeed<'_> {
    type Value = Digest;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Digest, E> {
        Ok(self.0.null())
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Digest, E> {
        Ok(self.0.flag(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Digest, E> {
        Ok(self.0.integer(i128::from(number)))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Digest, E> {
        Ok(self.0.integer(i128::from(number)))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Digest, E> {
        Ok(self.0.float(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Digest, E> {
        Ok(self.0.member_text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Digest, A::Error> {
        let reader = self.0;
        let mut list = reader.open_list();
        while let Some(item) = items.next_element_seed(ValueSeed(&mut *reader))? {
            reader.add_item(&mut list, item);
        }
        Ok(reader.close_list(&list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Digest, A::Error> {
        let reader = self.0;
        let mut map = reader.open_map();
        while let Some(key) = members.next_key_seed(KeySeed)? {
            let key = key.as_ref();
            let place = reader.next_member(&map, key);
            let value = members.next_value_seed(ValueSeed(&mut *reader))?;
            reader.add_member(&mut map, key, value, place);
        }
        Ok(reader.close_map(&map))
    }
}

/// A member's name, borrowed from the text where it holds no escapes.
struct KeySeed;

impl<'de> DeserializeSeed<'de> for KeySeed {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for KeySeed {
    type Value = Cow<'de, str>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the name of a member")
    }

    fn visit_borrowed_str<E>(self, key: &'de str) -> Result<Self::Value, E> {
        Ok(key.into())
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(key.to_owned().into())
    }
}
