//! The same request in other bytes, and damaged bytes.

use crate::otlp::wire::{Fields, Payload};

/// A small generator (xorshift), so that one seed of proptest's decides everything.
pub(super) struct Random(pub(super) u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % bound
    }
}

/// The messages of a request, as far as their fields hold messages.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Request,
    OfResource,
    OfScope,
    Scope,
    /// A resource or a map: attributes under number one.
    List,
    Span,
    Record,
    Event,
    Link,
    Pair,
    Value,
    Array,
    Plain,
}

impl Kind {
    fn of_field(self, number: u32, item: Kind) -> Option<Self> {
        Some(match (self, number) {
            (Self::Request, 1) => Self::OfResource,
            (Self::OfResource, 1) | (Self::Value, 6) => Self::List,
            (Self::OfResource, 2) => Self::OfScope,
            (Self::OfScope, 1) => Self::Scope,
            (Self::Span, 15) => Self::Plain,
            (Self::OfScope, 2) => item,
            (Self::List, 1)
            | (Self::Scope | Self::Event, 3)
            | (Self::Link, 4)
            | (Self::Record, 6)
            | (Self::Span, 9) => Self::Pair,
            (Self::Span, 11) => Self::Event,
            (Self::Span, 13) => Self::Link,
            (Self::Record, 5) | (Self::Pair, 2) | (Self::Array, 1) => Self::Value,
            (Self::Value, 5) => Self::Array,
            _ => return None,
        })
    }
}

fn push_varint(out: &mut Vec<u8>, mut value: u64, padding: usize) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    for _ in 0..padding {
        *out.last_mut().expect("just pushed") |= 0x80;
        out.push(0);
    }
}

/// Rewrites a message with its fields in another order, those of one number keeping theirs, lengths written longer than
/// need be, unknown fields in between, and texts and ids preceded by an occurrence that must not count.
pub(super) fn scramble(kind: Kind, item: Kind, message: &[u8], random: &mut Random) -> Vec<u8> {
    let mut queues: Vec<(u32, Vec<Vec<u8>>)> = Vec::new();
    let mut fields = Fields::of(message);
    let mut before = fields.rest();
    while let Some(field) = fields.next() {
        let (number, payload) = field.expect("encoded by prost");
        let raw = &before[..before.len() - fields.rest().len()];
        before = fields.rest();
        let mut copies = Vec::new();
        match (payload, kind.of_field(number, item)) {
            (Payload::Bytes(bytes), Some(inner)) => {
                let bytes = scramble(inner, item, bytes, random);
                copies.push(length_delimited(number, &bytes, random.below(3)));
            }
            (Payload::Bytes(bytes), None) => {
                if !matches!(kind, Kind::Array | Kind::List) && random.below(4) == 0 {
                    copies.push(length_delimited(number, b"decoy", 0));
                }
                copies.push(length_delimited(number, bytes, random.below(3)));
            }
            _ => copies.push(raw.to_vec()),
        }
        match queues.iter_mut().find(|(queued, _)| *queued == number) {
            Some((_, queue)) => queue.extend(copies),
            None => queues.push((number, copies)),
        }
    }
    let mut out = Vec::new();
    for (_, queue) in &mut queues {
        queue.reverse();
    }
    loop {
        queues.retain(|(_, queue)| !queue.is_empty());
        match random.below(12) {
            0 => out.extend([0xc0, 0x3e, 0x07]),
            1 => out.extend([0xc2, 0x3e, 0x02, 0xff, 0xff]),
            2 => out.extend([0xc5, 0x3e, 1, 2, 3, 4]),
            3 => out.extend([0xc3, 0x3e, 0x08, 0x01, 0xc4, 0x3e]),
            _ => {}
        }
        if queues.is_empty() {
            return out;
        }
        let index = random.below(queues.len());
        out.extend(queues[index].1.pop().expect("empty queues are gone"));
    }
}

fn length_delimited(number: u32, bytes: &[u8], padding: usize) -> Vec<u8> {
    let mut out = Vec::new();
    push_varint(&mut out, u64::from(number) << 3 | 2, padding);
    push_varint(&mut out, bytes.len() as u64, padding);
    out.extend(bytes);
    out
}

pub(super) fn damage(request: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(4) {
        let at = random.below(request.len() + 1);
        match random.below(6) {
            0 => request.truncate(at),
            1 => request.insert(at, random.below(256) as u8),
            2 if at < request.len() => drop(request.remove(at)),
            3 => {
                let end = (at + random.below(40)).min(request.len());
                let copied = request[at..end].to_vec();
                request.splice(at..at, copied);
            }
            _ if at < request.len() => request[at] ^= 1 << random.below(8),
            _ => {}
        }
    }
}
