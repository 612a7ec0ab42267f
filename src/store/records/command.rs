//! What a tool and a shell command do, as numbers of an event's record.

use crate::engine::event::{Command, Manner};

use super::RecordError;

pub(super) fn manner_number(manner: Manner) -> u32 {
    match manner {
        Manner::Unknown => 0,
        Manner::Writes => 1,
        Manner::Looks => 2,
    }
}

pub(super) fn manner_numbered(number: u32) -> Result<Manner, RecordError> {
    match number {
        0 => Ok(Manner::Unknown),
        1 => Ok(Manner::Writes),
        2 => Ok(Manner::Looks),
        _ => Err(RecordError::unknown("manner", number)),
    }
}

pub(super) fn command_number(command: Option<Command>) -> u32 {
    match command {
        None => 0,
        Some(Command::Other) => 1,
        Some(Command::ReadsFile) => 2,
        Some(Command::WritesFile) => 3,
        Some(Command::EditsFile) => 4,
        Some(Command::RunsTests) => 5,
    }
}

pub(super) fn command_numbered(number: u32) -> Result<Option<Command>, RecordError> {
    match number {
        0 => Ok(None),
        1 => Ok(Some(Command::Other)),
        2 => Ok(Some(Command::ReadsFile)),
        3 => Ok(Some(Command::WritesFile)),
        4 => Ok(Some(Command::EditsFile)),
        5 => Ok(Some(Command::RunsTests)),
        _ => Err(RecordError::unknown("command", number)),
    }
}
