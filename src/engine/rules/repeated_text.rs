//! `repeated_text`: an agent says the same again and does nothing.
//!
//! # What it sees
//! Three turns of text alone that only repeat what the agent had said, in rotation too, with no tool call and no message of
//! the user's in between. Texts are the same when their words are: case, order and signs do not count; and texts of at least
//! sixteen words when the cosine of their words is at least 0.85, as far as a sketch of 58 bits tells. And a text of at least 24
//! words with which an agent answers five messages of the user, one after the other, word for word.
//!
//! # Why it matters
//! An agent that plans, recaps and plans again without acting does not get on, and no rule that looks at tools sees it.
//!
//! # What to try
//! Ask for one concrete action or for the final answer; check that the agent has the tools that it needs.
//!
//! # When it stays silent
//! An agent that has solved its task may go on repeating its closing words: where it is one text, word for word, that comes
//! again, it must be said four times more, and the tool call before it must have failed or found nothing, or there was none;
//! it begins anew where another agent has said a new text of at least 24 words since, as who is asked to go on does. Texts of
//! fewer than 16 letters, and texts that were not recorded, are not known to be the same. One turn that two spans report is
//! one. Where several agents talk, the cosine must be 0.95, and one turn more is needed where the newest was not heard before
//! word for word: a reviewer says much the same of each version. What other agents do, to whom nothing is handed, ends
//! nothing, but three turns more are needed, and only texts count that were heard word for word. Who is asked of another
//! thing, in the same words around it, begins anew: a judge has few answers. Shorter answers to a user may be polite words
//! for what was done, and an answer behind a tool call that brought something new tells of that.

use crate::engine::event::{SAID_BITS, Text};
use crate::engine::fold::Fold;
use crate::engine::fold::outcome::Outcome;
use crate::engine::fold::speech::Said;
use crate::engine::fold::tally::Tally;
use crate::engine::hash::{mix, text_hash};
use crate::engine::policy::{Policy, RepeatedText};
use crate::engine::similarity::{say_the_same, says_much};
use crate::engine::warning::Rule;
use crate::engine::warning::kept::Finding;
use crate::engine::window::calls::Call;

const RULE: Rule = Rule::RepeatedText;

/// Share of words, as a cosine, from which two texts say the same.
const ALIKE: f64 = 0.85;

/// Names under which telemetry shows what a person says.
const USERS: [&str; 2] = ["user", "human"];

/// Repeats more that it takes where other agents work meanwhile: who leads them may have few words for each step.
const BESIDE_OTHERS_MORE: u32 = 3;

/// The same where several agents talk, and answer each other in each other's words.
const ALIKE_AMONG_OTHERS: f64 = 0.95;

pub(super) fn observe(
    fold: &mut Fold,
    call: &Call<'_>,
    text: u64,
    policy: &Policy,
) -> Option<Finding> {
    let agent = call.agent.map_or(0, |agent| text_hash(agent));
    // Texts of one agent differ in as many bits as their sketches; those of two agents in half of them.
    let own = text ^ (mix(agent, 0) >> (64 - SAID_BITS));
    let heard = hear(fold, call, (agent, own), policy)?;
    let (of_agent, _) = policy.of(None, call.agent.map(|agent| &**agent));
    let settings = of_agent.rules.repeated_text.as_ref()?;
    let answer = policy
        .progress_aware
        .then(|| answers_alike(fold, call, own))
        .flatten()
        .filter(|answer| answer.count > settings.turns_alone);
    let tally = match answer {
        Some(answer) => answer,
        None => count_repeats(fold, call, (agent, own), &heard, settings)?,
    };
    Some(Finding {
        agent: call.agent.cloned(),
        ..Finding::of_tally(tally, agent)
    })
}

/// How a text stands to those that were said before.
struct Heard {
    /// One of them says the same.
    is_repeat: bool,
    /// None says it quite like this.
    is_unheard: bool,
    /// Several agents talk.
    among_others: bool,
}

