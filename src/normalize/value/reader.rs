//! One pass over a value, in whatever form it came, that gives all that is kept of it.
//!
//! JSON text goes through `json` and OTLP's structured values through their own recursion; both end in the same few
//! functions, so that the same value has the same fingerprint in both. No tree is built. Members of an object are mixed
//! one by one and added up: their order cannot matter, and nothing needs sorting. The hash is not meant to withstand a
//! sender who looks for collisions; such a sender can only fool the watch over his own runs.

mod made_up;
mod scalars;
mod texts;

use crate::engine::event::{self, ITEMS_MIN};
use crate::engine::policy::ToolSettings;
use crate::otlp::ValueView;

pub(super) use self::scalars::is_one;
use super::attempts;
use super::beside::Words;
use super::digest::{Digest, List, Map, Member, Role, Shape, none_failed, scalar};
use super::drawn::Drawn;
use super::failing::complaint::refuses;
use super::faults;
use super::hash::{self, mix};
use super::items::Items;
use super::json::{self, Found};
use super::member_name::{MemberName, Said, Says};
use super::numbers::Numbers;
use super::sample::{Sample, head};
use super::wide::trimmed;

/// Texts longer than this are not read as JSON but hashed as they are, and masked only this far: reading is linear, and
/// this bounds what one span can cost.
pub(super) const READ_BYTES_MAX: usize = 64 * 1024;

/// Shortest text that is taken for JSON that was cut off: limits of attributes are longer, and what only looks like the beginning
/// of JSON, the pattern `[` for one, is shorter.
const CUT_OFF_BYTES_MIN: usize = 64;

/// How often JSON within a text is unwrapped, one within the other.
const UNWRAPS_MAX: u8 = 3;

// Each kind of value has a number of its own, here and in `scalars`, that is part of its hash.
const LIST: u64 = 0x11;
const MAP: u64 = 0x22;
const BYTES: u64 = 0x88;
pub(super) const VOLATILE: u64 = 0x99;

/// Longest text of a result of which the numbers are read one by one; in a longer one, many things are told.
const NUMBERS_TEXT_BYTES_MAX: usize = 512;

/// Reads one value.
#[allow(
    clippy::struct_excessive_bools,
    reason = "facts that do not depend on each other"
)]
pub(super) struct Reader<'h> {
    /// What is special about the tool whose arguments or result it is.
    how: ToolSettings<'h>,
    /// Results are masked and may say in words that there is nothing; arguments are kept as a sample instead.
    is_output: bool,
    /// The result is a verdict that says no.
    says_no: bool,
    /// It is a receipt for what was made or done.
    is_receipt: bool,
    sample: Sample,
    /// The numbers in a result.
    numbers: Numbers,
    /// The items of the longest list in a result, or of the outermost one that has several.
    items: Items,
    unwraps: u8,
    /// How many lists are open.
    lists: usize,
    /// Of arguments: the member that is read next names an element of a page.
    names_element: bool,
    /// What the names of the members say of the object that was read last.
    said: Said,
    /// Of arguments: what the member that is read next may be, made up for the call, and whether what was read last is that.
    may_be_drawn: Option<Drawn>,
    is_drawn: bool,
    /// Of arguments: a part of them is hidden, since they were cut off, or behind a marker.
    pub(super) is_partial: bool,
    /// Bytes of a result's texts of which nothing is masked.
    pub(super) plain_bytes: usize,
    /// What the value that was read last came to. It stays here instead of being returned: what is handed on is copied in larger
    /// pieces than it was written in, and for such a piece the processor waits until all of it has been written.
    told: Digest,
}

impl<'h> Reader<'h> {
    /// A reader for arguments: writes a sample.
    pub(super) fn for_input(how: &ToolSettings<'h>) -> Self {
        Self::of(how, false)
    }

    /// A reader for results: masks, and knows the words for nothing.
    pub(super) fn for_output(how: &ToolSettings<'h>) -> Self {
        Self::of(how, true)
    }

    /// A reader for results that say no: masks what tells one attempt from the next, too.
    pub(super) fn for_verdict(how: &ToolSettings<'h>) -> Self {
        Self {
            says_no: true,
            ..Self::for_output(how)
        }
    }

    /// A reader for receipts: masks what tells one from the next, too.
    pub(super) fn for_receipt(how: &ToolSettings<'h>) -> Self {
        Self {
            is_receipt: true,
            ..Self::for_output(how)
        }
    }

    fn of(how: &ToolSettings<'h>, is_output: bool) -> Self {
        Self {
            how: *how,
            is_output,
            says_no: false,
            is_receipt: false,
            sample: Sample::default(),
            numbers: Numbers::default(),
            items: Items::default(),
            unwraps: UNWRAPS_MAX,
            lists: 0,
            names_element: false,
            said: Said::default(),
            may_be_drawn: None,
            is_drawn: false,
            is_partial: false,
            plain_bytes: 0,
            told: Digest::default(),
        }
    }

    /// What the value that was read last came to.
    pub(super) fn told(&self) -> &Digest {
        &self.told
    }

