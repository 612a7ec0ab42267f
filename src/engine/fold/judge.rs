//! What a call brought: judged against what was seen before, once, before any rule looks at it.

use crate::engine::bounded::{holds, push_bounded};
use crate::engine::event::{Manner, Text, Value};
use crate::engine::hash::{mix, text_hash};
use crate::engine::policy::{Policy, ToolSettings};
use crate::engine::similarity::{digits_at_end, shape};
use crate::engine::tool_name;
use crate::engine::window::calls::Call;
use crate::engine::worker::worker_hash;

use super::deed::makes_again;
use super::error_gist::{gist, tells_nothing};
use super::error_stem::{error_tag, stem_of};
use super::marks::CallMark;
use super::outcome::{ACKNOWLEDGEMENT_BYTES_MAX, Outcome};
use super::question::{Relation, relation};
use super::totals::Spent;
use super::trend::Trend;
use super::waiting::Waiting;
use super::{Fold, ITEMS_SEEN_MAX};

/// A call with what is judged of it before the rules look.
#[derive(Clone, Debug)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "facts that do not depend on each other"
)]
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
    /// Hash of the agent's name; 0 where it is not known.
    pub(crate) agent: u64,
    /// Hash of the name of who acts (`worker`); 0 where nobody is named.
    pub(crate) worker: u64,
    /// Hash of what came back, error or result, volatile text masked.
    pub(crate) result: Option<u64>,
    /// The numbers in the result, and how they move.
    pub(crate) trend: Option<Box<Trend>>,
    /// Hash of what an error says besides what the arguments said.
    pub(crate) gist: Option<u64>,
    pub(crate) spent: Spent,
    /// Hash of the arguments' sample without its digits.
    pub(crate) shape: u64,
    /// The group of similar calls that it belongs to; `None` where its arguments are unknown.
    pub(crate) similar: Option<u64>,
    /// It takes the next part of what there is, as the same call before did, and got some.
    pub(crate) takes_on: bool,
    /// It lists things of which four fifths were listed before, to another question.
    pub(crate) retells: bool,
    /// It failed in a way that may pass by itself.
    pub(crate) transient: bool,
    /// It gave nothing at all, as a note-taking tool or a shell's `mkdir` does, and did not even say that there is nothing.
    pub(crate) silent: bool,
    pub(crate) waiting: Waiting,
    /// The result says that what was asked about is still under way; only where the profile knows progress.
    pub(crate) pending: bool,
    /// The same call brought something new several times lately; only where the profile knows progress.
    pub(crate) moves: bool,
    /// The result is a verdict that says no; only where the profile knows progress.
    pub(crate) denies: bool,
    /// That it failed is an answer to what it asked, which says nothing of the calls before it.
    pub(crate) answers_by_failing: bool,
    /// What the user or the profile says of the tool.
    pub(crate) settings: ToolSettings<'a>,
}

