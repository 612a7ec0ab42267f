//! What one step of the engine costs.
//!
//!     cargo bench --bench step [-- PART OF A LINE'S NAME]
//!
//! Late in a run against early in it, the median of many short blocks: the ratio is what a long run costs more. Then of many
//! runs in turn, where nothing of a run is near when its turn comes, with the memory that each takes.

use std::fs;
use std::time::Instant;

use eddy::engine::event::{
    Body, Event, Guarded, Manner, Part, Recorded, SpanId, Text, ToolCall, TraceId, Traits, Value,
};
use eddy::engine::policy::Policy;
use eddy::engine::run::WINDOW_EVENTS_MAX;
use eddy::engine::{Input, RunState, step};

/// The allocator of the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let policy = standard();
    let ways: [(&str, &dyn Fn(u64) -> Input); 5] = [
        ("a loop", &|index| input(index, 1)),
        ("ever new calls", &|index| input(index, u64::MAX)),
        ("two spans a call", &of_two_spans),
        ("asked, then told", &of_the_guard),
        ("one in ten asked", &of_the_guard_at_times),
    ];
    for (name, input) in ways {
        if is_wanted(name) {
            flatness(&policy, name, input);
        }
    }
    if is_wanted("many runs") {
        many_runs(&policy);
    }
}

fn is_wanted(name: &str) -> bool {
    let mut wanted = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'));
    wanted.next().is_none_or(|wanted| name.contains(&wanted))
}

fn flatness(policy: &Policy, name: &str, input: &dyn Fn(u64) -> Input) {
    let [early, late] = [100, 100_000].map(|before| step_cost_ns(policy, before, input));
    println!(
        "{name:16} {early:5.0} ns a report at 100, {late:5.0} ns at 100000: ratio {:.2}",
        late / early
    );
}

/// A call's inner span and then, with the next number, the outer one around it.
fn of_two_spans(index: u64) -> Input {
    with_event(input(index / 2, u64::MAX), |event| {
        let outer = SpanId((index | 1 | 1 << 40).to_be_bytes());
        if index.is_multiple_of(2) {
            event.parent = outer;
        } else {
            event.id ^= 1;
            event.span = outer;
            event.start_ns -= 1_000;
            event.end_ns += 1_000;
        }
    })
}

/// What the guard is asked and then, with the next number, what it is told of the call.
fn of_the_guard(index: u64) -> Input {
    guarded(index / 2, index.is_multiple_of(2))
}

/// The same of one call in ten; the others are told of by spans alone.
fn of_the_guard_at_times(index: u64) -> Input {
    match index % 12 {
        0 => guarded(index, true),
        1 => guarded(index - 1, false),
        _ => input(index, u64::MAX),
    }
}

fn guarded(call: u64, is_question: bool) -> Input {
    with_event(input(call, u64::MAX), |event| {
        event.trace = TraceId::default();
        (event.span, event.parent) = (SpanId::default(), SpanId::default());
        let Body::ToolCall(told) = &mut event.body else {
            return;
        };
        let part = if is_question {
            told.output = Recorded::NotRecorded;
            event.end_ns = event.start_ns;
            Part::Question
        } else {
            event.id ^= 1;
            Part::Result
        };
        told.guarded = Some(Box::new(Guarded {
            asked: call + 1,
            part,
            round: 0,
            turn: 0,
        }));
    })
}

fn with_event(mut input: Input, change: impl Fn(&mut Event)) -> Input {
    if let Input::Reports { events, .. } = &mut input {
        events.iter_mut().for_each(change);
    }
    input
}