    /// What the names of its members say, where the value is an object.
    pub(super) fn names(&self) -> Option<Said> {
        (self.told.shape == Shape::Map).then_some(self.said)
    }

    /// The sample of what was read.
    pub(super) fn into_sample(self) -> Sample {
        self.sample
    }

    /// The numbers in a result, with the hash of the rest of it; nothing where there are none, or too many.
    pub(super) fn numbers(&self) -> Option<event::Numbers> {
        self.numbers.told(self.told.frame)
    }

    /// The items of the list that a result is, or that is most of it.
    pub(super) fn items(&self) -> Box<[u16]> {
        self.items.told()
    }

    /// Digests a text that is the whole value: JSON if it looks like it, else the text without blanks around it.
    pub(super) fn whole_text(&mut self, text: &str) {
        let text = trimmed(text);
        if !self.json_in(text) {
            self.text(text, text.len());
            self.told.refuses = self.is_output && refuses(text);
            self.told.denies |= self.is_output && faults::are_shown_in(text);
            self.write(|sample| sample.whole_text(head(text)));
        }
    }

    /// Digests JSON text, scalars too; what is not JSON counts as a text.
    pub(super) fn json(&mut self, text: &str) {
        let text = trimmed(text);
        let is_scalar = matches!(
            text.as_bytes().first(),
            Some(b'0'..=b'9' | b'-' | b't' | b'f' | b'n')
        );
        if !is_scalar || !self.parse(text) {
            self.whole_text(text);
        }
    }

    /// Digests a value of OTLP that is the whole value.
    pub(super) fn whole_view(&mut self, view: ValueView<'_>) {
        match view {
            ValueView::Str(text) => self.whole_text(text),
            ValueView::Bytes(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => self.whole_text(text),
                Err(_) => self.view(view),
            },
            _ => self.view(view),
        }
    }

    fn view(&mut self, view: ValueView<'_>) {
        match view {
            ValueView::Empty => self.null(),
            ValueView::Bool(flag) => self.flag(flag),
            ValueView::Int(number) => self.integer(i128::from(number)),
            ValueView::Double(number) => self.float(number, ""),
            ValueView::Str(text) => self.member_text(text),
            ValueView::Bytes(bytes) => {
                self.told = scalar(mix(BYTES, hash::bytes(bytes)), bytes.len(), Shape::Text);
            }
            ValueView::Array(items) => {
                let mut list = self.open_list();
                for item in &items {
                    self.view(item);
                    self.add_item(&mut list);
                }
                self.close_list(&list);
            }
            ValueView::Map(members) => {
                let mut map = self.open_map();
                for (key, value) in &members {
                    let place = self.next_member(&map, key);
                    self.view(value);
                    self.add_member(&mut map, key, place);
                }
                self.close_map(&mut map);
            }
        }
    }

    /// Reads JSON within a text: an object, a list, or a text that was encoded once more. False where there is none.
    fn json_in(&mut self, text: &str) -> bool {
        let looks_like_json = matches!(text.as_bytes().first(), Some(b'{' | b'[' | b'"'));
        if !looks_like_json || self.unwraps == 0 || text.len() > READ_BYTES_MAX {
            return false;
        }
        self.unwraps -= 1;
        let is_json = if text.starts_with('"') {
            let inner = json::unquoted(text);
            inner.map(|inner| self.whole_text(&inner)).is_some()
        } else {
            self.parse(text)
        };
        self.unwraps += 1;
        is_json
    }

    /// Parses JSON; what a failed attempt wrote is taken back.
    fn parse(&mut self, text: &str) -> bool {
        let (place, count, lists) = (self.sample.place(), self.numbers.count(), self.lists);
        let items = self.items;
        let found = json::read(text, self);
        if found == Found::Value {
            return true;
        }
        self.lists = lists;
        self.items = items;
        self.sample.take_back(place);
        self.numbers.take_back(count);
        self.is_partial |= found == Found::Beginning && text.len() >= CUT_OFF_BYTES_MIN;
        false
    }

    fn write(&mut self, write: impl FnOnce(&mut Sample)) {
        if !self.is_output {
            write(&mut self.sample);
        }
    }

    /// A text within JSON, which may be JSON once more.
    pub(super) fn member_text(&mut self, text: &str) {
        if matches!(text.as_bytes().first(), Some(b'{' | b'[')) && self.json_in(text) {
            return;
        }
        self.write(|sample| sample.member_text(head(text)));
        self.text(text, text.len() + 2);
    }

    pub(super) fn open_list(&mut self) -> List {
        self.write(|sample| sample.sign("["));
        self.lists += 1;
        List::at(self.sample.place())
    }

    /// Takes what was read last as an item; the comma behind the last one is taken back at the end.
    pub(super) fn add_item(&mut self, list: &mut List) {
        self.write(|sample| {
            if list.arguments.holds_secret(sample.since(list.place)) {
                sample.hide(list.place);
            }
            sample.sign(",");
            list.place = sample.place();
        });
        let item = &self.told;
        self.is_partial |= item.hidden;
        list.hash = mix(list.hash, item.hash);
        // The same results in another order are the same results.
        list.masked = if self.is_output {
            list.masked.wrapping_add(mix(LIST, item.masked))
        } else {
            mix(list.masked, item.masked)
        };
        list.frame = mix(list.frame, item.frame);
        if self.is_output {
            list.items.add(item);
        }
        list.bytes += item.bytes;
        list.count += 1;
        list.filled |= !item.empty;
        list.faulty |= item.faulty;
    }

