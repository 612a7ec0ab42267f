//! What has left a run's window, as part of its saved state.

use crate::engine::control::{Control, Working};
use crate::engine::event::{SpanId, TraceId};
use crate::engine::fold::{CallMark, Fold, Notes, Outcome, Spent, Totals};
use crate::engine::kept::Kept;
use crate::engine::tally::{Tallies, Tally};
use crate::engine::warning::Rule;

use super::RecordError;
use super::alert::{severity_number, severity_numbered};
use super::tables::{TablesReader, TablesWriter};

/// A fold; numbers marked *t*, *c* and *s* are those of texts, traces and spans in the record's tables.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct FoldRecord {
    #[prost(message, optional, tag = "1")]
    totals: Option<TotalsRecord>,
    /// *t*
    #[prost(uint32, repeated, tag = "2")]
    agents: Vec<u32>,
    #[prost(message, repeated, tag = "3")]
    recent: Vec<CallMarkRecord>,
    #[prost(fixed64, repeated, tag = "4")]
    results: Vec<u64>,
    #[prost(message, repeated, tag = "5")]
    tallies: Vec<TallyRecord>,
    #[prost(message, repeated, tag = "6")]
    warnings: Vec<KeptRecord>,
    #[prost(message, optional, tag = "7")]
    control: Option<ControlRecord>,
    #[prost(message, optional, tag = "8")]
    notes: Option<NotesRecord>,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
struct TotalsRecord {
    #[prost(uint64, tag = "1")]
    tool_calls: u64,
    #[prost(uint64, tag = "2")]
    model_calls: u64,
    #[prost(uint64, tag = "3")]
    tokens: u64,
    #[prost(uint64, tag = "4")]
    cost_microusd: u64,
    #[prost(uint64, tag = "5")]
    asked: u64,
    #[prost(fixed64, tag = "6")]
    first_ns: u64,
    #[prost(fixed64, tag = "7")]
    last_ns: u64,
    #[prost(uint64, tag = "8")]
    round: u64,
    #[prost(uint32, tag = "9")]
    asked_pending: u32,
    #[prost(fixed64, tag = "10")]
    call_end_ns: u64,
    #[prost(uint64, tag = "11")]
    write_at: u64,
    #[prost(message, optional, tag = "12")]
    unspent: Option<SpentRecord>,
    #[prost(bool, tag = "13")]
    root_seen: bool,
    #[prost(bool, tag = "14")]
    failed: bool,
    #[prost(uint32, tag = "15")]
    worst: u32,
    /// *c*
    #[prost(uint32, tag = "16")]
    end_trace: u32,
    #[prost(bool, tag = "17")]
    model_spoke: bool,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
struct SpentRecord {
    #[prost(uint64, tag = "1")]
    tokens: u64,
    #[prost(uint64, tag = "2")]
    cost_microusd: u64,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "five facts that do not depend on each other"
)]
struct NotesRecord {
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
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
struct CallMarkRecord {
    /// *t*
    #[prost(uint32, tag = "1")]
    tool: u32,
    #[prost(fixed64, optional, tag = "2")]
    key: Option<u64>,
    /// *t*
    #[prost(uint32, tag = "3")]
    sample: u32,
    #[prost(uint32, tag = "4")]
    input_bytes: u32,
    #[prost(fixed64, tag = "5")]
    group: u64,
    /// *s*
    #[prost(uint32, tag = "6")]
    span: u32,
    #[prost(fixed64, tag = "7")]
    start_ns: u64,
    #[prost(uint32, tag = "8")]
    outcome: u32,
    #[prost(bool, tag = "9")]
    hands_off: bool,
    #[prost(fixed64, optional, tag = "10")]
    result: Option<u64>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct TallyRecord {
    /// *t*: the public id
    #[prost(uint32, tag = "1")]
    rule: u32,
    #[prost(fixed64, tag = "2")]
    key: u64,
    #[prost(uint64, tag = "3")]
    count: u64,
    #[prost(uint64, tag = "4")]
    number: u64,
    #[prost(uint64, tag = "5")]
    round: u64,
    #[prost(bool, tag = "6")]
    weak: bool,
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
}

#[derive(Clone, PartialEq, prost::Message)]
struct ControlRecord {
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
    /// *s*
    #[prost(uint32, repeated, tag = "7")]
    evidence: Vec<u32>,
    #[prost(fixed64, tag = "8")]
    first_ns: u64,
    #[prost(fixed64, tag = "9")]
    last_ns: u64,
    #[prost(bool, tag = "10")]
    giver_said: bool,
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

impl<'a> TablesWriter<'a> {
    pub(super) fn fold(&mut self, fold: &'a Fold) -> FoldRecord {
        let Fold {
            totals,
            agents,
            recent,
            results,
            tallies: Tallies(tallies),
            warnings,
            control,
            notes,
        } = fold;
        FoldRecord {
            totals: Some(totals_record(totals, self.trace(totals.end_trace))),
            agents: agents.iter().map(|agent| self.text(agent)).collect(),
            recent: recent.iter().map(|mark| self.call_mark(mark)).collect(),
            results: results.clone(),
            tallies: tallies.iter().map(|tally| self.tally(tally)).collect(),
            warnings: warnings.iter().map(|kept| self.kept(kept)).collect(),
            control: Some(self.control(control)),
            notes: Some(notes_record(*notes)),
        }
    }

