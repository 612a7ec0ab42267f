//! What has left a run's window, as part of its saved state.

use crate::engine::event::TraceId;
use crate::engine::fold::{Fold, Spent, Totals};
use crate::engine::judge::Outcome;
use crate::engine::marks::CallMark;
use crate::engine::similarity::shape;

use super::RecordError;
use super::control::ControlRecord;
use super::guard::{ToldRecord, read_told, told_record};
use super::kept::{KeptRecord, SpentRecord, TallyRecord, read_spent, spent_record};
use super::notes::{NotesRecord, notes_record, read_notes};
use super::query::QueryMarkRecord;
use super::speech::SpeechRecord;
use super::tables::{TablesReader, TablesWriter};
use super::trend::TrendRecord;
use super::work::WorkRecord;

/// A fold; numbers marked *t*, *c* and *s* are those of texts, traces and spans in the record's tables.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct FoldRecord {
    #[prost(message, optional, tag = "1")]
    totals: Option<TotalsRecord>,
    /// *t*
    #[prost(uint32, repeated, tag = "2")]
    agents: Vec<u32>,
    #[prost(message, repeated, tag = "3")]
    recent: Vec<CallMarkRecord>,
    #[prost(fixed64, repeated, tag = "4")]
    results: Vec<u64>,
    #[prost(message, repeated, tag = "5")]
    tallies: Vec<TallyRecord>,
    #[prost(message, repeated, tag = "6")]
    warnings: Vec<KeptRecord>,
    #[prost(message, optional, tag = "7")]
    control: Option<ControlRecord>,
    #[prost(message, optional, tag = "8")]
    notes: Option<NotesRecord>,
    #[prost(message, optional, tag = "9")]
    speech: Option<SpeechRecord>,
    #[prost(message, repeated, tag = "10")]
    queries: Vec<QueryMarkRecord>,
    #[prost(message, repeated, tag = "11")]
    told: Vec<ToldRecord>,
    #[prost(message, repeated, tag = "12")]
    work: Vec<WorkRecord>,
    /// *t*
    #[prost(uint32, repeated, tag = "13")]
    unpriced: Vec<u32>,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
struct TotalsRecord {
    #[prost(uint64, tag = "1")]
    tool_calls: u64,
    #[prost(uint64, tag = "2")]
    model_calls: u64,
    #[prost(uint64, tag = "3")]
    tokens: u64,
    #[prost(uint64, tag = "4")]
    cost_microusd: u64,
    #[prost(uint64, tag = "5")]
    asked: u64,
    #[prost(fixed64, tag = "6")]
    first_ns: u64,
    #[prost(fixed64, tag = "7")]
    last_ns: u64,
    #[prost(uint64, tag = "8")]
    round: u64,
    #[prost(uint32, tag = "9")]
    asked_pending: u32,
    #[prost(fixed64, tag = "10")]
    call_end_ns: u64,
    #[prost(uint64, tag = "11")]
    write_at: u64,
    #[prost(message, optional, tag = "12")]
    unspent: Option<SpentRecord>,
    #[prost(bool, tag = "13")]
    root_seen: bool,
    #[prost(bool, tag = "14")]
    failed: bool,
    #[prost(uint32, tag = "15")]
    worst: u32,
    /// *c*
    #[prost(uint32, tag = "16")]
    end_trace: u32,
    #[prost(bool, tag = "17")]
    model_spoke: bool,
    #[prost(uint64, tag = "18")]
    turn_at: u64,
    #[prost(uint64, tag = "19")]
    news_at: u64,
    #[prost(uint64, tag = "20")]
    acted_at: u64,
    #[prost(fixed64, tag = "21")]
    busy_ns: u64,
    #[prost(fixed64, tag = "22")]
    paused_ns: u64,
    #[prost(uint64, tag = "30")]
    skipped: u64,
    #[prost(message, optional, tag = "31")]
    saved: Option<SpentRecord>,
    #[prost(fixed64, optional, tag = "32")]
    turn_name: Option<u64>,
    #[prost(fixed64, optional, tag = "33")]
    round_name: Option<u64>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct CallMarkRecord {
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
    /// Hash of the tool's name; number 1 was its text.
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
}

impl TablesWriter {
    pub(super) fn fold(&mut self, fold: &Fold) -> FoldRecord {
        let Fold {
            is_swarm: _,
            totals,
            agents,
            unpriced,
            recent,
            results,
            tallies,
            warnings,
            control,
            speech,
            queries,
            told,
            notes,
            work,
        } = fold;
        FoldRecord {
            totals: Some(totals_record(totals, self.trace(totals.end_trace))),
            agents: agents.iter().map(|agent| self.text(agent)).collect(),
            unpriced: unpriced.iter().map(|model| self.text(model)).collect(),
            recent: recent.iter().map(|mark| self.call_mark(mark)).collect(),
            results: results.iter().collect(),
            tallies: tallies.iter().map(|tally| self.tally(tally)).collect(),
            warnings: warnings.iter().map(|kept| self.kept(kept)).collect(),
            control: Some(self.control(control)),
            notes: Some(notes_record(*notes)),
            speech: self.speech(speech),
            queries: queries.iter().map(|mark| self.query_mark(mark)).collect(),
            work: work.iter().map(WorkRecord::of).collect(),
            told: told.iter().map(told_record).collect(),
        }
    }

