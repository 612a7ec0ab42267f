//! Protobuf's encoding, written without structs.
//!
//! What every report passes is written field by field, straight into the record: a struct for each message would be filled,
//! measured once for every level around it, and written only then. Reading is left to prost.

/// Appends a varint.
#[inline]
pub(super) fn varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends a number, zero too.
#[inline]
pub(super) fn some(out: &mut Vec<u8>, field: u32, number: u64) {
    tag(out, field, 0);
    varint(out, number);
}

/// Appends a number, or nothing for zero.
#[inline]
pub(super) fn number(out: &mut Vec<u8>, field: u32, number: u64) {
    if number != 0 {
        some(out, field, number);
    }
}

/// Appends a number that may be negative, in zigzag; nothing for zero.
#[inline]
pub(super) fn signed(out: &mut Vec<u8>, field: u32, number: i64) {
    self::number(out, field, (number as u64) << 1 ^ (number >> 63) as u64);
}

/// Appends a flag, or nothing where it is not set.
#[inline]
pub(super) fn flag(out: &mut Vec<u8>, field: u32, flag: bool) {
    number(out, field, u64::from(flag));
}

/// Appends eight bytes, zero too.
#[inline]
pub(super) fn fixed(out: &mut Vec<u8>, field: u32, number: u64) {
    tag(out, field, 1);
    out.extend_from_slice(&number.to_le_bytes());
}

/// Appends bytes, and that there are none, too.
#[inline]
pub(super) fn bytes(out: &mut Vec<u8>, field: u32, bytes: &[u8]) {
    tag(out, field, 2);
    varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Appends a message, which `write` writes.
#[inline]
pub(super) fn message(out: &mut Vec<u8>, field: u32, write: impl FnOnce(&mut Vec<u8>)) {
    tag(out, field, 2);
    delimited(out, write);
}

/// Appends what `write` writes, behind its length. The length takes two bytes even where one would do, which readers of
/// protobuf take as well: it is known only afterwards, and nothing has to move then.
#[inline]
pub(super) fn delimited(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    const BYTES_MAX: usize = 1 << 14;
    let place = out.len();
    out.extend_from_slice(&[0; 2]);
    write(out);
    let length = out.len() - place - 2;
    if length < BYTES_MAX {
        out[place] = length as u8 | 0x80;
        out[place + 1] = (length >> 7) as u8;
    } else {
        let mut prefix = Vec::new();
        varint(&mut prefix, length as u64);
        out.splice(place..place + 2, prefix);
    }
}

/// How many bytes a field of these bytes takes.
pub(super) fn bytes_len(field: u32, bytes: &[u8]) -> usize {
    varint_len(u64::from(field << 3 | 2)) + varint_len(bytes.len() as u64) + bytes.len()
}

fn varint_len(number: u64) -> usize {
    number.checked_ilog2().unwrap_or(0) as usize / 7 + 1
}

/// Appends what stands before a field: its number and how it is written.
#[inline]
pub(super) fn tag(out: &mut Vec<u8>, field: u32, kind: u32) {
    varint(out, u64::from(field << 3 | kind));
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;

    #[derive(Clone, PartialEq, prost::Message)]
    struct Sample {
        #[prost(uint64, tag = "1")]
        number: u64,
        #[prost(sint64, tag = "2")]
        signed: i64,
        #[prost(bool, tag = "3")]
        flag: bool,
        #[prost(fixed64, tag = "4")]
        fixed: u64,
        #[prost(bytes = "vec", tag = "5")]
        bytes: Vec<u8>,
        #[prost(message, optional, boxed, tag = "600")]
        within: Option<Box<Sample>>,
    }

    fn write(sample: &Sample, out: &mut Vec<u8>) {
        number(out, 1, sample.number);
        signed(out, 2, sample.signed);
        flag(out, 3, sample.flag);
        fixed(out, 4, sample.fixed);
        bytes(out, 5, &sample.bytes);
        if let Some(within) = &sample.within {
            message(out, 600, |out| write(within, out));
        }
    }

    /// Given numbers of any size and messages of any length, prost reads what was written.
    #[test]
    fn prost_reads_what_is_written() {
        for length in [0, 1, 127, 128, 16_380, 16_384, 70_000] {
            let within = Sample {
                number: length as u64,
                signed: -(length as i64),
                flag: length > 0,
                fixed: u64::MAX - length as u64,
                bytes: vec![7; length],
                within: None,
            };
            let sample = Sample {
                number: u64::MAX,
                signed: i64::MIN,
                within: Some(Box::new(within)),
                ..Sample::default()
            };
            let mut out = Vec::new();
            write(&sample, &mut out);
            assert_eq!(Sample::decode(&*out).expect("it is protobuf"), sample);
        }
    }
}
