//! One pass over a value, in whatever form it came, that gives all that is kept of it.
//!
//! JSON text goes through serde's visitor and OTLP's structured values through their own recursion; both end in the same
//! few functions, so that the same value has the same fingerprint in both. No tree is built. Members of an object are
//! mixed one by one and added up: their order cannot matter, and nothing needs sorting. The hash is not meant to
//! withstand a sender who looks for collisions; such a sender can only fool the watch over his own runs.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::otlp::ValueView;

use super::emptiness::{self, Members};
use super::mask;
use super::sample::Sample;

/// Seed of every hash. Fingerprints are kept on disk: a change to anything in this file or in `mask` that changes them
/// changes this number too.
const SEED: u64 = 0x4564_6479_0000_0001;

/// Texts longer than this are not read as JSON but hashed as they are, and masked only this far: reading is linear, and
/// this bounds what one span can cost.
pub(super) const READ_BYTES_MAX: usize = 64 * 1024;

/// How often JSON within a text is unwrapped, one within the other.
const UNWRAPS_MAX: u8 = 3;

const LIST: u64 = 0x11;
const MAP: u64 = 0x22;
const NULL: u64 = 0x33;
const TRUE: u64 = 0x44;
const FALSE: u64 = 0x55;
const INTEGER: u64 = 0x66;
const FLOAT: u64 = 0x77;
const BYTES: u64 = 0x88;
const VOLATILE: u64 = 0x99;

/// What a value is, as far as its surroundings want to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// `null`, or the printed address of an object: a member that is left out.
    Nothing,
    Flag,
    Zero,
    Number,
    Text,
    List,
    Map,
}

/// All that is kept of a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Digest {
    pub(super) hash: u64,
    /// The same with volatile text masked.
    pub(super) masked: u64,
    /// Length of the canonical form in bytes, with escapes counted as the character that they stand for.
    pub(super) bytes: usize,
    pub(super) empty: bool,
    pub(super) shape: Shape,
}

/// Reads one value.
pub(super) struct Reader {
    /// Results are masked and may say in words that there is nothing; arguments are kept as a sample instead.
    is_output: bool,
    sample: Sample,
    unwraps: u8,
}

impl Reader {
    /// A reader for arguments: writes a sample.
    pub(super) fn for_input() -> Self {
        Self {
            is_output: false,
            sample: Sample::default(),
            unwraps: UNWRAPS_MAX,
        }
    }

    /// A reader for results: masks, and knows the words for nothing.
    pub(super) fn for_output() -> Self {
        Self {
            is_output: true,
            sample: Sample::default(),
            unwraps: UNWRAPS_MAX,
        }
    }

    /// The sample of what was read.
    pub(super) fn into_sample(self) -> Sample {
        self.sample
    }

    /// Digests a text that is the whole value: JSON if it looks like it, else the text without blanks around it.
    pub(super) fn whole_text(&mut self, text: &str) -> Digest {
        let text = text.trim();
        if let Some(digest) = self.json_in(text) {
            return digest;
        }
        let digest = self.text(text, text.len());
        self.write(|sample| sample.whole_text(head(text)));
        digest
    }

    /// Digests JSON text, scalars too; what is not JSON counts as a text.
    pub(super) fn json(&mut self, text: &str) -> Digest {
        let text = text.trim();
        let is_scalar = matches!(
            text.as_bytes().first(),
            Some(b'0'..=b'9' | b'-' | b't' | b'f' | b'n')
        );
        match is_scalar.then(|| self.parse(text)).flatten() {
            Some(digest) => digest,
            None => self.whole_text(text),
        }
    }

    /// Digests a value of OTLP that is the whole value.
    pub(super) fn whole_view(&mut self, view: ValueView<'_>) -> Digest {
        match view {
            ValueView::Str(text) => self.whole_text(text),
            ValueView::Bytes(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => self.whole_text(text),
                Err(_) => self.view(view),
            },
            _ => self.view(view),
        }
    }

    fn view(&mut self, view: ValueView<'_>) -> Digest {
        match view {
            ValueView::Empty => self.null(),
            ValueView::Bool(flag) => self.flag(flag),
            ValueView::Int(number) => self.integer(i128::from(number)),
            ValueView::Double(number) => self.float(number),
            ValueView::Str(text) => self.member_text(text),
            ValueView::Bytes(bytes) => scalar(
                mix(BYTES, xxh3_64_with_seed(bytes, SEED)),
                bytes.len(),
                Shape::Text,
            ),
            ValueView::Array(items) => {
                let mut list = self.open_list();
                for item in items.iter() {
                    self.next_item(&list);
                    let item = self.view(item);
                    list.add(item);
                }
                self.close_list(list)
            }
            ValueView::Map(members) => {
                let mut map = self.open_map();
                for (key, value) in members.iter() {
                    let place = self.next_member(&map, key);
                    let value = self.view(value);
                    self.add_member(&mut map, key, value, place);
                }
                self.close_map(map)
            }
        }
    }

