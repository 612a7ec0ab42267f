//! Texts made of what the reader itself looks for.
//!
//! Chance alone seldom writes `rtt = 1/2` or `AUTH failed: 'bob`: the places where reading goes wrong lie behind words that the
//! reader knows. So each text of its own source is cut anywhere, and texts are made of its words, with signs of every kind between
//! them, within JSON and without. Whatever is read out of that, reading and judging end. `EDDY_FUZZ=N` makes N times as many texts.

use eddy::config::profile::Name;
use eddy::normalize::Normalizer;
use opentelemetry_proto::tonic::trace::v1::{Span, Status};

use super::made::{Dice, attribute, judge, read, request, span, times};
use super::words::{Words, quoted};

/// Tools of the kinds that are told apart.
const TOOLS: [&str; 12] = [
    "bash",
    "python",
    "search",
    "read_file",
    "edit_file",
    "apply_patch",
    "browser_click",
    "run_sql",
    "web_fetch",
    "wait",
    "http_request",
    "transfer_to_b",
];

/// Requests that are made.
const REQUESTS: u64 = 2_000;

/// A call, as one of several dialects reports it.
fn call(words: &Words, number: u64, values: &[[String; 2]], dice: &mut Dice) -> Span {
    let tool = *dice.one(&TOOLS);
    let [input, output] = dice.one(values);
    let names = *dice.one(&[
        ["tool.name", "input.value", "output.value"],
        [
            "traceloop.entity.name",
            "traceloop.entity.input",
            "traceloop.entity.output",
        ],
        [
            "gen_ai.tool.name",
            "gen_ai.tool.call.arguments",
            "gen_ai.tool.call.result",
        ],
    ]);
    let mut attributes = vec![
        attribute("openinference.span.kind", "TOOL"),
        attribute("traceloop.span.kind", "tool"),
        attribute("gen_ai.operation.name", "execute_tool"),
    ];
    attributes.extend(
        names
            .iter()
            .zip([tool, input, output])
            .map(|(name, value)| attribute(name, value)),
    );
    let message = if dice.once_in(3) {
        words.text(dice)
    } else {
        String::new()
    };
    Span {
        status: Some(Status {
            code: i32::from(!message.is_empty()) * 2,
            message,
        }),
        ..span(number, attributes)
    }
}

#[test]
fn samples_cut_anywhere_are_read() {
    const SPANS: usize = 200;
    let Words { samples, .. } = Words::of_the_reader();
    assert!(samples.len() > 500, "only {} samples", samples.len());
    let normalizer = Normalizer::new();
    let cut = |sample: &str, at: usize| {
        let (front, back) = sample.split_at(at);
        let input = format!("{{\"command\":{}}}", quoted(back));
        let attributes = vec![
            attribute("gen_ai.operation.name", "execute_tool"),
            attribute("gen_ai.tool.name", "bash"),
            attribute("gen_ai.tool.call.arguments", &input),
            attribute("gen_ai.tool.call.result", front),
        ];
        span(at as u64, attributes)
    };
    let places = |sample: &str| {
        sample
            .char_indices()
            .map(|place| place.0)
            .collect::<Vec<_>>()
    };
    for sample in &samples {
        for places in places(sample).chunks(SPANS) {
            let spans = places.iter().map(|at| cut(sample, *at)).collect();
            let mut reports = Vec::new();
            read(&normalizer, &request(spans), false, &mut reports);
            assert_eq!(reports.len(), places.len(), "{sample}");
        }
    }
}

#[test]
fn texts_of_the_readers_words_are_read_and_judged() {
    let times = times();
    let words = Words::of_the_reader();
    let normalizer = Normalizer::new();
    let mut judged = 0;
    for number in 0..REQUESTS * times {
        let mut dice = Dice::of(number);
        // Of a failure, the last one says where.
        println!("{number}");
        let values = [(); 2].map(|()| [words.value(&mut dice), words.text(&mut dice)]);
        let spans = (0..=dice.below(5) as u64).map(|at| call(&words, at, &values, &mut dice));
        let request = request(spans.collect());
        let mut reports = Vec::new();
        read(&normalizer, &request, false, &mut reports);
        judge(
            &reports,
            *dice.one(&[Name::Standard, Name::Looplens, Name::Attocode]),
        );
        judged += reports.len();
    }
    assert!(
        judged as u64 > REQUESTS * times,
        "only {judged} reports were read"
    );
}
