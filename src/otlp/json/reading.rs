//! JSON, written out as the fields of a protobuf message while it is read.
//!
//! Nothing is built of what is read: text goes into the bytes as soon as it is parsed, and of members that nobody knows
//! nothing is kept. What reading takes of memory is the bytes that come out, which hardly ever are longer than the text (an
//! element of a list is two bytes at least in both; the counts and bounds of a histogram may be four times theirs).

use std::borrow::Cow;
use std::fmt;

use prost::bytes::BufMut;
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint};
use serde::de::{
    DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde_json::value::RawValue;

use super::fault::{Place, Written, found};
use super::shapes::{Field, Kind, Shape, Times};

/// Reads an object, whose members are appended as fields of a message.
pub(super) struct Members<'a> {
    pub(super) shape: &'static Shape,
    pub(super) within: Option<&'a Place<'a>>,
    pub(super) out: &'a mut Written,
}

impl<'de> DeserializeSeed<'de> for Members<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Members<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        Err(E::invalid_type(found(text), &self))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(field) = members.next_key_seed(Name(self.shape))? {
            if let Some(field) = field {
                let place = Place {
                    within: self.within,
                    field,
                    index: None,
                };
                members.next_value_seed(Member {
                    place: &place,
                    out: self.out,
                })?;
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

/// Reads the name of a member: the field that it stands for, if it is known.
struct Name(&'static Shape);

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Option<&'static Field>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Name {
    type Value = Option<&'static Field>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a member")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.0.0.iter().find(|field| field.name == name))
    }
}

/// Reads the value of a member, or one element of it where it is a list.
struct Member<'a> {
    place: &'a Place<'a>,
    out: &'a mut Written,
}

impl Member<'_> {
    fn field(&self) -> &'static Field {
        self.place.field
    }

    fn is_element(&self) -> bool {
        self.place.index.is_some()
    }

    fn is_list(&self) -> bool {
        self.field().times == Times::Each && !self.is_element()
    }

    fn write(self, is_default: bool, payload: &[u8]) {
        if is_default && self.field().times == Times::Once {
            return;
        }
        let is_packed = self.is_element() && self.field().is_packed();
        if !is_packed {
            encode_key(
                self.field().number,
                self.field().kind.wire_type(),
                &mut self.out.bytes,
            );
        }
        self.out.bytes.extend_from_slice(payload);
    }

    fn write_bytes(self, bytes: &[u8]) {
        if bytes.is_empty() && self.field().times == Times::Once {
            return;
        }
        encode_key(
            self.field().number,
            WireType::LengthDelimited,
            &mut self.out.bytes,
        );
        encode_varint(bytes.len() as u64, &mut self.out.bytes);
        self.out.bytes.extend_from_slice(bytes);
    }

    fn whole<E: Error>(self, number: i128, found: Unexpected<'_>) -> Result<(), E> {
        let mut buffer = [0; 10];
        match number_payload(&self.field().kind, number, &mut buffer) {
            Some(payload) if !self.is_list() => {
                self.write(number == 0, payload);
                Ok(())
            }
            _ => Err(E::invalid_value(found, &self)),
        }
    }

    fn number<E: Error>(self, number: f64, found: Unexpected<'_>) -> Result<(), E> {
        match self.field().kind {
            _ if self.is_list() => Err(E::invalid_value(found, &self)),
            Kind::Double => {
                self.write(number == 0.0, &number.to_le_bytes());
                Ok(())
            }
            // A whole number may be written as one with a fraction of zero; beyond every range, the cast saturates.
            _ if number.fract() == 0.0 => self.whole(number as i128, found),
            _ => Err(E::invalid_value(found, &self)),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Member<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        let Self { place, out } = self;
        let read = deserializer.deserialize_any(Member { place, out });
        if let Err(error) = &read {
            out.note(place, error);
        }
        read
    }
}

