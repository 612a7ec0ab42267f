//! Tells waiting from repeating: the same question again after a while, with the same answer.
//!
//! An agent that waits for a job asks again and again and gets the same answer until the job is done. What tells it from a
//! loop is time: it lets a while pass between its questions, or longer each time, or its tool is one for waiting. Waiting has
//! a budget of time, not of calls; when that is used up, the calls count like any others.

mod long_poll;
mod pace;
mod starting;

use crate::engine::event::{Failure, Manner, SECOND_NS};
use crate::engine::policy::{Patience, Policy};
use crate::engine::tool_name;

use self::long_poll::polls_long;
use self::pace::GROWN_PAUSES;
use super::error_gist::tells_nothing;
use super::judge::Judged;
use super::marks::CallMark;
use super::outcome::Outcome;
use super::question::relation;
use super::sample::quotes;
use super::{Fold, name_of};

/// Shortest pause that counts as a longer one than the pause before it: below it, pauses are how long models take.
const GROWN_PAUSE_NS: u64 = 4 * SECOND_NS;

/// What is failing has a smaller part of the time: this often it goes into that of waiting for a state.
const FAILING_SHARE: u64 = 5;

/// Longest arguments in which a `sleep` is the whole of a shell's command, and not a part of a longer one.
const SLEEP_BYTES_MAX: u32 = 48;

/// What is known of the time since the same call before.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "five facts, most of which do not depend on each other"
)]
pub(crate) struct Waiting {
    /// The longest time so far from the start of the same call to its start the next time, nanoseconds; 0 where there is none.
    pub(crate) gap_ns: u64,
    /// How long the agent has been waiting for another result by now, nanoseconds; 0 where it is not waiting.
    pub(crate) waited_ns: u64,
    /// The pauses grow markedly each time, as when a client backs off.
    pub(crate) backs_off: bool,
    /// They have done so for long enough not to have come about by chance.
    surely: bool,
    /// They may do so, which the next one will show.
    pub(crate) may_back_off: bool,
    /// It waits, and has time left.
    pub(crate) patient: bool,
    /// The settings say that its tool polls, and it has time left.
    pub(crate) polls: bool,
}

impl Waiting {
    /// Judges the time between a call and the newest one of the same arguments.
    pub(crate) fn of(fold: &mut Fold, judged: &Judged<'_>, policy: &Policy) -> Self {
        let declared = judged.settings.polling_seconds;
        let is_hunt = declared.is_none() && policy.waiting.is_some() && fold.hunts(judged);
        let fold = &*fold;
        let Some(before) = fold.asked_last(judged, policy) else {
            let polls = declared.is_some_and(|seconds| seconds > 0);
            return Self {
                polls,
                patient: polls,
                ..Self::default()
            };
        };
        let waiting = Self::since(fold, judged, before.mark);
        if let Some(budget_seconds) = declared {
            return waiting.as_declared(judged, before.mark, budget_seconds);
        }
        let Some(settings) = &policy.waiting else {
            // Where no pause is an excuse, none delays a warning.
            return Self {
                may_back_off: false,
                ..waiting
            };
        };
        if is_hunt {
            return waiting.and_has_time();
        }
        // What begins something anew does not wait for it.
        if begins_something(judged) {
            return waiting;
        }
        // Where neither was recorded, pauses are all that is known.
        if judged.result != before.mark.result() && !judged.jitters() {
            // Of two states that come and go, each was seen before.
            let comes_back = judged.outcome == Outcome::Stale;
            return if comes_back && fold.looks_in(judged, before.mark.start_ns) {
                waiting.and_has_time()
            } else {
                waiting
            };
        }
        let pauses = before.is_own || waiting.follows_pause(fold, judged, before.mark);
        // What fails in a way that does not pass by itself fails again, however long nothing is done about it. Who does not answer
        // may answer later.
        let may_rest = pauses
            && (judged.transient || !judged.fails_in_words() || starting::is_refused(judged));
        // Who looks at a gauge that moves does not wait for it to come to something.
        if fold.watches(judged, before.mark, pauses)
            || (may_rest && fold.rested(judged, before.mark.start_ns, settings))
        {
            return waiting.and_has_time();
        }
        waiting.within_budget(fold, judged, before.mark, pauses, settings)
    }

    /// What the pause since the call before says by itself.
    fn since(fold: &Fold, judged: &Judged<'_>, before: &CallMark) -> Self {
        let gap_ns = gap_ns(judged, before);
        let grown = fold.grown_pauses(judged, before.start_ns);
        // What is under way is waited for.
        let is_longest = judged.pending && before.gap_ns > 0 && gap_ns / 5 >= before.gap_ns / 4;
        let backs_off =
            (grown > 0 || is_longest) && fold.does_nothing_else(judged, before.start_ns);
        let surely = backs_off && (is_longest || grown + 1 >= GROWN_PAUSES);
        Self {
            gap_ns: gap_ns.max(before.gap_ns),
            backs_off,
            surely,
            may_back_off: backs_off && !surely && gap_ns >= GROWN_PAUSE_NS,
            ..Self::default()
        }
    }

