//! One pass over a value, in whatever form it came, that gives all that is kept of it.
//!
//! JSON text goes through `json` and OTLP's structured values through their own recursion; both end in the same few
//! functions, so that the same value has the same fingerprint in both. No tree is built. Members of an object are mixed
//! one by one and added up: their order cannot matter, and nothing needs sorting. The hash is not meant to withstand a
//! sender who looks for collisions; such a sender can only fool the watch over his own runs.

use std::io::Write;

use crate::engine::event;
use crate::engine::policy::ToolSettings;
use crate::otlp::ValueView;

use super::hash::{self, mix};
use super::nested::{Digest, List, Map, Member, Role, Shape, scalar};
use super::numbers::Numbers;
use super::sample::{Sample, cut};
use super::scratch::Written;
use super::wide::trimmed;
use super::{emptiness, json, mask, pending};

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
pub(super) const VOLATILE: u64 = 0x99;
const NUMBER: u64 = 0xaa;

/// Longest text of a result of which the numbers are read one by one; in a longer one, many things are told.
const NUMBERS_TEXT_BYTES_MAX: usize = 512;

/// Reads one value.
pub(super) struct Reader<'h> {
    /// What is special about the tool whose arguments or result it is.
    how: ToolSettings<'h>,
    /// Results are masked and may say in words that there is nothing; arguments are kept as a sample instead.
    is_output: bool,
    sample: Sample,
    /// The numbers in a result.
    numbers: Numbers,
    unwraps: u8,
}

impl<'h> Reader<'h> {
    /// A reader for arguments: writes a sample.
    pub(super) fn for_input(how: &ToolSettings<'h>) -> Self {
        Self {
            how: *how,
            is_output: false,
            sample: Sample::default(),
            numbers: Numbers::default(),
            unwraps: UNWRAPS_MAX,
        }
    }

    /// A reader for results: masks, and knows the words for nothing.
    pub(super) fn for_output(how: &ToolSettings<'h>) -> Self {
        Self {
            how: *how,
            is_output: true,
            sample: Sample::default(),
            numbers: Numbers::default(),
            unwraps: UNWRAPS_MAX,
        }
    }

    /// The sample of what was read.
    pub(super) fn into_sample(self) -> Sample {
        self.sample
    }

    /// The numbers in a result, with the hash of the rest of it; nothing where there are none, or too many.
    pub(super) fn numbers(&self, frame: u64) -> Option<event::Numbers> {
        self.numbers.told(frame)
    }

    /// Digests a text that is the whole value: JSON if it looks like it, else the text without blanks around it.
    pub(super) fn whole_text(&mut self, text: &str) -> Digest {
        let text = trimmed(text);
        if let Some(digest) = self.json_in(text) {
            return digest;
        }
        let digest = self.text(text, text.len());
        self.write(|sample| sample.whole_text(head(text)));
        digest
    }

    /// Digests JSON text, scalars too; what is not JSON counts as a text.
    pub(super) fn json(&mut self, text: &str) -> Digest {
        let text = trimmed(text);
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
            ValueView::Double(number) => self.float(number, ""),
            ValueView::Str(text) => self.member_text(text),
            ValueView::Bytes(bytes) => {
                scalar(mix(BYTES, hash::bytes(bytes)), bytes.len(), Shape::Text)
            }
            ValueView::Array(items) => {
                let mut list = self.open_list();
                for item in &items {
                    let item = self.view(item);
                    self.add_item(&mut list, item);
                }
                self.close_list(&list)
            }
            ValueView::Map(members) => {
                let mut map = self.open_map();
                for (key, value) in &members {
                    let place = self.next_member(&map, key);
                    let value = self.view(value);
                    self.add_member(&mut map, key, value, place);
                }
                self.close_map(&map)
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
            let inner = json::unquoted(text)?;
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
        let (place, count) = (self.sample.place(), self.numbers.count());
        let digest = json::read(text, self);
        if digest.is_none() {
            self.sample.take_back(place);
            self.numbers.take_back(count);
        }
        digest
    }

    fn write(&mut self, write: impl FnOnce(&mut Sample)) {
        if !self.is_output {
            write(&mut self.sample);
        }
    }

    pub(super) fn null(&mut self) -> Digest {
        self.write(|sample| sample.sign("null"));
        Digest {
            empty: true,
            ..scalar(NULL, 4, Shape::Nothing)
        }
    }

    pub(super) fn flag(&mut self, flag: bool) -> Digest {
        self.write(|sample| sample.sign(if flag { "true" } else { "false" }));
        let tag = if flag { TRUE } else { FALSE };
        scalar(tag, if flag { 4 } else { 5 }, Shape::Flag)
    }

    pub(super) fn integer(&mut self, number: i128) -> Digest {
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
            digest.frame = VOLATILE;
        } else {
            let size = magnitude as f64;
            self.number(&mut digest, if number < 0 { -size } else { size });
        }
        digest
    }

