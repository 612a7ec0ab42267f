//! Calls that a run remembers one by one, as part of its saved state.

use crate::engine::fold::marks::CallMark;
use crate::engine::fold::outcome::Outcome;
use crate::engine::similarity::shape;

use super::RecordError;
use super::tables::{TablesReader, TablesWriter};
use super::trend::{TrendRecord, read_trend, trend_record};

/// A call. Numbers marked *t* and *s* are those of texts and spans in the record's tables.
#[derive(Clone, PartialEq, prost::Message)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "facts that do not depend on each other"
)]
pub(super) struct CallMarkRecord {
    #[prost(fixed64, optional, tag = "2")]
    key: Option<u64>,
    /// *t*
    #[prost(uint32, tag = "3")]
    sample: u32,
    #[prost(uint32, tag = "4")]
    input_bytes: u32,
    #[prost(fixed64, tag = "5")]
    group: u64,
    /// *s*
    #[prost(uint32, tag = "6")]
    span: u32,
    #[prost(fixed64, tag = "7")]
    start_ns: u64,
    #[prost(uint32, tag = "8")]
    outcome: u32,
    #[prost(bool, tag = "9")]
    hands_off: bool,
    #[prost(fixed64, optional, tag = "10")]
    result: Option<u64>,
    /// Hash of the tool's name.
    #[prost(fixed64, tag = "11")]
    tool: u64,
    #[prost(uint64, tag = "12")]
    gap_ns: u64,
    #[prost(uint64, tag = "13")]
    waited_ns: u64,
    #[prost(uint64, tag = "14")]
    asked: u64,
    #[prost(uint64, tag = "15")]
    round: u64,
    #[prost(fixed64, tag = "16")]
    sketch: u64,
    #[prost(message, optional, tag = "17")]
    trend: Option<TrendRecord>,
    #[prost(bool, tag = "18")]
    may_act: bool,
    #[prost(bool, tag = "19")]
    retells: bool,
    #[prost(bool, tag = "20")]
    denies: bool,
}

impl TablesWriter {
    pub(super) fn call_mark(&mut self, mark: &CallMark) -> CallMarkRecord {
        let CallMark {
            tool,
            known_key: _,
            has_key: _,
            sample,
            // Follows from the sample.
            shape: _,
            input_bytes,
            group,
            span,
            start_ns,
            round,
            outcome,
            known_result: _,
            has_result: _,
            trend,
            sketch,
            hands_off,
            may_act,
            retells,
            denies,
            gap_ns,
            waited_ns,
            asked,
        } = mark;
        CallMarkRecord {
            tool: *tool,
            key: mark.key(),
            sample: self.text(sample),
            input_bytes: *input_bytes,
            group: *group,
            span: self.span(*span),
            start_ns: *start_ns,
            outcome: outcome_number(*outcome),
            hands_off: *hands_off,
            may_act: *may_act,
            retells: *retells,
            denies: *denies,
            sketch: *sketch,
            trend: trend.as_deref().map(trend_record),
            result: mark.result(),
            gap_ns: *gap_ns,
            waited_ns: *waited_ns,
            asked: *asked,
            round: *round,
        }
    }
}

impl TablesReader {
    pub(super) fn call_mark(&self, record: &CallMarkRecord) -> Result<CallMark, RecordError> {
        let sample = self.text(record.sample)?;
        Ok(CallMark {
            tool: record.tool,
            known_key: record.key.unwrap_or(0),
            has_key: record.key.is_some(),
            shape: shape(&sample),
            sample,
            input_bytes: record.input_bytes,
            group: record.group,
            span: self.span(record.span)?,
            start_ns: record.start_ns,
            outcome: outcome_numbered(record.outcome)?,
            known_result: record.result.unwrap_or(0),
            has_result: record.result.is_some(),
            sketch: record.sketch,
            trend: record
                .trend
                .as_ref()
                .map(|trend| read_trend(trend).map(Box::new))
                .transpose()?,
            hands_off: record.hands_off,
            may_act: record.may_act,
            retells: record.retells,
            denies: record.denies,
            gap_ns: record.gap_ns,
            waited_ns: record.waited_ns,
            asked: record.asked,
            round: record.round,
        })
    }
}

fn outcome_number(outcome: Outcome) -> u32 {
    match outcome {
        Outcome::Unknown => 0,
        Outcome::Fresh => 1,
        Outcome::Stale => 2,
        Outcome::Empty => 3,
        Outcome::Failed => 4,
    }
}

fn outcome_numbered(number: u32) -> Result<Outcome, RecordError> {
    match number {
        0 => Ok(Outcome::Unknown),
        1 => Ok(Outcome::Fresh),
        2 => Ok(Outcome::Stale),
        3 => Ok(Outcome::Empty),
        4 => Ok(Outcome::Failed),
        _ => Err(RecordError::unknown("outcome", number)),
    }
}
