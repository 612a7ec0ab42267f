//! What reading costs: nanoseconds a span from request bytes to reports, without sockets, engine or disk.
//!
//!     cargo bench --bench read [PART OF A LINE'S NAME]
//!
//! Each line adds something to the span of the line before it, so that the difference is its price. The fastest of many
//! short blocks is printed: the machine may be busy, and what interrupts a block only makes it longer.

use std::fs;
use std::hint::black_box;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Instant;

use eddy::config::profile::Name;
use eddy::engine::policy::Policy;
use eddy::normalize::Normalizer;
use eddy::otlp::{self, Limits};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message;

/// The allocator of the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SPANS: usize = 100;
const BLOCKS: usize = 1_000;

/// Words without a digit or an escape, and what tools really print.
const WORDS: &str = "stream turns upon itself where the bank is steep ";
const OUTPUT: &str = r"src/main.rs:10:20 [INFO] at 2026-11-21T20:55:37Z\nGET https://example.com/a?b=1 took 35ms\n\tok: ";

fn main() {
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let arguments = |text: &str| {
        let text = text.repeat(6);
        format!(
            r#"{{"query":"NUMBER","limit":10,"text":"{}"}}"#,
            &text[..260]
        )
    };
    let result = |text: &str, bytes: usize| {
        let text = text.repeat(30);
        format!(r#"{{"hits":["NUMBER"],"text":"{}"}}"#, &text[..bytes - 30])
    };
    let call = "gen_ai.tool.call.arguments";
    let answer = "gen_ai.tool.call.result";
    let words = (arguments(WORDS), result(WORDS, 700), result(WORDS, 1_024));
    let output = (arguments(OUTPUT), result(OUTPUT, 700));
    let rows = r#"{"id":NUMBER,"name":"Ann","tags":["a","b"],"price":1.25,"ok":true},"#.repeat(10);
    let rows = format!(r#"{{"rows":[{}],"total":10}}"#, rows.trim_end_matches(','));
    report("names alone", &[]);
    report("+ 300 B of arguments in words", &[(call, &words.0)]);
    report(
        "+ 700 B of result in words",
        &[(call, &words.0), (answer, &words.1)],
    );
    report(
        "the result of 1 kB",
        &[(call, &words.0), (answer, &words.2)],
    );
    report(
        "both as tools print",
        &[(call, &output.0), (answer, &output.1)],
    );
    report("700 B of small members as result", &[(answer, &rows)]);
    // Arguments longer than a sample are sketched, up to 4 kB.
    let long = |bytes: usize| format!(r#"{{"text":"{}"}}"#, &WORDS.repeat(90)[..bytes]);
    let (short, medium, long) = (long(200), long(1_000), long(4_000));
    report("200 B of arguments, no sketch", &[(call, &short)]);
    report("1 kB of arguments, with a sketch", &[(call, &medium)]);
    report("4 kB of arguments, with a sketch", &[(call, &long)]);
    for rounds in [10, 100] {
        let given = history(rounds);
        let name = format!("a model behind {} kB of messages", given.len() / 1_000);
        let of_model = [
            ("gen_ai.operation.name", "chat"),
            ("gen_ai.input.messages", &given),
        ];
        report(&name, &of_model);
    }
    recorded();
}

/// What a model is given after so many rounds of asking for a call and being told its result, in the form of the GenAI
/// conventions.
fn history(rounds: usize) -> String {
    let says = |role: &str, part: &str| format!(r#"{{"role":"{role}","parts":[{part}]}}"#);
    let mut messages = vec![says(
        "user",
        r#"{"type":"text","content":"Where does the stream turn?"}"#,
    )];
    for round in 0..rounds {
        let id = format!("call_{round:08}");
        let asked = format!(
            r#"{{"type":"tool_call","id":"{id}","name":"search","arguments":{{"query":"bank {round}","limit":10}}}}"#
        );
        let told = format!(
            r#"{{"type":"tool_call_response","id":"{id}","response":"{}{}"}}"#,
            OUTPUT.repeat(4),
            WORDS.repeat(8)
        );
        messages.extend([says("assistant", &asked), says("tool", &told)]);
    }
    format!("[{}]", messages.join(","))
}

/// Prints what it costs to walk and normalize what frameworks really send, the recordings of the tests, and what it costs to
/// decode the same with prost: of all together, and of those that are dearest beside it.
fn recorded() {
    const SHOWN: usize = 8;
    const BLOCKS: usize = 50;
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recorded");
    let files = fs::read_dir(directory).expect("the recordings are there");
    let files = files.map(|file| file.expect("an entry").path());
    let is_traces = |file: &PathBuf| {
        let name = file.to_string_lossy();
        let name = name.rsplit('/').next().unwrap_or_default();
        let is_one = name.ends_with(".otlp.binpb") && !name.contains(".logs.");
        is_one && is_wanted(&format!("recorded {name}"))
    };
    let mut costs = Vec::new();
    let (mut bytes, mut spans) = (0, 0);
    for file in files.filter(is_traces) {
        let text = fs::read(&file).expect("a recording");
        let requests = otlp::delimited(&text).collect::<Result<Vec<_>, _>>();
        let requests = requests.expect("requests");
        bytes += text.len();
        let limits = Limits::default();
        let walked = requests
            .iter()
            .map(|request| otlp::spans(request, &limits).count());
        spans += walked.sum::<usize>();
        let decode = fastest(BLOCKS, || {
            for request in &requests {
                black_box(ExportTraceServiceRequest::decode(*request)).expect("a request");
            }
        });
        let normalize = fastest(BLOCKS, || {
            for request in &requests {
                normalize(request);
            }
        });
        costs.push((normalize / decode, normalize, decode, file));
    }
    if costs.is_empty() {
        return;
    }
    let sum = |cost: fn(&(f64, f64, f64, PathBuf)) -> f64| costs.iter().map(cost).sum::<f64>();
    let (normalized, decoded) = (sum(|cost| cost.1), sum(|cost| cost.2));
    println!(
        "recorded, {spans} spans of {} B: walk and normalize {:.0} ns a span, prost decodes in {:.0} ns, {:.2} times",
        bytes / spans,
        normalized / spans as f64,
        decoded / spans as f64,
        normalized / decoded
    );
    costs.sort_by(|one, other| other.0.total_cmp(&one.0));
    for (ratio, normalize, _, file) in costs.iter().take(SHOWN) {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        println!(
            "  {name:60} {:6.0} µs, {ratio:.2} times",
            normalize / 1_000.0
        );
    }
}

/// Prints what it costs to walk spans with these values, to walk and normalize them, and to decode them with prost.
fn report(name: &str, values: &[(&str, &str)]) {
    if !is_wanted(name) {
        return;
    }
    let request = request(values);
    let walk = fastest(BLOCKS, || {
        for span in otlp::spans(&request, &Limits::default()) {
            black_box(&span).as_ref().expect("a span");
        }
    });
    let normalize = fastest(BLOCKS, || normalize(&request));
    let decode = fastest(BLOCKS, || {
        black_box(ExportTraceServiceRequest::decode(&*request)).expect("a request");
    });
    let [walk, normalize, decode] = [walk, normalize, decode].map(|cost| cost / SPANS as f64);
    println!(
        "{name:34} walk {walk:5.0} ns a span, walk and normalize {normalize:6.0} ns, prost decodes in {decode:5.0} ns"
    );
}

/// Whether a line is to be printed.
fn is_wanted(name: &str) -> bool {
    let mut arguments = std::env::args().skip(1);
    let wanted = arguments.find(|argument| !argument.starts_with('-'));
    wanted.is_none_or(|wanted| name.contains(&wanted))
}

/// Walks and normalizes a request, as the receiver does.
fn normalize(request: &[u8]) {
    static POLICY: LazyLock<Policy> = LazyLock::new(|| Name::Standard.policy());
    static NORMALIZER: LazyLock<Normalizer> = LazyLock::new(Normalizer::new);
    let mut reports = Vec::new();
    let mut batch = NORMALIZER.batch(&POLICY);
    let limits = Limits::default();
    let mut spans = otlp::spans(request, &limits);
    while let Some(span) = batch.span(&mut spans, &mut reports) {
        span.expect("a span");
    }
    black_box(reports);
}

/// Nanoseconds of the fastest of so many blocks.
fn fastest(blocks: usize, mut block: impl FnMut()) -> f64 {
    let time = |_| {
        let start = Instant::now();
        block();
        start.elapsed().as_nanos()
    };
    (0..blocks).map(time).min().expect("there are blocks") as f64
}

fn request(values: &[(&str, &str)]) -> Vec<u8> {
    let request = ExportTraceServiceRequest {
        resource_spans: vec![ResourceSpans {
            resource: Some(Resource {
                attributes: vec![text("service.name", "bench")],
                ..Resource::default()
            }),
            scope_spans: vec![ScopeSpans {
                scope: Some(InstrumentationScope {
                    name: "bench".into(),
                    ..InstrumentationScope::default()
                }),
                spans: (0..SPANS).map(|number| span(number, values)).collect(),
                ..ScopeSpans::default()
            }],
            ..ResourceSpans::default()
        }],
    };
    request.encode_to_vec()
}

fn span(number: usize, values: &[(&str, &str)]) -> Span {
    let mut attributes = vec![
        text("gen_ai.operation.name", "execute_tool"),
        text("gen_ai.tool.name", "search"),
        text("gen_ai.tool.type", "function"),
        text("gen_ai.tool.call.id", &format!("call_{number}")),
        text("gen_ai.agent.name", "researcher"),
        text("gen_ai.conversation.id", &format!("conversation-{number}")),
        text("gen_ai.system", "openai"),
        text("server.address", "127.0.0.1"),
        text("deployment.environment", "bench"),
        text("thread.name", "worker-1"),
    ];
    let number_text = number.to_string();
    let values = values.iter();
    attributes.extend(values.map(|(key, value)| text(key, &value.replace("NUMBER", &number_text))));
    Span {
        trace_id: (number as u128 + 1).to_be_bytes().to_vec(),
        span_id: (number as u64 + 1).to_be_bytes().to_vec(),
        parent_span_id: vec![9; 8],
        name: "execute_tool search".into(),
        start_time_unix_nano: 1_795_000_000_000_000_000,
        end_time_unix_nano: 1_795_000_000_000_000_500,
        attributes,
        ..Span::default()
    }
}

fn text(key: &str, value: &str) -> KeyValue {
    KeyValue {
        key: key.into(),
        value: Some(AnyValue {
            value: Some(Any::StringValue(value.into())),
        }),
        ..KeyValue::default()
    }
}
