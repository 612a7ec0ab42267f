//! Tallies and warnings of a fold, as part of a saved state.

use crate::engine::fold::tally::Tally;
use crate::engine::fold::totals::Spent;
use crate::engine::guard::verdict::Answered;
use crate::engine::warning::kept::{Kept, Proof, Ring};

use super::RecordError;
use super::alert::{severity_number, severity_numbered};
use super::guard::{verdict_number, verdict_numbered};
use super::tables::{TablesReader, TablesWriter};

/// A count; numbers marked *t* and *s* are those of texts and spans in the record's tables.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct TallyRecord {
    /// *t*: the public id
    #[prost(uint32, tag = "1")]
    rule: u32,
    #[prost(fixed64, tag = "2")]
    key: u64,
    #[prost(uint32, tag = "3")]
    count: u32,
    #[prost(uint64, tag = "4")]
    number: u64,
    #[prost(uint64, tag = "5")]
    round: u64,
    #[prost(bool, tag = "6")]
    weak: bool,
    #[prost(bool, tag = "12")]
    moved: bool,
    #[prost(fixed64, repeated, tag = "7")]
    seen: Vec<u64>,
    /// *s*
    #[prost(uint32, repeated, tag = "8")]
    evidence: Vec<u32>,
    #[prost(fixed64, tag = "9")]
    first_ns: u64,
    #[prost(fixed64, tag = "10")]
    last_ns: u64,
    #[prost(message, optional, tag = "11")]
    spent: Option<SpentRecord>,
    #[prost(uint64, tag = "13")]
    longest_ns: u64,
}

/// A warning as the fold keeps it.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct KeptRecord {
    /// *t*: the public id
    #[prost(uint32, tag = "1")]
    rule: u32,
    #[prost(fixed64, tag = "2")]
    group: u64,
    #[prost(uint32, tag = "3")]
    severity: u32,
    #[prost(uint32, tag = "4")]
    penalty: u32,
    #[prost(uint64, tag = "5")]
    count: u64,
    #[prost(uint64, tag = "6")]
    before: u64,
    #[prost(bool, tag = "7")]
    open: bool,
    #[prost(uint32, tag = "8")]
    productive: u32,
    /// *t*
    #[prost(uint32, tag = "9")]
    tool: u32,
    /// *t*
    #[prost(uint32, tag = "10")]
    agent: u32,
    #[prost(fixed64, tag = "11")]
    first_ns: u64,
    #[prost(fixed64, tag = "12")]
    last_ns: u64,
    /// *s*
    #[prost(uint32, repeated, tag = "13")]
    evidence: Vec<u32>,
    #[prost(message, optional, tag = "14")]
    spent: Option<SpentRecord>,
    #[prost(fixed64, tag = "15")]
    incident: u64,
    /// 0: none
    #[prost(uint32, tag = "30")]
    verdict: u32,
    #[prost(message, optional, tag = "31")]
    ring: Option<RingRecord>,
    #[prost(bool, tag = "32")]
    verdict_observed: bool,
    #[prost(fixed64, optional, tag = "33")]
    asker: Option<u64>,
    #[prost(uint64, tag = "34")]
    longest_ns: u64,
}

/// What goes round.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct RingRecord {
    #[prost(uint32, tag = "1")]
    length: u32,
    /// *t*
    #[prost(uint32, repeated, tag = "2")]
    names: Vec<u32>,
}

/// Tokens and money.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(super) struct SpentRecord {
    #[prost(uint64, tag = "1")]
    tokens: u64,
    #[prost(uint64, tag = "2")]
    cost_microusd: u64,
}

