//! Reports of one call, put together whatever their order.

use super::*;
use crate::engine::event::{TraceId, id_of_place};
use crate::engine::witness::Witness;

fn model(span: u8, parent: u8, times: (u64, u64), call: ModelCall) -> Event {
    Event {
        id: u64::from(span),
        trace: TraceId([1; 16]),
        span: SpanId([span; 8]),
        parent: SpanId([parent; 8]),
        start_ns: times.0,
        end_ns: times.1,
        agent: None,
        worker: None,
        body: Body::ModelCall(call),
    }
}

fn tokens(input_tokens: u64) -> ModelCall {
    ModelCall {
        input_tokens,
        ..ModelCall::default()
    }
}

fn costing(cost: u64, cost_is_estimate: bool) -> ModelCall {
    ModelCall {
        call_id: Some(7),
        cost_microusd: Some(cost),
        cost_is_estimate,
        ..ModelCall::default()
    }
}

fn named(tool: &str, span: u8, parent: u8, times: (u64, u64)) -> Event {
    Event {
        body: Body::ToolCall(ToolCall {
            tool: tool.into(),
            ..ToolCall::default()
        }),
        ..model(span, parent, times, ModelCall::default())
    }
}

fn count(events: &[Event]) -> usize {
    let window: Window = events.iter().cloned().collect();
    let reports = window.unpack_all();
    steps(&window, &reports).len()
}

/// Given a client that names a tool with its server, and the server's span beside it: one call, under the client's name.
/// Two servers' tools of one name stay two, and so do two calls beside each other.
#[test]
fn a_servers_span_is_its_clients_call() {
    let client = named("mcp__docs__search", 1, 9, (10, 40));
    let server = named("search", 2, 9, (20, 30));
    let together = [client.clone(), server];
    assert_eq!(count(&together), 1);
    let window: Window = together.into_iter().collect();
    let reports = window.unpack_all();
    let Step::Tool(call) = &steps(&window, &reports)[0] else {
        panic!("a tool call")
    };
    assert_eq!(call.tool.map(|tool| &**tool), Some("mcp__docs__search"));
    let other = named("mcp__web__search", 2, 9, (20, 30));
    assert_eq!(count(&[client.clone(), other]), 2);
    let beside = named("mcp__docs__search", 2, 9, (20, 30));
    assert_eq!(count(&[client, beside]), 2);
}

/// Given a hand-off that is reported before it has run and once it has failed, in whichever order; control has stayed.
#[test]
fn a_hand_off_that_failed_later_is_none() {
    let hand_off = |error: Option<Failure>| ToolCall {
        hands_off: error.is_none(),
        error,
        ..tool("transfer_to_billing", Some(7), value(1))
    };
    let no_agent = Failure {
        text: "no such agent".into(),
        masked: 5,
        transient: false,
    };
    let asked = event(1, (10, 10), Body::ToolCall(hand_off(None)));
    let failed = event(1, (10, 20), Body::ToolCall(hand_off(Some(no_agent))));
    for (reports, is_made) in [
        (vec![asked.clone()], true),
        (vec![asked.clone(), failed.clone()], false),
        (vec![failed, asked], false),
    ] {
        let window: Window = reports.into_iter().collect();
        let reports = window.unpack_all();
        let steps = steps(&window, &reports);
        let [Step::Tool(call)] = &steps[..] else {
            panic!("one tool call")
        };
        assert_eq!(call.hands_off, is_made);
    }
}

