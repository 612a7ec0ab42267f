//! The state of a run as it is saved.
//!
//! Every structure of the engine is taken apart here by naming all its fields, so that a new field does not compile
//! until it has a number. What is derived (`tip`) is left out.

use prost::Message;

use crate::engine::event::Text;
use crate::engine::fold::Packed;
use crate::engine::run::announce::Published;
use crate::engine::run::is_swarm;
use crate::engine::window::Window;
use crate::engine::window::place::Place;
use crate::engine::{RunState, Service};
use crate::store::turn::{IndexKey, SavedRun};

use super::RecordError;
use super::fold::FoldRecord;
use super::kept::KeptRecord;
use super::tables::{TablesReader, TablesRecord, TablesWriter};
use super::wire;

/// A saved run; its id is the key.
#[derive(Clone, PartialEq, prost::Message)]
struct SavedRecord {
    #[prost(uint64, tag = "1")]
    created_ms: u64,
    #[prost(uint64, tag = "2")]
    position: u64,
    #[prost(bytes = "vec", tag = "3")]
    state: Vec<u8>,
}

/// A state; numbers marked *t* are those of texts in the tables.
#[derive(Clone, PartialEq, prost::Message)]
struct StateRecord {
    /// Written last, when they are known.
    #[prost(message, optional, tag = "1")]
    tables: Option<TablesRecord>,
    /// *t*
    #[prost(uint32, tag = "2")]
    id: u32,
    /// *t*
    #[prost(uint32, tag = "3")]
    session_id: u32,
    /// *t*
    #[prost(uint32, tag = "4")]
    service: u32,
    #[prost(uint64, tag = "5")]
    heard_ms: u64,
    #[prost(message, optional, tag = "7")]
    base: Option<FoldRecord>,
    #[prost(message, optional, tag = "8")]
    base_until: Option<PlaceRecord>,
    #[prost(fixed64, repeated, tag = "9")]
    recent_ids: Vec<u64>,
    #[prost(fixed64, repeated, tag = "10")]
    folded_calls: Vec<u64>,
    #[prost(fixed64, repeated, tag = "11")]
    absorbed: Vec<u64>,
    #[prost(message, repeated, tag = "12")]
    published: Vec<PublishedRecord>,
    // The numbers 6, 14 and 16 are taken by fields of older records.
    #[prost(bool, tag = "13")]
    closed: bool,
    #[prost(uint64, tag = "15")]
    late: u64,
    /// The window in the engine's own form (`engine::window::packed`).
    #[prost(bytes = "vec", tag = "17")]
    window: Vec<u8>,
    #[prost(uint32, tag = "18")]
    older: u32,
    #[prost(fixed64, tag = "19")]
    service_ns: u64,
    #[prost(uint32, tag = "20")]
    forgotten_revision: u32,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
struct PlaceRecord {
    #[prost(fixed64, tag = "1")]
    at_ns: u64,
    #[prost(uint32, tag = "2")]
    class: u32,
    #[prost(fixed64, tag = "3")]
    then_ns: u64,
    #[prost(fixed64, tag = "4")]
    id: u64,
}

#[derive(Clone, PartialEq, prost::Message)]
struct PublishedRecord {
    #[prost(fixed64, tag = "1")]
    id: u64,
    #[prost(uint32, tag = "2")]
    revision: u32,
    // The numbers 3 to 5 are taken by fields of older records.
    #[prost(message, optional, tag = "6")]
    kept: Option<KeptRecord>,
}

/// A saved run as bytes.
pub(crate) fn encode_saved(run: &SavedRun) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(SAVED_HEAD_BYTES_MAX + run.state.len());
    // As `SavedRecord` has it.
    wire::number(&mut bytes, 1, run.key.created_ms);
    wire::number(&mut bytes, 2, run.position);
    wire::bytes(&mut bytes, 3, &run.state);
    bytes
}

/// More than stands before the state of a saved run.
const SAVED_HEAD_BYTES_MAX: usize = 32;

