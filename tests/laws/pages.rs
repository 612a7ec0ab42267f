//! Rules find what their pages in the manual say, told by a plain look at all of a simple run.

use std::cell::Cell;

use eddy::engine::event::{
    Answer, Body, Event, Failure, Manner, ModelCall, Recorded, SpanId, ToolCall, TraceId, Traits,
    Value,
};
use eddy::engine::{Input, RunState, step};
use proptest::prelude::{Strategy, prop_oneof};

use super::support::law_of;

/// A call or a text of a simple run: one after the other, a second apart, everything recorded.
#[derive(Clone, Copy, Debug)]
enum Plain {
    /// Tool, arguments, result, error.
    Call(u8, u64, u64, Option<u64>),
    /// A turn of text.
    Text(u64),
}

fn plain_run() -> impl Strategy<Value = Vec<Plain>> {
    let part = prop_oneof![
        6 => (0_u8..2, 0_u64..4, 0_u64..3, proptest::option::weighted(0.3, 0_u64..2))
            .prop_map(|(tool, input, output, error)| {
                // What fails brings nothing else.
                let output = if error.is_some() { 0 } else { output };
                Plain::Call(tool, input, output, error)
            }),
        // New arguments, the same result.
        3 => (0_u8..2, 0_u64..6).prop_map(|(tool, input)| Plain::Call(tool, input, 0, None)),
        3 => (1_u64..4).prop_map(Plain::Text),
    ];
    // Short pieces that are repeated, so that rounds are common.
    let length = prop_oneof![9 => 1_usize..5, 1 => 7_usize..12];
    let piece = length.prop_flat_map(move |length| proptest::collection::vec(part.clone(), length));
    proptest::collection::vec((piece, 1_usize..5), 1..6).prop_map(|pieces| {
        let repeated = |(piece, times): (Vec<Plain>, usize)| piece.repeat(times);
        pieces.into_iter().flat_map(repeated).collect()
    })
}

/// Arguments that may all be one question in wholly other words.
const QUESTIONS: [&str; 6] = [
    "tide tables",
    "who rents boats",
    "ferry from Oslo",
    "harbour fees by season",
    "late arrivals",
    "old maps of canals",
];

fn plain_event(index: usize, plain: Plain) -> Event {
    let long = |number: u64, bytes: u32| {
        Recorded::Value(Value {
            fingerprint: number,
            masked: number,
            bytes,
            empty: false,
            pending: false,
            denies: false,
            refuses: false,
            answers: false,
            sample: format!("{{\"q\":\"{}\"}}", QUESTIONS[number as usize]).into(),
            numbers: None,
            items: Box::default(),
        })
    };
    let body = match plain {
        Plain::Call(tool, input, output, error) => Body::ToolCall(ToolCall {
            tool: ["search", "run"][usize::from(tool)].into(),
            call_id: None,
            // A result that is no longer than what was sent may be a mere acknowledgement.
            input: long(input, 100),
            output: match error {
                Some(_) => Recorded::NotRecorded,
                None => long(output, 200),
            },
            error: error.map(|masked| Failure {
                text: "refused".into(),
                masked,
                transient: false,
            }),
            hands_off: false,
            manner: Manner::default(),
            traits: Traits::default(),
            guarded: None,
        }),
        Plain::Text(text) => Body::ModelCall(ModelCall {
            answer: Answer::Text(Some(text)),
            ..ModelCall::default()
        }),
    };
    let number = index as u64 + 1;
    Event {
        id: number,
        trace: TraceId([1; 16]),
        span: SpanId(number.to_be_bytes()),
        parent: SpanId::default(),
        start_ns: number * 1_000_000_000,
        end_ns: number * 1_000_000_000,
        agent: None,
        worker: None,
        body,
    }
}

/// The calls of a run, each with what it brought that was new.
struct Told(Vec<(u8, u64, u64, Option<u64>)>);

impl Told {
    fn of(run: &[Plain]) -> Self {
        let call = |plain: &Plain| match *plain {
            Plain::Call(tool, input, output, error) => Some((tool, input, output, error)),
            Plain::Text(_) => None,
        };
        Self(run.iter().filter_map(call).collect())
    }

    fn is_fresh(&self, at: usize) -> bool {
        let (tool, input, output, error) = self.0[at];
        let before = &self.0[..at];
        let brought_it = |call: &&(u8, u64, u64, Option<u64>)| {
            call.3.is_none() && (call.0, call.2) == (tool, output)
        };
        // The same question, which had other answers lately, has a new one.
        let newest = before[at.saturating_sub(12)..].iter();
        let asked: Vec<_> = newest
            .filter(|call| (call.0, call.1) == (tool, input))
            .collect();
        let answers_anew = !asked.is_empty() && !asked.iter().any(brought_it);
        error.is_none() && (answers_anew || !before.iter().any(|call| brought_it(&call)))
    }

    /// Whether a call went well, and the same call failed the last time.
    fn works_at_last(&self, at: usize) -> bool {
        let (tool, input, _, error) = self.0[at];
        let mut newest = self.0[at.saturating_sub(12)..at].iter().rev();
        let same = newest.find(|call| (call.0, call.1) == (tool, input));
        error.is_none() && same.is_some_and(|call| call.3.is_some())
    }

