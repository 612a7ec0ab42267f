//! Who has control, and when it goes back and forth.
//!
//! Hand-offs show in two ways: said in so many words (a hand-off span, a transfer tool), or by the order of agent spans.
//! Once a run has the first kind, the second is ignored. Agent spans nest: an agent that starts within another's span was
//! given control by it and gives it back when its span ends; spans that overlap without nesting are side by side and hand
//! nothing over. Control is continuous: when A hands to B twice in a row, B must have given it back in between.

use serde::{Deserialize, Serialize};

use crate::engine::event::{Event, SpanId, Text};
use crate::engine::few::Seldom;
use crate::engine::warning::EVIDENCE_MAX;

use super::{Fold, text_hash};

/// Deepest nesting of agents that is followed.
const STACK_MAX: usize = 8;

/// Hand-offs that are remembered to see a ring: three rounds of six agents.
pub(crate) const TRAIL_MAX: usize = 18;

/// The state of control. In the order of memory, what each call looks at first.
#[repr(C)]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Control {
    /// Agents at work, outermost first.
    pub(crate) stack: Vec<Working>,
    /// Hand-offs in a row between the same two, each the reverse of the one before.
    pub(crate) bounces: u64,
    pub(crate) evidence: Seldom<SpanId, EVIDENCE_MAX>,
    /// Who received control since something new came, by hash of the name, newest last.
    pub(crate) trail: Seldom<u64, TRAIL_MAX>,
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
    pub(crate) first_ns: u64,
    pub(crate) last_ns: u64,
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
                self.count(&ended.agent, &outer);
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

    /// A call or an answer: what is new ends a bounce.
    pub(crate) fn note_result(&mut self, news: bool) {
        // Where nothing was counted, there is nothing to forget.
        if news && self.bounces > 0 {
            self.bounces = 0;
            self.evidence.clear();
            self.trail.clear();
        }
    }

    fn hop(&mut self, from: &Text, to: &Text, event: &Event) {
        if let Some((_, receiver)) = self.last.clone()
            && receiver != *from
        {
            self.count(&receiver, from);
        }
        self.count(from, to);
        if self.bounces <= 1 {
            self.first_ns = event.start_ns;
        }
        self.last_ns = event.start_ns;
        if event.span.is_set() {
            self.evidence.push(event.span);
        }
    }

    fn count(&mut self, from: &Text, to: &Text) {
        let reverse = self
            .last
            .as_ref()
            .is_some_and(|(giver, receiver)| giver == to && receiver == from);
        if !(reverse && self.bounces > 0) {
            self.bounces = 0;
            self.evidence.clear();
            self.weak = false;
        }
        self.bounces += 1;
        self.trail.push(text_hash(to));
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