/// Given a client that has a server's tool under a prefix, and the server's spans below it: one call, under the client's name.
/// A span beside it, with other arguments, an id of its own or another time is another call, and so is a tool whose name is no
/// end of the client's, or that is called once more.
#[test]
fn a_servers_spans_are_the_call_of_a_prefixed_tool() {
    let with = |event: Event, change: fn(&mut ToolCall)| {
        let mut event = event;
        if let Body::ToolCall(call) = &mut event.body {
            change(call);
        }
        event
    };
    for prefixed in ["weather_search", "weather-search", "docs/v1.search"] {
        let client = named(prefixed, 1, 9, (10, 40));
        let server = named("search", 2, 1, (12, 38));
        let within = named("search", 3, 2, (14, 36));
        let together = [client.clone(), server.clone(), within];
        assert_eq!(count(&together), 1, "{prefixed}");
        let window: Window = together.into_iter().collect();
        let reports = window.unpack_all();
        let Step::Tool(call) = &steps(&window, &reports)[0] else {
            panic!("a tool call")
        };
        assert_eq!(call.tool.map(|tool| &**tool), Some(prefixed));
        let again = named("search", 4, 1, (39, 40));
        let twice = [client.clone(), server.clone(), again];
        assert_eq!(count(&twice), 2, "{prefixed}");
        for other in [
            named("search", 2, 9, (12, 38)),
            named("search", 2, 1, (12, 50)),
            named("research", 2, 1, (12, 38)),
            with(server, |call| call.call_id = Some(7)),
        ] {
            assert_eq!(count(&[client.clone(), other.clone()]), 2, "{other:?}");
        }
    }
    let asking = |tool: &str, span, parent, fingerprint: u64| {
        let mut event = named(tool, span, parent, (10, 40));
        if let Body::ToolCall(call) = &mut event.body {
            call.input = value(fingerprint);
        }
        event
    };
    let client = asking("web_search", 1, 9, 1);
    assert_eq!(count(&[client.clone(), asking("search", 2, 1, 1)]), 1);
    assert_eq!(count(&[client, asking("search", 2, 1, 2)]), 2);
}

/// Given a tracer that leaves a span that raised open for what comes after it: each call counts. A child within its
/// parent's time is the same call, whether it failed or not.
#[test]
fn calls_below_one_that_failed_before_are_calls() {
    let failed = |span, parent, times| {
        let mut event = named("run_query", span, parent, times);
        if let Body::ToolCall(call) = &mut event.body {
            call.error = Some(Failure {
                text: "refused".into(),
                masked: 1,
                transient: false,
            });
        }
        event
    };
    let calls = [
        failed(1, 9, (10, 20)),
        failed(2, 1, (30, 40)),
        failed(3, 2, (50, 60)),
    ];
    assert_eq!(count(&calls), 3);
    assert_eq!(count(&[failed(1, 9, (10, 20)), failed(2, 1, (12, 18))]), 1);
    assert_eq!(count(&[failed(1, 9, (10, 20)), failed(2, 1, (19, 22))]), 1);
}

/// Given clocks of whole milliseconds: the span of a short call begins when the model is told its answer. It is one call
/// with the answer to the same question, and not with that to another.
#[test]
fn an_answer_may_come_with_its_span() {
    let told = |id: u64, tool: &str, call_id: u64, body: fn(ToolCall) -> Body| Event {
        id,
        body: body(ToolCall {
            tool: tool.into(),
            call_id: Some(call_id),
            ..ToolCall::default()
        }),
        ..named(tool, 0, 8, (10, 10))
    };
    let moment = |mut event: Event, at: u64| {
        (event.start_ns, event.end_ns) = (at, at);
        event.span = SpanId::default();
        event
    };
    let asked = |tool, call_id| moment(told(100 + call_id, tool, call_id, Body::Requested), 2);
    let answer = |call_id| moment(told(200 + call_id, "", call_id, Body::ToolCall), 10);
    let span = |tool, number| named(tool, number, 9, (10, 12));
    let calls = |events: &[Event]| {
        let window: Window = events.iter().cloned().collect();
        let reports = window.unpack_all();
        let steps = steps(&window, &reports);
        let is_tool = |step: &&Step<'_>| matches!(step, Step::Tool(_));
        steps.iter().filter(is_tool).count()
    };
    let one = [asked("search", 7), answer(7), span("search", 1)];
    assert_eq!(calls(&one), 1);
    let failure = |text: &str| Failure {
        text: text.into(),
        masked: 1,
        transient: false,
    };
    let failing = |mut event: Event, text| {
        if let Body::ToolCall(call) = &mut event.body {
            call.error = Some(failure(text));
        }
        event
    };
    let both = [
        asked("search", 7),
        failing(answer(7), "Error: refused"),
        failing(span("search", 1), "refused"),
    ];
    let window: Window = both.into_iter().collect();
    let reports = window.unpack_all();
    let steps_of_both = steps(&window, &reports);
    let told = steps_of_both.iter().find_map(|step| match step {
        Step::Tool(call) => call.error,
        _ => None,
    });
    assert_eq!(told.map(|error| &*error.text), Some("refused"));
    let two = [
        asked("search", 7),
        asked("read", 8),
        answer(7),
        answer(8),
        span("search", 1),
        span("read", 2),
    ];
    assert_eq!(calls(&two), 2);
}

