//! How much each agent of a run has done: what `unusual_run` compares with good runs, and `eddy calibrate` learns from them; and
//! whether it makes headway itself, where several work side by side.

use serde::{Deserialize, Serialize};

use super::judge::Judged;
use super::marks::CallMark;
use super::outcome::Outcome;
use super::recent::RECENT_CALLS_MAX;
use super::{AGENTS_MAX, Fold, named};
use crate::engine::event::Text;
use crate::engine::hash::text_hash;

/// The tool calls of one agent; those of agents beyond [`AGENTS_MAX`] count as done by nobody in particular.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Work {
    /// Hash of the agent's name; 0 where it is not known.
    pub(crate) agent: u64,
    pub(crate) calls: u64,
    /// Calls that were made among the newest ones already, with the same result.
    pub(crate) repeats: u64,
    /// The newest call is one of these.
    pub(crate) repeated: bool,
    /// How many of its calls, the newest ones, brought nothing new and did nothing, one after the other.
    pub(crate) in_vain: u64,
    /// Number of its newest call.
    pub(crate) newest: u64,
}

/// The same as it is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentWork {
    /// The agent; empty where it is not known.
    pub agent: Text,
    /// Its tool calls, without hand-offs and calls of exempt tools.
    pub calls: u64,
    /// Of these, calls that were made among the newest twelve of the run already, with the same result.
    pub repeats: u64,
}

impl Work {
    /// Whether this is another agent than that of a call, and one that is still at what it does in vain.
    pub(super) fn is_stuck_beside(&self, judged: &Judged<'_>) -> bool {
        self.agent != judged.agent
            && self.in_vain > 0
            && judged.number.saturating_sub(self.newest) <= RECENT_CALLS_MAX as u64
    }
}

impl Fold {
    /// Whether a call is that of an agent that works by itself beside others that talk: nobody hands over to anybody.
    pub(crate) fn is_beside_talk(&self, judged: &Judged<'_>) -> bool {
        self.control.last.is_none() && self.speech.is_of_others(judged.agent)
    }

    /// Whether a call is that of an agent that neither gave nor got control lately, beside others that hand it on by tools of their
    /// own: what it finds does not get them on.
    pub(crate) fn is_beside_ring(&self, judged: &Judged<'_>) -> bool {
        let control = &self.control;
        if judged.agent == 0 || !control.giver_said || control.bounces == 0 {
            return false;
        }
        let is_other = |name: &Text| text_hash(name) != judged.agent;
        !judged.call.hands_off
            && control.holder.as_ref().is_none_or(is_other)
            && control
                .last
                .as_ref()
                .is_none_or(|(giver, _)| is_other(giver))
            && control.trail.iter().all(|hop| hop.to != judged.agent)
            && self.recent.iter().any(|mark| mark.hands_off)
    }

    /// Counts a call for its agent.
    pub(crate) fn note_work(&mut self, judged: &Judged<'_>) {
        if judged.call.hands_off || judged.is_exempt() {
            return;
        }
        let same = |mark: &CallMark| mark.result() == judged.result;
        let repeated = judged.result.is_some() && self.recent.of_key(judged.key).any(same);
        let work = self.work_by(judged.agent);
        work.calls += 1;
        work.repeats += u64::from(repeated);
        work.repeated = repeated;
    }

    /// Notes whether a call got its agent on.
    pub(super) fn note_headway(&mut self, judged: &Judged<'_>, gets_on: bool) {
        if judged.call.hands_off || judged.is_exempt() {
            return;
        }
        if judged.outcome == Outcome::Fresh {
            self.speech.bears_fruit(judged.call.agent);
        }
        let work = self.work_by(judged.agent);
        work.in_vain = if gets_on { 0 } else { work.in_vain + 1 };
        work.newest = judged.number;
    }

    /// An agent is given something to do: what it did before says nothing of that.
    pub(crate) fn begin_errand(&mut self, agent: &Text) {
        let agent = text_hash(agent);
        if let Some(work) = self.work.iter_mut().find(|work| work.agent == agent) {
            work.in_vain = 0;
        }
    }

    /// Whether an agent, of several, has done nothing but what brought nothing new for so many calls, this one among them. What
    /// the others find is no headway of its own.
    pub(super) fn is_left_behind(&self, judged: &Judged<'_>, calls: usize) -> bool {
        let work = self.work_of(judged.agent);
        self.work.len() > 1 && work.is_some_and(|work| work.in_vain + 1 >= calls as u64)
    }

    /// Adds what another run's agents had done.
    pub(super) fn absorb_work(&mut self, others: &[Work]) {
        for other in others {
            let work = self.work_by(other.agent);
            work.calls += other.calls;
            work.repeats += other.repeats;
        }
    }

    /// Where the calls of an agent are counted: with those of nobody in particular, where there is no room for one more.
    fn work_by(&mut self, agent: u64) -> &mut Work {
        let place_of = |all: &[Work], agent| all.iter().position(|work| work.agent == agent);
        let known = place_of(&self.work, agent);
        let agent = if known.is_none() && self.work.len() >= AGENTS_MAX {
            0
        } else {
            agent
        };
        let place = known.or_else(|| place_of(&self.work, agent));
        let place = place.unwrap_or_else(|| {
            self.work.push(Work {
                agent,
                ..Work::default()
            });
            self.work.len() - 1
        });
        &mut self.work[place]
    }

    /// The agent of the run, where one alone is known.
    pub(crate) fn only_agent(&self) -> Option<&Text> {
        match &*self.agents {
            [only] => Some(only),
            _ => None,
        }
    }

    /// What the agent whose name has this hash has done.
    pub(crate) fn work_of(&self, agent: u64) -> Option<&Work> {
        self.work.iter().find(|work| work.agent == agent)
    }

    /// What each agent has done. Where one alone is known, all of it is his: many frameworks name an agent on its own span alone.
    pub(crate) fn shown_work(&self) -> Vec<AgentWork> {
        if let (Some(only), false) = (self.only_agent(), self.work.is_empty()) {
            return vec![AgentWork {
                agent: only.clone(),
                calls: self.work.iter().map(|work| work.calls).sum(),
                repeats: self.work.iter().map(|work| work.repeats).sum(),
            }];
        }
        let work = self.work.iter().map(|work| AgentWork {
            agent: named(&self.agents, work.agent),
            calls: work.calls,
            repeats: work.repeats,
        });
        work.collect()
    }
}
