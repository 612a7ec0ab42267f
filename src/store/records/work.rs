//! What an agent has done in a run, as it is stored.

use crate::engine::fold::work::Work;

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(super) struct WorkRecord {
    #[prost(fixed64, tag = "1")]
    agent: u64,
    #[prost(uint64, tag = "2")]
    calls: u64,
    #[prost(uint64, tag = "3")]
    repeats: u64,
    #[prost(bool, tag = "4")]
    repeated: bool,
    #[prost(uint64, tag = "5")]
    in_vain: u64,
    #[prost(uint64, tag = "6")]
    newest: u64,
}

impl WorkRecord {
    pub(super) fn of(work: &Work) -> Self {
        let Work {
            agent,
            calls,
            repeats,
            repeated,
            in_vain,
            newest,
        } = *work;
        Self {
            agent,
            calls,
            repeats,
            repeated,
            in_vain,
            newest,
        }
    }

    pub(super) fn read(&self) -> Work {
        Work {
            agent: self.agent,
            calls: self.calls,
            repeats: self.repeats,
            repeated: self.repeated,
            in_vain: self.in_vain,
            newest: self.newest,
        }
    }
}