    pub(super) fn kept(&mut self, kept: &'a Kept) -> KeptRecord {
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
            first_ns,
            last_ns,
            evidence,
            spent,
        } = kept;
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
            first_ns: *first_ns,
            last_ns: *last_ns,
            evidence: self.spans(evidence),
            spent: Some(spent_record(*spent)),
        }
    }

    fn call_mark(&mut self, mark: &'a CallMark) -> CallMarkRecord {
        let CallMark {
            tool,
            key,
            sample,
            input_bytes,
            group,
            span,
            start_ns,
            outcome,
            result,
            hands_off,
        } = mark;
        CallMarkRecord {
            tool: self.text(tool),
            key: *key,
            sample: self.text(sample),
            input_bytes: *input_bytes,
            group: *group,
            span: self.span(*span),
            start_ns: *start_ns,
            outcome: outcome_number(*outcome),
            hands_off: *hands_off,
            result: *result,
        }
    }

    fn tally(&mut self, tally: &'a Tally) -> TallyRecord {
        let Tally {
            rule,
            key,
            count,
            number,
            round,
            weak,
            seen,
            evidence,
            first_ns,
            last_ns,
            spent,
        } = tally;
        TallyRecord {
            rule: self.text(rule.name()),
            key: *key,
            count: *count,
            number: *number,
            round: *round,
            weak: *weak,
            seen: seen.clone(),
            evidence: self.spans(evidence),
            first_ns: *first_ns,
            last_ns: *last_ns,
            spent: Some(spent_record(*spent)),
        }
    }

    fn control(&mut self, control: &'a Control) -> ControlRecord {
        let Control {
            stack,
            explicit,
            holder,
            last,
            bounces,
            giver_said,
            weak,
            evidence,
            first_ns,
            last_ns,
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
            evidence: self.spans(evidence),
            first_ns: *first_ns,
            last_ns: *last_ns,
            giver_said: *giver_said,
        }
    }

    fn spans(&mut self, spans: &[SpanId]) -> Vec<u32> {
        spans.iter().map(|span| self.span(*span)).collect()
    }
}

impl TablesReader {
    pub(super) fn fold(&self, record: FoldRecord) -> Result<Fold, RecordError> {
        let totals = record.totals.unwrap_or_default();
        Ok(Fold {
            totals: read_totals(&totals, self.trace(totals.end_trace)?),
            agents: record
                .agents
                .iter()
                .map(|agent| self.text(*agent))
                .collect::<Result<_, _>>()?,
            recent: record
                .recent
                .iter()
                .map(|mark| self.call_mark(mark))
                .collect::<Result<_, _>>()?,
            results: record.results,
            tallies: Tallies(
                record
                    .tallies
                    .into_iter()
                    .map(|tally| self.tally(tally))
                    .collect::<Result<_, _>>()?,
            ),
            warnings: record
                .warnings
                .into_iter()
                .map(|kept| self.kept(kept))
                .collect::<Result<_, _>>()?,
            control: self.control(&record.control.unwrap_or_default())?,
            notes: read_notes(&record.notes.unwrap_or_default()),
        })
    }

