//! How the numbers of a remembered call's result move, as part of a fold.

use crate::engine::event::NUMBERS_MAX;
use crate::engine::trend::Trend;

use super::RecordError;
use super::tables::{TablesReader, TablesWriter};

/// A trend; the number marked *t* is that of a text in the record's tables.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(super) struct TrendRecord {
    /// *t*
    #[prost(uint32, tag = "1")]
    numbers: u32,
    /// A byte for each number, the first one lowest.
    #[prost(fixed64, tag = "2")]
    runs: u64,
    #[prost(uint32, tag = "3")]
    turned: u32,
    #[prost(bool, tag = "4")]
    jitters: bool,
}

impl TablesWriter {
    pub(super) fn trend(&mut self, trend: Option<&Trend>) -> Option<TrendRecord> {
        let trend = trend?;
        let bytes = trend.runs.iter().rev();
        Some(TrendRecord {
            numbers: self.text(&trend.numbers),
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
        let mut runs = [0; NUMBERS_MAX];
        for (run, byte) in runs.iter_mut().zip(record.runs.to_le_bytes()) {
            *run = byte.cast_signed();
        }
        Ok(Some(Box::new(Trend {
            numbers: self.text(record.numbers)?,
            runs,
            turned: u8::try_from(record.turned)
                .map_err(|_| RecordError::unknown("turned", record.turned))?,
            jitters: record.jitters,
        })))
    }
}
