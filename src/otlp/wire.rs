//! Protobuf's wire format, one field after another.
//!
//! [`Fields`] cuts a message into its fields without knowing their types. Every length is checked against the bytes that
//! are there, so a hostile message costs time in proportion to its own size and nothing else. Groups, which protobuf has
//! given up, are recognised only to be skipped.
#![expect(
    clippy::inline_always,
    reason = "a span is some sixty fields; without it each is passed through memory, which doubles the cost of a span"
)]

use super::{Problem, Reason};

/// How deep groups of unknown fields may nest before the message counts as malformed.
const GROUP_DEPTH_MAX: usize = 32;

/// The bytes are not a protobuf message; the text says why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed(pub(super) &'static str);

impl From<Malformed> for Reason {
    fn from(_: Malformed) -> Self {
        Self::Malformed
    }
}

impl From<Malformed> for Problem {
    fn from(malformed: Malformed) -> Self {
        Self::Undecodable(malformed.0)
    }
}

/// What a field carries, as far as the wire tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Payload<'a> {
    /// A number of variable length: integers, booleans, enums.
    Varint(u64),
    /// Eight bytes: `fixed64`, `double`.
    Fixed64(u64),
    /// Text, bytes, or a message.
    Bytes(&'a [u8]),
    /// Four bytes or a group: nothing that Eddy reads.
    Other,
}

/// The fields of one message: number and payload, in the order of the bytes. Ends after the first error.
#[derive(Clone, Debug)]
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(super) fn of(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    /// The bytes that are not yet read; they begin with a field.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The next field, where most fields have this number and hold bytes: it is looked for first.
    #[inline(always)]
    pub(super) fn next_mostly(
        &mut self,
        number: u32,
    ) -> Option<Result<(u32, Payload<'a>), Malformed>> {
        match self.rest.split_first() {
            Some((key, rest)) if u32::from(*key) == number << 3 | 2 => {
                self.rest = rest;
                let payload = self.delimited();
                Some(payload.map(|payload| (number, Payload::Bytes(payload))))
            }
            _ => self.next(),
        }
    }

    #[inline(always)]
    fn field(&mut self) -> Result<(u32, Payload<'a>), Malformed> {
        let (number, wire_type) = self.key()?;
        let payload = match wire_type {
            0 => Payload::Varint(self.varint()?),
            1 => Payload::Fixed64(u64::from_le_bytes(self.array()?)),
            2 => Payload::Bytes(self.delimited()?),
            3 => {
                self.skip_group(number, 1)?;
                Payload::Other
            }
            5 => {
                self.array::<4>()?;
                Payload::Other
            }
            4 => return Err(Malformed("a group ends that never began")),
            _ => return Err(Malformed("unknown wire type")),
        };
        Ok((number, payload))
    }

    #[inline(always)]
    fn key(&mut self) -> Result<(u32, u8), Malformed> {
        let key = u32::try_from(self.varint()?).map_err(|_| Malformed("field number too large"))?;
        match key >> 3 {
            0 => Err(Malformed("field number zero")),
            number => Ok((number, (key & 7) as u8)),
        }
    }

    #[inline(always)]
    fn varint(&mut self) -> Result<u64, Malformed> {
        match *self.rest {
            [byte, ref rest @ ..] if byte < 0x80 => {
                self.rest = rest;
                Ok(u64::from(byte))
            }
            [low, high, ref rest @ ..] if high < 0x80 => {
                self.rest = rest;
                Ok(u64::from(low & 0x7f) | u64::from(high) << 7)
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0;
        for (index, &byte) in self.rest.iter().take(10).enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * index);
            if byte < 0x80 {
                // The tenth byte has room for one bit of the sixty-four.
                if index == 9 && byte > 1 {
                    break;
                }
                self.rest = &self.rest[index + 1..];
                return Ok(value);
            }
        }
        Err(Malformed("a number does not end or is too large"))
    }

    #[inline(always)]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (bytes, rest) = self
            .rest
            .split_first_chunk()
            .ok_or(Malformed("a number is cut off"))?;
        self.rest = rest;
        Ok(*bytes)
    }

    /// The length-prefixed bytes at the front.
    #[inline(always)]
    pub(super) fn delimited(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.varint()?;
        let (bytes, rest) = usize::try_from(length)
            .ok()
            .and_then(|length| self.rest.split_at_checked(length))
            .ok_or(Malformed("a length points past the end"))?;
        self.rest = rest;
        Ok(bytes)
    }

    #[cold]
    fn skip_group(&mut self, number: u32, depth: usize) -> Result<(), Malformed> {
        if depth > GROUP_DEPTH_MAX {
            return Err(Malformed("groups nested too deeply"));
        }
        loop {
            match self.key()? {
                (inner, 4) if inner == number => return Ok(()),
                (_, 4) => return Err(Malformed("a group ends that never began")),
                (_, 0) => drop(self.varint()?),
                (_, 1) => drop(self.array::<8>()?),
                (_, 2) => drop(self.delimited()?),
                (inner, 3) => self.skip_group(inner, depth + 1)?,
                (_, 5) => drop(self.array::<4>()?),
                _ => return Err(Malformed("unknown wire type")),
            }
        }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u32, Payload<'a>), Malformed>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

/// The part of a message that reaches from the first to the last occurrence of one field. It is a run of whole fields
/// itself, usually of that field alone, so that walking it later does not touch the rest of the message.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Region<'a> {
    /// From the first occurrence to the end of the message.
    from: &'a [u8],
    /// How many bytes of `from` lie behind the last occurrence.
    behind: usize,
}

