//! Who has control, and when it goes back and forth.
//!
//! Hand-offs show in two ways: said in so many words (a hand-off span, a transfer tool), or by the order of agent spans.
//! Once a run has the first kind, the second is ignored. Agent spans nest: an agent that starts within another's span was
//! given control by it and gives it back when its span ends; spans that overlap without nesting are side by side and hand
//! nothing over. Control is continuous: when A hands to B twice in a row, B must have given it back in between.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::engine::bounded::push_bounded;
use crate::engine::event::{Event, SpanId, Text};
use crate::engine::hash::text_hash;
use crate::engine::warning::kept::Proof;

use super::totals::Spent;
use super::{Fold, eight_bytes};

/// Deepest nesting of agents that is followed.
const STACK_MAX: usize = 8;

/// Agents of the smallest and of the largest ring that is looked for.
const RING_MIN: usize = 3;
const RING_MAX: usize = 6;

/// Hand-offs that are remembered: three rounds of the largest ring.
pub(crate) const TRAIL_MAX: usize = 3 * RING_MAX;

/// The state of control. In the order of memory, what each call looks at first.
#[repr(C)]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Control {
    /// Agents at work, outermost first.
    pub(crate) stack: Vec<Working>,
    /// Hand-offs in a row between the same two, each the reverse of the one before.
    pub(crate) bounces: u64,
    /// The hand-offs since something new came, newest last, at most [`TRAIL_MAX`].
    pub(crate) trail: VecDeque<Hop>,
    /// For each size of a ring, how many hand-offs in a row have gone where one went that many before.
    pub(crate) again: [u64; RING_MAX - RING_MIN + 1],
    /// The run says its hand-offs in so many words.
    pub(crate) explicit: bool,
    /// The newest hand-off says who gave it.
    pub(crate) giver_said: bool,
    /// Answers were not recorded, so that news cannot be seen.
    pub(crate) weak: bool,
    /// Who had control last.
    pub(crate) holder: Option<Text>,
    /// The newest hand-off: who gave, who received.
    pub(crate) last: Option<(Text, Text)>,
    /// When that was.
    pub(crate) last_ns: u64,
}

/// A hand-off that is remembered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Hop {
    /// Who received control, by hash of the name.
    #[serde(with = "eight_bytes")]
    pub(crate) to: u64,
    /// Not set where nothing but what came before and after tells of it.
    #[serde(with = "eight_bytes")]
    pub(crate) span: SpanId,
    #[serde(with = "eight_bytes")]
    pub(crate) at_ns: u64,
}

/// An agent at work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Working {
    pub(crate) agent: Text,
    pub(crate) end_ns: u64,
}

impl Control {
    /// An agent's span begins.
    pub(crate) fn enter(&mut self, event: &Event, agent: &Text, answer_known: bool) {
        if self.explicit {
            return;
        }
        self.leave(event.start_ns);
        let nested = self
            .stack
            .last()
            .is_none_or(|outer| event.end_ns <= outer.end_ns);
        if nested {
            if let Some(from) = self.holder.clone().filter(|holder| holder != agent) {
                self.hop(&from, agent, event);
                self.weak |= !self.stack.is_empty() && !answer_known;
            }
            self.holder = Some(agent.clone());
        }
        if self.stack.len() < STACK_MAX {
            self.stack.push(Working {
                agent: agent.clone(),
                end_ns: event.end_ns,
            });
        }
    }

    /// Time passes: agents whose spans have ended give control back.
    pub(crate) fn leave(&mut self, now_ns: u64) {
        while self
            .stack
            .last()
            .is_some_and(|working| working.end_ns <= now_ns)
        {
            let ended = self.stack.pop();
            let outer = self.stack.last().map(|working| working.agent.clone());
            if let (Some(ended), Some(outer)) = (ended, outer)
                && ended.agent != outer
                && self.holder.as_ref() == Some(&ended.agent)
            {
                self.count(&ended.agent, &outer, SpanId::default(), ended.end_ns);
                self.holder = Some(outer);
            }
        }
    }