/// The saved run back from its bytes and its id.
pub(crate) fn decode_saved(run_id: &str, bytes: &[u8]) -> Result<SavedRun, RecordError> {
    let record = SavedRecord::decode(bytes)?;
    Ok(SavedRun {
        key: IndexKey {
            created_ms: record.created_ms,
            run_id: Text::from(run_id),
        },
        position: record.position,
        state: record.state,
    })
}

/// A run's state as bytes.
#[must_use]
#[expect(
    clippy::missing_panics_doc,
    reason = "a vector has room for every message"
)]
pub fn encode_run(state: &RunState) -> Vec<u8> {
    let RunState {
        id,
        session_id,
        service,
        heard_ms,
        window,
        older,
        base,
        base_until,
        recent_ids,
        folded_calls,
        absorbed,
        published,
        forgotten_revision,
        closed,
        late,
        tip: _,
        disturbed: _,
        near: _,
    } = state;
    let mut tables = TablesWriter::default();
    let record = StateRecord {
        tables: None,
        id: tables.text(id),
        session_id: tables.optional(session_id.as_ref()),
        service: tables.optional(service.as_ref().map(|service| &service.name)),
        service_ns: service.as_ref().map_or(0, |service| service.since_ns),
        heard_ms: *heard_ms,
        window: window.packed(),
        older: *older as u32,
        base: Some(tables.fold(&base.unpack())),
        base_until: base_until.as_ref().map(place_record),
        recent_ids: recent_ids.iter().collect(),
        folded_calls: folded_calls.iter().collect(),
        absorbed: absorbed.iter().collect(),
        published: published
            .iter()
            .map(|known| published_record(&mut tables, known))
            .collect(),
        forgotten_revision: *forgotten_revision,
        closed: *closed,
        late: *late,
    };
    let mut bytes = Vec::with_capacity(record.encoded_len() + tables.field_bytes_max());
    let written = record.encode(&mut bytes);
    written.expect("a vector has room for every message");
    tables.finish(1, &mut bytes);
    bytes
}

/// The state back from its bytes.
pub fn decode_run(bytes: &[u8]) -> Result<RunState, RecordError> {
    let record = StateRecord::decode(bytes)?;
    let tables = TablesReader::new(record.tables.unwrap_or_default());
    let base = record
        .base
        .ok_or_else(|| RecordError::missing("what left the window"))?;
    let id = tables.text(record.id)?;
    let mut base = tables.fold(base)?;
    base.is_swarm = is_swarm(&id);
    let window = Window::of_packed(&record.window);
    let window = window.ok_or_else(|| RecordError::missing("a report"))?;
    Ok(RunState {
        id,
        session_id: tables.optional(record.session_id)?,
        service: tables.optional(record.service)?.map(|name| Service {
            since_ns: record.service_ns,
            name,
        }),
        heard_ms: record.heard_ms,
        older: (record.older as usize).min(window.len()),
        window,
        base: Packed::of(&base),
        base_until: record.base_until.map(read_place),
        recent_ids: record.recent_ids.into_iter().collect(),
        folded_calls: record.folded_calls.into_iter().collect(),
        absorbed: record.absorbed.into_iter().collect(),
        published: record
            .published
            .into_iter()
            .map(|known| read_published(&tables, known))
            .collect::<Result<_, _>>()?,
        forgotten_revision: record.forgotten_revision,
        closed: record.closed,
        late: record.late,
        tip: None,
        disturbed: None,
        near: None,
    })
}

fn place_record(place: &Place) -> PlaceRecord {
    let Place {
        at_ns,
        class,
        then_ns,
        id,
    } = *place;
    PlaceRecord {
        at_ns,
        class: class.into(),
        then_ns,
        id,
    }
}

fn read_place(record: PlaceRecord) -> Place {
    Place {
        at_ns: record.at_ns,
        class: record.class as u8,
        then_ns: record.then_ns,
        id: record.id,
    }
}

