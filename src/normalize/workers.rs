//! The worker of a swarm, as the user's attributes name it.
//!
//! Which attributes these are is a setting, so they have no rows in the table of facts; they are looked for in the same
//! pass, among the keys that are in no row.

use crate::otlp::{Attributes, ValueView};

use super::facts;

/// Attributes that name the worker, the most trusted first.
#[derive(Clone, Debug, Default)]
pub(super) struct Workers {
    names: Vec<String>,
    /// One of them is a fact as well: then the pass over the facts does not see it as a worker's.
    overlaps: bool,
}

/// A worker's name, and the place of its attribute among the names.
#[derive(Clone, Copy, Default)]
pub(super) struct Named<'a>(Option<(usize, &'a str)>);

impl Workers {
    /// Attributes of these names.
    pub(super) fn named(names: &[String]) -> Self {
        Self {
            names: names.to_vec(),
            overlaps: names.iter().any(|name| facts::is_key(name)),
        }
    }

    /// The place of a key among the names.
    pub(super) fn place(&self, key: &[u8]) -> Option<usize> {
        self.names.iter().position(|name| name.as_bytes() == key)
    }

    /// Whether the pass over the facts finds every name.
    pub(super) fn stand_apart(&self) -> bool {
        !self.overlaps
    }

    /// The worker that these attributes name.
    pub(super) fn among<'a>(&self, attributes: &Attributes<'a>) -> Option<&'a str> {
        let mut named = Named::default();
        for (place, value) in attributes.picked(|key| self.place(key)) {
            named.take(place, value);
        }
        named.name()
    }
}

impl<'a> Named<'a> {
    /// Takes the value of a name, unless a more trusted one has said who it is.
    pub(super) fn take(&mut self, place: usize, value: ValueView<'a>) {
        let worker = value.as_str().filter(|worker| !worker.is_empty());
        if let Some(worker) = worker
            && self.0.is_none_or(|(best, _)| place < best)
        {
            self.0 = Some((place, worker));
        }
    }

    /// The worker's name.
    pub(super) fn name(self) -> Option<&'a str> {
        self.0.map(|(_, worker)| worker)
    }
}