/// Cost of a step where each is for another run, so that nothing of a run is near when its turn comes.
fn many_runs(policy: &Policy) {
    const AT_ONCE: u64 = 1_000;
    let mut states: Vec<RunState> = (0..AT_ONCE)
        .map(|run| RunState::new(format!("run {run}").into()))
        .collect();
    let mut rounds = Vec::new();
    let mut before_mib = 0;
    for index in 0..300 {
        let inputs: Vec<Input> = (0..AT_ONCE).map(|_| input(index, u64::MAX)).collect();
        if index == 0 {
            before_mib = rss_mib();
        }
        let start = Instant::now();
        for (run, (state, input)) in (0..AT_ONCE).zip(states.iter_mut().zip(&inputs)) {
            // They begin one after the other, so that their windows are not full all at a time.
            if index >= run % WINDOW_EVENTS_MAX as u64 {
                std::hint::black_box(step(state, input, policy));
            }
        }
        rounds.push(start.elapsed().as_nanos() as f64 / AT_ONCE as f64);
    }
    let full = rounds.split_off(100);
    let mean = full.iter().sum::<f64>() / full.len() as f64;
    println!(
        "many runs: of {AT_ONCE} in turn, {mean:.0} ns a report, median {:.0} ns; {} KiB a run",
        median(full),
        (rss_mib() - before_mib) * 1_024 / AT_ONCE
    );
}

/// Median time of a step among blocks of fifty, after `before` steps of a run, the median of some such. Blocks are short, so
/// that few of them are interrupted, and the median leaves those out.
fn step_cost_ns(policy: &Policy, before: u64, input: &dyn Fn(u64) -> Input) -> f64 {
    const STEPS: u64 = 50;
    let block = |state: &mut RunState| {
        let inputs: Vec<Input> = (before..before + STEPS).map(input).collect();
        let start = Instant::now();
        for input in &inputs {
            std::hint::black_box(step(state, input, policy));
        }
        start.elapsed().as_nanos() as f64 / STEPS as f64
    };
    let mut state = RunState::new("run".into());
    for index in 0..before {
        step(&mut state, &input(index), policy);
    }
    // Each block starts from the same state, so that it stands for this point of the run.
    median((0..1_000).map(|_| block(&mut state.clone())).collect())
}

fn input(index: u64, novelty: u64) -> Input {
    let value = |number: u64| {
        let sample = Text::from(format!(
            "{{\"limit\":10,\"query\":\"{}\",\"text\":\"{}\"}}",
            number % 977,
            "stream turns upon itself where the bank is steep "
                .repeat(5)
                .split_at(200)
                .0
        ));
        Recorded::Value(Value {
            fingerprint: number,
            masked: number,
            bytes: 300,
            empty: false,
            pending: false,
            denies: false,
            refuses: false,
            answers: false,
            sample,
            numbers: None,
            items: Box::default(),
        })
    };
    let result = |number: u64| match value(number) {
        Recorded::Value(value) => Recorded::Value(Value {
            sample: Text::default(),
            ..value
        }),
        other => other,
    };
    let event = Event {
        id: (index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15),
        trace: TraceId([7; 16]),
        span: SpanId((index + 1).to_be_bytes()),
        parent: SpanId([9; 8]),
        start_ns: 1_000_000_000_000 + index * 1_000_000,
        end_ns: 1_000_000_000_000 + index * 1_000_000 + 500_000,
        agent: Some("agent".into()),
        worker: None,
        body: Body::ToolCall(ToolCall {
            tool: ["search", "read", "write"][index as usize % 3].into(),
            call_id: Some(index),
            input: value(index % novelty),
            output: result(index % novelty),
            error: None,
            hands_off: false,
            manner: Manner::default(),
            traits: Traits::default(),
            guarded: None,
        }),
    };
    Input::Reports {
        at_ms: 1,
        session_id: None,
        service: None,
        events: vec![event],
    }
}

fn standard() -> Policy {
    serde_saphyr::from_str(include_str!("../config/profiles/standard.yaml"))
        .expect("the profile parses")
}

/// Resident memory of this process in MiB.
fn rss_mib() -> u64 {
    let text = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split_whitespace()
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok())
        .unwrap_or(0)
        * 4
        / 1_024
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