/// Given two spans of one model call by two tracers, which round differently: one call, though the inner one seems to
/// outlast the outer.
#[test]
fn tracers_may_round_differently() {
    let inner = ModelCall {
        call_id: Some(7),
        ..tokens(3)
    };
    let together = [
        model(1, 9, (10, 20), tokens(3)),
        model(2, 1, (12, 21), inner),
    ];
    assert_eq!(count(&together), 1);
    let apart = [
        model(1, 9, (10, 20), tokens(3)),
        model(2, 1, (20, 21), tokens(3)),
    ];
    assert_eq!(count(&apart), 2);
}

/// Given an id that comes again with every answer: each span is a call of its own, though a record of the first lies
/// between them; a second span of one call, which shares its time, is not.
#[test]
fn an_id_that_comes_again_is_another_call() {
    let tool = |span: u8, parent: u8, times: (u64, u64)| Event {
        body: Body::ToolCall(ToolCall {
            tool: "search".into(),
            call_id: Some(7),
            ..ToolCall::default()
        }),
        id: u64::from(span) * 100 + times.0,
        span: if span == 0 {
            SpanId::default()
        } else {
            SpanId([span; 8])
        },
        ..model(span, parent, times, ModelCall::default())
    };
    let calls = |events: &[Event]| {
        let window: Window = events.iter().cloned().collect();
        let reports = window.unpack_all();
        steps(&window, &reports).len()
    };
    let (first, record) = (tool(1, 9, (10, 20)), tool(0, 1, (20, 20)));
    let (second, third) = (tool(2, 9, (30, 40)), tool(3, 9, (50, 50)));
    assert_eq!(calls(&[first.clone(), record, second.clone(), third]), 3);
    assert_eq!(calls(&[first.clone(), tool(4, 8, (12, 22))]), 1);
    assert_eq!(calls(&[first, tool(5, 1, (20, 25))]), 1);
}

fn models(window: &[Event]) -> Vec<Spoken> {
    let window: Window = window.iter().cloned().collect();
    let reports = window.unpack_all();
    let models = steps(&window, &reports)
        .into_iter()
        .filter_map(|step| match step {
            Step::Model(_, spoken) => Some(spoken),
            _ => None,
        });
    models.collect()
}

/// Given a library's span around that of the client it uses, they are one call with its tokens once; given a second
/// request below the same span, or a request that is not within, it is a call of its own.
#[test]
fn nested_model_spans_are_one_call() {
    let outer = model(1, 0, (10, 50), tokens(120));
    let inner = model(2, 1, (15, 45), tokens(120));
    assert_eq!(
        models(&[outer.clone(), inner.clone()]),
        [Spoken::of(&tokens(120))]
    );
    let second = model(3, 1, (46, 49), tokens(5));
    assert_eq!(models(&[outer.clone(), inner, second]).len(), 2);
    let later = model(2, 1, (60, 70), tokens(120));
    assert_eq!(models(&[outer.clone(), later]).len(), 2);
    let other_id = |event: &Event, id| {
        let mut event = event.clone();
        if let Body::ModelCall(call) = &mut event.body {
            call.call_id = Some(id);
        }
        event
    };
    let inner = model(2, 1, (15, 45), tokens(120));
    assert_eq!(models(&[other_id(&outer, 1), other_id(&inner, 2)]).len(), 2);
}

fn told_by(tracer: &str, name: &str, input_tokens: u64) -> ModelCall {
    ModelCall {
        witness: Some(Witness::of(tracer, Some(name), input_tokens, 20)),
        ..tokens(input_tokens)
    }
}

