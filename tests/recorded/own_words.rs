//! Texts made of what the reader itself looks for.
//!
//! Chance alone seldom writes `rtt = 1/2` or `AUTH failed: 'bob`: the places where reading goes wrong lie behind words that the
//! reader knows. So its own source is the dictionary here: each text in it, cut anywhere, and made texts of its words, with
//! signs of every kind between them, within JSON and without. Whatever is read out of that, reading and judging end. `EDDY_FUZZ=N`
//! makes N times as many texts.

use std::fs;
use std::path::Path;

use eddy::config::profile::Name;
use eddy::normalize::Normalizer;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use prost::Message;

use super::damaged::{Dice, judge, read};

/// What may stand between two words.
const GLUE: [&str; 60] = [
    " ",
    " ",
    " ",
    "",
    "",
    "\n",
    ": ",
    ":",
    "=",
    " = ",
    "\"",
    "'",
    "\\",
    "\\\"",
    ",",
    ".",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "/",
    "-",
    "--",
    "@",
    "\t",
    "`",
    "```",
    "$(",
    "|",
    "&&",
    ";",
    "<",
    ">",
    "</",
    "#",
    "%20",
    "*",
    "\r\n",
    "\\n",
    "\\ud800",
    "\0",
    "\u{1b}[31m",
    "\u{a0}",
    "\u{85}",
    "é",
    "校",
    "İ",
    "😀",
    "0",
    "1",
    "42",
    "99999999999999999999",
    "0x1f",
    "1.5",
    "2026-11-30T10:00:00Z",
    "12:34",
    "https://a.b/c?d=e",
    "a@b.co",
];

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

/// Members of arguments by which it is told what they are.
const MEMBERS: [&str; 8] = [
    "command", "cmd", "code", "query", "path", "url", "sql", "script",
];

/// Bytes up to which a text of the source is a word, and from which it is a sample.
const WORD_BYTES_MAX: usize = 40;

/// Requests that are made.
const REQUESTS: u64 = 2_000;

/// The texts of the reader's source.
struct Words {
    words: Vec<String>,
    samples: Vec<String>,
}

impl Words {
    fn of_the_reader() -> Self {
        let mut texts = Vec::new();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/normalize");
        collect(&source, &mut texts);
        texts.sort();
        texts.dedup();
        let (words, samples) = texts
            .into_iter()
            .partition(|text| text.len() <= WORD_BYTES_MAX);
        Self { words, samples }
    }

    /// Words and what stands between them, a changed sample, or both many times.
    fn text(&self, dice: &mut Dice) -> String {
        match dice.below(8) {
            0..=3 => self.sentence(dice),
            4 | 5 => self.sample(dice),
            6 => (0..=dice.below(4))
                .map(|_| [self.sample(dice), self.sentence(dice)].join("\n"))
                .collect(),
            _ => {
                let unit: String = self.sentence(dice).chars().take(30).collect();
                unit.repeat([2, 20, 200][dice.below(3)])
            }
        }
    }

    fn sentence(&self, dice: &mut Dice) -> String {
        let parts = (0..=dice.below(14)).map(|_| {
            let glue = *dice.one(&GLUE);
            format!("{}{glue}", dice.one(&self.words))
        });
        parts.collect()
    }

    /// A sample, of which something is cut, doubled, or replaced.
    fn sample(&self, dice: &mut Dice) -> String {
        let mut letters: Vec<char> = dice.one(&self.samples).chars().collect();
        for _ in 0..dice.below(5) {
            let at = dice.below(letters.len() + 1);
            let to = letters.len().min(at + dice.below(20));
            match dice.below(5) {
                0 => letters.truncate(at),
                1 => drop(letters.drain(..at)),
                2 => drop(letters.splice(at..to, dice.one(&GLUE).chars())),
                3 => drop(letters.splice(at..at, dice.one(&self.words).chars())),
                _ => letters.extend_from_within(at..to),
            }
        }
        letters.into_iter().collect()
    }