impl<'de> Visitor<'de> for Member<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.field().kind {
            _ if self.is_list() => "a list",
            Kind::Message(_) | Kind::Item(_) => "an object",
            Kind::Text => "text",
            Kind::Hex => "hexadecimal text",
            Kind::Base64 => "base64 text",
            Kind::Bool => "true or false",
            Kind::Double => "a number",
            Kind::Enum(_) => "a whole number or the name of one",
            _ => "a whole number within its range",
        })
    }

    /// A member that is `null` is left out; among the elements of a list there may be none.
    fn visit_unit<E: Error>(self) -> Result<(), E> {
        if self.is_element() {
            return Err(E::invalid_type(Unexpected::Unit, &self));
        }
        Ok(())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        match self.field().kind {
            Kind::Bool if !self.is_list() => {
                self.write(!value, &[u8::from(value)]);
                Ok(())
            }
            _ => Err(E::invalid_type(Unexpected::Bool(value), &self)),
        }
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        self.whole(number.into(), Unexpected::Unsigned(number))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<(), E> {
        self.whole(number.into(), Unexpected::Signed(number))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<(), E> {
        self.number(number, Unexpected::Float(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        let found = found(text);
        let bytes = match self.field().kind {
            _ if self.is_list() => None,
            Kind::Text => Some(Cow::Borrowed(text.as_bytes())),
            // What is no id is refused as the id that it is instead of: none is one byte long.
            Kind::Hex => Some(hex(text).unwrap_or(vec![0]).into()),
            Kind::Base64 => base64(text).map(Cow::Owned),
            Kind::Enum(number_of) => match number_of(text) {
                Some(number) => return self.whole(number.into(), found),
                None => None,
            },
            // Numbers may be written as text: those of 64 bits always are, and the infinite ones and `NaN` can only be.
            _ => match (text.parse(), text.parse()) {
                (Ok(number), _) => return self.whole(number, found),
                (_, Ok(number)) => return self.number(number, found),
                _ => None,
            },
        };
        let bytes = bytes.ok_or_else(|| E::invalid_value(found, &self))?;
        self.write_bytes(&bytes);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        if !self.is_list() {
            return Err(A::Error::invalid_type(Unexpected::Seq, &self));
        }
        let Self { place: list, out } = self;
        let field = list.field;
        let mut places = (0..).map(|index| Place {
            within: Some(list),
            field,
            index: Some(index),
        });
        let mut read_all = |out: &mut Written| {
            for place in places.by_ref() {
                let element = Member { place: &place, out };
                if elements.next_element_seed(element)?.is_none() {
                    break;
                }
            }
            Ok(())
        };
        if let Kind::Item(shape) = field.kind {
            for place in places {
                let Some(element) = elements.next_element::<&RawValue>()? else {
                    break;
                };
                read_item(element.get(), &place, shape, out);
            }
            Ok(())
        } else if field.is_packed() {
            encode_key(field.number, WireType::LengthDelimited, &mut out.bytes);
            delimited(out, read_all)
        } else {
            read_all(out)
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<(), A::Error> {
        match self.field().kind {
            Kind::Message(shape) if !self.is_list() => {
                encode_key(
                    self.field().number,
                    WireType::LengthDelimited,
                    &mut self.out.bytes,
                );
                let within = Some(self.place);
                delimited(self.out, |out| {
                    let read = Members { shape, within, out };
                    read.visit_map(members)
                })
            }
            _ => Err(A::Error::invalid_type(Unexpected::Map, &self)),
        }
    }
}

/// Reads an item from its own text, so that one that cannot be read costs itself alone, also where it is no object: it is left out.
fn read_item(text: &str, place: &Place<'_>, shape: &'static Shape, out: &mut Written) {
    let before = out.bytes.len();
    encode_key(
        place.field.number,
        WireType::LengthDelimited,
        &mut out.bytes,
    );
    let read = delimited(out, |out| {
        let within = Some(place);
        let members = Members { shape, within, out };
        members.deserialize(&mut serde_json::Deserializer::from_str(text))
    });
    if let Err(error) = read {
        out.note(place, &error);
        out.unread += 1;
        out.bytes.truncate(before);
    }
}

/// Appends what is written with its length before it. Most messages are short, so room is left for a length of one byte; a longer
/// message is moved once, at each level that it stands at.
fn delimited<E>(
    written: &mut Written,
    write: impl FnOnce(&mut Written) -> Result<(), E>,
) -> Result<(), E> {
    let at = written.bytes.len();
    written.bytes.push(0);
    write(written)?;
    let out = &mut written.bytes;
    let bytes = out.len() - at - 1;
    let more = encoded_len_varint(bytes as u64) - 1;
    out.resize(out.len() + more, 0);
    out.copy_within(at + 1..at + 1 + bytes, at + 1 + more);
    encode_varint(bytes as u64, &mut &mut out[at..]);
    Ok(())
}

/// A whole number as a field of that kind holds it; `None` where the field holds none such. The buffer has room for the longest.
fn number_payload<'a>(kind: &Kind, number: i128, buffer: &'a mut [u8; 10]) -> Option<&'a [u8]> {
    let mut rest = &mut buffer[..];
    match kind {
        Kind::Double => rest.put_f64_le(number as f64),
        Kind::Fixed32 => rest.put_u32_le(u32::try_from(number).ok()?),
        Kind::Fixed64 => rest.put_u64_le(u64::try_from(number).ok()?),
        Kind::Sfixed64 => rest.put_i64_le(i64::try_from(number).ok()?),
        Kind::Enum(_) => encode_varint(i64::from(i32::try_from(number).ok()?) as u64, &mut rest),
        Kind::Int64 => encode_varint(i64::try_from(number).ok()? as u64, &mut rest),
        Kind::Uint32 => encode_varint(u32::try_from(number).ok()?.into(), &mut rest),
        Kind::Uint64 => encode_varint(u64::try_from(number).ok()?, &mut rest),
        Kind::Sint32 => {
            let number = i32::try_from(number).ok()?;
            let zigzag = ((number << 1) ^ (number >> 31)) as u32;
            encode_varint(zigzag.into(), &mut rest);
        }
        _ => return None,
    }
    let written = 10 - rest.len();
    Some(&buffer[..written])
}

/// The bytes that hexadecimal text of either case writes out.
fn hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = text.as_bytes().chunks(2);
    let bytes = pairs.map(|pair| match *pair {
        [high, low] => Some((digit(high)? << 4 | digit(low)?) as u8),
        _ => None,
    });
    bytes.collect()
}

/// The bytes that base64 text writes out, in either of its alphabets, padded or not.
fn base64(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=');
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    let (mut held, mut bits) = (0_u32, 0);
    for digit in digits.bytes() {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        held = held << 6 | u32::from(value);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits) as u8);
        }
    }
    (digits.len() % 4 != 1).then_some(bytes)
}