    /// JSON within a text: an object, a list, or a text that was encoded once more.
    fn json_in(&mut self, text: &str) -> Option<Digest> {
        let looks_like_json = matches!(text.as_bytes().first(), Some(b'{' | b'[' | b'"'));
        if !looks_like_json || self.unwraps == 0 || text.len() > READ_BYTES_MAX {
            return None;
        }
        if text.starts_with('"') {
            let inner: String = serde_json::from_str(text).ok()?;
            self.unwraps -= 1;
            let digest = self.whole_text(&inner);
            self.unwraps += 1;
            return Some(digest);
        }
        self.unwraps -= 1;
        let digest = self.parse(text);
        self.unwraps += 1;
        digest
    }

    /// Parses JSON; what a failed attempt wrote is taken back.
    fn parse(&mut self, text: &str) -> Option<Digest> {
        let place = self.sample.place();
        let mut json = serde_json::Deserializer::from_str(text);
        let digest = ValueSeed(&mut *self).deserialize(&mut json);
        match digest.and_then(|digest| json.end().map(|()| digest)) {
            Ok(digest) => Some(digest),
            Err(_) => {
                self.sample.take_back(place);
                None
            }
        }
    }

    fn write(&mut self, write: impl FnOnce(&mut Sample)) {
        if !self.is_output {
            write(&mut self.sample);
        }
    }

    fn null(&mut self) -> Digest {
        self.write(|sample| sample.sign("null"));
        Digest {
            empty: true,
            ..scalar(NULL, 4, Shape::Nothing)
        }
    }

    fn flag(&mut self, flag: bool) -> Digest {
        self.write(|sample| sample.sign(if flag { "true" } else { "false" }));
        let tag = if flag { TRUE } else { FALSE };
        scalar(tag, if flag { 4 } else { 5 }, Shape::Flag)
    }

    fn integer(&mut self, number: i128) -> Digest {
        self.write(|sample| sample.integer(number));
        // A double of 64 bits and the integers of 64 bits are all that comes here: the magnitude fits.
        let magnitude = number.unsigned_abs() as u64;
        let length = magnitude.checked_ilog10().unwrap_or(0) as usize + 1 + usize::from(number < 0);
        let shape = if number == 0 {
            Shape::Zero
        } else {
            Shape::Number
        };
        let mut digest = scalar(
            mix(INTEGER ^ u64::from(number < 0), magnitude),
            length,
            shape,
        );
        if number > 0 && mask::is_volatile_integer(magnitude) {
            digest.masked = VOLATILE;
        }
        digest
    }

    /// A float that is a whole number is that number, so that `1` and `1.0` are one value.
    fn float(&mut self, number: f64) -> Digest {
        // Both ends are exact in a double; beyond them no double is a 64-bit number.
        if number.fract() == 0.0
            && (-9_223_372_036_854_775_808.0..18_446_744_073_709_551_616.0).contains(&number)
        {
            return self.integer(number as i128);
        }
        // Debug's form is the shortest that reads back as the same number, with an exponent where that is shorter.
        let text = format!("{number:?}");
        self.write(|sample| sample.sign(&text));
        let mut digest = scalar(mix(FLOAT, number.to_bits()), text.len(), Shape::Number);
        if number >= 0.0 && mask::is_volatile_integer(number as u64) {
            digest.masked = VOLATILE;
        }
        digest
    }

    /// A text within JSON, which may be JSON once more.
    fn member_text(&mut self, text: &str) -> Digest {
        if matches!(text.as_bytes().first(), Some(b'{' | b'['))
            && let Some(digest) = self.json_in(text)
        {
            return digest;
        }
        self.write(|sample| sample.member_text(head(text)));
        self.text(text, text.len() + 2)
    }

    fn text(&self, text: &str, bytes: usize) -> Digest {
        if mask::is_object_address(text) {
            return scalar(VOLATILE, bytes, Shape::Nothing);
        }
        let hash = text_hash(text);
        Digest {
            hash,
            masked: if self.is_output {
                masked_hash(text, hash)
            } else {
                hash
            },
            bytes,
            empty: emptiness::is_empty_text(text, self.is_output),
            shape: Shape::Text,
        }
    }

    fn open_list(&mut self) -> List {
        self.write(|sample| sample.sign("["));
        List::default()
    }

    fn next_item(&mut self, list: &List) {
        if list.count > 0 {
            self.write(|sample| sample.sign(","));
        }
    }

    fn close_list(&mut self, list: List) -> Digest {
        self.write(|sample| sample.sign("]"));
        Digest {
            hash: mix(LIST ^ list.count, list.hash),
            masked: mix(LIST ^ list.count, list.masked),
            bytes: 2 + list.bytes + (list.count as usize).saturating_sub(1),
            empty: !list.filled,
            shape: Shape::List,
        }
    }

    fn open_map(&mut self) -> Map {
        self.write(|sample| sample.sign("{"));
        Map::default()
    }