/// Given two tracers of one program whose spans stand beside each other or far apart, and share the time and the tokens: one
/// call. Two calls of one tracer are two, however alike they are, and each tracer's part of them is found.
#[test]
fn two_tracers_tell_of_one_call() {
    let one = |number, parent, times| model(number, parent, times, told_by("a", "gpt-4o", 110));
    let other =
        |number, parent, times| model(number, parent, times, told_by("b", "openai/gpt-4o", 110));
    for parent in [9, 8] {
        let together = [one(1, 9, (10, 40)), other(2, parent, (12, 38))];
        assert_eq!(models(&together), [Spoken::of(&tokens(110))], "{parent}");
    }
    assert_eq!(count(&[one(1, 9, (10, 40)), other(2, 9, (40, 60))]), 2);
    let cheaper = model(2, 9, (12, 38), told_by("b", "gpt-4o", 50));
    assert_eq!(count(&[one(1, 9, (10, 40)), cheaper]), 2);
    let parallel = [
        one(1, 9, (10, 40)),
        one(2, 9, (11, 41)),
        one(3, 9, (12, 42)),
    ];
    assert_eq!(count(&parallel), 3);
    let mut watched_twice = parallel.to_vec();
    watched_twice.extend([13, 14, 15].map(|at| other(at, 8, (u64::from(at), 38))));
    assert_eq!(count(&watched_twice), 3);
    let elsewhere = |mut event: Event| {
        event.trace = TraceId([2; 16]);
        event
    };
    assert_eq!(
        count(&[one(1, 9, (10, 40)), elsewhere(other(2, 9, (12, 38)))]),
        2
    );
}

/// Given a framework around a client, and a second tracer of the client below it: three spans, one below the other and one
/// beside, are one call.
#[test]
fn layers_and_witnesses_are_one_call() {
    let untold = model(1, 9, (10, 40), told_by("framework", "gpt-4o", 0));
    let client = model(2, 1, (12, 38), told_by("a", "gpt-4o", 110));
    let below = model(3, 2, (13, 37), told_by("b", "gpt-4o", 110));
    let beside = model(4, 9, (14, 36), told_by("c", "gpt-4o", 110));
    let all = [untold, client, below, beside];
    assert_eq!(models(&all), [Spoken::of(&tokens(110))]);
}

/// Given a framework's span around a client that tries again: the try that failed is a call of its own, and the tokens of
/// the other count once.
#[test]
fn a_request_made_again_is_another_call() {
    let framework = model(1, 9, (10, 60), told_by("a", "gpt-4o", 110));
    let failed = ModelCall {
        error: Some(Failure {
            text: "429".into(),
            masked: 1,
            transient: true,
        }),
        ..told_by("b", "gpt-4o", 0)
    };
    let first = model(2, 1, (12, 20), failed);
    let second = model(3, 1, (30, 55), told_by("b", "gpt-4o", 110));
    let input = |spoken: &Spoken| spoken.input_tokens;
    let told = models(&[framework, first, second]);
    assert_eq!(told.iter().map(input).collect::<Vec<_>>(), [110, 0]);
}

/// Given spans of model calls with the same id of the answer, they are one where one lies within the other, whatever their
/// parents, and as many calls as there are where one follows the other; a record belongs to the span before it.
#[test]
fn an_answer_that_comes_again_is_another_call() {
    let told = |input_tokens| ModelCall {
        call_id: Some(7),
        ..tokens(input_tokens)
    };
    let within = [
        model(1, 9, (10, 40), told(110)),
        model(2, 8, (12, 38), told(110)),
    ];
    assert_eq!(models(&within).len(), 1);
    let again = [
        model(1, 9, (10, 40), told(110)),
        model(0, 1, (40, 40), told(0)),
        model(2, 9, (50, 80), told(120)),
        model(0, 2, (80, 80), told(0)),
        model(3, 9, (90, 95), told(130)),
    ];
    let input = |spoken: &Spoken| spoken.input_tokens;
    let told = models(&again);
    assert_eq!(told.iter().map(input).collect::<Vec<_>>(), [110, 120, 130]);
}