/// Takes in what an agent said, in words that are its own by this hash; `None` where it says the same side by side with another.
fn hear(
    fold: &mut Fold,
    call: &Call<'_>,
    (agent, own): (u64, u64),
    policy: &Policy,
) -> Option<Heard> {
    let is_agent = |name: &&Text| !USERS.iter().any(|user| name.eq_ignore_ascii_case(user));
    let among_others = fold.agents.iter().filter(is_agent).count() > 1;
    let ratio = if among_others {
        ALIKE_AMONG_OTHERS
    } else {
        ALIKE
    };
    let earlier = |said: &&Said| say_the_same(said.text, own, ratio);
    let mut again = fold.speech.said.iter().filter(earlier);
    if again.clone().any(|said| call.start_ns < said.end_ns) {
        return None;
    }
    let first = again.next().map(|said| said.text);
    if fold.speech.is_a_new_piece(own) {
        fold.speech.bears_fruit(call.agent);
        // Who asks for the next piece, in the same words each time, gets it.
        if policy.progress_aware {
            let is_one_text = |tally: &Tally| tally.seen.len() == 1;
            fold.tallies.end_others(RULE, agent, is_one_text);
        }
    }
    let said = Said {
        text: first.unwrap_or(own),
        end_ns: call.end_ns,
        agent,
    };
    let is_unheard = fold.speech.say(said, own);
    if is_unheard && policy.progress_aware {
        fold.control.note_result(true);
    }
    Some(Heard {
        is_repeat: first.is_some(),
        is_unheard,
        among_others,
    })
}

/// Counts a text that an agent has said before; there are enough of them where the tally comes back.
fn count_repeats<'f>(
    fold: &'f mut Fold,
    call: &Call<'_>,
    (agent, own): (u64, u64),
    heard: &Heard,
    settings: &RepeatedText,
) -> Option<&'f Tally> {
    if !heard.is_repeat {
        return None;
    }
    let (number, silences) = (fold.totals.tool_calls, fold.speech.silences);
    let barren = fold
        .recent
        .back()
        .is_none_or(|mark| matches!(mark.outcome, Outcome::Failed | Outcome::Empty));
    let tally = fold.tallies.of(RULE, agent);
    // The round says which stretch of text it counts.
    if tally.round != silences {
        tally.clear();
        tally.round = silences;
    }
    // Calls within the stretch are those of others.
    tally.note_news(number);
    if tally.moved && heard.is_unheard {
        return None;
    }
    // Said in other words it is another text: only one that stays the same may be somebody's closing words.
    tally.see(own);
    tally.add_span(call.span, call.start_ns);
    tally.number = number;
    let found = if tally.seen.len() > 1 {
        // That a sketch takes two texts for alike may be chance.
        let more = if tally.moved {
            BESIDE_OTHERS_MORE
        } else {
            u32::from(heard.among_others && heard.is_unheard)
        };
        tally.count >= settings.turns.saturating_add(more)
    } else {
        barren && tally.count >= settings.turns_alone
    };
    found.then_some(tally)
}

/// Counts a long text that answers a user's message as it answered the one before, word for word, where no tool brought anything
/// new in between. The number of the tally is that of the turn's first call, its round says which stretch of text it was.
fn answers_alike<'f>(fold: &'f mut Fold, call: &Call<'_>, text: u64) -> Option<&'f Tally> {
    if !says_much(text) {
        return None;
    }
    let agent = call.agent.map_or(0, |agent| text_hash(agent));
    let (turn_at, silences) = (fold.totals.turn_at, fold.speech.silences);
    let calls = (fold.totals.tool_calls + 1).saturating_sub(turn_at) as usize;
    let mut of_turn = fold.recent.iter().rev().take(calls);
    let has_news = of_turn.any(|mark| mark.outcome == Outcome::Fresh);
    let tally = fold.tallies.of(RULE, mix(agent, ANSWERS));
    if has_news || !tally.seen.contains(&text) {
        tally.clear();
        tally.see(text);
    }
    // Without a call of a tool, the first one of a turn has the number that it had in the turn before.
    let is_next = tally.number != turn_at || (calls == 0 && tally.round != silences);
    if tally.count > 0 && !is_next {
        return None;
    }
    (tally.number, tally.round) = (turn_at, silences);
    tally.add_span(call.span, call.start_ns);
    Some(tally)
}

/// What keeps the count of answers to users apart from that of what an agent says by itself.
const ANSWERS: u64 = 1;
