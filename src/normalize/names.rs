//! Names that the items of one request share, each made once.
//!
//! A request comes from one program, so that its spans name the same service, tools, agents and runs over and over. The
//! table remembers the names seen last, at a place that their hash decides; a name that finds another one at its place
//! takes it. So it is bounded, and a name that is not found costs no more than making it.

use std::array;
use std::borrow::Cow;

use crate::engine::event::{Manner, Text};
use crate::engine::tool_name;

use super::facts::{Facts, Slot};
use super::hand_offs;
use super::value::nothing::is_no_value;
use super::value::{self, hash};

/// Places in the table: several times what one program's spans have in use at once.
const PLACES: usize = 64;

/// The names seen last.
pub(super) struct Names([Option<Known>; PLACES]);

/// One of them.
struct Known {
    text: Text,
    /// Where it was asked for.
    given: Option<NameHints>,
}

impl From<Text> for Known {
    fn from(text: Text) -> Self {
        Self { text, given: None }
    }
}

/// What the name of a tool gives away.
#[derive(Clone, Copy)]
pub(super) struct NameHints {
    /// It passes control to another agent.
    pub(super) hands_off: bool,
    /// It looks, or it writes.
    pub(super) manner: Manner,
    /// What its results are.
    pub(super) result_kind: value::ResultKind,
}

/// What programs write where they have no id, in whatever case, besides the words for no value: it would make one run of all that
/// have none.
const NO_IDS: [&str; 5] = [
    "undefined",
    "unknown",
    "unknown_id",
    "[no_session_id]",
    "00000000-0000-0000-0000-000000000000",
];

/// The conversation. A response of `OpenAI`'s names none: Agent Framework writes here of which one the call went on
/// (`resp_…`), another one each time.
pub(super) fn conversation<'a>(facts: &Facts<'a>) -> Option<Cow<'a, str>> {
    let conversation = facts.id(Slot::Conversation);
    conversation.filter(|id| !id.starts_with("resp_"))
}

/// Whether an id of a run, a session or a call names one: it says something, and is none of the words for none.
pub(super) fn is_id(id: &str) -> bool {
    let id = value::wide::trimmed(id);
    let mut none = NO_IDS.iter();
    !id.is_empty() && !is_no_value(id) && !none.any(|none| none.eq_ignore_ascii_case(id))
}

impl Names {
    /// An empty table.
    pub(super) fn new() -> Self {
        Self(array::from_fn(|_| None))
    }

    /// The shared text of an id, as it stands.
    pub(super) fn id(&mut self, id: &str) -> Text {
        // One place further than a name, so that an id that is written like a name is never taken for one.
        let place = &mut self.0[(hash::text(id) as usize + 1) % PLACES];
        match place {
            Some(known) if *known.text == *id => Text::clone(&known.text),
            _ => Text::clone(&place.insert(Text::from(id).into()).text),
        }
    }

    /// The shared text of a name of a tool, agent or model, as [`value::name`] makes it.
    pub(super) fn name(&mut self, text: &str) -> Text {
        Text::clone(&self.known(text).text)
    }

    /// The shared text of a tool's name, and what it gives away.
    pub(super) fn tool(&mut self, text: &str) -> (Text, NameHints) {
        let Known { text, given } = self.known(text);
        let given = given.get_or_insert_with(|| NameHints {
            hands_off: hand_offs::hands_off(text),
            manner: tool_name::manner(text),
            result_kind: value::ResultKind::of(text),
        });
        (Text::clone(text), *given)
    }

    fn known(&mut self, text: &str) -> &mut Known {
        let name = value::wide::trimmed(text);
        let place = &mut self.0[hash::text(name) as usize % PLACES];
        let known = place.take().filter(|known| *known.text == *name);
        place.insert(known.unwrap_or_else(|| value::name(text).into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words that stand for an id that is not there are none, in whatever case; what only contains them is one.
    #[test]
    fn words_for_no_id_are_none() {
        for none in ["", " ", "None", "unknown", "UNKNOWN_ID", "[no_session_id]"] {
            assert!(!is_id(none), "{none}");
        }
        for id in ["0", "unknown_id_1", "no_session_id", "resp_unknown"] {
            assert!(is_id(id), "{id}");
        }
    }

    /// Given more names than there are places, each comes back as itself, and one that was seen just now as the same text.
    #[test]
    fn names_come_back_as_themselves() {
        let mut names = Names::new();
        let id = "sk-abcdefghijklmnop1234";
        assert_eq!(&*names.id(id), id);
        assert!(!names.name(id).contains("sk-"));
        for number in 0..10 * PLACES {
            let name = number.to_string();
            let first = names.name(&name);
            assert_eq!(*first, *name);
            assert!(Text::ptr_eq(&first, &names.name(&name)));
            assert_eq!(*names.id(&name), *name);
        }
    }

    /// Given tools whose names come again, or take each other's place, each has the manner of its own name.
    #[test]
    fn tools_keep_their_manner() {
        let mut names = Names::new();
        for number in 0..2 * PLACES {
            for name in ["search", "transfer_to_b", "save_note"] {
                let name = format!("{name}_{}", number / 2);
                let (text, given) = names.tool(&name);
                assert_eq!(*text, *name);
                let told = (hand_offs::hands_off(&name), tool_name::manner(&name));
                assert_eq!((given.hands_off, given.manner), told, "{name}");
            }
        }
    }
}
