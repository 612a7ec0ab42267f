//! Names that the items of one request share, each made once.
//!
//! A request comes from one program, so that its spans name the same service, tools, agents and runs over and over. The
//! table remembers the names seen last, at a place that their hash decides; a name that finds another one at its place
//! takes it. So it is bounded, and a name that is not found costs no more than making it.

use std::array;

use crate::engine::event::Text;

use super::value::{self, hash};

/// Places in the table: several times what one program's spans have in use at once.
const PLACES: usize = 64;

/// The names seen last.
pub(super) struct Names([Option<Text>; PLACES]);

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
            Some(known) if **known == *id => Text::clone(known),
            _ => Text::clone(place.insert(id.into())),
        }
    }

    /// The shared text of a name of a tool, agent or model, as [`value::name`] makes it.
    pub(super) fn name(&mut self, text: &str) -> Text {
        let name = value::name_in(text);
        let place = &mut self.0[hash::text(name) as usize % PLACES];
        match place {
            Some(known) if **known == *name => Text::clone(known),
            _ => Text::clone(place.insert(value::name(text))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
