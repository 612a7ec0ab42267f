//! How the numbers of a remembered call's result move, as part of a fold.

use crate::engine::event::NUMBERS_MAX;
use crate::engine::fold::trend::Trend;
use crate::engine::window::packed::{numbers_in, numbers_of_format_3, put_numbers};

use super::RecordError;
use super::tables::{TablesReader, TablesWriter};

/// A trend; the number marked *t* is that of a text in the record's tables.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct TrendRecord {
    /// *t*: how format 3 has the numbers. No longer written.
    #[prost(uint32, tag = "1")]
    text: u32,
    /// A byte for each number, the first one lowest.
    #[prost(fixed64, tag = "2")]
    runs: u64,
    #[prost(uint32, tag = "3")]
    turned: u32,
    #[prost(bool, tag = "4")]
    jitters: bool,
    /// As `engine::window::packed` writes them.
    #[prost(bytes = "vec", tag = "5")]
    numbers: Vec<u8>,
}

impl TablesWriter {
    pub(super) fn trend(trend: Option<&Trend>) -> Option<TrendRecord> {
        let trend = trend?;
        let bytes = trend.runs.iter().rev();
        let mut numbers = Vec::new();
        put_numbers(&trend.numbers, &mut numbers);
        Some(TrendRecord {
            text: 0,
            numbers,
            runs: bytes.fold(0, |runs, run| runs << 8 | u64::from(run.cast_unsigned())),
            turned: u32::from(trend.turned),
            jitters: trend.jitters,
        })
    }
}

impl TablesReader {
    pub(super) fn trend(
        &self,
        record: Option<&TrendRecord>,
    ) -> Result<Option<Box<Trend>>, RecordError> {
        let Some(record) = record else {
            return Ok(None);
        };
        let numbers = match record.text {
            0 => numbers_in(&record.numbers),
            text => numbers_of_format_3(&self.text(text)?),
        };
        let mut runs = [0; NUMBERS_MAX];
        for (run, byte) in runs.iter_mut().zip(record.runs.to_le_bytes()) {
            *run = byte.cast_signed();
        }
        Ok(Some(Box::new(Trend {
            numbers: numbers.ok_or_else(|| RecordError::missing("a result's number"))?,
            runs,
            turned: u8::try_from(record.turned)
                .map_err(|_| RecordError::unknown("turned", record.turned))?,
            jitters: record.jitters,
        })))
    }
}