    /// Writes a member's name; the place is where the member began.
    fn next_member(&mut self, map: &Map, key: &str) -> Member {
        let place = self.sample.place();
        if map.count > 0 {
            self.write(|sample| sample.sign(","));
        }
        self.write(|sample| sample.key(key));
        Member {
            place,
            value: self.sample.place(),
        }
    }

    fn add_member(&mut self, map: &mut Map, key: &str, value: Digest, member: Member) {
        if self.is_output {
            map.members.add(key, &value);
        }
        if value.shape == Shape::Nothing {
            self.sample.take_back(member.place);
            return;
        }
        if !self.is_output && super::redact::is_secret_key(key) {
            self.sample.hide(member.value);
        }
        map.add(key, value);
    }

    fn close_map(&mut self, map: Map) -> Digest {
        self.write(|sample| sample.sign("}"));
        Digest {
            hash: mix(MAP ^ map.count, map.hash),
            masked: mix(MAP ^ map.count, map.masked),
            bytes: 2 + map.bytes + (map.count as usize).saturating_sub(1),
            empty: if self.is_output {
                map.members.is_empty()
            } else {
                map.count == 0
            },
            shape: Shape::Map,
        }
    }
}

/// Where a member of an object stands in the sample.
#[derive(Clone, Copy)]
struct Member {
    place: usize,
    value: usize,
}

/// A list being read.
#[derive(Default)]
struct List {
    hash: u64,
    masked: u64,
    bytes: usize,
    count: u64,
    filled: bool,
}

impl List {
    fn add(&mut self, item: Digest) {
        self.hash = mix(self.hash, item.hash);
        self.masked = mix(self.masked, item.masked);
        self.bytes += item.bytes;
        self.count += 1;
        self.filled |= !item.empty;
    }
}

/// An object being read.
#[derive(Default)]
struct Map {
    hash: u64,
    masked: u64,
    bytes: usize,
    count: u64,
    members: Members,
}

impl Map {
    fn add(&mut self, key: &str, value: Digest) {
        let name = text_hash(key);
        let is_scalar = !matches!(value.shape, Shape::List | Shape::Map);
        let masked = if is_scalar && mask::is_volatile_key(key) {
            VOLATILE
        } else {
            value.masked
        };
        // Addition makes the order of members meaningless; mixing before it keeps name and value together.
        self.hash = self.hash.wrapping_add(mix(name, value.hash));
        self.masked = self.masked.wrapping_add(mix(name, masked));
        self.bytes += key.len() + 3 + value.bytes;
        self.count += 1;
    }
}

/// Serde's view of a value: whatever comes is handed to the reader.
struct ValueSeed<'r>(&'r mut Reader);

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
        loop {
            let place = reader.sample.place();
            reader.next_item(&list);
            let Some(item) = items.next_element_seed(ValueSeed(&mut *reader))? else {
                reader.sample.take_back(place);
                return Ok(reader.close_list(list));
            };
            list.add(item);
        }
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
        Ok(reader.close_map(map))
    }
}

/// A member's name, borrowed from the text where it holds no escapes.
struct KeySeed;

impl<'de> DeserializeSeed<'de> for KeySeed {
    type Value = std::borrow::Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for KeySeed {
    type Value = std::borrow::Cow<'de, str>;

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

/// The hash of a text.
pub(super) fn text_hash(text: &str) -> u64 {
    xxh3_64_with_seed(text.as_bytes(), SEED)
}

/// The hash of several parts in their order; where one ends and the next begins matters.
pub(super) fn parts_hash(parts: &[&[u8]]) -> u64 {
    parts.iter().fold(SEED ^ parts.len() as u64, |hash, part| {
        mix(hash, xxh3_64_with_seed(part, SEED))
    })
}

/// The hash of a text with its volatile parts masked, given the hash of the whole.
fn masked_hash(text: &str, hash: u64) -> u64 {
    let (read, rest) = text.split_at(text.floor_char_boundary(READ_BYTES_MAX));
    match mask::text(read) {
        std::borrow::Cow::Borrowed(_) => hash,
        std::borrow::Cow::Owned(masked) if rest.is_empty() => text_hash(&masked),
        std::borrow::Cow::Owned(masked) => mix(text_hash(&masked), text_hash(rest)),
    }
}

/// As much of a text as a sample looks at. What follows is left out of the sample, never shown unredacted.
fn head(text: &str) -> &str {
    &text[..text.floor_char_boundary(READ_BYTES_MAX)]
}

fn scalar(hash: u64, bytes: usize, shape: Shape) -> Digest {
    Digest {
        hash,
        masked: hash,
        bytes,
        empty: false,
        shape,
    }
}

/// Folds two numbers into one, order mattering: both halves of their product.
fn mix(first: u64, second: u64) -> u64 {
    let product =
        u128::from(first ^ 0x9e37_79b9_7f4a_7c15) * u128::from(second ^ 0xd1b5_4a32_d192_ed03);
    (product as u64) ^ ((product >> 64) as u64)
}