    /// The same of a tool of which the settings say for how long it may poll.
    fn as_declared(self, judged: &Judged<'_>, before: &CallMark, budget_seconds: u64) -> Self {
        // Of a tool that is known to poll, an answer that was not recorded may well be the old one.
        let waited_ns = if judged.result == before.result() {
            before.waited_ns.saturating_add(gap_ns(judged, before))
        } else {
            0
        };
        let polls = waited_ns < budget_seconds.saturating_mul(SECOND_NS);
        Self {
            waited_ns,
            polls,
            patient: polls,
            ..self
        }
    }

    fn and_has_time(self) -> Self {
        Self {
            patient: true,
            ..self
        }
    }

    /// Whether the run paused since the call before, or pauses for longer each time.
    fn follows_pause(&self, fold: &Fold, judged: &Judged<'_>, before: &CallMark) -> bool {
        fold.totals.paused_ns > before.start_ns
            || (self.surely && gap_ns(judged, before) >= GROWN_PAUSE_NS)
    }

    /// How long the agent has waited for another result by now, and whether it has time left, if it waits.
    fn within_budget(
        mut self,
        fold: &Fold,
        judged: &Judged<'_>,
        before: &CallMark,
        pauses: bool,
        settings: &Patience,
    ) -> Self {
        let sleeps = waits(judged) || polls_long(judged, gap_ns(judged, before));
        // Of a call that is only asked about, nobody knows what it would bring.
        let is_told = judged.call.output.value().is_some();
        // Who hands the same in once more does not wait for it.
        let asks = is_told && !judged.call.manner.writes();
        let polls = asks && judged.pending && fold.keeps_pace(judged, before.start_ns, 1);
        let waits = pauses
            || polls
            || sleeps
            || sleeps_first(judged)
            || fold.has_just_waited()
            || fold.waits_for_start(judged, before.start_ns);
        if waits && fold.looks_in(judged, before.start_ns) {
            self.waited_ns = gap_ns(judged, before);
            return self.and_has_time();
        }
        if waits || judged.pending {
            // What was slept for has come, and the next is waited for; not where the answer is no once more.
            let came = sleeps && !judged.denies && fold.has_news_since(before.start_ns);
            let waited_ns = if came { 0 } else { before.waited_ns };
            self.waited_ns = waited_ns.saturating_add(gap_ns(judged, before));
        }
        if waits {
            let patience = if judged.outcome == Outcome::Failed || judged.denies {
                FAILING_SHARE
            } else {
                1
            };
            let budget_ns = settings.budget_ns() / patience;
            self.patient = self.waited_ns <= budget_ns && !fold.is_settled(judged, pauses);
        }
        self
    }
}

/// The time from the start of the call before to that of this one.
fn gap_ns(judged: &Judged<'_>, before: &CallMark) -> u64 {
    judged.call.start_ns.saturating_sub(before.start_ns)
}

/// The call since which the time counts.
struct Before<'f> {
    mark: &'f CallMark,
    /// It is the agent's own, who paused, whatever others did meanwhile.
    is_own: bool,
}

