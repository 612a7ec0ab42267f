//! Turns in the journal. A journal record is a group of them: the cursor of the group's first alert, then the turns.
//!
//! A turn is a row of messages, each behind its length: the head with the tables and the keys, and then every entry with its
//! events behind it. The head says how long the rest is, so that a look at the keys can pass over it. One message around all
//! would be nicer to look at, but prost would measure each event once for every level around it, and this is what every event
//! passes.

use prost::Message;

use crate::engine::Service;
use crate::engine::event::{Text, TraceId};
use crate::engine::run::first_start_ns;
use crate::store::turn::{Entry, IndexKey, Keys, NewAlert, Replayed, Turn};

use super::RecordError;
use super::alert::{decode_alert, encode_alert};
use super::event::EventRecord;
use super::tables::{TablesReader, TablesRecord, TablesWriter};
use super::wire;

/// Length of the cursor before the turns.
const GROUP_HEAD_BYTES: usize = 8;

#[derive(Clone, PartialEq, prost::Message)]
struct TurnRecord {
    // The number 1 is taken by a field of older records.
    #[prost(uint64, tag = "2")]
    at_ms: u64,
    #[prost(fixed64, tag = "3")]
    policy: u64,
    /// Written last, when they are known.
    #[prost(message, optional, tag = "4")]
    tables: Option<TablesRecord>,
    /// How many entries follow.
    #[prost(uint32, tag = "5")]
    entries: u32,
    /// How many bytes they take with their events.
    #[prost(uint64, tag = "6")]
    entries_bytes: u64,
    #[prost(message, repeated, tag = "7")]
    new_runs: Vec<IndexRecord>,
    #[prost(message, repeated, tag = "8")]
    aliases: Vec<AliasRecord>,
    #[prost(message, repeated, tag = "9")]
    removed: Vec<IndexRecord>,
    #[prost(bytes = "vec", repeated, tag = "10")]
    alerts: Vec<Vec<u8>>,
    #[prost(message, repeated, tag = "11")]
    unlisted: Vec<IndexRecord>,
    /// The policy itself, in a record that says nothing else.
    #[prost(string, optional, tag = "12")]
    policy_json: Option<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct IndexRecord {
    #[prost(uint64, tag = "1")]
    created_ms: u64,
    #[prost(string, tag = "2")]
    run_id: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct AliasRecord {
    #[prost(bytes = "vec", tag = "1")]
    trace: Vec<u8>,
    #[prost(string, tag = "2")]
    run_id: String,
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
    /// When the first of what the service reported began, where that is not the first of the events.
    #[prost(fixed64, optional, tag = "6")]
    service_ns: Option<u64>,
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

/// What stands before the turns of a group.
pub(crate) fn group_head(first_cursor: u64) -> [u8; GROUP_HEAD_BYTES] {
    first_cursor.to_le_bytes()
}

/// A policy in a group, which stands before the turns that name it. To earlier builds it is a turn that tells nothing.
pub(crate) fn encode_policy(hash: u64, json: String) -> Vec<u8> {
    let record = TurnRecord {
        policy: hash,
        policy_json: Some(json),
        ..TurnRecord::default()
    };
    record.encode_length_delimited_to_vec()
}

/// Writes turns. Kept from one turn to the next, so that the memory for a record is there: what is fresh from the system is
/// dearer than what is written to it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TurnWriter {
    tables: TablesWriter,
    /// The head, but for the texts.
    head: Vec<u8>,
    entries: u32,
    rows: Vec<u8>,
}

impl TurnWriter {
    /// Forgets the turn before.
    pub(crate) fn begin(&mut self) {
        self.tables.clear();
        self.entries = 0;
        self.rows.clear();
    }

    /// Writes an entry of a turn behind those before it.
    pub(crate) fn add(&mut self, turn_ms: u64, entry: &Entry) {
        let kind = Some(entry_kind(&mut self.tables, turn_ms, entry));
        let written = EntryRecord { kind }.encode_length_delimited(&mut self.rows);
        written.expect("a vector has room for every message");
        if let Entry::Reports { events, .. } = entry {
            for event in events {
                self.tables.event(event, &mut self.rows);
            }
        }
        self.entries += 1;
    }

    /// Writes the rest of a turn. Answers what the database is to hold of it.
    pub(crate) fn finish(&mut self, turn: Turn) -> Keys {
        for entry in &turn.entries {
            self.add(turn.at_ms, entry);
        }
        let head = TurnRecord {
            at_ms: turn.at_ms,
            policy: turn.policy,
            tables: None,
            entries: self.entries,
            entries_bytes: self.rows.len() as u64,
            new_runs: turn.new_runs.iter().map(index_record).collect(),
            aliases: turn.aliases.iter().map(alias_record).collect(),
            removed: turn.removed.iter().map(index_record).collect(),
            unlisted: turn.unlisted.iter().map(index_record).collect(),
            alerts: turn.alerts.iter().map(encode_alert).collect(),
            policy_json: None,
        };
        // The texts are the head's last field, and by far its largest: they are left where they are.
        let mut fields = head.encode_to_vec();
        self.tables.begin(4, &mut fields);
        self.head.clear();
        let length = fields.len() + self.tables.texts().len();
        wire::varint(&mut self.head, length as u64);
        self.head.extend_from_slice(&fields);
        Keys {
            policy: turn.policy,
            new_runs: turn.new_runs,
            aliases: turn.aliases,
            removed: turn.removed,
            unlisted: turn.unlisted,
            alerts: head
                .alerts
                .into_iter()
                .zip(turn.alerts.into_iter().map(Some))
                .map(|(record, alert)| NewAlert { record, alert })
                .collect(),
        }
    }

    /// The turn that was written last, in pieces.
    pub(crate) fn record(&self) -> [&[u8]; 3] {
        [&self.head, self.tables.texts(), &self.rows]
    }

    /// Bytes that it keeps.
    pub(crate) fn capacity(&self) -> usize {
        self.head.capacity() + self.rows.capacity() + self.tables.capacity()
    }
}

fn index_record(key: &IndexKey) -> IndexRecord {
    IndexRecord {
        created_ms: key.created_ms,
        run_id: key.run_id.to_string(),
    }
}

fn alias_record((trace, run_id): &(TraceId, Text)) -> AliasRecord {
    AliasRecord {
        trace: trace.0.to_vec(),
        run_id: run_id.to_string(),
    }
}

/// What the database is to hold of a group.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct GroupKeys {
    /// Cursor of its first alert.
    pub(crate) first_cursor: u64,
    /// The keys of each turn.
    pub(crate) turns: Vec<Keys>,
    /// Policies that it holds, with their hashes.
    pub(crate) policies: Vec<(u64, String)>,
}

/// Reads what the database is to hold of a group.
pub(crate) fn decode_keys(group: &[u8]) -> Result<GroupKeys, RecordError> {
    let (first_cursor, mut bytes) = split_group(group)?;
    let (mut turns, mut policies) = (Vec::new(), Vec::new());
    while !bytes.is_empty() {
        let head = TurnRecord::decode_length_delimited(&mut bytes)?;
        if let Some(json) = head.policy_json {
            policies.push((head.policy, json));
            continue;
        }
        let entries_bytes = usize::try_from(head.entries_bytes).ok();
        let rest = entries_bytes.and_then(|length| bytes.get(length..));
        bytes = rest.ok_or_else(|| RecordError::missing("an entry"))?;
        let aliases = head.aliases.into_iter().map(read_alias);
        let alerts = head.alerts.into_iter();
        let alerts = alerts.map(|record| NewAlert {
            record,
            alert: None,
        });
        turns.push(Keys {
            policy: head.policy,
            new_runs: head.new_runs.into_iter().map(read_index).collect(),
            aliases: aliases.collect::<Result<_, _>>()?,
            removed: head.removed.into_iter().map(read_index).collect(),
            unlisted: head.unlisted.into_iter().map(read_index).collect(),
            alerts: alerts.collect(),
        });
    }
    Ok(GroupKeys {
        first_cursor,
        turns,
        policies,
    })
}

fn read_index(record: IndexRecord) -> IndexKey {
    IndexKey {
        created_ms: record.created_ms,
        run_id: record.run_id.into(),
    }
}

fn read_alias(record: AliasRecord) -> Result<(TraceId, Text), RecordError> {
    let trace = record.trace.try_into();
    let trace = trace.map_err(|_| RecordError::missing("a trace"))?;
    Ok((TraceId(trace), record.run_id.into()))
}

fn split_group(group: &[u8]) -> Result<(u64, &[u8]), RecordError> {
    let (head, turns) = group
        .split_first_chunk()
        .ok_or_else(|| RecordError::missing("a cursor"))?;
    Ok((u64::from_le_bytes(*head), turns))
}

/// All turns of a group that is the record at a position. An alert that cannot be read is none.
pub(crate) fn decode_turns(position: u64, group: &[u8]) -> Result<Vec<Replayed>, RecordError> {
    let (_, mut bytes) = split_group(group)?;
    let mut turns = Vec::new();
    while !bytes.is_empty() {
        let head = TurnRecord::decode_length_delimited(&mut bytes)?;
        if head.policy_json.is_some() {
            continue;
        }
        let mut tables = TablesReader::new(head.tables.unwrap_or_default());
        let mut entries = Vec::new();
        for _ in 0..head.entries {
            entries.push(read_entry(&mut tables, head.at_ms, &mut bytes)?);
        }
        let alerts = head.alerts.iter();
        turns.push(Replayed {
            position,
            policy: head.policy,
            entries,
            alerts: alerts
                .filter_map(|record| decode_alert(0, record).ok())
                .collect(),
        });
    }
    Ok(turns)
}

fn entry_kind(tables: &mut TablesWriter, turn_ms: u64, entry: &Entry) -> EntryKind {
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
            service: tables.optional(service.as_ref().map(|service| &service.name)),
            events: events.len() as u32,
            service_ns: service
                .as_ref()
                .map(|service| service.since_ns)
                .filter(|since_ns| *since_ns != first_start_ns(events)),
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
            EntryKind::Reports(reports) => {
                let events = (0..reports.events)
                    .map(|_| tables.event(EventRecord::decode_length_delimited(&mut *bytes)?))
                    .collect::<Result<Vec<_>, _>>()?;
                let service = tables.optional(reports.service)?;
                let since_ns = reports.service_ns;
                let since_ns = since_ns.unwrap_or_else(|| first_start_ns(&events));
                Entry::Reports {
                    run_id: tables.text(reports.run_id)?,
                    at_ms: at_ms(reports.after_ms),
                    session_id: tables.optional(reports.session_id)?,
                    service: service.map(|name| Service { since_ns, name }),
                    events,
                }
            }
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
    use crate::store::alert::Alert;

    /// The record of a turn, and its keys.
    fn encode_turn(turn: Turn) -> (Vec<u8>, Keys) {
        let mut writer = TurnWriter::default();
        let keys = writer.finish(turn);
        (writer.record().concat(), keys)
    }

    proptest! {
        /// Given any turns and policies, what a group holds comes back, in order and to the last bit.
        #[test]
        fn turns_come_back(
            turns in prop::collection::vec(samples::turn(), 0..4),
            cursor: u64,
            policies: Vec<(u64, String)>,
        ) {
            let mut writer = TurnWriter::default();
            let (records, mut keys): (Vec<_>, Vec<_>) = turns
                .iter()
                .map(|turn| {
                    writer.begin();
                    let keys = writer.finish(turn.clone());
                    (writer.record().concat(), keys)
                })
                .unzip();
            let before = policies.iter().map(|(hash, json)| encode_policy(*hash, json.clone()));
            let before: Vec<_> = before.collect();
            let group = [group_head(cursor).to_vec(), before.concat(), records.concat()].concat();
            // Alerts are handed over beside their records, and are what these say.
            for new in keys.iter_mut().flat_map(|keys| &mut keys.alerts) {
                let alert = new.alert.take().expect("it is at hand");
                prop_assert_eq!(decode_alert(alert.cursor, &new.record), Ok(alert));
            }
            let of_group = GroupKeys { first_cursor: cursor, turns: keys, policies };
            prop_assert_eq!(decode_keys(&group), Ok(of_group));
            let expected = turns.into_iter().map(|turn| Replayed {
                position: cursor,
                policy: turn.policy,
                entries: turn.entries,
                alerts: turn.alerts.into_iter().map(|alert| Alert { cursor: 0, ..alert }).collect(),
            });
            prop_assert_eq!(decode_turns(cursor, &group), Ok(expected.collect::<Vec<_>>()));
        }

        /// Given any bytes, or a group with one of them changed or the end lost, reading answers and never panics.
        #[test]
        fn reading_never_panics(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            turn in samples::turn(),
            at in any::<prop::sample::Index>(),
            byte in any::<u8>(),
        ) {
            let group = [group_head(1).to_vec(), encode_turn(turn).0].concat();
            let spoilt = samples::spoilt(&group, at, byte);
            for bytes in [bytes].iter().chain(&spoilt) {
                let _ = decode_turns(1, bytes);
                let _ = decode_keys(bytes);
            }
        }

        /// Given a group that lost its end, it is refused.
        #[test]
        fn a_torn_record_is_refused(turn in samples::turn(), cut in 1_usize..50) {
            let (record, _) = encode_turn(turn);
            let group = [group_head(1).to_vec(), record].concat();
            let torn = &group[..group.len().saturating_sub(cut).max(GROUP_HEAD_BYTES + 1)];
            prop_assert!(decode_turns(1, torn).is_err());
            prop_assert!(decode_keys(torn).is_err());
        }
    }

    /// Given a hundred tool calls of one run without samples, each takes at most 150 bytes, all told.
    #[test]
    fn a_tool_call_takes_at_most_150_bytes() {
        let turn = samples::tool_calls(100);
        let bytes = encode_turn(turn).0.len();
        assert!(bytes / 100 <= 150, "{} bytes per call", bytes / 100);
    }
}
