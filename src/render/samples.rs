//! What the tests of the pages show.

use super::text::Look;
use crate::json::{AlertJson, RunJson, WarningJson};

pub(super) const RUN: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

pub(super) fn plain(width: usize) -> Look {
    Look {
        color: false,
        width,
        cuts: true,
    }
}

fn text(text: &str) -> String {
    text.to_owned()
}

pub(super) fn warning() -> WarningJson {
    WarningJson {
        id: text("0f3a9c4be1d27786"),
        incident: text("0f3a9c4be1d27786"),
        rule: text("repeated_tool_call_exact_input"),
        severity: text("warning"),
        penalty: 25,
        count: 4,
        tool: Some(text("web_search")),
        agent: Some(text("researcher")),
        state: text("open"),
        revision: 1,
        first_seen: Some(text("2026-11-21T14:01:02.000Z")),
        last_seen: Some(text("2026-11-21T14:03:22.510Z")),
        evidence: vec![text("00f067aa0ba902b7"), text("00f067aa0ba902b8")],
        tokens: 12_440,
        cost_usd: 0.0812,
        message: String::new(),
        what_happened: text(
            "web_search was called 4 times with the same arguments and gave the same result.",
        ),
        why_it_matters: text("The same question gets the same answer."),
        verdict: None,
        verdict_observed: false,
        what_to_try: text("Give the agent the earlier result and say that it will not change."),
    }
}

pub(super) fn alert() -> AlertJson {
    AlertJson {
        cursor: 1,
        at: Some(text("2026-11-21T14:03:22.600Z")),
        change: text("raised"),
        tenant: None,
        run_id: text(RUN),
        service: Some(text("research-bot")),
        score: 75,
        warning: warning(),
    }
}

pub(super) fn run() -> RunJson {
    RunJson {
        run_id: text(RUN),
        session_id: Some(text("conv-8812")),
        service: Some(text("research-bot")),
        agents: vec![text("researcher"), text("writer")],
        work: Vec::new(),
        status: text("likely_stuck"),
        score: 45,
        lowest_score: 40,
        tool_calls: 34,
        skipped_calls: 2,
        saved_tokens_estimate: 0,
        saved_cost_usd_estimate: 0.0,
        model_calls: 51,
        tokens: 120_440,
        cost_usd: 0.4123,
        unpriced_models: Vec::new(),
        ended: text("open"),
        first_seen: Some(text("2026-11-21T14:01:02.000Z")),
        last_seen: Some(text("2026-11-21T14:03:22.510Z")),
        warnings: vec![warning()],
        notes: vec![text("Results were not recorded.")],
        late_events: 0,
    }
}
