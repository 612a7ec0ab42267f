//! What the telemetry of a run did not show, as it is stored.

use crate::engine::fold::totals::Notes;

#[derive(Clone, Copy, PartialEq, prost::Message)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "six facts that do not depend on each other"
)]
pub(super) struct NotesRecord {
    #[prost(bool, tag = "1")]
    input_missing: bool,
    #[prost(bool, tag = "2")]
    input_redacted: bool,
    #[prost(bool, tag = "3")]
    output_missing: bool,
    #[prost(bool, tag = "4")]
    warnings_full: bool,
    #[prost(bool, tag = "5")]
    absorbed: bool,
    #[prost(bool, tag = "6")]
    begun_anew: bool,
}

pub(super) fn notes_record(notes: Notes) -> NotesRecord {
    let Notes {
        input_missing,
        input_redacted,
        output_missing,
        warnings_full,
        absorbed,
        begun_anew,
    } = notes;
    NotesRecord {
        input_missing,
        input_redacted,
        output_missing,
        warnings_full,
        absorbed,
        begun_anew,
    }
}

pub(super) fn read_notes(record: NotesRecord) -> Notes {
    Notes {
        input_missing: record.input_missing,
        input_redacted: record.input_redacted,
        output_missing: record.output_missing,
        warnings_full: record.warnings_full,
        absorbed: record.absorbed,
        begun_anew: record.begun_anew,
    }
}