/// Given an estimate and a stated cost of one call, the stated one stands, whichever came first and is larger.
#[test]
fn a_stated_cost_stands_before_an_estimate() {
    let span = model(1, 0, (10, 50), costing(900, true));
    let record = model(0, 0, (12, 50), costing(300, false));
    for window in [[span.clone(), record.clone()], [record, span]] {
        let call = models(&window).remove(0);
        assert_eq!(
            (call.cost_microusd, call.cost_is_estimate),
            (Some(300), false)
        );
    }
}

fn value(fingerprint: u64) -> Recorded {
    Recorded::Value(crate::engine::event::Value {
        fingerprint,
        masked: fingerprint,
        bytes: 9,
        empty: false,
        pending: false,
        denies: false,
        refuses: false,
        answers: false,
        sample: Text::default(),
        numbers: None,
        items: Box::default(),
    })
}

fn tool(name: &str, call_id: Option<u64>, input: Recorded) -> ToolCall {
    ToolCall {
        tool: name.into(),
        call_id,
        input,
        ..ToolCall::default()
    }
}

fn event(span: u8, times: (u64, u64), body: Body) -> Event {
    Event {
        body,
        ..model(span, 9, times, ModelCall::default())
    }
}

/// A line for each call: tool, fingerprints of arguments and result, times.
fn calls(window: &[Event]) -> Vec<String> {
    let window: Window = window.iter().cloned().collect();
    let reports = window.unpack_all();
    let calls = steps(&window, &reports)
        .into_iter()
        .filter_map(|step| match step {
            Step::Tool(call) => {
                let shown = |value: &Recorded| value.value().map_or(0, |value| value.fingerprint);
                let (tool, times) = (call.tool.unwrap(), (call.start_ns, call.end_ns));
                let (input, output) = (shown(call.input), shown(call.output));
                Some(format!("{tool}({input}) = {output} {times:?}"))
            }
            _ => None,
        });
    calls.collect()
}

/// Given calls that a model asked for under ids, spans without ids, and answers that name nothing but ids: each answer
/// is that of the span whose arguments were asked for under its id, and of the first that is free where the arguments
/// are not known. What was asked for and not called is no call.
#[test]
fn answers_find_their_calls_through_what_was_asked_for() {
    let asked =
        |span, id, input| event(span, (10, 20), Body::Requested(tool("t", Some(id), input)));
    let span = |span, from, input| {
        event(
            span,
            (from, from + 5),
            Body::ToolCall(tool("t", None, input)),
        )
    };
    let answer = |id, output| {
        let call = ToolCall {
            output: value(output),
            ..tool("", Some(id), Recorded::NotRecorded)
        };
        event(0, (50, 50), Body::ToolCall(call))
    };
    let window = [
        asked(1, 71, value(1)),
        asked(2, 72, value(2)),
        asked(3, 73, value(3)),
        span(4, 30, value(2)),
        span(5, 31, value(1)),
        answer(71, 8),
        answer(72, 9),
    ];
    assert_eq!(calls(&window), ["t(2) = 9 (30, 35)", "t(1) = 8 (31, 36)"]);
    let unknown = || Recorded::NotRecorded;
    let window = [
        asked(1, 71, unknown()),
        asked(2, 72, unknown()),
        span(4, 30, value(2)),
        span(5, 31, unknown()),
        answer(71, 8),
        answer(72, 9),
    ];
    assert_eq!(calls(&window), ["t(2) = 8 (30, 35)", "t(0) = 9 (31, 36)"]);
}

