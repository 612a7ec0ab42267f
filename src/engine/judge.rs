//! What a call brought: judged against what was seen before, once, before any rule looks at it.

use super::calls::Call;
use super::event::Text;
use super::fold::{Fold, Spent, text_hash};
use super::hash::mix;
use super::marks::CallMark;
use super::policy::{Policy, ToolSettings};
use super::similarity::shape;
use super::waiting::Waiting;

/// What a call brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Something new.
    Fresh,
    /// A result that this tool gave before.
    Stale,
    /// Nothing.
    Empty,
    /// An error.
    Failed,
    /// The telemetry does not say.
    Unknown,
}

/// A call with what is judged of it before the rules look.
#[derive(Clone, Debug)]
pub(crate) struct Judged<'a> {
    pub(crate) call: &'a Call<'a>,
    pub(crate) tool: &'a Text,
    /// Hash of the tool's name.
    pub(crate) tool_hash: u64,
    /// The number of the call in the run, from 1.
    pub(crate) number: u64,
    pub(crate) round: u64,
    pub(crate) outcome: Outcome,
    /// Hash of tool and arguments; `None` where the arguments are unknown.
    pub(crate) key: Option<u64>,
    /// Hash of tool and main arguments (`Traits`); `None` where the arguments are unknown.
    pub(crate) main: Option<u64>,
    /// Hash of the worker's name, else the agent's; 0 where neither is known.
    pub(crate) worker: u64,
    /// Hash of what came back, error or result, volatile text masked.
    pub(crate) result: Option<u64>,
    pub(crate) spent: Spent,
    /// Hash of the arguments' sample without its digits.
    pub(crate) shape: u64,
    /// The group of similar calls that it belongs to; `None` where its arguments are unknown.
    pub(crate) similar: Option<u64>,
    /// It failed in a way that may pass by itself.
    pub(crate) transient: bool,
    /// It gave nothing at all, as a note-taking tool or a shell's `mkdir` does, and did not even say that there is nothing.
    pub(crate) silent: bool,
    pub(crate) waiting: Waiting,
    /// What the user or the profile says of the tool.
    pub(crate) settings: ToolSettings<'a>,
}

impl Judged<'_> {
    /// Whether it is neither part of a loop nor against one: waiting, or a failure that may pass.
    pub(crate) fn stands_aside(&self) -> bool {
        self.transient || self.waiting.patient
    }

    /// Whether no rule about loops looks at it: its tool is exempt, or may poll and has time left.
    pub(crate) fn is_exempt(&self) -> bool {
        self.settings.exempt || self.waiting.polls
    }

    /// Whether it failed and neither the error nor the output says why.
    pub(crate) fn is_wordless(&self) -> bool {
        let has_output = self
            .call
            .output
            .value()
            .is_some_and(|value| value.bytes > 0);
        self.call
            .error
            .is_some_and(|failure| tells_nothing(&failure.text))
            && !has_output
    }

    /// What tells this call and what it brought from others; `None` where one of them is unknown.
    pub(crate) fn signature(&self) -> Option<u64> {
        Some(mix(self.key?, self.result?))
    }
}

/// Longest error that may tell no more than an exit code: "Command failed with exit code 1" with a little room.
pub(super) const EXIT_CODE_BYTES_MAX: usize = 40;

/// Whether an error has no words, or tells only that a command's exit code was not zero.
fn tells_nothing(error: &str) -> bool {
    let names = ["exit", "exited", "exitcode", "exit_code"];
    let is_name = |word: &str| {
        let word = word.trim_end_matches(':');
        names.iter().any(|name| word.eq_ignore_ascii_case(name))
    };
    error.is_empty()
        || (error.len() <= EXIT_CODE_BYTES_MAX && error.split_whitespace().any(is_name))
}

