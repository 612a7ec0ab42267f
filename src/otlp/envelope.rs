//! The three outer messages of a request: the request itself, what came from one resource, what came from one scope.
//!
//! Traces and logs number these fields alike, so one walk serves both and hands over the bytes of each item together with
//! its [`Context`]. A resource may stand behind the spans that it belongs to; each outer message is therefore looked
//! through once for it before its items are walked, which steps over the items without reading them.

use std::iter;

use super::value::check_pair;
use super::wire::{Fields, Malformed, Payload, Region, text};
use super::{Attributes, Limits, Problem, Reason};

/// Most resources and scopes of a request. Senders have one of each, a Collector one for each span of some thousands; empty ones
/// take two bytes, and sixteen mebibytes of them a second of work without an item, which is when others may get on.
const OUTER_MAX: u32 = 1 << 17;

/// What an item has from its surroundings.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Context<'a> {
    pub(super) resource: Attributes<'a>,
    pub(super) scope_name: &'a str,
}

/// The items of a request, undecoded. Ends after [`Problem::Undecodable`]. A panic on the way to an item leaves the walk
/// where it was; whoever goes on after one is told once that the request cannot be walked, and would come to it for ever
/// otherwise.
#[derive(Clone, Debug)]
pub(super) struct Items<'a> {
    request: Fields<'a>,
    of_resource: Fields<'a>,
    of_scope: Fields<'a>,
    context: Context<'a>,
    limits: Limits,
    /// Resources and scopes so far.
    outer: u32,
    /// On the way to an item; seen by whoever asks for the next one only after a panic.
    is_stepping: bool,
}

impl<'a> Items<'a> {
    pub(super) fn of(request: &'a [u8], limits: &Limits) -> Self {
        Self {
            request: Fields::of(request),
            of_resource: Fields::of(&[]),
            of_scope: Fields::of(&[]),
            context: Context::default(),
            limits: *limits,
            outer: 0,
            is_stepping: false,
        }
    }

    /// What belongs to the item yielded last.
    pub(super) fn context(&self) -> Context<'a> {
        self.context
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    fn step(&mut self) -> Result<Option<&'a [u8]>, Problem> {
        loop {
            if let Some(item) = next_message(&mut self.of_scope, 2, 2)? {
                return Ok(Some(item));
            }
            if let Some(message) = next_message(&mut self.of_resource, 2, 2)? {
                self.enter_scope(message)?;
            } else if let Some(message) = next_message(&mut self.request, 1, 1)? {
                self.enter_resource(message)?;
            } else {
                return Ok(None);
            }
        }
    }

    /// Counts an outer message.
    fn enter(&mut self) -> Result<(), Problem> {
        self.outer += 1;
        if self.outer > OUTER_MAX {
            return Err(Problem::Undecodable(
                "it has more resources and scopes than a request may have",
            ));
        }
        Ok(())
    }

    fn enter_resource(&mut self, message: &'a [u8]) -> Result<(), Problem> {
        self.enter()?;
        let mut resources = Fields::of(message);
        let resource = next_message(&mut resources, 1, 2)?;
        let another = next_message(&mut resources, 1, 2)?.is_some();
        while next_message(&mut resources, 1, 2)?.is_some() {}
        self.of_resource = Fields::of(message);
        self.context = Context::default();
        if another {
            // protobuf would merge the two; no slice can show that, and nobody sends it.
            return Err(Problem::Context(Reason::Malformed));
        }
        self.context.resource = resource
            .map(|resource| read_resource(resource, &self.limits))
            .transpose()
            .map_err(Problem::Context)?
            .unwrap_or_default();
        Ok(())
    }

    fn enter_scope(&mut self, message: &'a [u8]) -> Result<(), Problem> {
        self.enter()?;
        self.context.scope_name = "";
        let mut name = Ok("");
        let mut scopes = Fields::of(message);
        while let Some(scope) = next_message(&mut scopes, 1, 2)? {
            name = name.and_then(|name| read_scope_name(scope, name));
        }
        self.of_scope = Fields::of(message);
        self.context.scope_name = name.map_err(Problem::Context)?;
        Ok(())
    }

    fn end(&mut self) {
        self.request = Fields::of(&[]);
        self.of_resource = Fields::of(&[]);
        self.of_scope = Fields::of(&[]);
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = Result<&'a [u8], Problem>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = if std::mem::replace(&mut self.is_stepping, true) {
            Err(Problem::Undecodable(
                "walking it failed by a defect of Eddy",
            ))
        } else {
            self.step()
        };
        self.is_stepping = false;
        if matches!(item, Err(Problem::Undecodable(_))) {
            self.end();
        }
        item.transpose()
    }
}