/// Given messages in which calls have no ids, and spans that have some: what was asked for and what was answered belong to
/// the span of that tool and its arguments. A call that is made again is a call of its own, and so is one of which there is
/// no span.
#[test]
fn ids_of_places_belong_to_spans_with_ids() {
    let id = |place: u64| Some(id_of_place(place));
    let asked = |place: u64, input| {
        let at = place * 100;
        event(
            place as u8,
            (at, at + 5),
            Body::Requested(tool("t", id(place), value(input))),
        )
    };
    let span = |place: u64, input| {
        let at = place * 100 + 10;
        let call = tool("t", Some(place), value(input));
        event(place as u8 + 50, (at, at + 5), Body::ToolCall(call))
    };
    let answer = |place: u64, output| {
        let at = place * 100 + 100;
        let call = ToolCall {
            output: value(output),
            ..tool("", id(place), Recorded::NotRecorded)
        };
        event(0, (at, at), Body::ToolCall(call))
    };
    let window = [
        asked(1, 1),
        span(1, 1),
        asked(2, 1),
        answer(1, 8),
        span(2, 1),
        asked(3, 1),
        answer(2, 9),
        answer(3, 7),
        span(4, 2),
    ];
    assert_eq!(
        calls(&window),
        [
            "t(1) = 8 (110, 115)",
            "t(1) = 9 (210, 215)",
            "t(1) = 7 (305, 400)",
            "t(2) = 0 (410, 415)"
        ]
    );
    let given = |id| event(1, (10, 20), Body::Requested(tool("t", Some(id), value(1))));
    let answered = event(
        0,
        (150, 150),
        Body::ToolCall(tool("", Some(71), Recorded::NotRecorded)),
    );
    assert_eq!(calls(&[given(71), span(1, 1), answered]).len(), 2);
}

/// Given a span of a tool without an id, whose arguments are written otherwise than the model wrote them, it is the first of the
/// newest answer that nobody has taken, once that is over; with an id of its own it is another call.
#[test]
fn arguments_written_otherwise_are_those_of_the_request() {
    let asked = |id: u64, input| {
        let asked = Body::Requested(tool("t", Some(id), value(input)));
        event(id as u8, (10, 20), asked)
    };
    let span = |span, from, id, input| {
        let call = Body::ToolCall(tool("t", id, value(input)));
        event(span, (from, from + 5), call)
    };
    let answer = |id, output| {
        let call = ToolCall {
            output: value(output),
            ..tool("", Some(id), Recorded::NotRecorded)
        };
        event(0, (50, 50), Body::ToolCall(call))
    };
    let window = |id, from| {
        [
            asked(71, 1),
            asked(72, 2),
            span(4, from, id, 11),
            span(5, from + 6, None, 12),
            answer(71, 8),
            answer(72, 9),
        ]
    };
    let expected = ["t(11) = 8 (30, 35)", "t(12) = 9 (36, 41)"];
    assert_eq!(calls(&window(None, 30)), expected);
    assert_eq!(calls(&window(Some(5), 30)).len(), 3);
    assert_eq!(calls(&window(None, 15)).len(), 3);
}

