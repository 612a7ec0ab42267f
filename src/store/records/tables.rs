//! What recurs within one record, written once: texts, trace ids and the ids of parent spans.
//!
//! The writer numbers them from 1 in the order in which they appear; 0 stands for the empty one. The record carries
//! the tables beside the events, and the reader looks the numbers up, so that texts which were one before are one again.

use std::hash::{BuildHasher, Hasher};

use crate::engine::event::{SpanId, Text, TraceId};
use crate::store::hashing::FastMap;

use super::RecordError;
use super::wire;

/// The tables of one record, as they are read.
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

/// The tables while a record is written. Kept for the next record, it keeps its memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct TablesWriter {
    texts: Texts,
    traces: FastMap<TraceId, u32>,
    spans: FastMap<SpanId, u32>,
    trace_bytes: Vec<u8>,
    span_bytes: Vec<u8>,
    time_ns: u64,
}

/// Texts, and the field that they are written to as they come. They are found by their hash and compared there.
#[derive(Clone, Debug, Default, PartialEq)]
struct Texts {
    places: FastMap<u64, TextPlace>,
    count: u32,
    field: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq)]
struct TextPlace {
    number: u32,
    start: usize,
    end: usize,
}

impl Texts {
    fn number(&mut self, text: &str) -> u32 {
        let hash = self.hash(text.as_bytes());
        let known = self.places.get(&hash);
        if let Some(known) = known
            && &self.field[known.start..known.end] == text.as_bytes()
        {
            return known.number;
        }
        self.count += 1;
        wire::bytes(&mut self.field, 1, text.as_bytes());
        let end = self.field.len();
        let place = TextPlace {
            number: self.count,
            start: end - text.len(),
            end,
        };
        self.places.insert(hash, place);
        self.count
    }

    /// The hash of a text, of a long one that of its ends: two that share it are told apart when they are compared.
    fn hash(&self, text: &[u8]) -> u64 {
        const END_BYTES: usize = 64;
        let mut hasher = self.places.hasher().build_hasher();
        if text.len() <= 2 * END_BYTES {
            hasher.write(text);
        } else {
            hasher.write(&text[..END_BYTES]);
            hasher.write(&text[text.len() - END_BYTES..]);
        }
        hasher.finish()
    }
}

impl TablesWriter {
    /// Number of a text that is always there; 0 for the empty one.
    pub(super) fn text(&mut self, text: &str) -> u32 {
        if text.is_empty() {
            0
        } else {
            self.texts.number(text)
        }
    }

    /// Number of a text that may be absent; 0 when it is.
    pub(super) fn optional(&mut self, text: Option<&Text>) -> u32 {
        text.map_or(0, |text| self.texts.number(text))
    }

    /// Number of a trace.
    pub(super) fn trace(&mut self, trace: TraceId) -> u32 {
        if trace == TraceId::default() {
            return 0;
        }
        let next = self.traces.len() as u32 + 1;
        let bytes = &mut self.trace_bytes;
        *self.traces.entry(trace).or_insert_with(|| {
            bytes.extend_from_slice(&trace.0);
            next
        })
    }

    /// Number of a span that is likely to be named again.
    pub(super) fn span(&mut self, span: SpanId) -> u32 {
        if !span.is_set() {
            return 0;
        }
        let next = self.spans.len() as u32 + 1;
        let bytes = &mut self.span_bytes;
        *self.spans.entry(span).or_insert_with(|| {
            bytes.extend_from_slice(&u64::from_be_bytes(span.0).to_le_bytes());
            next
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

    /// Bytes that it keeps, about.
    pub(super) fn capacity(&self) -> usize {
        self.texts.field.capacity() + self.texts.places.capacity() * size_of::<(u64, TextPlace)>()
    }

    /// Bytes that they take as a field, at most.
    pub(super) fn field_bytes_max(&self) -> usize {
        const HEADS: usize = 32;
        let [texts, traces, spans] = [&self.texts.field, &self.trace_bytes, &self.span_bytes];
        HEADS + texts.len() + traces.len() + spans.len()
    }

    /// Appends what stands before the tables where they are a field, and the smaller of them; what is missing of the field are
    /// the [texts](Self::texts), which come behind.
    pub(super) fn begin(&self, field: u32, out: &mut Vec<u8>) {
        wire::tag(out, field, 2);
        let [texts, traces, spans] = [&self.texts.field, &self.trace_bytes, &self.span_bytes];
        let length = texts.len() + wire::bytes_len(2, traces) + wire::bytes_len(3, spans);
        wire::varint(out, length as u64);
        wire::bytes(out, 2, traces);
        wire::bytes(out, 3, spans);
    }

    /// The texts as a field of a [`TablesRecord`].
    pub(super) fn texts(&self) -> &[u8] {
        &self.texts.field
    }

    /// Appends the tables as a [`TablesRecord`].
    pub(super) fn finish(&self, field: u32, out: &mut Vec<u8>) {
        self.begin(field, out);
        out.extend_from_slice(self.texts());
    }

    /// Forgets what was written, and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.texts.places.clear();
        self.texts.count = 0;
        self.texts.field.clear();
        self.traces.clear();
        self.spans.clear();
        self.trace_bytes.clear();
        self.span_bytes.clear();
        self.time_ns = 0;
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
    pub(super) fn new(record: TablesRecord) -> Self {
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

    pub(super) fn texts<C: FromIterator<Text>>(&self, numbers: &[u32]) -> Result<C, RecordError> {
        numbers.iter().map(|number| self.text(*number)).collect()
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
