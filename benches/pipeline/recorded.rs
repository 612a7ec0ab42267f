//! What frameworks really send, as load: the spans of the recordings, again and again, each time as runs of their own.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use eddy::config::profile::Name;
use eddy::normalize::Normalizer;
use eddy::otlp::{self, Limits};
use memchr::memmem;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message;

/// A span with what is said of all spans beside it.
struct Told {
    beside: ResourceSpans,
    span: Span,
}

/// What was recorded of one run or several.
struct Recording {
    told: Vec<Told>,
    /// The ids by which Eddy finds their runs and sessions, as they stand in it. Many recordings have the same ones.
    ids: BTreeSet<String>,
}

/// For each of the streams requests of so many spans, together of at least `least` spans; a run's come over one stream, in the
/// order in which they were recorded.
pub(crate) fn requests(streams: usize, spans_per_request: usize, least: usize) -> Vec<Vec<Bytes>> {
    let recordings = recordings();
    let spans_of_each: usize = recordings
        .iter()
        .map(|recording| recording.told.len())
        .sum();
    let copies = least.div_ceil(spans_of_each);
    let now = super::now_ns();
    let mut of_streams: Vec<Vec<Told>> = (0..streams).map(|_| Vec::new()).collect();
    for copy in 0..copies {
        for (place, recording) in recordings.iter().enumerate() {
            let nth = copy * recordings.len() + place;
            let begun = recording
                .told
                .iter()
                .map(|told| told.span.start_time_unix_nano);
            let later = now.saturating_sub(begun.min().unwrap_or_default());
            let renewed = recording.told.iter().map(|told| Told {
                beside: other_run(&told.beside, &recording.ids, nth),
                span: renewed(&other_run(&told.span, &recording.ids, nth), copy, later),
            });
            of_streams[nth % streams].extend(renewed);
        }
    }
    of_streams
        .into_iter()
        .map(|told| {
            told.chunks(spans_per_request)
                .map(|told| request(told).encode_to_vec().into())
                .collect()
        })
        .collect()
}

/// The spans of each recording that has some.
fn recordings() -> Vec<Recording> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded");
    let files = fs::read_dir(directory).expect("the recordings are there");
    let mut files: Vec<PathBuf> = files.map(|file| file.expect("an entry").path()).collect();
    files.sort();
    let is_traces = |file: &PathBuf| {
        let name = file.to_string_lossy();
        name.ends_with(".otlp.binpb") && !name.contains(".logs.")
    };
    let files = files.iter().filter(|file| is_traces(file));
    files
        .map(|file| recording(&fs::read(file).expect("a recording")))
        .collect()
}

fn recording(bytes: &[u8]) -> Recording {
    let requests = otlp::delimited(bytes).map(|request| request.expect("a request"));
    let decoded = requests
        .clone()
        .map(|request| ExportTraceServiceRequest::decode(request).expect("a request of traces"));
    Recording {
        told: decoded
            .flat_map(|request| request.resource_spans)
            .flat_map(told)
            .collect(),
        ids: requests.flat_map(run_ids).collect(),
    }
}

/// The ids by which a request names runs and sessions.
fn run_ids(request: &[u8]) -> Vec<String> {
    let (normalizer, policy) = (Normalizer::new(), Name::Standard.policy());
    let (mut reports, mut spans) = (Vec::new(), otlp::spans(request, &Limits::default()));
    let mut batch = normalizer.batch(&policy);
    while batch.span(&mut spans, &mut reports).is_some() {}
    let ids = reports
        .into_iter()
        .flat_map(|report| [report.run.run_id, report.run.session_id]);
    ids.flatten().map(|id| id.to_string()).collect()
}

/// The same as another run would tell it: what names a run ends in another number, wherever it stands.
fn other_run<M: Message + Default>(told: &M, ids: &BTreeSet<String>, nth: usize) -> M {
    let mut bytes = told.encode_to_vec();
    for id in ids {
        let number = format!("{nth:08x}");
        let length = id.len().min(number.len());
        let places: Vec<_> = memmem::find_iter(&bytes, id).collect();
        for place in places {
            let end = place + id.len();
            bytes[end - length..end].copy_from_slice(&number.as_bytes()[number.len() - length..]);
        }
    }
    M::decode(&*bytes).expect("it is as long as it was")
}

fn told(mut resource: ResourceSpans) -> Vec<Told> {
    let scopes = std::mem::take(&mut resource.scope_spans);
    let of_scope = |mut scope: ScopeSpans| {
        let spans = std::mem::take(&mut scope.spans);
        let beside = ResourceSpans {
            scope_spans: vec![scope],
            ..resource.clone()
        };
        let told = spans.into_iter().map(move |span| Told {
            beside: beside.clone(),
            span,
        });
        told.collect::<Vec<_>>()
    };
    scopes.into_iter().flat_map(of_scope).collect()
}

/// A span as it would be told by another run: other ids, and so much later.
fn renewed(span: &Span, copy: usize, later_ns: u64) -> Span {
    let mut span = span.clone();
    let links = span.links.iter_mut();
    let links = links.flat_map(|link| [&mut link.trace_id, &mut link.span_id]);
    let own = [
        &mut span.trace_id,
        &mut span.span_id,
        &mut span.parent_span_id,
    ];
    for id in links.chain(own) {
        for (byte, change) in id.iter_mut().rev().zip(copy.to_le_bytes()) {
            *byte ^= change;
        }
    }
    for time in [&mut span.start_time_unix_nano, &mut span.end_time_unix_nano] {
        *time = time.saturating_add(later_ns);
    }
    for event in &mut span.events {
        event.time_unix_nano = event.time_unix_nano.saturating_add(later_ns);
    }
    span
}

/// A request with these spans, in which what is said of several that follow each other stands once.
fn request(told: &[Told]) -> ExportTraceServiceRequest {
    let mut request = ExportTraceServiceRequest::default();
    for Told { beside, span } in told {
        let said = &beside.scope_spans[0];
        let newest = request.resource_spans.last_mut();
        let newest = newest.filter(|newest| newest.resource == beside.resource);
        let Some(resource) = newest else {
            let mut beside = beside.clone();
            beside.scope_spans[0].spans.push(span.clone());
            request.resource_spans.push(beside);
            continue;
        };
        let newest = resource.scope_spans.last_mut();
        if let Some(scope) = newest.filter(|newest| newest.scope == said.scope) {
            scope.spans.push(span.clone());
        } else {
            let mut scope = said.clone();
            scope.spans.push(span.clone());
            resource.scope_spans.push(scope);
        }
    }
    request
}
