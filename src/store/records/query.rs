//! Queries of search tools that a run remembers, as part of its saved state.

use crate::engine::fold::marks::QueryMark;

use super::RecordError;
use super::tables::{TablesReader, TablesWriter};

/// A query. Numbers marked *t* are those of texts in the record's tables.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(super) struct QueryMarkRecord {
    #[prost(fixed64, tag = "1")]
    tool: u64,
    #[prost(fixed64, tag = "2")]
    key: u64,
    #[prost(uint64, tag = "3")]
    number: u64,
    #[prost(uint64, tag = "4")]
    round: u64,
    #[prost(fixed64, tag = "5")]
    group: u64,
    /// *t*
    #[prost(uint32, tag = "6")]
    query: u32,
}

impl TablesWriter {
    pub(super) fn query_mark(&mut self, mark: &QueryMark) -> QueryMarkRecord {
        let QueryMark {
            tool,
            key,
            number,
            round,
            group,
            query,
        } = mark;
        QueryMarkRecord {
            tool: *tool,
            key: *key,
            number: *number,
            round: *round,
            group: *group,
            query: self.text(query),
        }
    }
}

impl TablesReader {
    pub(super) fn query_mark(&self, record: &QueryMarkRecord) -> Result<QueryMark, RecordError> {
        Ok(QueryMark {
            tool: record.tool,
            key: record.key,
            number: record.number,
            round: record.round,
            group: record.group,
            query: self.text(record.query)?,
        })
    }
}