    /// A value of JSON, whose members are named by words.
    fn json(&self, dice: &mut Dice, depth: usize) -> String {
        match dice.below(if depth > 4 { 4 } else { 8 }) {
            0 => dice
                .one(&[
                    "0", "-1", "1e400", "2.5", "null", "true", "\"\"", "[]", "{}",
                ])
                .to_string(),
            1..=3 => quoted(&self.text(dice)),
            4 => {
                let elements = (0..dice.below(5)).map(|_| self.json(dice, depth + 1));
                format!("[{}]", elements.collect::<Vec<_>>().join(","))
            }
            _ => {
                let members = (0..dice.below(6)).map(|_| {
                    let name: &String = dice.one(&self.words);
                    let name = quoted(name);
                    format!("{name}: {}", self.json(dice, depth + 1))
                });
                format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
            }
        }
    }

    /// What a tool is given or brings: a text, an object with a well-known member, or any JSON, which may be cut.
    fn value(&self, dice: &mut Dice) -> String {
        match dice.below(4) {
            0 => self.text(dice),
            1 => format!(
                "{{\"{}\":{}}}",
                dice.one(&MEMBERS),
                quoted(&self.text(dice))
            ),
            2 => self.json(dice, 0),
            _ => {
                let json = self.json(dice, 0);
                let kept = dice.below(json.chars().count() + 1);
                json.chars().take(kept).collect()
            }
        }
    }

    /// A call, as one of several dialects reports it.
    fn call(&self, number: u64, values: &[[String; 2]], dice: &mut Dice) -> Span {
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
            self.text(dice)
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
}

/// Gathers what stands between quotation marks in the lines of a directory's source: ends of lines that are escaped are such,
/// quotation marks become simple ones, and all else stays as it is written.
fn collect(directory: &Path, texts: &mut Vec<String>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, texts);
            continue;
        }
        for line in fs::read_to_string(&path).unwrap().lines() {
            let line = line.replace("\\\"", "'").replace("\\n", "\n");
            let quoted = line.split('"').skip(1).step_by(2);
            texts.extend(quoted.filter(|text| !text.is_empty()).map(str::to_owned));
        }
    }
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

fn attribute(key: &str, text: &str) -> KeyValue {
    KeyValue {
        key: key.into(),
        value: Some(AnyValue {
            value: Some(Any::StringValue(text.into())),
        }),
        ..KeyValue::default()
    }
}

fn span(number: u64, attributes: Vec<KeyValue>) -> Span {
    let time = 1_795_000_000_000_000_000 + number * 1_000_000_000;
    Span {
        trace_id: vec![7; 16],
        span_id: (number + 1).to_be_bytes().to_vec(),
        name: "execute_tool".into(),
        start_time_unix_nano: time,
        end_time_unix_nano: time + 500_000_000,
        attributes,
        ..Span::default()
    }
}

fn request(spans: Vec<Span>) -> Vec<u8> {
    let scope_spans = vec![ScopeSpans {
        spans,
        ..ScopeSpans::default()
    }];
    let resource_spans = vec![ResourceSpans {
        scope_spans,
        ..ResourceSpans::default()
    }];
    ExportTraceServiceRequest { resource_spans }.encode_to_vec()
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
    let more = std::env::var("EDDY_FUZZ").ok();
    let times = more.map_or(1, |more| more.parse().expect("EDDY_FUZZ is a number"));
    let words = Words::of_the_reader();
    let normalizer = Normalizer::new();
    let mut judged = 0;
    for number in 0..REQUESTS * times {
        let mut dice = Dice::of(number);
        // Of a failure, the last one says where.
        println!("{number}");
        let values = [(); 2].map(|()| [words.value(&mut dice), words.text(&mut dice)]);
        let spans = (0..=dice.below(5) as u64).map(|at| words.call(at, &values, &mut dice));
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
