//! How the numbers of a remembered call's result move, as part of a fold.

use crate::engine::event::NUMBERS_MAX;
use crate::engine::fold::trend::Trend;
use crate::engine::window::packed::put_numbers;

use super::RecordError;
use super::value::read_numbers;

/// A trend.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct TrendRecord {
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

pub(super) fn trend_record(trend: &Trend) -> TrendRecord {
    let Trend {
        numbers,
        runs,
        turned,
        jitters,
    } = trend;
    let mut bytes = Vec::new();
    put_numbers(numbers, &mut bytes);
    let newest_first = runs.iter().rev();
    TrendRecord {
        numbers: bytes,
        runs: newest_first.fold(0, |runs, run| runs << 8 | u64::from(run.cast_unsigned())),
        turned: u32::from(*turned),
        jitters: *jitters,
    }
}

pub(super) fn read_trend(record: &TrendRecord) -> Result<Trend, RecordError> {
    let mut runs = [0; NUMBERS_MAX];
    for (run, byte) in runs.iter_mut().zip(record.runs.to_le_bytes()) {
        *run = byte.cast_signed();
    }
    Ok(Trend {
        numbers: read_numbers(&record.numbers)?,
        runs,
        turned: u8::try_from(record.turned)
            .map_err(|_| RecordError::unknown("turned", record.turned))?,
        jitters: record.jitters,
    })
}
