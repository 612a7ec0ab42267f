//! What a warning counts, and how it ends: what came before it was resolved counts once, limits hold for a whole turn, and what is
//! said anew is the way out.

use eddy::engine::RunState;
use eddy::engine::event::{
    Answer, Body, Event, Guarded, Handoff, ModelCall, Part, Recorded, RunEnd, ToolCall, said,
};
use eddy::engine::policy::Policy;
use eddy::engine::view::Status;
use eddy::engine::warning::{Rule, Warning, WarningState};

use super::support::{call, policies, span_at, tell, value};

const SECOND_NS: u64 = 1_000_000_000;

/// A run to which things happen one after the other.
struct Told {
    state: RunState,
    policy: Policy,
    number: u64,
    now_ns: u64,
}

impl Told {
    fn new(policy: Policy) -> Self {
        let state = RunState::new("run".into());
        Self {
            state,
            policy,
            number: 0,
            now_ns: 0,
        }
    }

    fn standard() -> Self {
        Self::new(policies().swap_remove(0))
    }

    fn tell_for(&mut self, seconds: u64, body: Body) {
        self.number += 1;
        let start_ns = self.now_ns + SECOND_NS;
        self.now_ns = start_ns + seconds * SECOND_NS;
        let event = Event {
            end_ns: self.now_ns,
            ..span_at(start_ns, self.number, body)
        };
        tell(&mut self.state, vec![event], &self.policy);
    }

    fn tell(&mut self, body: Body) {
        self.tell_for(1, body);
    }

    fn call(&mut self, tool: &str, input: u64, output: u64) {
        let call = call(tool.into(), None, value(input, false), value(output, false));
        self.tell(Body::ToolCall(call));
    }

    /// Calls each of which brings something new.
    fn work(&mut self, calls: u64) {
        for _ in 0..calls {
            let thing = 1_000 + self.number * 7;
            self.call("search", thing, thing + 1);
        }
    }

    /// Says words that are like no others of another number.
    fn say(&mut self, number: u64, seconds: u64) {
        let words = said(number.wrapping_mul(0x9e37_79b9_7f4a_7c15), 60);
        let tokens = self.number;
        self.tell_for(
            seconds,
            Body::ModelCall(ModelCall {
                input_tokens: tokens,
                answer: Answer::Text(Some(words)),
                ..ModelCall::default()
            }),
        );
    }

    fn hand(&mut self, from: &str, to: &str) {
        self.tell(Body::Handoff(Handoff {
            from: Some(from.into()),
            to: to.into(),
        }));
    }

    fn warning(&self, rule: Rule) -> Option<Warning> {
        let warnings = self.state.view(&self.policy).warnings;
        warnings.into_iter().find(|warning| warning.rule == rule)
    }

    #[track_caller]
    fn check(&self, rule: Rule, count: u64, state: WarningState) {
        let warning = self.warning(rule).expect("a warning");
        assert_eq!(
            (warning.count, warning.state),
            (count, state),
            "{warning:?}"
        );
    }
}

/// Given a run that had found its way out and comes back to what a rule has gone on counting, each counts once.
#[test]
fn what_comes_back_counts_once() {
    let mut run = Told::standard();
    for _ in 0..3 {
        run.tell(Body::Retry { tool: None });
    }
    run.work(12);
    run.check(Rule::RetryStorm, 3, WarningState::Resolved);
    run.tell(Body::Retry { tool: None });
    run.check(Rule::RetryStorm, 4, WarningState::Open);

    let mut run = Told::standard();
    (0..7).for_each(|_| run.call("read", 1, 1));
    run.work(11);
    run.check(Rule::RepeatedToolCallExactInput, 7, WarningState::Resolved);
    (0..6).for_each(|_| run.call("read", 1, 1));
    run.check(Rule::RepeatedToolCallExactInput, 13, WarningState::Open);
}

/// Given a tool that may be called three times in a turn, the tenth call is known for the tenth, however much else is done in
/// between.
#[test]
fn a_limit_holds_in_a_long_turn() {
    for between in [3, 18, 60] {
        let mut policy = policies().swap_remove(0);
        let limits = serde_saphyr::from_str("{send_email: {limit: 3}}");
        policy.tools = limits.expect("settings of a tool");
        let mut run = Told::new(policy);
        for mail in 0..10 {
            run.call("send_email", 10 + mail, 90_000 + mail);
            run.work(between);
        }
        let found = run.warning(Rule::ToolLimit).map(|warning| warning.count);
        assert_eq!(found, Some(10), "{between} calls between");
    }
}

/// Given a text that was said again and again, new texts are the way out, however long each of them took to say.
#[test]
fn slow_answers_are_a_way_out_too() {
    for seconds in [1, 31] {
        let mut run = Told::standard();
        (0..6).for_each(|_| run.say(1, seconds));
        run.check(Rule::RepeatedText, 5, WarningState::Open);
        (2..40).for_each(|words| run.say(words, seconds));
        run.check(Rule::RepeatedText, 5, WarningState::Resolved);
    }
}

/// Given agents without tools that handed a task to and fro, new texts are the way out.
#[test]
fn agents_that_only_speak_find_their_way_out() {
    let mut run = Told::standard();
    for _ in 0..2 {
        run.hand("a", "b");
        run.hand("b", "a");
    }
    let bounce = |run: &Told| {
        run.warning(Rule::HandoffBounce)
            .map(|warning| warning.state)
    };
    assert_eq!(bounce(&run), Some(WarningState::Open));
    (0..60).for_each(|words| run.say(words, 1));
    assert_eq!(bounce(&run), Some(WarningState::Resolved));
}

/// Given a model whose only call the guard refused, telemetry showed it: the run is not blind.
#[test]
fn a_run_whose_calls_were_refused_is_not_blind() {
    let mut run = Told::standard();
    run.tell(Body::ModelCall(ModelCall {
        answer: Answer::ToolCalls(1),
        ..ModelCall::default()
    }));
    let guarded = Guarded {
        asked: 7,
        part: Part::Skipped(Rule::ToolLimit),
        round: 0,
        turn: 0,
    };
    run.tell(Body::ToolCall(ToolCall {
        guarded: Some(Box::new(guarded)),
        ..call("pay".into(), None, value(1, false), value(1, false))
    }));
    run.tell(Body::RunEnd(RunEnd { error: None }));
    let view = run.state.view(&run.policy);
    assert_eq!((view.status, view.skipped_calls), (Status::Healthy, 1));
}

/// Given a question in other words that brought one result, and then in other words again that brought another one, each is
/// counted for itself.
#[test]
fn another_result_is_counted_anew() {
    let mut run = Told::standard();
    let asked = [
        "harbour ferry times",
        "when does the ferry leave the harbour",
        "ferry harbour schedule times",
        "harbour times of the ferry today",
    ];
    let results = [(1, ""), (2, " winter")];
    for (number, (result, season)) in (100..).step_by(100).zip(results) {
        for (input, query) in (number..).zip(asked) {
            let mut asked = value(input, false);
            if let Recorded::Value(value) = &mut asked {
                value.sample = format!(r#"{{"query":"{query}{season}"}}"#).into();
            }
            let mut told = value(result, false);
            if let Recorded::Value(value) = &mut told {
                value.bytes = 400;
                value.numbers = None;
                value.items = Box::default();
            }
            run.tell(Body::ToolCall(call("lookup".into(), None, asked, told)));
        }
    }
    let warning = run.warning(Rule::Stagnation).expect("a warning");
    assert_eq!(warning.count, 4, "{warning:?}");
}