impl Judged<'_> {
    /// Whether it is neither part of a loop nor against one: waiting, or a failure that may pass.
    pub(crate) fn stands_aside(&self) -> bool {
        self.transient || self.waiting.patient
    }

    /// How many repeats more it takes to be a loop: what is still under way moves, if nobody sees it, and what moved several times
    /// may move again, and who pauses for longer may back off.
    pub(crate) fn calls_more(&self) -> u32 {
        if self.pending || self.moves || self.waiting.may_back_off {
            MOVING_CALLS_MORE
        } else {
            0
        }
    }

    /// How many repeats fewer it takes: what was waited for until no time was left was asked for before. Of a single pause that
    /// was too long, nothing was asked for in the midst.
    pub(crate) fn calls_less(&self) -> u32 {
        let waiting = &self.waiting;
        let waits_on = waiting.waited_ns > waiting.gap_ns && !waiting.patient && !self.pending;
        u32::from(waits_on)
    }

    /// Whether no rule about loops looks at it: its tool is exempt, or may poll and has time left.
    pub(crate) fn is_exempt(&self) -> bool {
        self.settings.exempt || self.waiting.polls
    }

    /// Whether it failed in a way that may pass, after a call that failed and asked for the same but for numbers, such as that
    /// of the attempt. Another address is another machine.
    pub(crate) fn tries_again(&self, before: &CallMark) -> bool {
        let same_shape = || before.tool == self.tool_hash && before.shape == self.shape;
        let tries = self.transient && self.key.is_some();
        let sample = self.call.input.sample();
        let same_question = || relation(&before.sample, sample) == Relation::Numbered;
        tries && same_shape() && before.outcome == Outcome::Failed && same_question()
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

    /// Whether it failed, and said how, so that it can be known to fail in the same way.
    pub(crate) fn fails_in_words(&self) -> bool {
        self.outcome == Outcome::Failed && !self.is_wordless()
    }

    /// Whether it failed in words, or is a verdict that says no: what was found elsewhere does not excuse that it stays so.
    pub(crate) fn stays_refused(&self) -> bool {
        self.fails_in_words() || self.denies
    }

    /// Whether tests failed of which others passed: they have run, and that is an answer.
    pub(super) fn tells_of_tests(&self) -> bool {
        let Some(failure) = self.call.error else {
            return false;
        };
        let said = &failure.text;
        let mut counts = said.match_indices(" passed").map(|(end, _)| &said[..end]);
        counts.any(|before| digits_at_end(before).bytes().any(|digit| digit != b'0'))
    }

    /// Whether the result is too short, or not known, to show by itself that nothing has changed: `ok`, a file's name.
    pub(crate) fn is_terse(&self) -> bool {
        // A verdict tells how something is.
        let is_short = |value: &Value| value.bytes <= ACKNOWLEDGEMENT_BYTES_MAX && !self.denies;
        match self.outcome {
            Outcome::Unknown => true,
            Outcome::Fresh | Outcome::Stale => self.call.output.value().is_some_and(is_short),
            Outcome::Empty => self.silent,
            Outcome::Failed => false,
        }
    }

    /// Whether it may have changed something, whatever came of it: the tool writes, or the result tells too little, and the tool's
    /// name does not say that it looks.
    pub(crate) fn may_act(&self) -> bool {
        match self.call.manner {
            Manner::Writes | Manner::Plans => true,
            Manner::Looks => false,
            Manner::Unknown => self.is_terse() && !tool_name::thinks(self.tool),
        }
    }

    /// Whether the result may say no more than that the call was done: it is short, or no longer than what was sent.
    pub(crate) fn is_acknowledged(&self) -> bool {
        let sent = self.call.input.bytes();
        self.call
            .output
            .value()
            .is_some_and(|value| value.bytes <= ACKNOWLEDGEMENT_BYTES_MAX.max(sent))
    }

    /// Whether the result says no more than that the call was done: it is shorter still, or no longer than a text that was sent.
    /// The same to other arguments is no sign that nothing new came of them.
    pub(crate) fn merely_says_done(&self) -> bool {
        let sent = self.call.input.bytes();
        let done = if sent >= SENT_TEXT_BYTES_MIN {
            sent
        } else {
            DONE_BYTES_MAX
        };
        let value = self.call.output.value();
        value.is_some_and(|value| value.bytes <= done)
    }

    /// The number of the newest call but so many before this one.
    pub(super) fn number_back(&self, back: usize) -> u64 {
        self.number.saturating_sub(back as u64 + 1)
    }

    /// What tells this call and what it brought from others; `None` where one of them is unknown.
    pub(crate) fn signature(&self) -> Option<u64> {
        Some(mix(self.key?, self.result?))
    }

    /// Whether nothing but numbers is new in the result, and they go up and down.
    pub(crate) fn jitters(&self) -> bool {
        jitters(self.trend.as_deref())
    }
}

/// What a call brought, as the fields of the same names in [`Judged`] say it.
struct Brought {
    outcome: Outcome,
    takes_on: bool,
    retells: bool,
    result: Option<u64>,
    trend: Option<Box<Trend>>,
}

/// Repeats more that are allowed to who asks for what is still under way, whose pauses may be too short to be known as such:
/// with one, growing pauses are known as such before it is a loop.
const MOVING_CALLS_MORE: u32 = 1;

/// Longest result that says nothing but that a call was done: `{"status": "success"}` with a little room.
const DONE_BYTES_MAX: u32 = 32;

/// Shortest arguments that are a text that is sent rather than a question.
const SENT_TEXT_BYTES_MIN: u32 = 128;

