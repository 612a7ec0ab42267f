//! The guard's part in an event, and what it said to a run.

use crate::engine::event::{Guarded, Nudge, Part};
use crate::engine::fold::notices::Notice;
use crate::engine::guard::verdict::{Answered, VerdictKind};
use crate::engine::warning::Rule;

use super::RecordError;
use super::tables::{TablesReader, TablesWriter};
use super::wire;

/// The guard's part in a call; numbers marked *t* are those of texts in the record's tables.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(super) struct GuardedRecord {
    #[prost(fixed64, tag = "1")]
    asked: u64,
    /// 0: asked, 1: skipped, 2: result, 3: aborted; windows have other numbers for these (`engine::window::packed`)
    #[prost(uint32, tag = "2")]
    part: u32,
    /// *t*: the rule's public id, where the call was refused
    #[prost(uint32, tag = "3")]
    rule: u32,
    #[prost(fixed64, tag = "4")]
    round: u64,
    #[prost(fixed64, tag = "5")]
    turn: u64,
}

/// A message that the guard gave.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(super) struct NudgeRecord {
    /// *t*: the rule's public id
    #[prost(uint32, tag = "1")]
    rule: u32,
    #[prost(fixed64, tag = "2")]
    group: u64,
    #[prost(uint64, tag = "3")]
    count: u64,
    #[prost(fixed64, tag = "4")]
    worker: u64,
    /// 0: a nudge
    #[prost(uint32, tag = "5")]
    verdict: u32,
    #[prost(bool, tag = "6")]
    is_observed: bool,
}

/// What a worker was told of a warning.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(super) struct NoticeRecord {
    #[prost(fixed64, tag = "1")]
    about: u64,
    #[prost(fixed64, tag = "2")]
    worker: u64,
    #[prost(uint64, tag = "3")]
    count: u64,
    #[prost(bool, tag = "4")]
    is_observed: bool,
}

impl TablesWriter {
    /// The bytes of a [`GuardedRecord`].
    pub(super) fn guarded(&mut self, guarded: &Guarded, out: &mut Vec<u8>) {
        let (part, rule) = match guarded.part {
            Part::Question => (0, None),
            Part::Skipped(rule) => (1, Some(rule)),
            Part::Result => (2, None),
            Part::Aborted(rule) => (3, Some(rule)),
        };
        wire::fixed(out, 1, guarded.asked);
        wire::number(out, 2, part);
        if let Some(rule) = rule {
            wire::number(out, 3, self.text(rule.name()).into());
        }
        for (field, id) in [(4, guarded.round), (5, guarded.turn)] {
            if id != 0 {
                wire::fixed(out, field, id);
            }
        }
    }

    /// The bytes of a [`NudgeRecord`].
    pub(super) fn nudge(&mut self, nudge: &Nudge, out: &mut Vec<u8>) {
        wire::number(out, 1, self.text(nudge.rule.name()).into());
        wire::fixed(out, 2, nudge.group);
        wire::number(out, 3, nudge.count);
        wire::fixed(out, 4, nudge.worker);
        let Answered { kind, is_observed } = nudge.answered;
        if kind != VerdictKind::Nudge {
            wire::number(out, 5, verdict_number(kind).into());
        }
        if is_observed {
            wire::number(out, 6, 1);
        }
    }
}

impl TablesReader {
    pub(super) fn guarded(&self, record: &GuardedRecord) -> Result<Guarded, RecordError> {
        let part = match record.part {
            0 => Part::Question,
            1 => Part::Skipped(self.rule(record.rule)?),
            3 => Part::Aborted(self.rule(record.rule)?),
            2 => Part::Result,
            other => return Err(RecordError::unknown("part of a guarded call", other)),
        };
        Ok(Guarded {
            asked: record.asked,
            part,
            round: record.round,
            turn: record.turn,
        })
    }

    pub(super) fn nudge(&self, record: &NudgeRecord) -> Result<Nudge, RecordError> {
        Ok(Nudge {
            rule: self.rule(record.rule)?,
            group: record.group,
            count: record.count,
            worker: record.worker,
            answered: Answered {
                kind: match record.verdict {
                    0 => VerdictKind::Nudge,
                    number => verdict_numbered(number)?,
                },
                is_observed: record.is_observed,
            },
        })
    }

    pub(super) fn rule(&self, number: u32) -> Result<Rule, RecordError> {
        let name = self.text(number)?;
        Rule::named(&name).ok_or_else(|| RecordError::unknown("rule", name))
    }
}

pub(super) fn told_record(told: &Notice) -> NoticeRecord {
    let Notice {
        about,
        worker,
        count,
        is_observed,
    } = *told;
    NoticeRecord {
        about,
        worker,
        count,
        is_observed,
    }
}

pub(super) fn read_told(record: &NoticeRecord) -> Notice {
    Notice {
        about: record.about,
        worker: record.worker,
        count: record.count,
        is_observed: record.is_observed,
    }
}

pub(super) fn verdict_number(verdict: VerdictKind) -> u32 {
    match verdict {
        VerdictKind::Allow => 0,
        VerdictKind::Nudge => 1,
        VerdictKind::Skip => 2,
        VerdictKind::Abort => 3,
    }
}

pub(super) fn verdict_numbered(number: u32) -> Result<VerdictKind, RecordError> {
    match number {
        0 => Ok(VerdictKind::Allow),
        1 => Ok(VerdictKind::Nudge),
        2 => Ok(VerdictKind::Skip),
        3 => Ok(VerdictKind::Abort),
        _ => Err(RecordError::unknown("verdict", number)),
    }
}
