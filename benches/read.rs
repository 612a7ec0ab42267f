//! What reading costs: nanoseconds a span from request bytes to reports, without sockets, engine or disk.
//!
//!     cargo bench --bench read [PART OF A LINE'S NAME]
//!
//! Each line adds something to the span of the line before it, so that the difference is its price. The fastest of many
//! short blocks is printed: the machine may be busy, and what interrupts a block only makes it longer.

use std::hint::black_box;
use std::time::Instant;

use eddy::config::profile::Name;
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
const BLOCKS: usize = 3_000;

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
}

/// Prints what it costs to walk spans with these values, and to walk and normalize them.
fn report(name: &str, values: &[(&str, &str)]) {
    let mut wanted = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'));
    if !wanted.next().is_none_or(|wanted| name.contains(&wanted)) {
        return;
    }
    let request = request(values);
    let walk = fastest(|| {
        for span in otlp::spans(&request, &Limits::default()) {
            black_box(&span).as_ref().expect("a span");
        }
    });
    let (normalizer, policy) = (Normalizer::new(), Name::Standard.policy());
    let normalize = fastest(|| {
        let mut reports = Vec::new();
        let mut batch = normalizer.batch(&policy);
        let mut spans = otlp::spans(&request, &Limits::default());
        while let Some(span) = batch.span(&mut spans, &mut reports) {
            span.expect("a span");
        }
        black_box(reports);
    });
    println!("{name:34} walk {walk:5.0} ns a span, walk and normalize {normalize:5.0} ns");
}

/// Nanoseconds a span of the fastest block.
fn fastest(mut block: impl FnMut()) -> f64 {
    let time = |_| {
        let start = Instant::now();
        block();
        start.elapsed().as_nanos()
    };
    let fastest = (0..BLOCKS).map(time).min().expect("there are blocks");
    fastest as f64 / SPANS as f64
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