impl Fold {
    /// The newest call that asked for the same, in whatever way.
    fn asked_last(&self, judged: &Judged<'_>, policy: &Policy) -> Option<Before<'_>> {
        let settings = policy.waiting.as_ref();
        if let Some(mark) = settings.and_then(|settings| self.own_before(judged, settings)) {
            return Some(Before { mark, is_own: true });
        }
        let tried = || {
            let mut of_tool = self.recent.of_tool(judged.tool_hash);
            let is_tried = |mark: &&CallMark| judged.tries_again(mark);
            // Only what may pass is tried again.
            judged.transient.then(|| of_tool.find(is_tried)).flatten()
        };
        let known = self.recent.of_key(judged.key).next();
        let mark = known.or_else(|| self.before_sleep(judged)).or_else(tried)?;
        Some(Before {
            mark,
            is_own: false,
        })
    }

    /// The newest call of a shell, where the present one first sleeps and then brings the same again: `sleep 4; curl …` after
    /// `sleep 2; curl …`.
    fn before_sleep(&self, judged: &Judged<'_>) -> Option<&CallMark> {
        let newest = self.recent.of_tool(judged.tool_hash).next();
        let is_same = |mark: &&CallMark| judged.result.is_some() && mark.result() == judged.result;
        newest.filter(is_same).filter(|_| sleeps_first(judged))
    }

    /// The call before of an agent, among others that work, who asked for something to do, was told that there is nothing, and
    /// paused: what the others do meanwhile is no work of its own.
    fn own_before(&self, judged: &Judged<'_>, settings: &Patience) -> Option<&CallMark> {
        let is_idle = judged.outcome == Outcome::Empty && tool_name::hands_out(judged.tool);
        if !is_idle || self.work.len() < 2 {
            return None;
        }
        let newest = self.work_of(judged.agent)?.newest;
        let back = judged.number.checked_sub(newest)?.checked_sub(1)? as usize;
        let mark = self.recent.iter().rev().nth(back)?;
        let gap_ns = judged.call.start_ns.saturating_sub(mark.start_ns);
        let paused = gap_ns >= settings.pause_ns();
        (paused && mark.key() == judged.key && judged.key.is_some()).then_some(mark)
    }

    /// Whether the answer is no for the third time in a row, as that of a job that has failed, and nothing was done meanwhile that
    /// could change it. What fails may yet come of what was begun before it was first asked for, or after a pause.
    fn is_settled(&self, judged: &Judged<'_>, pauses: bool) -> bool {
        let says_why = |failure: &Failure| !tells_nothing(&failure.text);
        let fails = !judged.transient && !pauses && judged.call.error.is_some_and(says_why);
        let is_same = |mark: &&CallMark| mark.result() == judged.result;
        let before = || self.recent.of_key(judged.key);
        let (Some(first), 2) = (before().nth(1), before().take(2).filter(is_same).count()) else {
            return false;
        };
        let is_step = |mark: &&CallMark| mark.key() != judged.key && !self.only_waited(mark);
        let newest = self.recent.iter().rev().find(is_step);
        let may_come = |step: &CallMark| {
            step.is_deed() && (step.start_ns > first.start_ns || (fails && !judged.denies))
        };
        (judged.denies || fails) && !starting::is_refused(judged) && !newest.is_some_and(may_come)
    }

    /// Whether something new came since a time, or a gauge was looked at that moves.
    fn has_news_since(&self, since_ns: u64) -> bool {
        let mut since = self.since(since_ns);
        since.any(|mark| mark.jitters() || mark.outcome == Outcome::Fresh)
    }

    /// The newest calls that began after a time, the newest first.
    pub(super) fn since(&self, since_ns: u64) -> impl Iterator<Item = &CallMark> {
        let newest = self.recent.iter().rev();
        newest.take_while(move |mark| mark.start_ns > since_ns)
    }

    /// Whether the newest call did nothing but wait: what is looked at then is looked at after a while.
    fn has_just_waited(&self) -> bool {
        let newest = self.recent.back();
        newest.is_some_and(|mark| self.only_waited(mark))
    }

    /// Whether a call did nothing but wait.
    fn only_waited(&self, mark: &CallMark) -> bool {
        let by_tool = || {
            let tool = name_of(&self.tools, mark.tool);
            tool.is_some_and(|tool| tool_name::waits(tool))
        };
        does_nothing_but_wait(&mark.sample, mark.input_bytes) || by_tool()
    }

    /// Whether no call was made for half of the time that waiting may take, since the same call before: who looks in every
    /// hour begins anew each time.
    fn rested(&self, judged: &Judged<'_>, since_ns: u64, settings: &Patience) -> bool {
        let long_ns = settings.budget_ns() / 2;
        let mut later_ns = judged.call.start_ns;
        let starts = self.recent.iter().rev().map(|mark| mark.start_ns);
        starts
            .take_while(|start_ns| *start_ns >= since_ns)
            .any(|start_ns| {
                std::mem::replace(&mut later_ns, start_ns).saturating_sub(start_ns) >= long_ns
            })
    }

    /// Notes how long the run did nothing before a call of a tool or a model. Time in which one works is no pause, but for tools
    /// that wait.
    pub(crate) fn note_pause(&mut self, start_ns: u64, policy: &Policy) {
        let totals = &mut self.totals;
        // What still goes on and was not waited for is no work that fills a pause; what has ended since may have been.
        let busy_ns = match totals.call_end_ns {
            ended if ended <= start_ns => totals.busy_ns.max(ended),
            _ => totals.busy_ns,
        };
        let pause_ns = start_ns.saturating_sub(busy_ns);
        let long = |settings: &Patience| pause_ns >= settings.pause_ns();
        // A pause is one of the run, and tells whatever comes after it.
        let waiting = policy.all().find_map(|policy| policy.waiting.as_ref());
        if totals.busy_ns > 0 && waiting.is_some_and(long) {
            totals.paused_ns = start_ns;
        }
    }

    /// Notes a call of a tool with the pause before it.
    pub(crate) fn note_call(&mut self, judged: &Judged<'_>, policy: &Policy) {
        let call = judged.call;
        self.note_pause(call.start_ns, policy);
        if !waits(judged) {
            self.totals.note_end(call);
        }
    }

    /// Whether the run paused for long since the newest call of a tool.
    pub(crate) fn has_just_paused(&self) -> bool {
        let paused_ns = self.totals.paused_ns;
        let newest = self.recent.back().map_or(0, |mark| mark.start_ns);
        paused_ns > newest
    }
}

/// Whether a call asked the same tool for another thing, as who waits for several in turn does.
fn asks_for_another(mark: &CallMark, judged: &Judged<'_>) -> bool {
    let sample = judged.call.input.sample();
    mark.tool == judged.tool_hash && !relation(&mark.sample, sample).is_in_other_words()
}

/// Whether a shell's command begins with a `sleep`, whatever it does then.
fn sleeps_first(judged: &Judged<'_>) -> bool {
    let input = judged.call.input.value();
    input.is_some_and(|value| value.sample.contains(SLEEP))
}

/// Whether the tool is one for waiting, the call says that it waits, or it is a shell's `sleep`.
fn waits(judged: &Judged<'_>) -> bool {
    let input = judged.call.input.value();
    tool_name::waits(judged.tool)
        || input.is_some_and(|value| does_nothing_but_wait(&value.sample, value.bytes))
}

fn begins_something(judged: &Judged<'_>) -> bool {
    judged.call.manner != Manner::Looks && tool_name::begins_something(judged.tool)
}

/// Whether arguments say that a call waits, or are a shell's `sleep` alone.
fn does_nothing_but_wait(sample: &str, bytes: u32) -> bool {
    may_wait(sample)
        && (says_it_waits(sample)
            || (bytes <= SLEEP_BYTES_MAX && sample.contains(SLEEP))
            || sample.contains(NOTHING_TYPED))
}

/// Whether some text in arguments begins like one by which they say that they wait. Hardly any does.
#[allow(clippy::needless_bitwise_bool, reason = "as `quotes` has it")]
fn may_wait(sample: &str) -> bool {
    quotes(sample, |[first, second, _]| {
        let wait = (first | 0x20 == b'w') & (second == b'a');
        let sleep = (first == b's') & (second == b'l');
        wait | sleep | ((first == b'c') & (second == b'h'))
    })
}

/// How a shell's `sleep` begins.
const SLEEP: &str = "\"sleep ";

/// Nothing is typed into a session: it is looked at for what it has printed meanwhile.
const NOTHING_TYPED: &str = r#""chars":"""#;

/// Whether an argument's name or a value is `wait`, as in `{"action": "wait"}` and `{"queue": "a", "wait_seconds": 20}`; not where
/// it is a flag of something else that is done, `{"press": "a", "wait": true}`.
fn says_it_waits(sample: &str) -> bool {
    let mut words = sample.split('"').skip(1).peekable();
    while let Some(word) = words.next() {
        let rest = word
            .strip_prefix("wait")
            .or_else(|| word.strip_prefix("Wait"));
        let says_so = rest.is_some_and(|rest| {
            rest.is_empty()
                || rest.starts_with(|next: char| next == '_' || next.is_ascii_uppercase())
        });
        let is_flag = words.peek().is_some_and(|behind| {
            [":true", ":false"]
                .iter()
                .any(|flag| behind.starts_with(flag))
        });
        if says_so && !is_flag {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::does_nothing_but_wait;

    /// Given arguments by which a call says that it waits, that is seen wherever it stands in them; what only looks like it is not.
    #[test]
    fn what_waits_is_seen_anywhere() {
        let check = |said: &str, expected: bool| {
            for before in 0..40 {
                let sample = format!("{{\"{}\":{said}", "n".repeat(before));
                let waits = does_nothing_but_wait(&sample, 48);
                assert_eq!(waits, expected, "{sample}");
            }
        };
        check("\"wait", true);
        check("\"wait\"}", true);
        check("1,\"wait_seconds\":20}", true);
        check("1,\"WaitFor\":20}", true);
        check("1,\"waitFor\":20}", true);
        check("1,\"Wait\":20}", true);
        check("1,\"waiter\":20}", false);
        check("1,\"wait\":true}", false);
        check("1,\"wait\":false,\"wait_ms\":9}", true);
        check("\"sleep 5\"}", true);
        check("\"sleeps\"}", false);
        check("1,\"chars\":\"\"}", true);
        check("1,\"chars\":\"y\"}", false);
        assert!(!does_nothing_but_wait("{\"command\":\"sleep 5\"}", 49));
    }
}