impl<'a> Region<'a> {
    /// Takes in an occurrence: `before` is what was unread in front of it, `after` what is unread behind it.
    #[inline]
    pub(super) fn extend(&mut self, before: &'a [u8], after: &'a [u8]) {
        if self.from.is_empty() {
            self.from = before;
        }
        self.behind = after.len();
    }

    pub(super) fn bytes(self) -> &'a [u8] {
        &self.from[..self.from.len() - self.behind]
    }
}

/// Whether the bytes are text. Most text is ASCII, which is told apart much faster than a `str` is made.
#[inline]
pub(super) fn check_text(bytes: &[u8]) -> Result<(), Reason> {
    if bytes.is_ascii() {
        Ok(())
    } else {
        text(bytes).map(drop)
    }
}

/// The bytes as text.
#[inline]
pub(super) fn text(bytes: &[u8]) -> Result<&str, Reason> {
    simdutf8::basic::from_utf8(bytes).map_err(|_| Reason::Utf8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(message: &[u8], expected: &[Result<(u32, Payload<'_>), &str>]) {
        let fields: Vec<_> = Fields::of(message)
            .map(|field| field.map_err(|malformed| malformed.0))
            .collect();
        assert_eq!(fields, expected);
    }

    /// Given one field of each wire type, the walk yields them and reads groups over.
    #[test]
    fn fields_of_every_wire_type() {
        check(
            &[0x08, 0x96, 0x01, 0x12, 0x02, b'h', b'i'],
            &[
                Ok((1, Payload::Varint(150))),
                Ok((2, Payload::Bytes(b"hi"))),
            ],
        );
        check(
            &[0x19, 1, 0, 0, 0, 0, 0, 0, 0, 0x25, 0, 0, 0, 0],
            &[Ok((3, Payload::Fixed64(1))), Ok((4, Payload::Other))],
        );
        check(
            &[0x0b, 0x13, 0x18, 0x01, 0x14, 0x0c, 0x08, 0x01],
            &[Ok((1, Payload::Other)), Ok((1, Payload::Varint(1)))],
        );
    }

    /// Given numbers at the edge of their range, the largest is read and the next is refused.
    #[test]
    fn numbers_at_the_edge() {
        let mut largest = vec![0x08];
        largest.extend([0xff; 9]);
        largest.push(0x01);
        check(&largest, &[Ok((1, Payload::Varint(u64::MAX)))]);
        *largest.last_mut().expect("not empty") = 0x02;
        check(&largest, &[Err("a number does not end or is too large")]);
        check(&[0x88, 0x80, 0x00, 0x05], &[Ok((1, Payload::Varint(5)))]);
    }

    /// Given broken framing, the walk says so once and ends.
    #[test]
    fn broken_framing_ends_the_walk() {
        check(&[0x0a, 0x05, 1, 2], &[Err("a length points past the end")]);
        check(&[0x00, 0x00], &[Err("field number zero")]);
        check(&[0x0f, 0x00], &[Err("unknown wire type")]);
        check(&[0x09, 0, 0], &[Err("a number is cut off")]);
        check(&[0x0b, 0x14], &[Err("a group ends that never began")]);
        check(&[0x0b; 100], &[Err("groups nested too deeply")]);
    }
}