/// Given what stands for an id that comes again, with each answer or in each of several conversations, an answer belongs to the
/// newest request that was over before it, rather to one below the span that is around the answered model. What two tracers
/// tell of one request, one within the other or beside it, is one.
#[test]
fn places_that_come_again_are_told_apart() {
    let place = Some(id_of_place(7));
    // A call of a model that was given what the one before it had asked for, and asks again.
    let round = |span: u8, parent: u8, from: u64, tracer: &str, told: Option<u64>| {
        let (from_ns, to_ns) = (from * 10_000, (from + 50) * 10_000);
        let call = ModelCall {
            witness: Some(Witness::of(tracer, None, from, 1)),
            ..ModelCall::default()
        };
        let body = Body::Requested(tool("t", place, value(from / 100)));
        let asked = Event {
            parent: SpanId([parent; 8]),
            ..event(span, (from_ns, to_ns), body)
        };
        let output = told.map(|output| {
            let call = ToolCall {
                output: value(output),
                ..tool("", place, Recorded::NotRecorded)
            };
            Event {
                parent: SpanId([span; 8]),
                ..event(0, (from_ns, from_ns), Body::ToolCall(call))
            }
        });
        let model = model(span, parent, (from_ns, to_ns), call);
        [model, asked].into_iter().chain(output)
    };
    let calls_of = |rounds: Vec<Vec<Event>>| {
        let mut window: Vec<_> = rounds.into_iter().flatten().collect();
        window.sort_by_key(super::super::place::Place::of);
        calls(&window)
    };
    let all = |rounds: &[(u8, u8, u64, &str, Option<u64>)]| {
        let rounds = rounds.iter();
        let rounds = rounds.map(|&(span, parent, from, tracer, told)| {
            round(span, parent, from, tracer, told).collect()
        });
        calls_of(rounds.collect())
    };
    let one_after_another = [
        (1, 9, 100, "a", None),
        (2, 9, 200, "a", Some(5)),
        (3, 9, 300, "a", Some(6)),
    ];
    let expected = ["t(1) = 5 (1500000, 2000000)", "t(2) = 6 (2500000, 3000000)"];
    assert_eq!(all(&one_after_another), expected);
    for parent in [1, 9, 8] {
        // The other tracer's spans: below, beside, and elsewhere.
        let below = |outer: u8| if parent == 1 { outer } else { parent };
        let by_two = [
            (11, below(1), 101, "b", None),
            (12, below(2), 201, "b", Some(5)),
            (13, below(3), 301, "b", Some(6)),
        ];
        let by_two: Vec<_> = one_after_another.into_iter().chain(by_two).collect();
        assert_eq!(all(&by_two).len(), 2, "{parent}");
    }
    let side_by_side = [
        (1, 8, 100, "a", None),
        (2, 9, 120, "a", None),
        (3, 8, 200, "a", Some(5)),
        (4, 9, 220, "a", Some(6)),
    ];
    let expected = ["t(1) = 5 (1500000, 2000000)", "t(1) = 6 (1700000, 2200000)"];
    assert_eq!(all(&side_by_side), expected);
}

/// Given two requests of one answer that have no ids, and what tools answered, of which one has the nanosecond before the other, at
/// the very time at which the answer was over; each is put to its request.
#[test]
fn answers_may_come_with_the_end_of_what_asked_for_them() {
    let places = [id_of_place(7), id_of_place(8)];
    let asked = |nth: usize| {
        let body = Body::Requested(tool("t", Some(places[nth]), value(nth as u64)));
        event(1, (100_000, 200_000), body)
    };
    let answer = |nth: usize| {
        let call = ToolCall {
            output: value(5 + nth as u64),
            ..tool("", Some(places[nth]), Recorded::NotRecorded)
        };
        let at_ns = 199_999 + nth as u64;
        event(0, (at_ns, at_ns), Body::ToolCall(call))
    };
    let window = [asked(0), asked(1), answer(0), answer(1)];
    let expected = ["t(0) = 5 (199999, 199999)", "t(1) = 6 (200000, 200000)"];
    assert_eq!(calls(&window), expected);
}

/// Given a call of which there is nothing but what the model asked for and what it was answered, it is known by these,
/// and lasted from the one to the other.
#[test]
fn messages_alone_tell_of_a_call() {
    let asked = event(1, (10, 20), Body::Requested(tool("t", Some(71), value(1))));
    let answer = event(
        0,
        (50, 50),
        Body::ToolCall(tool("", Some(71), Recorded::NotRecorded)),
    );
    assert_eq!(
        calls(&[asked.clone(), answer.clone()]),
        ["t(1) = 0 (20, 50)"]
    );
    assert_eq!(calls(&[answer]), ["(0) = 0 (50, 50)"]);
    assert!(calls(&[asked]).is_empty());
}

/// Given a report within another that tells the id, it belongs to that one, whichever id had been asked for first.
#[test]
fn containment_comes_before_what_was_asked_for() {
    let asked = |id| {
        event(
            1,
            (10, 20),
            Body::Requested(tool("t", Some(id), Recorded::NotRecorded)),
        )
    };
    let outer = event(4, (30, 40), Body::ToolCall(tool("t", None, value(1))));
    let inner = model(5, 4, (31, 39), ModelCall::default());
    let inner = Event {
        body: Body::ToolCall(tool("t", Some(72), value(1))),
        ..inner
    };
    let window = [asked(71), asked(72), outer, inner];
    assert_eq!(calls(&window), ["t(1) = 0 (30, 40)"]);
}
