//! What has left a run's window, as part of its saved state.

use std::collections::VecDeque;

use crate::engine::event::TraceId;
use crate::engine::fold::tags::Tags;
use crate::engine::fold::totals::{Spent, Totals};
use crate::engine::fold::{Fold, ITEMS_SEEN_MAX};

use super::RecordError;
use super::call_mark::CallMarkRecord;
use super::control::ControlRecord;
use super::guard::{NoticeRecord, read_told, told_record};
use super::kept::{KeptRecord, SpentRecord, TallyRecord, read_spent, spent_record};
use super::notes::{NotesRecord, notes_record, read_notes};
use super::query::QueryMarkRecord;
use super::speech::SpeechRecord;
use super::tables::{TablesReader, TablesWriter};
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
    told: Vec<NoticeRecord>,
    #[prost(message, repeated, tag = "12")]
    work: Vec<WorkRecord>,
    /// *t*
    #[prost(uint32, repeated, tag = "13")]
    unpriced: Vec<u32>,
    /// As [`Tags`] packs them.
    #[prost(bytes = "vec", tag = "14")]
    tags: Vec<u8>,
    /// *t*
    #[prost(uint32, repeated, tag = "15")]
    tools: Vec<u32>,
    /// Two bytes each.
    #[prost(bytes = "vec", tag = "16")]
    items: Vec<u8>,
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
    #[prost(fixed64, tag = "32")]
    turn_name: u64,
    #[prost(fixed64, tag = "33")]
    round_name: u64,
    #[prost(sint64, tag = "34")]
    skew_ns: i64,
    #[prost(fixed64, tag = "35")]
    call_start_ns: u64,
}

impl TablesWriter {
    pub(super) fn fold(&mut self, fold: &Fold) -> FoldRecord {
        let Fold {
            is_swarm: _,
            totals,
            agents,
            tools,
            unpriced,
            recent,
            tags,
            results,
            items,
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
            tools: tools.iter().map(|tool| self.text(tool)).collect(),
            unpriced: unpriced.iter().map(|model| self.text(model)).collect(),
            recent: recent.iter().map(|mark| self.call_mark(mark)).collect(),
            tags: tags.packed(),
            results: results.iter().collect(),
            items: items.iter().flat_map(|item| item.to_le_bytes()).collect(),
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
}

impl TablesReader {
    pub(super) fn fold(&self, record: FoldRecord) -> Result<Fold, RecordError> {
        let totals = record.totals.unwrap_or_default();
        Ok(Fold {
            is_swarm: false,
            totals: read_totals(&totals, self.trace(totals.end_trace)?),
            agents: self.texts(&record.agents)?,
            tools: self.texts(&record.tools)?,
            unpriced: self.texts(&record.unpriced)?,
            recent: record
                .recent
                .iter()
                .map(|mark| self.call_mark(mark))
                .collect::<Result<_, _>>()?,
            tags: Tags::of_packed(&record.tags),
            results: record.results.into_iter().collect(),
            items: read_items(&record.items),
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
}

/// The newest of the items.
fn read_items(bytes: &[u8]) -> VecDeque<u16> {
    let (items, _) = bytes.as_chunks();
    let items = items.iter().copied().map(u16::from_le_bytes);
    items.take(ITEMS_SEEN_MAX).collect()
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
        call_start_ns,
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
        skew_ns,
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
        call_start_ns,
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
        turn_name,
        round_name,
        skew_ns,
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
        call_start_ns: record.call_start_ns,
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
        turn_name: record.turn_name,
        round_name: record.round_name,
        skew_ns: record.skew_ns,
    }
}