/// The next message of that number, in a message whose fields up to `messages` hold messages; other fields are stepped
/// over.
#[inline]
fn next_message<'a>(
    fields: &mut Fields<'a>,
    number: u32,
    messages: u32,
) -> Result<Option<&'a [u8]>, Malformed> {
    for field in fields {
        match field? {
            (found, Payload::Bytes(message)) if found == number => return Ok(Some(message)),
            (_, Payload::Bytes(_)) => {}
            (found, _) if found <= messages => {
                return Err(Malformed("a number stands where a message belongs"));
            }
            _ => {}
        }
    }
    Ok(None)
}

fn read_resource<'a>(message: &'a [u8], limits: &Limits) -> Result<Attributes<'a>, Reason> {
    if message.len() > limits.span_bytes_max {
        return Err(Reason::TooLarge);
    }
    let mut region = Region::default();
    let mut count = 0;
    let mut fields = Fields::of(message);
    let mut before = fields.rest();
    while let Some(field) = fields.next() {
        match field? {
            (1, Payload::Bytes(pair)) if count < limits.attributes_max => {
                check_pair(pair, limits.depth_max)?;
                region.extend(before, fields.rest());
                count += 1;
            }
            (1, Payload::Bytes(_)) => {}
            (1, _) => return Err(Reason::Malformed),
            _ => {}
        }
        before = fields.rest();
    }
    Ok(Attributes::of(region.bytes(), 1))
}

fn read_scope_name<'a>(message: &'a [u8], before: &'a str) -> Result<&'a str, Reason> {
    let mut name = before;
    for field in Fields::of(message) {
        match field? {
            (1, Payload::Bytes(bytes)) => name = text(bytes)?,
            (1, _) => return Err(Reason::Malformed),
            _ => {}
        }
    }
    Ok(name)
}

/// Whether an `ExportMetricsServiceRequest` is one, as far as the framing of its metrics tells: what they hold is not looked at.
///
/// # Errors
/// [`Problem::Undecodable`].
pub fn check_metrics(request: &[u8]) -> Result<(), Problem> {
    // They are numbered as spans are.
    for item in Items::of(request, &Limits::default()) {
        match item {
            Ok(metric) => {
                for field in Fields::of(metric) {
                    field?;
                }
            }
            Err(problem @ Problem::Undecodable(_)) => return Err(problem),
            Err(_) => {}
        }
    }
    Ok(())
}

/// Cuts a recording, requests that are each preceded by their length as a varint, into its requests. Ends after an error.
pub fn delimited(mut bytes: &[u8]) -> impl Iterator<Item = Result<&[u8], Problem>> + Clone {
    iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let mut fields = Fields::of(bytes);
        let request = fields.delimited();
        bytes = if request.is_ok() { fields.rest() } else { &[] };
        Some(request.map_err(Problem::from))
    })
}

#[cfg(test)]
mod tests {
    use super::{Items, OUTER_MAX};
    use crate::otlp::{Limits, Problem};

    /// Given resources, or scopes, without an item, as many as a request may have, they are walked through; given one more, the
    /// request cannot be decoded.
    #[test]
    fn outer_messages_are_counted() {
        let most = OUTER_MAX as usize;
        let resources = |count: usize| [0x0a, 0x00].repeat(count);
        let scopes = |count: usize| {
            let scopes = [0x12, 0x00].repeat(count);
            let length = scopes.len() as u32;
            let digits = [length, length >> 7, length >> 14].map(|digit| digit as u8);
            let length = [digits[0] | 0x80, digits[1] | 0x80, digits[2] & 0x7f];
            [&[0x0a][..], &length, &scopes].concat()
        };
        let is_refused = |request: &[u8]| {
            let last = Items::of(request, &Limits::default()).last();
            matches!(last, Some(Err(Problem::Undecodable(_))))
        };
        assert!(!is_refused(&resources(most)) && is_refused(&resources(most + 1)));
        assert!(!is_refused(&scopes(most - 1)) && is_refused(&scopes(most)));
    }

    /// Given a walk that a panic has left on the way to an item, it does not go that way again: the request cannot be
    /// decoded, and the walk ends.
    #[test]
    fn a_panic_between_items_ends_the_walk() {
        let request = [0x0a, 0x04, 0x12, 0x02, 0x12, 0x00];
        let mut items = Items::of(&request, &Limits::default());
        assert_eq!(items.clone().collect::<Vec<_>>(), [Ok(&[][..])]);
        items.is_stepping = true;
        assert!(matches!(items.next(), Some(Err(Problem::Undecodable(_)))));
        assert_eq!(items.next(), None);
    }
}
