//! Who has control in a run, as part of its saved state.

use crate::engine::fold::control::{Control, Hop, Working};

use super::RecordError;
use super::tables::{TablesReader, TablesWriter};

/// The state of control; numbers marked *t* and *s* are those of texts and spans in the record's tables.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ControlRecord {
    #[prost(message, repeated, tag = "1")]
    stack: Vec<WorkingRecord>,
    #[prost(bool, tag = "2")]
    explicit: bool,
    /// *t*
    #[prost(uint32, tag = "3")]
    holder: u32,
    #[prost(message, optional, tag = "4")]
    last: Option<PairRecord>,
    #[prost(uint64, tag = "5")]
    bounces: u64,
    #[prost(bool, tag = "6")]
    weak: bool,
    #[prost(fixed64, tag = "9")]
    last_ns: u64,
    #[prost(bool, tag = "10")]
    giver_said: bool,
    #[prost(message, repeated, tag = "12")]
    trail: Vec<HopRecord>,
    #[prost(uint64, repeated, tag = "13")]
    again: Vec<u64>,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
struct HopRecord {
    #[prost(fixed64, tag = "1")]
    to: u64,
    /// *s*
    #[prost(uint32, tag = "2")]
    span: u32,
    #[prost(fixed64, tag = "3")]
    at_ns: u64,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
struct WorkingRecord {
    /// *t*
    #[prost(uint32, tag = "1")]
    agent: u32,
    #[prost(fixed64, tag = "2")]
    end_ns: u64,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
struct PairRecord {
    /// *t*
    #[prost(uint32, tag = "1")]
    giver: u32,
    /// *t*
    #[prost(uint32, tag = "2")]
    receiver: u32,
}

impl TablesWriter {
    pub(super) fn control(&mut self, control: &Control) -> ControlRecord {
        let Control {
            stack,
            explicit,
            holder,
            last,
            bounces,
            giver_said,
            weak,
            last_ns,
            trail,
            again,
        } = control;
        ControlRecord {
            stack: stack
                .iter()
                .map(|Working { agent, end_ns }| WorkingRecord {
                    agent: self.text(agent),
                    end_ns: *end_ns,
                })
                .collect(),
            explicit: *explicit,
            holder: self.optional(holder.as_ref()),
            last: last.as_ref().map(|(giver, receiver)| PairRecord {
                giver: self.text(giver),
                receiver: self.text(receiver),
            }),
            bounces: *bounces,
            weak: *weak,
            last_ns: *last_ns,
            giver_said: *giver_said,
            trail: trail
                .iter()
                .map(|Hop { to, span, at_ns }| HopRecord {
                    to: *to,
                    span: self.span(*span),
                    at_ns: *at_ns,
                })
                .collect(),
            again: again.to_vec(),
        }
    }
}

impl TablesReader {
    pub(super) fn control(&self, record: &ControlRecord) -> Result<Control, RecordError> {
        let working = |working: &WorkingRecord| {
            Ok::<_, RecordError>(Working {
                agent: self.text(working.agent)?,
                end_ns: working.end_ns,
            })
        };
        let pair = |pair: PairRecord| {
            Ok::<_, RecordError>((self.text(pair.giver)?, self.text(pair.receiver)?))
        };
        let mut again = Control::default().again;
        for (again, saved) in again.iter_mut().zip(&record.again) {
            *again = *saved;
        }
        let hop = |hop: &HopRecord| {
            Ok::<_, RecordError>(Hop {
                to: hop.to,
                span: self.span(hop.span)?,
                at_ns: hop.at_ns,
            })
        };
        Ok(Control {
            stack: record.stack.iter().map(working).collect::<Result<_, _>>()?,
            explicit: record.explicit,
            holder: self.optional(record.holder)?,
            last: record.last.map(pair).transpose()?,
            bounces: record.bounces,
            giver_said: record.giver_said,
            weak: record.weak,
            last_ns: record.last_ns,
            trail: record.trail.iter().map(hop).collect::<Result<_, _>>()?,
            again,
        })
    }
}