impl TablesWriter {
    pub(super) fn kept(&mut self, kept: &Kept) -> KeptRecord {
        let Kept {
            rule,
            group,
            severity,
            penalty,
            count,
            before,
            open,
            productive,
            tool,
            agent,
            asker,
            ring,
            proof,
            incident,
            verdict,
        } = kept;
        let Proof {
            evidence,
            first_ns,
            last_ns,
            spent,
            longest_ns,
        } = proof;
        KeptRecord {
            rule: self.text(rule.name()),
            group: *group,
            severity: severity_number(*severity),
            penalty: *penalty,
            count: *count,
            before: *before,
            open: *open,
            productive: *productive,
            tool: self.optional(tool.as_ref()),
            agent: self.optional(agent.as_ref()),
            asker: *asker,
            first_ns: *first_ns,
            last_ns: *last_ns,
            evidence: self.spans(evidence),
            spent: Some(spent_record(*spent)),
            longest_ns: *longest_ns,
            incident: *incident,
            verdict: verdict_number(verdict.kind),
            verdict_observed: verdict.is_observed,
            ring: ring.as_ref().map(|ring| RingRecord {
                length: ring.length,
                names: ring.names.iter().map(|name| self.text(name)).collect(),
            }),
        }
    }

    pub(super) fn tally(&mut self, tally: &Tally) -> TallyRecord {
        let Tally {
            rule,
            key,
            count,
            number,
            round,
            weak,
            moved,
            seen,
            proof,
        } = tally;
        let Proof {
            evidence,
            first_ns,
            last_ns,
            spent,
            longest_ns,
        } = proof;
        TallyRecord {
            rule: self.text(rule.name()),
            key: *key,
            count: *count,
            number: *number,
            round: *round,
            weak: *weak,
            moved: *moved,
            seen: seen.to_vec(),
            evidence: self.spans(evidence),
            first_ns: *first_ns,
            last_ns: *last_ns,
            spent: Some(spent_record(*spent)),
            longest_ns: *longest_ns,
        }
    }
}

impl TablesReader {
    pub(super) fn kept(&self, record: &KeptRecord) -> Result<Kept, RecordError> {
        Ok(Kept {
            rule: self.rule(record.rule)?,
            group: record.group,
            severity: severity_numbered(record.severity)?,
            penalty: record.penalty,
            count: record.count,
            before: record.before,
            open: record.open,
            productive: record.productive,
            tool: self.optional(record.tool)?,
            agent: self.optional(record.agent)?,
            asker: record.asker,
            ring: record
                .ring
                .as_ref()
                .map(|ring| self.ring(ring))
                .transpose()?,
            proof: Proof {
                evidence: self.spans(&record.evidence)?,
                first_ns: record.first_ns,
                last_ns: record.last_ns,
                spent: read_spent(record.spent),
                longest_ns: record.longest_ns,
            },
            incident: record.incident,
            verdict: Answered {
                kind: verdict_numbered(record.verdict)?,
                is_observed: record.verdict_observed,
            },
        })
    }

    fn ring(&self, record: &RingRecord) -> Result<Box<Ring>, RecordError> {
        Ok(Box::new(Ring {
            length: record.length,
            names: self.texts(&record.names)?,
        }))
    }

    pub(super) fn tally(&self, record: TallyRecord) -> Result<Tally, RecordError> {
        Ok(Tally {
            rule: self.rule(record.rule)?,
            key: record.key,
            count: record.count,
            number: record.number,
            round: record.round,
            weak: record.weak,
            moved: record.moved,
            seen: record.seen.into_iter().collect(),
            proof: Proof {
                evidence: self.spans(&record.evidence)?,
                first_ns: record.first_ns,
                last_ns: record.last_ns,
                spent: read_spent(record.spent),
                longest_ns: record.longest_ns,
            },
        })
    }
}

/// What was spent, as a record.
pub(super) fn spent_record(spent: Spent) -> SpentRecord {
    let Spent {
        tokens,
        cost_microusd,
    } = spent;
    SpentRecord {
        tokens,
        cost_microusd,
    }
}

/// What was spent, from its record.
pub(super) fn read_spent(record: Option<SpentRecord>) -> Spent {
    let record = record.unwrap_or_default();
    Spent {
        tokens: record.tokens,
        cost_microusd: record.cost_microusd,
    }
}