impl Fold {
    pub(crate) fn judge<'a>(
        &mut self,
        call: &'a Call<'a>,
        tool: &'a Text,
        policy: &'a Policy,
    ) -> Judged<'a> {
        let (round, spent) = self.totals.begin_call(call);
        let tool_hash = text_hash(tool);
        let agent = call.agent.map_or(0, |agent| text_hash(agent));
        let key = call
            .input
            .value()
            .map(|value| mix(tool_hash, value.fingerprint));
        let main = call.traits.main.map(|main| mix(tool_hash, main)).or(key);
        let brought = self.brought(call, tool_hash, key, policy);
        let sample = call.input.sample();
        let stands = brought.outcome != Outcome::Fresh && !jitters(brought.trend.as_deref());
        let says = call.output.value().filter(|_| call.error.is_none());
        let says = says.filter(|_| policy.progress_aware);
        Judged {
            call,
            tool,
            tool_hash,
            number: self.totals.tool_calls,
            round,
            outcome: brought.outcome,
            key,
            main,
            agent,
            worker: worker_hash(call.worker, call.agent),
            result: brought.result,
            trend: brought.trend,
            gist: call.error.map(|failure| gist(failure, sample)),
            spent,
            shape: shape(sample),
            similar: None,
            takes_on: brought.takes_on,
            retells: brought.retells,
            transient: call.error.is_some_and(|failure| {
                failure.transient
                    && !(policy.progress_aware
                        && self.fails_whatever_is_written(key, &failure.text, brought.result))
            }),
            silent: call
                .output
                .value()
                .is_some_and(|value| value.empty && value.bytes == 0),
            waiting: Waiting::default(),
            pending: says.is_some_and(|value| value.pending),
            moves: policy.progress_aware
                && stands
                && self.moved_lately(tool, sample, key, brought.result),
            denies: says.is_some_and(|value| value.denies && !value.pending),
            answers_by_failing: false,
            settings: policy.tools.of(tool, call.agent.map(|agent| &**agent)),
        }
    }

    /// What came back, against what came back before.
    fn brought(&self, call: &Call<'_>, tool: u64, key: Option<u64>, policy: &Policy) -> Brought {
        let newest = self.recent.of_key(key).next();
        let before = newest.and_then(|mark| mark.trend.as_deref());
        let mut trend = Trend::in_result(call, before);
        // How many tests fail after an edit is another answer, though it were more than before.
        if let Some(trend) = trend.as_mut().filter(|_| call.error.is_some()) {
            trend.jitters &=
                policy.progress_aware && newest.is_some_and(|mark| !self.acted_since(mark));
        }
        let jitters = jitters(trend.as_deref());
        let again = policy.progress_aware
            && call.error.is_none()
            && makes_again(call, trend.as_deref(), before);
        let retells = policy.progress_aware && self.retells(call, tool, key);
        let outcome = self.outcome(call, tool, key);
        let is_news = policy.progress_aware && outcome == Outcome::Fresh;
        let runs_on = || {
            self.counts_calls(key, trend.as_deref())
                || self.shows_clock(key, trend.as_deref(), call.start_ns)
        };
        let again = again || (is_news && runs_on());
        let outcome = match outcome {
            Outcome::Fresh if jitters || again || retells || thinks(call) => Outcome::Stale,
            outcome => outcome,
        };
        let (outcome, takes_on) = super::batch::taken_on(outcome, call, policy.progress_aware);
        // Where only numbers jitter, tell one thing that was made from the next, or count calls or thoughts, what stays is the
        // result.
        let counts = jitters || again || (policy.progress_aware && thinks(call));
        let frame = trend.as_ref().filter(|_| counts);
        let frame = frame.map(|trend| mix(tool, trend.frame().into()));
        let is_known = |result| self.is_known(error_tag(tool, result));
        let is_new = || policy.progress_aware && !call.result().is_some_and(is_known);
        let stem = || is_new().then(|| self.fails_again(call, key)).flatten();
        Brought {
            outcome,
            takes_on,
            retells,
            result: frame.or_else(stem).or_else(|| call.result()),
            trend,
        }
    }

    /// Whether something was done since a call, which may be what changed the answer.
    pub(super) fn acted_since(&self, mark: &CallMark) -> bool {
        let back = self.recent.behind(mark).count() as u64;
        self.totals.acted_at + back + 1 > self.totals.tool_calls
    }

    /// Whether a call lists things of which four fifths were listed before by the same tool, and asks what was not asked lately:
    /// where the same is asked again, it tells that some have come or gone.
    fn retells(&self, call: &Call<'_>, tool: u64, key: Option<u64>) -> bool {
        let items = call.output.value().map_or(&[][..], |value| &value.items);
        if items.is_empty() || call.error.is_some() || call.manner.writes() {
            return false;
        }
        let known = items
            .iter()
            .filter(|item| holds(&self.items, item_tag(tool, **item)));
        let is_asked_anew = || key.is_some() && self.recent.of_key(key).next().is_none();
        known.count() * 5 >= items.len() * 4 && is_asked_anew()
    }

    /// Whether a call failed in a way that was not seen before, such as with one failed test less.
    pub(crate) fn is_new_error(&self, judged: &Judged<'_>) -> bool {
        judged.outcome == Outcome::Failed
            && error_key(judged).is_some_and(|key| !self.is_known(key))
            && gist_key(judged).is_some_and(|key| !self.is_known(key))
    }

    /// Takes for granted that a call brings what the same call brought last, as far as that is remembered; else what the same
    /// question brought in other words, where that was nothing new.
    pub(crate) fn expect(&self, judged: &mut Judged<'_>, policy: &Policy) {
        let same_call = self.recent.of_key(judged.key).next();
        let sample = judged.call.input.sample();
        let in_vain =
            |mark: &&CallMark| judged.key.is_some() && mark.asks_in_vain(judged.tool_hash, sample);
        let reworded = || self.recent.of_tool(judged.tool_hash).find(in_vain);
        let Some(before) = same_call.or_else(reworded) else {
            return;
        };
        judged.result = before.result();
        judged.trend.clone_from(&before.trend);
        // Who waited for it then waits on.
        judged.pending = before.waited_ns > 0;
        judged.moves = policy.progress_aware
            && self.moved_lately(judged.tool, sample, judged.key, judged.result);
        judged.outcome = match before.outcome {
            Outcome::Fresh => Outcome::Stale,
            outcome => outcome,
        };
    }

    pub(crate) fn is_known(&self, result: u64) -> bool {
        self.results.contains(result)
    }

    pub(crate) fn know(&mut self, result: u64) {
        if !self.is_known(result) {
            self.results.push(result);
        }
    }

    /// Remembers what a tool gave.
    pub(crate) fn know_result(&mut self, judged: &Judged<'_>) {
        if judged.outcome == Outcome::Failed {
            let stem = judged.call.error.zip(judged.key);
            let stem = stem.and_then(|(failure, key)| stem_of(failure, key));
            for key in [error_key(judged), gist_key(judged), stem]
                .into_iter()
                .flatten()
            {
                self.know(key);
            }
        }
        if let Some(value) = judged.call.output.value() {
            self.know(mix(judged.tool_hash, value.masked));
            for item in &value.items {
                let tag = item_tag(judged.tool_hash, *item);
                if !holds(&self.items, tag) {
                    push_bounded(&mut self.items, tag, ITEMS_SEEN_MAX);
                }
            }
        }
    }
}

/// The error of a failed call among what is known of a tool.
fn error_key(judged: &Judged<'_>) -> Option<u64> {
    Some(error_tag(judged.tool_hash, judged.result?))
}

/// An item of a tool's results among those that are known.
fn item_tag(tool: u64, item: u16) -> u16 {
    tool as u16 ^ item
}

/// The gist of an error among what is known of a tool.
fn gist_key(judged: &Judged<'_>) -> Option<u64> {
    Some(mix(judged.tool_hash, mix(judged.gist?, 2)))
}

/// Whether nothing but what the agent thinks is taken: what came back is no news.
fn thinks(call: &Call<'_>) -> bool {
    call.manner == Manner::Unknown && call.tool.is_some_and(|tool| tool_name::thinks(tool))
}

fn jitters(trend: Option<&Trend>) -> bool {
    trend.is_some_and(|trend| trend.jitters)
}