impl Fold {
    pub(super) fn judge<'a>(
        &mut self,
        call: &'a Call<'a>,
        tool: &'a Text,
        policy: &'a Policy,
    ) -> Judged<'a> {
        let totals = &mut self.totals;
        let same_answer = !totals.model_spoke && totals.asked_pending > 0;
        let named = std::mem::replace(&mut totals.round_name, call.asking.round);
        let same_round = call.asking.round != 0 && call.asking.round == named;
        let together = same_answer || same_round || call.start_ns < totals.call_end_ns;
        totals.round += u64::from(!together || totals.tool_calls == 0);
        totals.model_spoke = false;
        totals.asked_pending = totals.asked_pending.saturating_sub(1);
        totals.call_end_ns = totals.call_end_ns.max(call.end_ns);
        totals.tool_calls += 1;
        let (number, round) = (totals.tool_calls, totals.round);
        let spent = std::mem::take(&mut totals.unspent);
        let tool_hash = text_hash(tool);
        let key = call
            .input
            .value()
            .map(|value| mix(tool_hash, value.fingerprint));
        let main = call.traits.main.map(|main| mix(tool_hash, main)).or(key);
        let result = result_of(call);
        let outcome = self.outcome(call, tool_hash, key);
        Judged {
            call,
            tool,
            tool_hash,
            number,
            round,
            outcome,
            key,
            main,
            worker: worker_hash(call.worker, call.agent),
            result,
            spent,
            shape: shape(call.input.value().map_or("", |value| &*value.sample)),
            similar: None,
            transient: call.error.is_some_and(|failure| failure.transient),
            silent: call
                .output
                .value()
                .is_some_and(|value| value.empty && value.bytes == 0),
            waiting: Waiting::default(),
            settings: policy.tools.of(tool, call.agent.map(|agent| &**agent)),
        }
    }

    fn outcome(&self, call: &Call<'_>, tool: u64, key: Option<u64>) -> Outcome {
        if call.error.is_some() {
            return Outcome::Failed;
        }
        let Some(value) = call.output.value() else {
            return Outcome::Unknown;
        };
        if value.empty {
            return Outcome::Empty;
        }
        let written = call.writes
            && key.is_some()
            && !self
                .recent
                .iter()
                .any(|mark| mark.key == key && mark.outcome != Outcome::Failed);
        if written || !self.is_known(mix(tool, value.masked)) {
            Outcome::Fresh
        } else {
            Outcome::Stale
        }
    }

    /// Whether a call failed in a way that was not seen before, such as with one failed test less.
    pub(super) fn is_new_error(&self, judged: &Judged<'_>) -> bool {
        judged.outcome == Outcome::Failed
            && error_key(judged).is_some_and(|key| !self.is_known(key))
    }

    /// Takes for granted that a call brings what the same call brought last, as far as that is remembered.
    pub(super) fn expect(&self, judged: &mut Judged<'_>) {
        let same_call = |mark: &&CallMark| judged.key.is_some() && mark.key == judged.key;
        let Some(before) = self.recent.iter().rev().find(same_call) else {
            return;
        };
        judged.result = before.result;
        judged.outcome = match before.outcome {
            Outcome::Fresh => Outcome::Stale,
            outcome => outcome,
        };
    }

    pub(super) fn is_known(&self, result: u64) -> bool {
        self.results.contains(result)
    }

    pub(super) fn know(&mut self, result: u64) {
        if !self.is_known(result) {
            self.results.push(result);
        }
    }

    /// Remembers what a tool gave.
    pub(super) fn know_result(&mut self, judged: &Judged<'_>) {
        if let Some(key) = error_key(judged).filter(|_| judged.outcome == Outcome::Failed) {
            self.know(key);
        }
        if let Some(value) = judged.call.output.value() {
            self.know(mix(judged.tool_hash, value.masked));
        }
    }

    /// Whether a call tells against a hand-off loop. The first answer of an agent that was handed a task tells nothing:
    /// only one that differs from an earlier one does.
    pub(super) fn brings_news(&self, judged: &Judged<'_>) -> bool {
        judged.outcome == Outcome::Fresh
            && (!judged.call.hands_off || self.is_known(judged.tool_hash))
    }
}

/// An error among what is known of a tool: apart from its results.
fn error_key(judged: &Judged<'_>) -> Option<u64> {
    Some(mix(judged.tool_hash, mix(judged.result?, 1)))
}

/// Hash of the worker's name, else the agent's; 0 where neither is known.
pub(super) fn worker_hash(worker: Option<&Text>, agent: Option<&Text>) -> u64 {
    worker.or(agent).map_or(0, |name| text_hash(name))
}

fn result_of(call: &Call<'_>) -> Option<u64> {
    let output = call.output.value().map(|value| value.masked);
    match call.error {
        Some(failure) => Some(mix(failure.masked, output.unwrap_or(1))),
        None => output,
    }
}