    pub(super) fn kept(&self, record: KeptRecord) -> Result<Kept, RecordError> {
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
            first_ns: record.first_ns,
            last_ns: record.last_ns,
            evidence: self.spans(&record.evidence)?,
            spent: read_spent(record.spent),
        })
    }

    fn call_mark(&self, record: &CallMarkRecord) -> Result<CallMark, RecordError> {
        Ok(CallMark {
            tool: self.text(record.tool)?,
            key: record.key,
            sample: self.text(record.sample)?,
            input_bytes: record.input_bytes,
            group: record.group,
            span: self.span(record.span)?,
            start_ns: record.start_ns,
            outcome: outcome_numbered(record.outcome)?,
            result: record.result,
            hands_off: record.hands_off,
        })
    }

    fn tally(&self, record: TallyRecord) -> Result<Tally, RecordError> {
        Ok(Tally {
            rule: self.rule(record.rule)?,
            key: record.key,
            count: record.count,
            number: record.number,
            round: record.round,
            weak: record.weak,
            seen: record.seen,
            evidence: self.spans(&record.evidence)?,
            first_ns: record.first_ns,
            last_ns: record.last_ns,
            spent: read_spent(record.spent),
        })
    }

    fn control(&self, record: &ControlRecord) -> Result<Control, RecordError> {
        let working = |working: &WorkingRecord| {
            Ok::<_, RecordError>(Working {
                agent: self.text(working.agent)?,
                end_ns: working.end_ns,
            })
        };
        let pair = |pair: PairRecord| {
            Ok::<_, RecordError>((self.text(pair.giver)?, self.text(pair.receiver)?))
        };
        Ok(Control {
            stack: record.stack.iter().map(working).collect::<Result<_, _>>()?,
            explicit: record.explicit,
            holder: self.optional(record.holder)?,
            last: record.last.map(pair).transpose()?,
            bounces: record.bounces,
            giver_said: record.giver_said,
            weak: record.weak,
            evidence: self.spans(&record.evidence)?,
            first_ns: record.first_ns,
            last_ns: record.last_ns,
        })
    }

    fn rule(&self, number: u32) -> Result<Rule, RecordError> {
        let name = self.text(number)?;
        Rule::named(&name).ok_or_else(|| RecordError::unknown("rule", name))
    }

    fn spans(&self, numbers: &[u32]) -> Result<Vec<SpanId>, RecordError> {
        numbers.iter().map(|number| self.span(*number)).collect()
    }
}

fn totals_record(totals: &Totals, end_trace: u32) -> TotalsRecord {
    let Totals {
        tool_calls,
        model_calls,
        tokens,
        cost_microusd,
        asked,
        first_ns,
        last_ns,
        round,
        asked_pending,
        model_spoke,
        call_end_ns,
        write_at,
        unspent,
        root_seen,
        end_trace: _,
        failed,
        worst,
    } = *totals;
    TotalsRecord {
        tool_calls,
        model_calls,
        tokens,
        cost_microusd,
        asked,
        first_ns,
        last_ns,
        round,
        asked_pending,
        model_spoke,
        call_end_ns,
        write_at,
        unspent: Some(spent_record(unspent)),
        root_seen,
        failed,
        worst,
        end_trace,
    }
}

fn read_totals(record: &TotalsRecord, end_trace: TraceId) -> Totals {
    Totals {
        tool_calls: record.tool_calls,
        model_calls: record.model_calls,
        tokens: record.tokens,
        cost_microusd: record.cost_microusd,
        asked: record.asked,
        first_ns: record.first_ns,
        last_ns: record.last_ns,
        round: record.round,
        asked_pending: record.asked_pending,
        model_spoke: record.model_spoke,
        call_end_ns: record.call_end_ns,
        write_at: record.write_at,
        unspent: read_spent(record.unspent),
        root_seen: record.root_seen,
        end_trace,
        failed: record.failed,
        worst: record.worst,
    }
}

fn spent_record(spent: Spent) -> SpentRecord {
    let Spent {
        tokens,
        cost_microusd,
    } = spent;
    SpentRecord {
        tokens,
        cost_microusd,
    }
}

fn read_spent(record: Option<SpentRecord>) -> Spent {
    let record = record.unwrap_or_default();
    Spent {
        tokens: record.tokens,
        cost_microusd: record.cost_microusd,
    }
}

fn notes_record(notes: Notes) -> NotesRecord {
    let Notes {
        input_missing,
        input_redacted,
        output_missing,
        warnings_full,
        absorbed,
    } = notes;
    NotesRecord {
        input_missing,
        input_redacted,
        output_missing,
        warnings_full,
        absorbed,
    }
}

fn read_notes(record: &NotesRecord) -> Notes {
    Notes {
        input_missing: record.input_missing,
        input_redacted: record.input_redacted,
        output_missing: record.output_missing,
        warnings_full: record.warnings_full,
        absorbed: record.absorbed,
    }
}

fn outcome_number(outcome: Outcome) -> u32 {
    match outcome {
        Outcome::Unknown => 0,
        Outcome::Fresh => 1,
        Outcome::Stale => 2,
        Outcome::Empty => 3,
        Outcome::Failed => 4,
    }
}

fn outcome_numbered(number: u32) -> Result<Outcome, RecordError> {
    match number {
        0 => Ok(Outcome::Unknown),
        1 => Ok(Outcome::Fresh),
        2 => Ok(Outcome::Stale),
        3 => Ok(Outcome::Empty),
        4 => Ok(Outcome::Failed),
        _ => Err(RecordError::unknown("outcome", number)),
    }
}