    /// A float that is a whole number is that number, so that `1` and `1.0` are one value. `written` is the shortest text that
    /// reads back as the same number, where it is known.
    pub(super) fn float(&mut self, number: f64, written: &str) -> Digest {
        // Both ends are exact in a double; beyond them no double is a 64-bit number.
        if number.fract() == 0.0
            && (-9_223_372_036_854_775_808.0..18_446_744_073_709_551_616.0).contains(&number)
        {
            return self.integer(number as i128);
        }
        let mut buffer = [0; 32];
        let text = if written.is_empty() {
            // Debug's form is the shortest that reads back as the same number, with an exponent where that is shorter: at
            // most 24 bytes.
            let mut rest = &mut buffer[..];
            write!(rest, "{number:?}").expect("the longest number fits");
            let length = 32 - rest.len();
            std::str::from_utf8(&buffer[..length]).unwrap_or_default()
        } else {
            written
        };
        self.write(|sample| sample.sign(text));
        let mut digest = scalar(mix(FLOAT, number.to_bits()), text.len(), Shape::Number);
        if number >= 0.0 && mask::is_volatile_integer(number as u64) {
            digest.masked = VOLATILE;
            digest.frame = VOLATILE;
        } else {
            self.number(&mut digest, number);
        }
        digest
    }

    /// Notes a number of a result.
    fn number(&mut self, digest: &mut Digest, number: f64) {
        if self.is_output {
            self.numbers.push(number);
            digest.frame = NUMBER;
        }
    }

    /// A text within JSON, which may be JSON once more.
    pub(super) fn member_text(&mut self, text: &str) -> Digest {
        if matches!(text.as_bytes().first(), Some(b'{' | b'['))
            && let Some(digest) = self.json_in(text)
        {
            return digest;
        }
        self.write(|sample| sample.member_text(head(text)));
        self.text(text, text.len() + 2)
    }

    fn text(&mut self, text: &str, bytes: usize) -> Digest {
        if mask::is_object_address(text) {
            return scalar(VOLATILE, bytes, Shape::Nothing);
        }
        let hash = hash::text(text);
        let (masked, frame) = if self.is_output {
            self.masked(text, hash)
        } else {
            (hash, hash)
        };
        Digest {
            hash,
            masked,
            frame,
            bytes,
            empty: if self.is_output {
                emptiness::says_there_is_nothing(text, self.how.empty_phrases)
            } else {
                trimmed(text).is_empty()
            },
            pending: self.is_output && pending::says_pending(text),
            shape: Shape::Text,
        }
    }

