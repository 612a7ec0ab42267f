//! Takes in what happened, one call or event at a time: first it is judged against what was seen before (did it bring something
//! new?), then every rule looks at it, then the warnings take in what the rules found, and last it joins what was seen.

use super::event::{AgentSpan, Answer, Body, Event, Recorded};
use super::fold::totals::Spent;
use super::fold::waiting::Waiting;
use super::fold::{Fold, TOOLS_MAX, UNPRICED_MAX, note};
use super::hash::{mix, text_hash};
use super::health;
use super::policy::Policy;
use super::rules;
use super::warning::Rule;
use super::warning::kept::Finding;
use super::window::calls::{Call, Step};
use super::window::spoken::Spoken;

impl Fold {
    /// Takes in one step.
    pub(crate) fn apply(&mut self, step: &Step<'_>, policy: &Policy) {
        match step {
            Step::Tool(call) => self.take_tool(call, policy),
            Step::Model(call, model) => self.take_model(call, model, policy),
            // Asking is not calling.
            Step::Other(_, event) if matches!(event.body, Body::Requested(_)) => return,
            Step::Other(_, event) => self.take_other(event, policy),
        }
        self.totals.worst = self.totals.worst.max(health::lost(self, policy));
    }

    fn take_tool(&mut self, call: &Call<'_>, policy: &Policy) {
        // Nobody has told yet which tool it is.
        let Some(tool) = call.tool.filter(|tool| !tool.is_empty()) else {
            return;
        };
        let call = &*self.totals.in_time(call);
        self.totals.note_skew(call);
        self.note_times(call.start_ns, call.end_ns);
        self.note_agent(call.agent);
        note(&mut self.tools, tool, TOOLS_MAX);
        self.control.leave(call.start_ns);
        self.begin_turn(call.asking.turn, policy);
        if let Some(refused) = call.asking.refused {
            return self.take_refused(call, tool, refused, policy);
        }
        let own = self.policy_of(policy, Some(tool), call.agent);
        let mut judged = self.judge(call, tool, own);
        self.note_call(&judged, policy);
        judged.waiting = Waiting::of(self, &judged, own);
        judged.similar = rules::similar_group(self, &judged, own);
        judged.answers_by_failing = self.answers_by_failing(&judged);
        if !self.is_beside_talk(&judged) {
            self.speech.hush();
        }
        self.note_missing(call);
        self.note_work(&judged);
        let findings = rules::of_tool_call(self, &judged, own);
        if judged.settings.exempt {
            return self.keep(findings, Some(call), own);
        }
        let tells = policy.progress_aware && !self.is_beside_ring(&judged);
        self.control.note_result(tells && self.brings_news(&judged));
        self.recover_by_call(&judged, policy);
        self.keep(findings, Some(call), own);
        self.remember(&mut judged);
    }

    fn take_model(&mut self, call: &Call<'_>, model: &Spoken, policy: &Policy) {
        self.note_times(call.start_ns, call.end_ns);
        self.note_agent(call.agent);
        self.note_pause(call.start_ns, policy);
        let spent = Spent {
            tokens: model.input_tokens.saturating_add(model.output_tokens),
            cost_microusd: model.cost_microusd.unwrap_or(0),
        };
        if model.cost_microusd.is_none() && spent.tokens > 0 {
            let name = call.model().cloned().unwrap_or_default();
            note(&mut self.unpriced, &name, UNPRICED_MAX);
        }
        let totals = &mut self.totals;
        totals.model_calls += 1;
        // Where no time is told, one in the midst of a call may have asked for it, and for those beside it.
        let is_within = call.start_ns < totals.call_end_ns;
        let speaks = !is_within || call.end_ns > call.start_ns;
        let is_first_within = is_within && speaks && !totals.model_spoke;
        totals.model_spoke |= speaks;
        totals.asked_pending = if let Answer::ToolCalls(asked) = model.answer {
            asked
        } else {
            0
        };
        totals.asked += u64::from(matches!(model.answer, Answer::ToolCalls(1..)));
        totals.tokens = totals.tokens.saturating_add(spent.tokens);
        totals.cost_microusd = totals.cost_microusd.saturating_add(spent.cost_microusd);
        totals.unspent.add(spent);
        let own = self.policy_of(policy, None, call.agent);
        let mut findings = rules::of_model_call(self, call, model, spent, own);
        if let Answer::Text(Some(text @ 1..)) = model.answer {
            let repeated = rules::of_text(self, call, text, policy);
            let sums_up = |finding: &Finding| finding.rule == Rule::SummaryLoop;
            if repeated.is_none() && !findings.iter().any(sums_up) {
                self.recover_by_text(policy);
            }
            findings.extend(repeated);
        }
        if call.error.is_none() {
            self.recover_by_model(policy);
        }
        self.totals.busy_ns = if is_first_within {
            call.end_ns
        } else {
            self.totals.busy_ns.max(call.end_ns)
        };
        self.keep(findings, Some(call), own);
    }

