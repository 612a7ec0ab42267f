//! The span that the doctor sends: one call of a tool in a run of its own.

use std::time::{SystemTime, UNIX_EPOCH};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};

use super::SERVICE;
use crate::export::otlp::text;

/// A request with one span, told of by the protocol that it goes over.
pub(super) fn request(run_id: &str, sent_by: &str) -> ExportTraceServiceRequest {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |now| now.as_nanos() as u64);
    let id = (u128::from(now) << 8) | sent_by.len() as u128;
    let call_id = format!("{run_id}-{sent_by}");
    let span = Span {
        trace_id: id.to_be_bytes().to_vec(),
        span_id: now.to_be_bytes().to_vec(),
        name: "execute_tool probe".to_owned(),
        start_time_unix_nano: now,
        end_time_unix_nano: now,
        attributes: vec![
            text("gen_ai.operation.name", "execute_tool"),
            text("gen_ai.conversation.id", run_id),
            text("gen_ai.agent.name", SERVICE),
            text("gen_ai.tool.name", "probe"),
            text("gen_ai.tool.call.id", &call_id),
            text(
                "gen_ai.tool.call.arguments",
                &format!("{{\"over\":\"{sent_by}\"}}"),
            ),
            text(
                "gen_ai.tool.call.result",
                &format!("{{\"sent\":\"{call_id}\"}}"),
            ),
        ],
        ..Span::default()
    };
    ExportTraceServiceRequest {
        resource_spans: vec![ResourceSpans {
            resource: Some(Resource {
                attributes: vec![text("service.name", SERVICE)],
                ..Resource::default()
            }),
            scope_spans: vec![ScopeSpans {
                scope: Some(InstrumentationScope {
                    name: "eddy.doctor".to_owned(),
                    ..InstrumentationScope::default()
                }),
                spans: vec![span],
                ..ScopeSpans::default()
            }],
            ..ResourceSpans::default()
        }],
    }
}