    /// The hash of a result's text with its volatile parts masked, given the hash of the whole; and the same without numbers,
    /// where it is short enough to be no more than a line or two of state.
    fn masked(&mut self, text: &str, hash: u64) -> (u64, u64) {
        let (read, rest) = text.split_at(head(text).len());
        let masked = mask::text(read);
        let hash = match &masked {
            Written::AsIs(_) => hash,
            Written::Anew(masked) if rest.is_empty() => hash::text(masked),
            Written::Anew(masked) => mix(hash::text(masked), hash::text(rest)),
        };
        let frame = if text.len() <= NUMBERS_TEXT_BYTES_MAX {
            self.numbers
                .take_out(&masked)
                .map(|frame| hash::text(&frame))
        } else {
            None
        };
        (hash, frame.unwrap_or(hash))
    }

    pub(super) fn open_list(&mut self) -> List {
        self.write(|sample| sample.sign("["));
        List::default()
    }

    /// Takes an item; the comma behind the last one is taken back at the end.
    pub(super) fn add_item(&mut self, list: &mut List, item: Digest) {
        self.write(|sample| sample.sign(","));
        list.hash = mix(list.hash, item.hash);
        // The same results in another order are the same results.
        list.masked = if self.is_output {
            list.masked.wrapping_add(mix(LIST, item.masked))
        } else {
            mix(list.masked, item.masked)
        };
        list.frame = mix(list.frame, item.frame);
        list.bytes += item.bytes;
        list.count += 1;
        list.filled |= !item.empty;
    }

    pub(super) fn close_list(&mut self, list: &List) -> Digest {
        self.write(|sample| {
            let comma = usize::from(list.count > 0);
            sample.take_back(sample.place() - comma);
            sample.sign("]");
        });
        let hash = mix(LIST ^ list.count, list.hash);
        let bytes = 2 + list.bytes + (list.count as usize).saturating_sub(1);
        Digest {
            masked: mix(LIST ^ list.count, list.masked),
            frame: mix(LIST ^ list.count, list.frame),
            empty: !list.filled,
            ..scalar(hash, bytes, Shape::List)
        }
    }

    pub(super) fn open_map(&mut self) -> Map {
        self.write(|sample| sample.sign("{"));
        Map::default()
    }

    /// Writes a member's name; the place is where the member began.
    pub(super) fn next_member(&mut self, map: &Map, key: &str) -> Member {
        let place = self.sample.place();
        if map.count > 0 {
            self.write(|sample| sample.sign(","));
        }
        self.write(|sample| sample.key(key));
        Member {
            place,
            value: self.sample.place(),
            numbers: self.numbers.count(),
        }
    }

    pub(super) fn add_member(&mut self, map: &mut Map, key: &str, value: Digest, member: Member) {
        let is_volatile = self.how.volatile_fields.iter().any(|field| field == key);
        if self.is_output {
            let is_payload = self.how.payload_fields.iter().any(|field| field == key);
            map.members.add(key, &value, is_volatile, is_payload);
        }
        if value.shape == Shape::Nothing || is_volatile {
            self.sample.take_back(member.place);
            self.numbers.take_back(member.numbers);
            return;
        }
        let role = Role::of(key, &value);
        if matches!(role, Role::Volatile | Role::Question) {
            self.numbers.take_back(member.numbers);
        }
        self.numbers.belong_to(member.numbers, key);
        if !self.is_output && super::redact::is_secret_key(key) {
            self.sample.hide(member.value);
        }
        map.add(key, value, role);
    }

    pub(super) fn close_map(&mut self, map: &Map) -> Digest {
        self.write(|sample| sample.sign("}"));
        let (masked, frame) = map.told();
        Digest {
            hash: mix(MAP ^ map.count, map.hash),
            masked: mix(MAP ^ map.count, masked),
            frame: mix(MAP ^ map.count, frame),
            bytes: 2 + map.bytes + (map.count as usize).saturating_sub(1),
            empty: if self.is_output {
                map.members.is_empty()
            } else {
                map.count == 0
            },
            pending: map.pending,
            shape: Shape::Map,
        }
    }
}

/// As much of a text as a sample looks at. What follows is left out of the sample, never shown unredacted.
fn head(text: &str) -> &str {
    cut(text, READ_BYTES_MAX)
}