    /// A hand-off is said in so many words. Where it does not say who gave it, the one who has control did; where that is
    /// the receiver, the one who gave it the last time.
    pub(crate) fn hand_off(&mut self, from: Option<&Text>, to: &Text, event: &Event) {
        if !self.explicit {
            *self = Self {
                explicit: true,
                holder: self.holder.take(),
                ..Self::default()
            };
        }
        self.giver_said = from.is_some();
        let holder = self.holder.as_ref().filter(|holder| *holder != to);
        let before = self.last.as_ref().map(|(giver, _)| giver);
        let from = from.or(holder).or(before).cloned().unwrap_or_default();
        if from != *to {
            self.hop(&from, to, event);
        }
        self.holder = Some(to.clone());
    }

    /// Whether the newest hand-off gave control to an agent, at that time or later.
    fn gave(&self, to: &Text, since_ns: u64) -> bool {
        let given = self
            .last
            .as_ref()
            .is_some_and(|(_, receiver)| receiver == to);
        given && self.holder.as_ref() == Some(to) && self.last_ns >= since_ns
    }

    /// A call, an answer or a message of a user: what is new ends a bounce, and a ring.
    pub(crate) fn note_result(&mut self, news: bool) {
        // Where nothing was counted, there is nothing to forget.
        if news && self.bounces > 0 {
            self.bounces = 0;
            // Without a trail no hand-off goes where one went before: what is counted of rings begins anew by itself.
            self.trail.clear();
        }
    }

    /// Who received control in the newest round, by hash of the name, and how many hand-offs have gone that way, where at least so
    /// many rounds of three or more agents end with the newest hand-off.
    pub(crate) fn ring(&self, rounds: u64) -> Option<(Vec<u64>, u64)> {
        let mut rings = (RING_MIN..).zip(self.again);
        let goes_round = |(agents, again): &(usize, u64)| {
            let agents = *agents as u64;
            *again >= agents * (rounds - 1)
        };
        let (round, again) = rings.find_map(|ring| {
            let newest = self.trail.len().checked_sub(ring.0)?;
            let round: Vec<_> = self.trail.range(newest..).map(|hop| hop.to).collect();
            let is_first = |place: &usize| !round[..*place].contains(&round[*place]);
            let different = (0..round.len()).filter(is_first).count();
            (goes_round(&ring) && different >= RING_MIN).then_some((round, ring.1))
        })?;
        let count = again + round.len() as u64;
        Some((round, count))
    }

    /// What shows the newest hand-offs.
    pub(crate) fn proof(&self, hand_offs: u64) -> Proof {
        let older = self.trail.len().saturating_sub(hand_offs as usize);
        let mut hops = self.trail.range(older..);
        let spans = hops.clone().map(|hop| hop.span);
        Proof {
            evidence: spans.filter(|span| span.is_set()).collect(),
            first_ns: hops.next().map_or(self.last_ns, |hop| hop.at_ns),
            last_ns: self.last_ns,
            spent: Spent::default(),
            longest_ns: 0,
        }
    }

    fn hop(&mut self, from: &Text, to: &Text, event: &Event) {
        if let Some((_, receiver)) = self.last.clone()
            && receiver != *from
        {
            self.count(&receiver, from, SpanId::default(), event.start_ns);
        }
        self.count(from, to, event.span, event.start_ns);
        self.last_ns = event.start_ns;
    }

    fn count(&mut self, from: &Text, to: &Text, span: SpanId, at_ns: u64) {
        let reverse = self
            .last
            .as_ref()
            .is_some_and(|(giver, receiver)| giver == to && receiver == from);
        if !(reverse && self.bounces > 0) {
            self.bounces = 0;
            self.weak = false;
        }
        self.bounces += 1;
        let hop = Hop {
            to: text_hash(to),
            span,
            at_ns,
        };
        for (agents, again) in (RING_MIN..).zip(&mut self.again) {
            let before = self.trail.len().checked_sub(agents);
            let is_again = before.is_some_and(|before| self.trail[before].to == hop.to);
            *again = if is_again { *again + 1 } else { 0 };
        }
        push_bounded(&mut self.trail, hop, TRAIL_MAX);
        self.last = Some((from.clone(), to.clone()));
    }
}

impl Fold {
    /// Whether a hand-off to an agent has been counted already: a transfer tool and a hand-off that is said tell of one, where
    /// nobody did anything in between.
    pub(crate) fn was_handed(&self, to: &Text) -> bool {
        let transfer = self.recent.back().filter(|mark| mark.hands_off);
        !self.totals.model_spoke
            && transfer.is_some_and(|mark| self.control.gave(to, mark.start_ns))
    }
}