    fn take_other(&mut self, event: &Event, policy: &Policy) {
        self.note_times(event.start_ns, event.end_ns);
        self.note_agent(event.agent.as_ref());
        match &event.body {
            Body::AgentSpan(agent) => self.take_agent(event, agent, policy),
            Body::Handoff(handoff) => {
                self.note_agent(handoff.from.as_ref());
                self.note_agent(Some(&handoff.to));
                self.begin_errand(&handoff.to);
                if self.was_handed(&handoff.to) {
                    return;
                }
                self.control
                    .hand_off(handoff.from.as_ref(), &handoff.to, event);
                let findings = rules::of_hand_off(self, policy);
                self.keep(findings, None, policy);
            }
            Body::StateUpdate | Body::MemoryWrite => {
                self.totals.write_at = self.totals.tool_calls + 1;
            }
            Body::Retry { tool } => {
                let (tool, agent) = (tool.as_ref(), event.agent.as_ref());
                let own = self.policy_of(policy, tool, agent);
                let is_exempt =
                    tool.is_some_and(|tool| own.tools.of(tool, agent.map(|agent| &**agent)).exempt);
                if !is_exempt {
                    let findings = rules::of_retry(self, event, tool, own);
                    self.keep(findings, None, own);
                }
            }
            Body::RunEnd(end) => {
                // The outer spans of a trace may end well although the run within failed; a later trace counts anew.
                let goes_on = event.span.is_set() && self.totals.end_trace == event.trace;
                self.totals.failed = end.error.is_some() || (goes_on && self.totals.failed);
                self.totals.root_seen = true;
                self.totals.end_trace = event.trace;
            }
            Body::UserMessage => {
                self.begin_next_turn(policy);
                self.speech.hush();
                rules::of_user_message(self);
            }
            Body::Nudge(nudge) => self.note_told(nudge),
            Body::ToolCall(_) | Body::Requested(_) | Body::ModelCall(_) => {}
        }
    }

    fn take_agent(&mut self, event: &Event, agent: &AgentSpan, policy: &Policy) {
        self.note_agent(Some(&agent.name));
        self.begin_errand(&agent.name);
        let known = self.is_known(agent_key(&agent.name, &Recorded::NotRecorded));
        let answer = agent_key(&agent.name, &agent.output);
        let news = agent.output.value().is_some_and(|value| !value.empty) && !self.is_known(answer);
        let own = self.policy_of(policy, None, Some(&agent.name));
        self.control
            .note_result(rules::is_new_errand(self, event, agent, own));
        self.control
            .enter(event, &agent.name, agent.output.value().is_some());
        self.control
            .note_result(policy.progress_aware && known && news);
        let findings = rules::of_hand_off(self, policy);
        self.keep(findings, None, policy);
        let findings = rules::of_instruction(self, event, agent, own);
        self.keep(findings.into_iter().collect(), None, own);
        self.know(agent_key(&agent.name, &Recorded::NotRecorded));
        self.know(answer);
    }
}

fn agent_key(agent: &str, output: &Recorded) -> u64 {
    mix(
        text_hash(agent),
        output.value().map_or(2, |value| value.masked),
    )
}
