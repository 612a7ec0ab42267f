//! Arguments, results and failures, as part of an event.

use crate::engine::event::{Failure, Numbers, Recorded, Text, Value};
use crate::engine::window::packed::{items_in, numbers_in, put_items, put_numbers};

use super::RecordError;
use super::tables::{TablesReader, TablesWriter};
use super::wire;

/// A failure.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(super) struct FailureRecord {
    /// *t*
    #[prost(uint32, tag = "1")]
    text: u32,
    #[prost(fixed64, tag = "2")]
    masked: u64,
    #[prost(bool, tag = "3")]
    transient: bool,
}

/// A recorded or redacted value; one that is not recorded has no record.
#[derive(Clone, PartialEq, prost::Message)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "four facts that do not depend on each other"
)]
pub(super) struct ValueRecord {
    #[prost(fixed64, tag = "1")]
    fingerprint: u64,
    /// Absent where it equals the fingerprint.
    #[prost(fixed64, optional, tag = "2")]
    masked: Option<u64>,
    #[prost(uint32, tag = "3")]
    bytes: u32,
    #[prost(bool, tag = "4")]
    empty: bool,
    #[prost(bool, tag = "6")]
    redacted: bool,
    /// The numbers of a result, as `engine::window::packed` writes them.
    #[prost(bytes = "vec", optional, tag = "7")]
    numbers: Option<Vec<u8>>,
    #[prost(string, tag = "8")]
    sample: String,
    #[prost(bool, tag = "9")]
    pending: bool,
    #[prost(bool, tag = "10")]
    denies: bool,
    #[prost(bool, tag = "11")]
    refuses: bool,
    /// The items of a result, two bytes each.
    #[prost(bytes = "vec", tag = "12")]
    items: Vec<u8>,
    #[prost(bool, tag = "13")]
    answers: bool,
}

impl TablesWriter {
    pub(super) fn failure(&mut self, field: u32, failure: Option<&Failure>, out: &mut Vec<u8>) {
        if let Some(failure) = failure {
            wire::message(out, field, |out| {
                wire::number(out, 1, self.text(&failure.text).into());
                wire::fixed(out, 2, failure.masked);
                wire::flag(out, 3, failure.transient);
            });
        }
    }
}

impl TablesReader {
    pub(super) fn failure(
        &self,
        record: Option<FailureRecord>,
    ) -> Result<Option<Failure>, RecordError> {
        record
            .map(|record| {
                Ok(Failure {
                    text: self.text(record.text)?,
                    masked: record.masked,
                    transient: record.transient,
                })
            })
            .transpose()
    }
}

/// Appends a value as a [`ValueRecord`], or nothing where none is recorded.
pub(super) fn write_recorded(field: u32, recorded: &Recorded, out: &mut Vec<u8>) {
    match recorded {
        Recorded::Value(value) => wire::message(out, field, |out| {
            wire::fixed(out, 1, value.fingerprint);
            if value.masked != value.fingerprint {
                wire::fixed(out, 2, value.masked);
            }
            wire::number(out, 3, value.bytes.into());
            wire::flag(out, 4, value.empty);
            wire::flag(out, 9, value.pending);
            wire::flag(out, 10, value.denies);
            wire::flag(out, 11, value.refuses);
            wire::flag(out, 13, value.answers);
            // Samples seldom recur: they stand where they belong.
            if !value.sample.is_empty() {
                wire::bytes(out, 8, value.sample.as_bytes());
            }
            if let Some(numbers) = &value.numbers {
                wire::message(out, 7, |out| put_numbers(numbers, out));
            }
            if !value.items.is_empty() {
                wire::message(out, 12, |out| put_items(&value.items, out));
            }
        }),
        Recorded::Redacted => wire::message(out, field, |out| wire::flag(out, 6, true)),
        Recorded::NotRecorded => {}
    }
}

/// A value from its record.
pub(super) fn read_recorded(record: Option<&ValueRecord>) -> Result<Recorded, RecordError> {
    let Some(record) = record else {
        return Ok(Recorded::NotRecorded);
    };
    if record.redacted {
        return Ok(Recorded::Redacted);
    }
    let numbers = record.numbers.as_deref().map(read_numbers).transpose()?;
    Ok(Recorded::Value(Value {
        fingerprint: record.fingerprint,
        masked: record.masked.unwrap_or(record.fingerprint),
        bytes: record.bytes,
        empty: record.empty,
        pending: record.pending,
        denies: record.denies,
        refuses: record.refuses,
        answers: record.answers,
        sample: Text::from(&*record.sample),
        numbers: numbers.map(Box::new),
        items: items_in(&record.items),
    }))
}

/// The numbers of a result.
pub(super) fn read_numbers(bytes: &[u8]) -> Result<Numbers, RecordError> {
    numbers_in(bytes).ok_or_else(|| RecordError::missing("a result's number"))
}
