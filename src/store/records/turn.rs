//! Turns in the journal. A journal record is one or more of them.
//!
//! A turn is a row of messages, each behind its length: the head with the tables, and then every entry with its events
//! behind it. One message around all would be nicer to look at, but prost would measure each event once for every
//! level around it, and this is what every event passes.

use prost::Message;

use crate::store::turn::{Entry, Turn};

use super::RecordError;
use super::event::EventRecord;
use super::tables::{TablesReader, TablesRecord, TablesWriter};

/// What a replay needs of a turn: index keys, aliases and alerts have records of their own.
#[derive(Clone, PartialEq, prost::Message)]
struct TurnRecord {
    #[prost(uint32, tag = "1")]
    shard: u32,
    #[prost(uint64, tag = "2")]
    at_ms: u64,
    #[prost(fixed64, tag = "3")]
    policy: u64,
    #[prost(message, optional, tag = "4")]
    tables: Option<TablesRecord>,
    /// How many entries follow.
    #[prost(uint32, tag = "5")]
    entries: u32,
}

#[derive(Clone, PartialEq, prost::Message)]
struct EntryRecord {
    #[prost(oneof = "EntryKind", tags = "1, 2, 3, 4")]
    kind: Option<EntryKind>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum EntryKind {
    #[prost(message, tag = "1")]
    Reports(ReportsRecord),
    #[prost(message, tag = "2")]
    Idle(IdleRecord),
    #[prost(message, tag = "3")]
    Absorb(AbsorbRecord),
    /// The run's id among the texts.
    #[prost(uint32, tag = "4")]
    Removed(u32),
}

/// Run, session and service are texts of the tables; times are differences to the turn's.
#[derive(Clone, Copy, PartialEq, prost::Message)]
struct ReportsRecord {
    #[prost(uint32, tag = "1")]
    run_id: u32,
    #[prost(sint64, tag = "2")]
    after_ms: i64,
    #[prost(uint32, tag = "3")]
    session_id: u32,
    #[prost(uint32, tag = "4")]
    service: u32,
    /// How many events follow.
    #[prost(uint32, tag = "5")]
    events: u32,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
struct IdleRecord {
    #[prost(uint32, tag = "1")]
    run_id: u32,
    #[prost(sint64, tag = "2")]
    after_ms: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
struct AbsorbRecord {
    #[prost(uint32, tag = "1")]
    into: u32,
    #[prost(uint32, tag = "2")]
    from: u32,
    #[prost(bytes = "vec", tag = "3")]
    state: Vec<u8>,
}

/// A turn as bytes.
pub(crate) fn encode_turn(turn: &Turn) -> Vec<u8> {
    let mut tables = TablesWriter::default();
    let mut rows = Vec::new();
    for entry in &turn.entries {
        let kind = Some(entry_kind(&mut tables, turn.at_ms, entry));
        append(&EntryRecord { kind }, &mut rows);
        if let Entry::Reports { events, .. } = entry {
            for event in events {
                append(&tables.event(event), &mut rows);
            }
        }
    }
    let head = TurnRecord {
        shard: turn.shard.into(),
        at_ms: turn.at_ms,
        policy: turn.policy,
        tables: Some(tables.finish()),
        entries: turn.entries.len() as u32,
    };
    let mut record = Vec::with_capacity(head.encoded_len() + 4 + rows.len());
    append(&head, &mut record);
    record.append(&mut rows);
    record
}

fn append(message: &impl Message, bytes: &mut Vec<u8>) {
    message
        .encode_length_delimited(bytes)
        .expect("a vector has room for every message");
}

/// All turns of a journal record: policy and entries of each.
pub(crate) fn decode_turns(mut bytes: &[u8]) -> Result<Vec<(u64, Vec<Entry>)>, RecordError> {
    let mut turns = Vec::new();
    while !bytes.is_empty() {
        let head = TurnRecord::decode_length_delimited(&mut bytes)?;
        let mut tables = TablesReader::new(head.tables);
        let mut entries = Vec::new();
        for _ in 0..head.entries {
            entries.push(read_entry(&mut tables, head.at_ms, &mut bytes)?);
        }
        turns.push((head.policy, entries));
    }
    Ok(turns)
}

fn entry_kind<'a>(tables: &mut TablesWriter<'a>, turn_ms: u64, entry: &'a Entry) -> EntryKind {
    match entry {
        Entry::Reports {
            run_id,
            at_ms,
            session_id,
            service,
            events,
        } => EntryKind::Reports(ReportsRecord {
            run_id: tables.text(run_id),
            after_ms: at_ms.wrapping_sub(turn_ms) as i64,
            session_id: tables.optional(session_id.as_ref()),
            service: tables.optional(service.as_ref()),
            events: events.len() as u32,
        }),
        Entry::Idle { run_id, at_ms } => EntryKind::Idle(IdleRecord {
            run_id: tables.text(run_id),
            after_ms: at_ms.wrapping_sub(turn_ms) as i64,
        }),
        Entry::Absorb { into, from, state } => EntryKind::Absorb(AbsorbRecord {
            into: tables.text(into),
            from: tables.text(from),
            state: state.clone(),
        }),
        Entry::Removed { run_id } => EntryKind::Removed(tables.text(run_id)),
    }
}

fn read_entry(
    tables: &mut TablesReader,
    turn_ms: u64,
    bytes: &mut &[u8],
) -> Result<Entry, RecordError> {
    let at_ms = |after_ms: i64| turn_ms.wrapping_add(after_ms as u64);
    let kind = EntryRecord::decode_length_delimited(&mut *bytes)?.kind;
    Ok(
        match kind.ok_or_else(|| RecordError::missing("an entry's kind"))? {
            EntryKind::Reports(reports) => Entry::Reports {
                run_id: tables.text(reports.run_id)?,
                at_ms: at_ms(reports.after_ms),
                session_id: tables.optional(reports.session_id)?,
                service: tables.optional(reports.service)?,
                events: (0..reports.events)
                    .map(|_| tables.event(EventRecord::decode_length_delimited(&mut *bytes)?))
                    .collect::<Result<_, _>>()?,
            },
            EntryKind::Idle(idle) => Entry::Idle {
                run_id: tables.text(idle.run_id)?,
                at_ms: at_ms(idle.after_ms),
            },
            EntryKind::Absorb(absorb) => Entry::Absorb {
                into: tables.text(absorb.into)?,
                from: tables.text(absorb.from)?,
                state: absorb.state,
            },
            EntryKind::Removed(run_id) => Entry::Removed {
                run_id: tables.text(run_id)?,
            },
        },
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::samples;
    use super::*;

    proptest! {
        /// Given any turns, what a record holds comes back, in order and to the last bit.
        #[test]
        fn turns_come_back(turns in prop::collection::vec(samples::turn(), 0..4)) {
            let record: Vec<u8> = turns.iter().flat_map(encode_turn).collect();
            let expected: Vec<_> = turns.into_iter().map(|turn| (turn.policy, turn.entries)).collect();
            prop_assert_eq!(decode_turns(&record), Ok(expected));
        }

        /// Given any bytes, reading answers and never panics.
        #[test]
        fn strange_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode_turns(&bytes);
        }

        /// Given a record that lost its end, it is refused.
        #[test]
        fn a_torn_record_is_refused(turn in samples::turn(), cut in 1_usize..50) {
            let record = encode_turn(&turn);
            let torn = &record[..record.len().saturating_sub(cut).max(1)];
            prop_assert!(decode_turns(torn).is_err());
        }
    }

    /// Given a hundred tool calls of one run without samples, each takes at most 150 bytes, all told.
    #[test]
    fn a_tool_call_takes_at_most_150_bytes() {
        let turn = samples::tool_calls(100);
        let bytes = encode_turn(&turn).len();
        assert!(bytes / 100 <= 150, "{} bytes per call", bytes / 100);
    }
}
