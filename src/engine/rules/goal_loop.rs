//! `goal_loop`: an agent is sent on the same errand again and again.
//!
//! # What it sees
//! Five of the newest instructions to one agent (its own input, or what it was handed) whose sets of words are nearly equal
//! (Jaccard at least 0.37, of words of four letters and more, since shorter ones join others in any errand, but for those
//! that are written as names, `SAP` and `Ulm`, and of single signs of Chinese, Korean and katakana), or four of which the
//! words of the newest are three fifths of both; or the same call four times among the newest twelve, under at least three
//! instructions, even if its results differ: the page scrolled down once more, whatever is asked for.
//!
//! # Why it matters
//! Every step looks different and none of them leads nearer to the goal. Rules for tight loops hardly see it.
//!
//! # What to try
//! Change the plan: another source, a smaller question, or an answer with what is known.
//!
//! # When it stays silent
//! It is a warning and never critical, for long work on one thing looks alike. An instruction that puts another thing into the
//! words of an earlier one (the next town, the next file) is another errand. Instructions in JSON are a program's state and not
//! an errand; an instruction of fewer than five such words (ten such signs) says too little; a span within another of the same
//! agent tells of one instruction. The same instruction word for word, or as a form into which another name or text is filled,
//! is given for the next piece of work where something new came of at least half of those before: a new result of the agent that
//! was instructed, a new text of at least 24 words, or, for reports, an instruction about another thing in between. What an
//! agent asks that nobody instructed is no errand. What each of several agents asks for the first time counts once. Asking a job
//! for its state, again and again, under one instruction is no loop of this kind, nor is a run of tests that pass, or fail in
//! another way than before. A message of a user starts anew: what a user asks for again is none.

use crate::engine::bounded::push_bounded;
use crate::engine::event::{AgentSpan, Command, Event};
use crate::engine::fold::Fold;
use crate::engine::fold::judge::Judged;
use crate::engine::fold::outcome::Outcome;
use crate::engine::fold::speech::{ASKED_MAX, Instruction, Words, signs_among_words};
use crate::engine::hash::{mix, text_hash};
use crate::engine::policy::Policy;
use crate::engine::warning::Rule;
use crate::engine::warning::kept::Finding;

const RULE: Rule = Rule::GoalLoop;

/// Fewest words of an instruction that are long enough to be compared.
const WORDS_MIN: usize = 3;

/// Fewest words of an instruction that says by itself what is to be done: shorter ones (`please write the next part`) are how
/// one asks another to go on. Two signs of a script without blanks are a word.
const ERRAND_WORDS_MIN: usize = 5;

/// Letters of the shortest word that is compared: of shorter ones nearly all join others, in most languages.
const WORD_LETTERS_MIN: usize = 4;

/// Share of the words of both from which two instructions are nearly the same word for word: three of five.
const NEAR: f64 = 0.6;

/// Instructions under which an equal call must have been made.
const INSTRUCTIONS_MIN: usize = 3;

pub(super) fn observe_instruction(
    fold: &mut Fold,
    event: &Event,
    agent: &AgentSpan,
    policy: &Policy,
) -> Option<Finding> {
    let settings = policy.rules.goal_loop.as_ref()?;
    let asked = instruction(event, agent)?;
    let likeness = settings.similarity;
    let within = |other: &Instruction| event.start_ns < other.end_ns;
    if fold.speech.like(&asked, likeness).any(within) {
        return None;
    }
    let of_another =
        policy.progress_aware && fold.speech.asks_the_same_of_another(&asked, likeness);
    if of_another {
        // Whoever is told of one thing after the other, as an agent is to which others report, hears news; and who says the same
        // of another thing does not repeat himself.
        fold.speech.bears_fruit(None);
        fold.speech.hush();
    }
    let goes_on =
        of_another || (policy.progress_aware && fold.speech.goes_on_with(&asked, likeness));
    let about_another = fold.speech.asks_about_another(&asked);
    let same = |other: &&Instruction| !(about_another && other.differs_little(&asked));
    let alike = fold.speech.like(&asked, likeness);
    let earlier: Vec<_> = alike.filter(same).cloned().collect();
    let group = asked.agent;
    // Nearly word for word, one fewer is enough.
    let near = |other: &&Instruction| other.words.likeness(&asked.words) >= NEAR;
    let near = earlier.iter().filter(near).count() as u64 + 2 >= u64::from(settings.instructions);
    let enough = earlier.len() as u64 + 1 >= u64::from(settings.instructions) || near;
    let found = enough && !goes_on && is_errand(agent, &asked);
    fold.speech.instructions += 1;
    push_bounded(&mut fold.speech.asked, asked, ASKED_MAX);
    if !found {
        return None;
    }
    let number = fold.totals.tool_calls;
    let tally = fold.tallies.of(RULE, group);
    if tally.count == 0 {
        for other in earlier {
            tally.add_span(other.span, other.start_ns);
        }
    }
    tally.add_span(event.span, event.start_ns);
    tally.number = number;
    Some(Finding {
        agent: Some(agent.name.clone()),
        ..Finding::of_tally(tally, group)
    })
}