    /// As the page of `tool_cycle` says: each call of the newest round and some more as a round before, and of a long round, that
    /// is not made of short ones, each call of two rounds.
    fn goes_round(&self) -> bool {
        let calls = &self.0;
        let newest = calls.len();
        let as_before = |period: usize, needed: usize| {
            newest >= needed + period
                && (1..=needed).all(|back| calls[newest - back] == calls[newest - back - period])
        };
        let short = |period: usize| {
            as_before(period, (period + 2).min(13 - period))
                && (2..=period).any(|back| calls[newest - back] != calls[newest - 1])
        };
        let long = |period: usize| {
            as_before(period, 2 * period) && !(1..7).any(|short| as_before(short, period))
        };
        (2..=6).any(short) || (7..=32).any(long)
    }

    /// As the page of `stagnation` says.
    fn stagnates(&self) -> bool {
        let newest = self.0.len() - 1;
        let (tool, input, output, error) = self.0[newest];
        if error.is_some() || self.is_fresh(newest) {
            return false;
        }
        let (mut same, mut others, mut wordings) = (0, 0, Vec::new());
        let of_tool = (newest.saturating_sub(11)..newest).filter(|at| self.0[*at].0 == tool);
        for at in of_tool.rev() {
            let (_, asked, result, error) = self.0[at];
            if result == output && error.is_none() {
                same += 1;
                wordings.extend((asked != input).then_some(asked));
            } else if self.is_fresh(at) {
                break;
            } else {
                others += usize::from(error.is_none());
            }
        }
        wordings.sort_unstable();
        wordings.dedup();
        same >= 3 && same >= others && wordings.len() >= 2
    }

    /// As the page of `same_error` says.
    fn fails_alike(&self) -> bool {
        let newest = self.0.len() - 1;
        let (tool, _, _, Some(error)) = self.0[newest] else {
            return false;
        };
        let (mut count, mut last) = (0, newest);
        for at in (0..=newest).rev().filter(|at| self.0[*at].0 == tool) {
            let ends = self.is_fresh(at)
                || self.works_at_last(at)
                || self.0[at].3.is_some_and(|other| other != error);
            if ends || last - at >= 12 {
                break;
            }
            if self.0[at].3.is_some() {
                (count, last) = (count + 1, at);
            }
        }
        count >= 4
    }
}

/// As the page of `repeated_text` says.
fn says_again(run: &[Plain]) -> bool {
    let stretch = run
        .iter()
        .rev()
        .take_while(|plain| matches!(plain, Plain::Text(_)))
        .count();
    let (before, stretch) = run.split_at(run.len() - stretch);
    let again: Vec<_> = (1..stretch.len())
        .filter(|at| {
            let newest = &stretch[at.saturating_sub(12)..*at];
            newest.iter().any(|other| same_text(*other, stretch[*at]))
        })
        .collect();
    if again.last().is_none_or(|at| *at + 1 != stretch.len()) {
        return false;
    }
    let barren = !matches!(before.last(), Some(Plain::Call(_, _, _, None)));
    let several = again
        .iter()
        .any(|at| !same_text(stretch[*at], stretch[again[0]]));
    if several {
        again.len() >= 2
    } else {
        barren && again.len() >= 4
    }
}

fn same_text(left: Plain, right: Plain) -> bool {
    matches!((left, right), (Plain::Text(one), Plain::Text(other)) if one == other)
}

/// Given any simple run, each rule has spoken by some event where, and only where, a look at all of the run so far by the
/// rule's page of the manual finds it at that event or an earlier one. Each rule speaks in some of the runs, and in some not.
#[test]
fn rules_agree_with_their_pages() {
    const RULES: [&str; 4] = ["tool_cycle", "stagnation", "same_error", "repeated_text"];
    let (runs, spoke) = (Cell::new(0), RULES.map(|_| Cell::new(0)));
    law_of(500, &plain_run(), |run, policy| {
        if !policy.progress_aware || !policy.others.is_empty() {
            return;
        }
        let mut policy = policy.clone();
        policy.waiting = None;
        let mut state = RunState::new("run".into());
        let mut expected = [false; 4];
        for (index, plain) in run.iter().enumerate() {
            let input = Input::Reports {
                at_ms: 1,
                session_id: None,
                service: None,
                events: vec![plain_event(index, *plain)],
            };
            step(&mut state, &input, &policy);
            let so_far = &run[..=index];
            if let Plain::Call(..) = plain {
                let told = Told::of(so_far);
                expected[0] |= told.goes_round();
                expected[1] |= told.stagnates();
                expected[2] |= told.fails_alike();
            }
            expected[3] |= says_again(so_far);
            let warnings = state.view(&policy).warnings;
            let found =
                RULES.map(|name| warnings.iter().any(|warning| warning.rule.name() == name));
            assert_eq!(found, expected, "after {index} of {run:?}");
        }
        runs.set(runs.get() + 1);
        for (spoke, found) in spoke.iter().zip(expected) {
            spoke.set(spoke.get() + u32::from(found));
        }
    });
    for (rule, spoke) in RULES.iter().zip(spoke) {
        let (spoke, runs) = (spoke.get(), runs.get());
        println!("{rule} spoke in {spoke} of {runs} runs");
        assert!(0 < spoke && spoke < runs, "{rule}: {spoke} of {runs}");
    }
}
