//! What a shell command does, as a number of an event's record.

use crate::engine::event::Command;

use super::RecordError;

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