/// Whether an agent is asked for something that nobody asked of it before.
pub(crate) fn is_new_errand(
    fold: &Fold,
    event: &Event,
    agent: &AgentSpan,
    policy: &Policy,
) -> bool {
    let (Some(settings), Some(asked)) = (&policy.rules.goal_loop, instruction(event, agent)) else {
        return false;
    };
    let (speech, likeness) = (&fold.speech, settings.similarity);
    let is_like_none = || speech.like(&asked, likeness).next().is_none();
    policy.progress_aware && (is_like_none() || speech.asks_the_same_of_another(&asked, likeness))
}

/// Whether an instruction says by itself what is to be done.
fn is_errand(agent: &AgentSpan, asked: &Instruction) -> bool {
    let words = asked.words.0.len();
    let signs = agent.instruction().map_or(0, signs_among_words);
    words - signs.min(words) / 2 >= ERRAND_WORDS_MIN
}

fn instruction(event: &Event, agent: &AgentSpan) -> Option<Instruction> {
    let words = Words::and_names_of(agent.instruction()?, WORD_LETTERS_MIN);
    (words.0.len() >= WORDS_MIN).then(|| Instruction {
        agent: text_hash(&agent.name),
        words,
        span: event.span,
        start_ns: event.start_ns,
        end_ns: event.end_ns,
        fruitful: false,
    })
}

pub(super) fn observe_call(
    fold: &mut Fold,
    judged: &Judged<'_>,
    policy: &Policy,
) -> Option<Finding> {
    let settings = policy.rules.goal_loop.as_ref()?;
    let (key, asked) = (judged.key?, fold.speech.instructions);
    if asked < INSTRUCTIONS_MIN as u64
        || judged.stands_aside()
        || !fold.speech.has_asked(judged.call.agent)
        || (policy.progress_aware
            && (fold.is_first_of_worker(judged) || checks_what_was_done(fold, judged)))
    {
        return None;
    }
    // What a user asks for again is another errand.
    let of_turn = judged.number.saturating_sub(fold.totals.turn_at) as usize;
    let looked_back = if policy.progress_aware {
        of_turn.min(WINDOW_CALLS - 1)
    } else {
        WINDOW_CALLS - 1
    };
    let newest = fold.recent.iter().rev().take(looked_back);
    let same: Vec<_> = newest
        .filter(|mark| mark.key() == Some(key))
        .map(|mark| (mark.asked, mark.span, mark.start_ns))
        .collect();
    let others = (0..same.len()).filter(|place| {
        let (under, ..) = same[*place];
        under != asked && same[..*place].iter().all(|mark| mark.0 != under)
    });
    let enough = same.len() as u64 + 1 >= u64::from(settings.calls);
    if !enough || others.count() + 1 < INSTRUCTIONS_MIN {
        return None;
    }
    // Who is sent for the next piece, in the same words, asks for it in the same way, and looks at the same rules for each.
    let newest = fold.speech.asked.back();
    let goes_on = |asked| fold.speech.goes_on_with(asked, settings.similarity);
    if policy.progress_aware && newest.is_some_and(goes_on) {
        return None;
    }
    let group = mix(key, 1);
    let tally = fold.tallies.of(RULE, group);
    if tally.count == 0 {
        for (_, span, start_ns) in same.into_iter().rev() {
            tally.add_span(span, start_ns);
        }
    }
    tally.add(judged);
    Some(Finding::of_calls(tally, group, judged))
}

/// Whether tests were run again of which none fails, or others than lately: each errand may end with them.
fn checks_what_was_done(fold: &Fold, judged: &Judged<'_>) -> bool {
    let traits = judged.call.traits;
    let passes = !traits.tests_failed
        && !matches!(judged.outcome, Outcome::Failed | Outcome::Unknown)
        && !judged.denies;
    traits.command == Some(Command::RunsTests) && (passes || fold.is_new_error(judged))
}

/// Calls among which equal ones are looked for.
const WINDOW_CALLS: usize = 12;
