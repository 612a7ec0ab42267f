//! What recurs within one record, written once: texts, trace ids and the ids of parent spans.
//!
//! The writer numbers them from 1 in the order in which they appear; 0 stands for the empty one. The record carries
//! the tables beside the events, and the reader looks the numbers up, so that texts which were one before are one again.

use std::collections::{BTreeMap, HashMap};

use crate::engine::event::{SpanId, Text, TraceId};

use super::RecordError;

/// The tables of one record.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct TablesRecord {
    #[prost(string, repeated, tag = "1")]
    texts: Vec<String>,
    /// Sixteen bytes each, one after the other.
    #[prost(bytes = "vec", tag = "2")]
    traces: Vec<u8>,
    #[prost(fixed64, repeated, tag = "3")]
    spans: Vec<u64>,
}

/// The tables while a record is written.
#[derive(Default)]
pub(super) struct TablesWriter<'a> {
    record: TablesRecord,
    texts: HashMap<&'a str, u32>,
    traces: BTreeMap<TraceId, u32>,
    spans: BTreeMap<SpanId, u32>,
    time_ns: u64,
}

impl<'a> TablesWriter<'a> {
    /// Number of a text that is always there; 0 for the empty one.
    pub(super) fn text(&mut self, text: &'a str) -> u32 {
        if text.is_empty() {
            0
        } else {
            self.some_text(text)
        }
    }

    /// Number of a text that may be absent; 0 when it is.
    pub(super) fn optional(&mut self, text: Option<&'a Text>) -> u32 {
        text.map_or(0, |text| self.some_text(text))
    }

    fn some_text(&mut self, text: &'a str) -> u32 {
        let texts = &mut self.record.texts;
        *self.texts.entry(text).or_insert_with(|| {
            texts.push(text.to_owned());
            texts.len() as u32
        })
    }

    /// Number of a trace.
    pub(super) fn trace(&mut self, trace: TraceId) -> u32 {
        if trace == TraceId::default() {
            return 0;
        }
        let traces = &mut self.record.traces;
        *self.traces.entry(trace).or_insert_with(|| {
            traces.extend_from_slice(&trace.0);
            (traces.len() / size_of::<TraceId>()) as u32
        })
    }

    /// Number of a span that is likely to be named again.
    pub(super) fn span(&mut self, span: SpanId) -> u32 {
        if !span.is_set() {
            return 0;
        }
        let spans = &mut self.record.spans;
        *self.spans.entry(span).or_insert_with(|| {
            spans.push(u64::from_be_bytes(span.0));
            spans.len() as u32
        })
    }

    /// Numbers of spans.
    pub(super) fn spans(&mut self, spans: &[SpanId]) -> Vec<u32> {
        spans.iter().map(|span| self.span(*span)).collect()
    }

    /// A time as the difference to the one before it.
    pub(super) fn time(&mut self, time_ns: u64) -> i64 {
        let difference = time_ns.wrapping_sub(self.time_ns) as i64;
        self.time_ns = time_ns;
        difference
    }

    /// The tables, to be put into the record.
    pub(super) fn finish(self) -> TablesRecord {
        self.record
    }
}

/// The tables while a record is read.
pub(super) struct TablesReader {
    texts: Vec<Text>,
    traces: Vec<TraceId>,
    spans: Vec<SpanId>,
    empty: Text,
    time_ns: u64,
}

impl TablesReader {
    pub(super) fn new(record: Option<TablesRecord>) -> Self {
        let record = record.unwrap_or_default();
        let (traces, _) = record.traces.as_chunks();
        Self {
            texts: record.texts.into_iter().map(Text::from).collect(),
            traces: traces.iter().copied().map(TraceId).collect(),
            spans: record
                .spans
                .into_iter()
                .map(|id| SpanId(id.to_be_bytes()))
                .collect(),
            empty: Text::from(""),
            time_ns: 0,
        }
    }

    pub(super) fn text(&self, number: u32) -> Result<Text, RecordError> {
        Ok(self.optional(number)?.unwrap_or_else(|| self.empty.clone()))
    }

    pub(super) fn optional(&self, number: u32) -> Result<Option<Text>, RecordError> {
        looked_up("text", &self.texts, number)
    }

    pub(super) fn trace(&self, number: u32) -> Result<TraceId, RecordError> {
        Ok(looked_up("trace", &self.traces, number)?.unwrap_or_default())
    }

    pub(super) fn span(&self, number: u32) -> Result<SpanId, RecordError> {
        Ok(looked_up("span", &self.spans, number)?.unwrap_or_default())
    }

    pub(super) fn spans<C: FromIterator<SpanId>>(&self, numbers: &[u32]) -> Result<C, RecordError> {
        numbers.iter().map(|number| self.span(*number)).collect()
    }

    pub(super) fn time(&mut self, difference: i64) -> u64 {
        self.time_ns = self.time_ns.wrapping_add(difference as u64);
        self.time_ns
    }
}

fn looked_up<T: Clone>(what: &str, table: &[T], number: u32) -> Result<Option<T>, RecordError> {
    let Some(place) = number.checked_sub(1) else {
        return Ok(None);
    };
    match table.get(place as usize) {
        Some(found) => Ok(Some(found.clone())),
        None => Err(RecordError::unknown(what, number)),
    }
}
