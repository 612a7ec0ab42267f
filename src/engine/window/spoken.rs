//! What a model call came to, put together from its reports.

use crate::engine::event::{Answer, ModelCall};

/// What a model call came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spoken {
    pub(crate) input_tokens: u64,
    pub(crate) output_tokens: u64,
    pub(crate) cost_microusd: Option<u64>,
    /// The cost was reckoned from the tokens.
    pub(crate) cost_is_estimate: bool,
    pub(crate) answer: Answer,
}

impl Spoken {
    pub(super) fn of(report: &ModelCall) -> Self {
        Self {
            input_tokens: report.input_tokens,
            output_tokens: report.output_tokens,
            cost_microusd: report.cost_microusd,
            cost_is_estimate: report.cost_is_estimate,
            answer: report.answer,
        }
    }

    pub(super) fn join(&mut self, report: &ModelCall) {
        self.input_tokens = self.input_tokens.max(report.input_tokens);
        self.output_tokens = self.output_tokens.max(report.output_tokens);
        self.join_costs(report);
        if self.answer == Answer::Unknown {
            self.answer = report.answer;
        }
    }

    /// A cost that a report states stands before one that was reckoned; of two of a kind the larger one.
    fn join_costs(&mut self, report: &ModelCall) {
        let rank = |cost: Option<u64>, is_estimate: bool| (cost.is_some() && !is_estimate, cost);
        if rank(report.cost_microusd, report.cost_is_estimate)
            > rank(self.cost_microusd, self.cost_is_estimate)
        {
            self.cost_microusd = report.cost_microusd;
            self.cost_is_estimate = report.cost_is_estimate;
        }
    }
}