    fn call_mark(&mut self, mark: &CallMark) -> CallMarkRecord {
        let CallMark {
            tool,
            key,
            sample,
            // Follows from the sample.
            shape: _,
            input_bytes,
            group,
            span,
            start_ns,
            round,
            outcome,
            result,
            trend,
            sketch,
            hands_off,
            gap_ns,
            waited_ns,
            asked,
        } = mark;
        CallMarkRecord {
            tool: *tool,
            key: *key,
            sample: self.text(sample),
            input_bytes: *input_bytes,
            group: *group,
            span: self.span(*span),
            start_ns: *start_ns,
            outcome: outcome_number(*outcome),
            hands_off: *hands_off,
            sketch: *sketch,
            trend: Self::trend(trend.as_deref()),
            result: *result,
            gap_ns: *gap_ns,
            waited_ns: *waited_ns,
            asked: *asked,
            round: *round,
        }
    }
}

impl TablesReader {
    pub(super) fn fold(&self, record: FoldRecord) -> Result<Fold, RecordError> {
        let totals = record.totals.unwrap_or_default();
        Ok(Fold {
            is_swarm: false,
            totals: read_totals(&totals, self.trace(totals.end_trace)?),
            agents: record
                .agents
                .iter()
                .map(|agent| self.text(*agent))
                .collect::<Result<_, _>>()?,
            unpriced: record
                .unpriced
                .iter()
                .map(|model| self.text(*model))
                .collect::<Result<_, _>>()?,
            recent: record
                .recent
                .iter()
                .map(|mark| self.call_mark(mark))
                .collect::<Result<_, _>>()?,
            results: record.results.into_iter().collect(),
            tallies: record
                .tallies
                .into_iter()
                .map(|tally| self.tally(tally))
                .collect::<Result<_, _>>()?,
            warnings: record
                .warnings
                .iter()
                .map(|kept| self.kept(kept))
                .collect::<Result<_, _>>()?,
            control: self.control(&record.control.unwrap_or_default())?,
            queries: record
                .queries
                .iter()
                .map(|mark| self.query_mark(mark))
                .collect::<Result<_, _>>()?,
            told: record.told.iter().map(read_told).collect(),
            notes: read_notes(record.notes.unwrap_or_default()),
            work: record.work.iter().map(WorkRecord::read).collect(),
            speech: self.speech(record.speech.unwrap_or_default())?,
        })
    }

    fn call_mark(&self, record: &CallMarkRecord) -> Result<CallMark, RecordError> {
        let sample = self.text(record.sample)?;
        Ok(CallMark {
            tool: record.tool,
            key: record.key,
            shape: shape(&sample),
            sample,
            input_bytes: record.input_bytes,
            group: record.group,
            span: self.span(record.span)?,
            start_ns: record.start_ns,
            outcome: outcome_numbered(record.outcome)?,
            result: record.result,
            sketch: record.sketch,
            trend: self.trend(record.trend.as_ref())?,
            hands_off: record.hands_off,
            gap_ns: record.gap_ns,
            waited_ns: record.waited_ns,
            asked: record.asked,
            round: record.round,
        })
    }
}

fn totals_record(totals: &Totals, end_trace: u32) -> TotalsRecord {
    let Totals {
        tool_calls,
        model_calls,
        tokens,
        cost_microusd,
        asked,
        first_ns,
        last_ns,
        round,
        asked_pending,
        model_spoke,
        call_end_ns,
        write_at,
        turn_at,
        news_at,
        acted_at,
        busy_ns,
        paused_ns,
        unspent,
        root_seen,
        end_trace: _,
        failed,
        worst,
        skipped,
        saved,
        turn_name,
        round_name,
    } = *totals;
    TotalsRecord {
        tool_calls,
        model_calls,
        tokens,
        cost_microusd,
        asked,
        first_ns,
        last_ns,
        round,
        asked_pending,
        model_spoke,
        call_end_ns,
        write_at,
        turn_at,
        news_at,
        acted_at,
        busy_ns,
        paused_ns,
        unspent: Some(spent_record(unspent)),
        root_seen,
        failed,
        worst,
        end_trace,
        skipped,
        saved: Some(saved)
            .filter(|saved| *saved != Spent::default())
            .map(spent_record),
        turn_name: Some(turn_name).filter(|name| *name != 0),
        round_name: Some(round_name).filter(|name| *name != 0),
    }
}

fn read_totals(record: &TotalsRecord, end_trace: TraceId) -> Totals {
    Totals {
        tool_calls: record.tool_calls,
        model_calls: record.model_calls,
        tokens: record.tokens,
        cost_microusd: record.cost_microusd,
        asked: record.asked,
        first_ns: record.first_ns,
        last_ns: record.last_ns,
        round: record.round,
        asked_pending: record.asked_pending,
        model_spoke: record.model_spoke,
        call_end_ns: record.call_end_ns,
        write_at: record.write_at,
        turn_at: record.turn_at,
        news_at: record.news_at,
        acted_at: record.acted_at,
        busy_ns: record.busy_ns,
        paused_ns: record.paused_ns,
        unspent: read_spent(record.unspent),
        root_seen: record.root_seen,
        end_trace,
        failed: record.failed,
        worst: record.worst,
        skipped: record.skipped,
        saved: read_spent(record.saved),
        turn_name: record.turn_name.unwrap_or(0),
        round_name: record.round_name.unwrap_or(0),
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