fn published_record(tables: &mut TablesWriter, known: &Published) -> PublishedRecord {
    let Published { id, revision, kept } = known;
    PublishedRecord {
        id: *id,
        revision: *revision,
        kept: Some(tables.kept(kept)),
    }
}

fn read_published(
    tables: &TablesReader,
    record: PublishedRecord,
) -> Result<Published, RecordError> {
    let kept = record
        .kept
        .ok_or_else(|| RecordError::missing("an announced warning"))?;
    Ok(Published {
        id: record.id,
        revision: record.revision,
        kept: tables.kept(&kept)?,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::engine::policy::Policy;
    use crate::engine::{Input, step};

    use super::super::samples;
    use super::*;

    fn policy() -> Policy {
        let standard = include_str!("../../../config/profiles/standard.yaml");
        serde_saphyr::from_str(standard).expect("the built-in profile is valid")
    }

    /// The state of a run that was told this, in several pieces.
    fn told(inputs: &[Input]) -> RunState {
        let policy = policy();
        let mut state = RunState::new("run".into());
        for input in inputs {
            step(&mut state, input, &policy);
        }
        state
    }

    fn reports() -> impl Strategy<Value = Input> {
        (
            any::<u32>(),
            prop::collection::vec(samples::plausible_event(), 1..40),
        )
            .prop_map(|(at_ms, events)| Input::Reports {
                at_ms: at_ms.into(),
                session_id: Some("session".into()),
                service: None,
                events,
            })
    }

    fn inputs() -> impl Strategy<Value = Vec<Input>> {
        let input = prop_oneof![
            8 => reports(),
            1 => any::<u32>().prop_map(|at_ms| Input::Idle { at_ms: at_ms.into() }),
            1 => reports().prop_map(|input| Input::Absorb(Box::new(told(&[input])))),
        ];
        prop::collection::vec(input, 0..6)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Given any run, its state comes back without what is derived, and goes on as if it had never left.
        #[test]
        fn states_come_back_and_go_on(inputs in inputs(), next in reports()) {
            let mut state = told(&inputs);
            let mut read = decode_run(&encode_run(&state)).expect("a state of ours can be read");
            prop_assert_eq!(&read, &RunState { tip: None, near: None, ..state.clone() });

            let policy = policy();
            let changes = step(&mut state, &next, &policy);
            prop_assert_eq!(step(&mut read, &next, &policy), changes);
            prop_assert_eq!(read.view(&policy), state.view(&policy));
        }

        /// Given any reports, they come back from the bytes of their window as they are in it; and given such bytes with one of
        /// them changed or the end lost, reading answers and never panics.
        #[test]
        fn windows_come_back(
            events in prop::collection::vec(samples::plausible_event(), 0..20),
            at in any::<prop::sample::Index>(),
            byte in any::<u8>(),
        ) {
            let window: Window = events.into_iter().collect();
            let mut packed = window.packed();
            prop_assert_eq!(Window::of_packed(&packed), Some(window.clone()));
            if packed.is_empty() {
                return Ok(());
            }
            let at = at.index(packed.len());
            prop_assert_ne!(Window::of_packed(&packed[..at]), Some(window));
            packed[at] = byte;
            let _ = Window::of_packed(&packed);
        }

        /// Given any bytes, or a saved state with one of them changed or the end lost, reading answers and never panics.
        #[test]
        fn reading_never_panics(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            inputs in inputs(),
            at in any::<prop::sample::Index>(),
            byte in any::<u8>(),
        ) {
            let state = encode_run(&told(&inputs));
            let saved = encode_saved(&SavedRun {
                key: IndexKey { created_ms: 1, run_id: "run".into() },
                position: 1,
                state: state.clone(),
            });
            let of_state = samples::spoilt(&state, at, byte);
            let of_saved = samples::spoilt(&saved, at, byte);
            for bytes in [bytes].iter().chain(&of_state).chain(&of_saved) {
                let _ = decode_run(bytes);
                let _ = decode_saved("run", bytes).map(|saved| decode_run(&saved.state));
            }
        }
    }
}