    pub(super) fn close_list(&mut self, list: &List) {
        self.lists -= 1;
        let is_outermost = self.lists == 0 && list.items.count() >= ITEMS_MIN;
        if is_outermost || list.items.count() > self.items.count() {
            self.items = list.items;
        }
        self.write(|sample| {
            let comma = usize::from(list.count > 0);
            sample.take_back(sample.place() - comma);
            sample.sign("]");
        });
        let hash = mix(LIST ^ list.count, list.hash);
        let bytes = 2 + list.bytes + (list.count as usize).saturating_sub(1);
        self.told = Digest {
            // Of a list of one thing; of several, each has a state of its own, and a word is none.
            pending: list.count == 1 && self.told.pending && self.told.shape != Shape::Text,
            masked: mix(LIST ^ list.count, list.masked),
            frame: mix(LIST ^ list.count, list.frame),
            empty: !list.filled,
            denies: list.faulty,
            faulty: list.faulty,
            ..scalar(hash, bytes, Shape::List)
        };
    }

    pub(super) fn open_map(&mut self) -> Map {
        self.write(|sample| sample.sign("{"));
        Map::at(self.sample.place())
    }

    /// Writes a member's name; the place is where the member began.
    pub(super) fn next_member(&mut self, map: &Map, key: &str) -> Member {
        let place = self.sample.place();
        if map.count > 0 {
            self.write(|sample| sample.sign(","));
        }
        let name = MemberName::of(key);
        self.write(|sample| sample.key(key, name));
        if !self.is_output {
            self.names_element = name.says(Says::Element);
            self.may_be_drawn = name.says(Says::Drawn).then(|| Drawn::named(key)).flatten();
            self.is_drawn = false;
        }
        Member {
            place,
            value: self.sample.place(),
            numbers: self.numbers.count(),
            name,
        }
    }

    /// Takes what was read last as a member.
    pub(super) fn add_member(&mut self, map: &mut Map, key: &str, member: Member) {
        // The member may have been no text.
        self.names_element = false;
        let (value, name) = (&self.told, member.name);
        map.said.add(name.said);
        let is_volatile = self.how.volatile_fields.iter().any(|field| field == key);
        if self.is_output {
            let is_payload = self.how.payload_fields.iter().any(|field| field == key);
            map.members.add(name, value, (is_volatile, is_payload));
            map.fault.add(name, value);
        }
        let counts_attempts = self.says_no && attempts::is_told_by(name, value);
        let is_scalar = matches!(value.shape, Shape::Text | Shape::Number);
        let drawn = (self.is_drawn && is_scalar)
            .then(|| Drawn::named(key))
            .flatten();
        self.is_drawn = false;
        let is_in_doubt = drawn.is_some_and(Drawn::is_in_doubt);
        let is_drawn = counts_attempts || (drawn.is_some() && !is_in_doubt);
        if value.shape == Shape::Nothing || is_volatile || is_drawn || self.counts_thoughts() {
            self.sample.take_back(member.place);
            self.numbers.take_back(member.numbers);
            return;
        }
        let role = Role::of(name, value, self.lists > 0);
        let has_numbers = self.numbers.count() > member.numbers;
        let is_secret = (value.hidden || has_numbers) && name.says(Says::Secret);
        if is_secret || none_failed(name, value) || matches!(role, Role::Volatile | Role::Question)
        {
            self.numbers.take_back(member.numbers);
        }
        // A secret is hidden each time, and seldom another one.
        self.is_partial |= value.hidden && !is_secret;
        self.numbers.belong_to(member.numbers, name.hash);
        if !self.is_output {
            if map.holds_secret(name, value, member.value, self.sample.since(member.value)) {
                self.sample.hide(member.value);
            }
            let (from, to) = (member.place, self.sample.place());
            if is_in_doubt && !self.is_main(key) {
                map.drawn.push(Words::of(key, name.hash, value, from..to));
            }
            map.beside.add(key, name, value, from..to);
        }
        map.add(name, key.len(), value, role);
    }

    pub(super) fn close_map(&mut self, map: &mut Map) {
        let secret = map.named_later();
        let is_secret_named = secret.is_some();
        if let Some(secret) = secret {
            self.sample.hide_within(secret);
        }
        if let Some(words) = map.beside.words() {
            self.sample.cut_out(words.place.clone());
            map.leave_out(&words);
        } else if !is_secret_named && !map.drawn.is_empty() {
            self.leave_out_drawn(map);
        }
        self.write(|sample| sample.sign("}"));
        self.said = map.said;
        let (masked, frame) = map.told(self.how.search);
        self.told = Digest {
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
            denies: map.is_verdict() || map.is_faulty(),
            faulty: map.is_faulty(),
            shape: Shape::Map,
            ..Digest::default()
        };
    }
}
