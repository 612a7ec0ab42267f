//! Which framework speaks, and the file that reads it.
//!
//! The scope name decides, since keys are shared: a processor that translates into one convention leaves the keys of
//! another behind. Where the scope name is somebody's own tracer, the keys decide, in the order in which they can be
//! trusted (`openinference.span.kind` before `gen_ai.operation.name`, and so on).

mod agentscope;
mod bifrost;
mod claude_code;
mod codex;
mod eino;
mod gemini_cli;
mod gen_ai;
mod google_adk;
mod haystack;
mod laminar;
mod langfuse;
mod langgraph;
mod langsmith;
mod litellm;
mod llama_index;
mod logfire;
mod mcp;
mod messages;
mod monocle;
mod openclaw;
mod openinference;
mod openllmetry;
mod openrouter;
mod plain;
mod vercel;

use crate::engine::policy::Policy;
use crate::otlp::{LogView, SpanView};

use super::facts::{Facts, Slot};
use super::reading::Reading;
use super::report::{Outcome, Report};
use super::scopes::Dialect;

pub(super) use self::messages::Retold;

impl Dialect {
    /// The dialect of a span.
    pub(super) fn of_span(span: &SpanView<'_>, facts: &Facts<'_>) -> Self {
        match Self::of_scope(span.scope_name) {
            // Its spans come from the program's tracer, and say in their names what they are.
            Self::None if span.name.starts_with("haystack.") => Self::Haystack,
            Self::None if span.name == litellm::RAW_REQUEST => Self::LiteLlm,
            Self::None => Self::of_keys(facts),
            // A processor has rewritten the framework's own spans and taken the old keys away.
            Self::GenAi if facts.has(Slot::OpenInferenceKind) && !facts.has(Slot::Operation) => {
                Self::OpenInference
            }
            known => known,
        }
    }

    /// Tells what a span of this dialect says.
    pub(super) fn read(self, reading: &mut Reading<'_, '_>) -> Outcome {
        match self {
            Self::OpenInference => openinference::span(reading),
            Self::OpenLlmetry => openllmetry::span(reading),
            Self::LangSmith => langsmith::span(reading),
            Self::Langfuse => langfuse::span(reading),
            Self::Logfire => logfire::span(reading),
            Self::GoogleAdk => google_adk::span(reading),
            Self::GenAi => gen_ai::span(reading),
            Self::Vercel => vercel::span(reading),
            Self::Mcp => mcp::span(reading),
            Self::ClaudeCode => claude_code::span(reading),
            Self::GeminiCli => gemini_cli::span(reading),
            Self::Eino => eino::span(reading),
            Self::Haystack => haystack::span(reading),
            Self::LiteLlm => litellm::span(reading),
            Self::LlamaIndex => llama_index::span(reading),
            Self::Monocle => monocle::span(reading),
            Self::OpenClaw => openclaw::span(reading),
            Self::OpenRouter => openrouter::span(reading),
            Self::Bifrost => bifrost::span(reading),
            Self::Plain => plain::span(reading),
            // Its spans are internals of the program; everything an agent did is in its log records.
            Self::Codex => Outcome::Noise,
            Self::None => Outcome::NoDialect,
        }
    }

    /// Tells what a log record says. `out` has what was told of the records before it.
    pub(super) fn read_log(
        log: &LogView<'_>,
        report: &mut Report,
        policy: &Policy,
        retold: &mut Retold,
        out: &mut Vec<Report>,
    ) -> Outcome {
        match Self::of_scope(log.scope_name) {
            Self::ClaudeCode => claude_code::log(log, report, policy),
            Self::Codex => codex::log(log, report, policy),
            Self::GeminiCli => gemini_cli::log(log, report, policy),
            // The conventions' log events are read alike from whoever writes them.
            _ => messages::log(log, report, policy, retold, out),
        }
    }

    fn of_keys(facts: &Facts<'_>) -> Self {
        let rows = [
            (Slot::OpenInferenceKind, Self::OpenInference),
            (Slot::TraceloopKind, Self::OpenLlmetry),
            (Slot::LangSmithKind, Self::LangSmith),
            (Slot::Operation, Self::GenAi),
            (Slot::VercelOperation, Self::Vercel),
            (Slot::LangfuseKind, Self::Langfuse),
            (Slot::McpMethod, Self::Mcp),
            (Slot::OwnKind, Self::Plain),
            (Slot::ToolName, Self::GenAi),
            (Slot::Model, Self::GenAi),
        ];
        let known = rows.into_iter().find(|(slot, _)| facts.has(*slot));
        known.map_or(Self::None, |(_, dialect)| dialect)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::normalize::captured::Captured;

    /// Given a span that is marked for a viewer of another convention, its call is the one that the GenAI conventions tell, in the
    /// conversation that they name; an agent's span stays with the calls below it.
    #[test]
    fn conventions_may_be_mixed() {
        for (mark, call, agent) in [
            ("openinference.span.kind", "TOOL", "AGENT"),
            ("langfuse.observation.type", "tool", "agent"),
            ("langsmith.span.kind", "tool", "agent"),
            ("langwatch.span.type", "tool", "agent"),
        ] {
            let captured = |kind: &str| {
                let attributes = json!({mark: kind, "gen_ai.tool.name": "search", "gen_ai.tool.call.id": "c",
                    "gen_ai.tool.call.arguments": r#"{"query":"x"}"#, "gen_ai.tool.call.result": "[]",
                    "gen_ai.agent.name": "reader", "gen_ai.conversation.id": "conversation"});
                Captured::new("somebody's tracer", "search", &attributes)
            };
            let told = [r#"reader: call with id search({"query":"x"}) = 2 bytes"#];
            assert_eq!(captured(call).told(), told, "{mark}");
            let run = |kind| captured(kind).report().and_then(|report| report.run.run_id);
            assert_eq!(run(call).as_deref(), Some("conversation"), "{mark}");
            assert_eq!(run(agent), None, "{mark}");
        }
    }

    /// Given the word for a kind in whatever case somebody wrote it by hand, the span is a call.
    #[test]
    fn words_for_kinds_have_any_case() {
        for (mark, kind) in [
            ("langsmith.span.kind", "TOOL"),
            ("openinference.span.kind", "tool"),
            ("traceloop.span.kind", "Tool"),
            ("langfuse.observation.type", "TOOL"),
            ("gen_ai.operation.name", "EXECUTE_TOOL"),
        ] {
            let attributes = json!({mark: kind, "gen_ai.tool.name": "search", "gen_ai.tool.call.arguments": "{}"});
            let told = Captured::new("somebody's tracer", "search", &attributes).told();
            assert_eq!(told, ["call search({}) = -"], "{mark}");
        }
    }
}
