//! Which framework speaks, and the file that reads it.
//!
//! The scope name decides, since keys are shared: a processor that translates into one convention leaves the keys of
//! another behind. Where the scope name is somebody's own tracer, the keys decide, in the order in which they can be
//! trusted (`openinference.span.kind` before `gen_ai.operation.name`, and so on).

mod agentscope;
mod claude_code;
mod codex;
mod gemini_cli;
mod gen_ai;
mod google_adk;
mod haystack;
mod laminar;
mod langfuse;
mod langgraph;
mod langsmith;
pub(super) mod litellm;
mod llama_index;
mod logfire;
mod mcp;
mod messages;
mod monocle;
mod openinference;
mod openllmetry;
mod plain;
mod vercel;

use crate::engine::policy::Policy;
use crate::otlp::{LogView, SpanView};

use super::facts::{Facts, Slot};
use super::reading::Reading;
use super::{Outcome, Report};

pub(super) use self::messages::Retold;

/// A family of spans that is read by one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Arize's instrumentations: `openinference.span.kind`.
    OpenInference,
    /// Traceloop's instrumentations: `traceloop.*` beside `gen_ai.*`.
    OpenLlmetry,
    /// LangSmith's exporter: `langsmith.*`.
    LangSmith,
    /// Langfuse's SDK: `langfuse.observation.*`.
    Langfuse,
    /// Logfire's own spans of openai-agents.
    Logfire,
    /// google-adk: `gcp.vertex.agent.*` beside `gen_ai.*`.
    GoogleAdk,
    /// The OpenTelemetry GenAI conventions, as frameworks speak them themselves.
    GenAi,
    /// The Vercel AI SDK's own keys.
    Vercel,
    /// Model Context Protocol clients and servers.
    Mcp,
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
    /// Gemini CLI and Qwen Code, which is made of it.
    GeminiCli,
    /// `LiteLLM`'s own callback: what went to a provider and came back.
    LiteLlm,
    /// llama-index's own tracer.
    LlamaIndex,
    /// Monocle's tracer of whatever framework.
    Monocle,
    /// Haystack's own tracer.
    Haystack,
    /// Whoever says in a key of its own which kind of span it is.
    Plain,
    /// Nobody we know.
    None,
}

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
            Self::Haystack => haystack::span(reading),
            Self::LiteLlm => litellm::span(reading),
            Self::LlamaIndex => llama_index::span(reading),
            Self::Monocle => monocle::span(reading),
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

    /// Whether a scope is that of a provider's client, or a program's own: it sees what goes into a model and what comes
    /// out of it, and of the tools in between no more than that. A framework with agents tells of its tools itself.
    pub(super) fn is_client(scope_name: &str) -> bool {
        const CLIENTS: [&str; 19] = [
            "openai",
            "anthropic",
            "bedrock",
            "botocore",
            "google_gen",
            "vertexai",
            "groq",
            "mistral",
            "cohere",
            "together",
            "ollama",
            "litellm",
            "portkey",
            "watsonx",
            "writer",
            "vllm",
            "deepseek",
            "huggingface",
            "xai",
        ];
        let Some(what) = watched(scope_name) else {
            return matches!(Self::of_scope(scope_name), Self::None | Self::Langfuse);
        };
        let is_one = |part: &str| CLIENTS.iter().any(|name| part.starts_with(name));
        what.split('.').any(is_one) && !what.contains("agents")
    }

    fn of_scope(scope_name: &str) -> Self {
        match scope_name {
            "ai" => Self::Vercel,
            "fastmcp" | "mcp-python-sdk" | mcp::LOGFIRE => Self::Mcp,
            "gemini-cli" | "qwen-code" => Self::GeminiCli,
            "gcp.vertex.agent" => Self::GoogleAdk,
            langsmith::SCOPE => Self::LangSmith,
            "logfire.openai_agents" => Self::Logfire,
            "langfuse-sdk" => Self::Langfuse,
            llama_index::SCOPE => Self::LlamaIndex,
            monocle::SCOPE => Self::Monocle,
            // The last is its maker's own, whatever the name says.
            "pydantic-ai"
            | "agent_framework"
            | "autogen-core"
            | "gen_ai"
            | "opentelemetry.instrumentation.ag2" => Self::GenAi,
            _ if starts_with_one(scope_name, &["openinference.", "@arizeai/openinference-"]) => {
                Self::OpenInference
            }
            _ if starts_with_one(
                scope_name,
                &[
                    "opentelemetry.instrumentation.",
                    "@traceloop/instrumentation-",
                ],
            ) =>
            {
                Self::OpenLlmetry
            }
            _ if scope_name.starts_with("com.anthropic.claude_code") => Self::ClaudeCode,
            _ if scope_name.starts_with("codex_") => Self::Codex,
            _ if starts_with_one(scope_name, &["autogen ", "strands", "semantic_kernel"]) => {
                Self::GenAi
            }
            _ => Self::None,
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

/// What an instrumentation watches, as its scope name says: `langchain` for `openinference.instrumentation.langchain` and for
/// `@arizeai/openinference-instrumentation-langchain`. `None` where the scope is no instrumentation's.
pub(super) fn watched(scope_name: &str) -> Option<&str> {
    const PREFIXES: [&str; 9] = [
        "openinference.instrumentation.",
        "opentelemetry.instrumentation.",
        "langtrace_python_sdk.instrumentation.",
        "openlit.instrumentation.",
        "logfire.",
        "@arizeai/openinference-instrumentation-",
        "@traceloop/instrumentation-",
        "@opentelemetry/instrumentation-",
        "@openlit/instrumentation-",
    ];
    let mut prefixes = PREFIXES.iter();
    prefixes.find_map(|prefix| scope_name.strip_prefix(prefix))
}

fn starts_with_one(text: &str, starts: &[&str]) -> bool {
    starts.iter().any(|start| text.starts_with(start))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Dialect;
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

    /// Clients of providers and programs' own tracers; frameworks, whoever watches them, tell of their tools themselves.
    #[test]
    fn clients_are_known() {
        for scope in [
            "my-agent",
            "com.anthropic.sdk.python",
            "logfire.openai",
            "openinference.instrumentation.openai",
            "opentelemetry.instrumentation.openai.v1",
            "opentelemetry.instrumentation.openai_v2",
            "opentelemetry.instrumentation.genai.anthropic",
            "opentelemetry.instrumentation.botocore.bedrock-runtime",
            "openlit.instrumentation.openai",
            "langtrace_python_sdk.instrumentation.openai.patch",
            "@arizeai/openinference-instrumentation-openai",
            "@traceloop/instrumentation-anthropic",
            "@opentelemetry/instrumentation-openai",
        ] {
            assert!(Dialect::is_client(scope), "{scope}");
        }
        for scope in [
            "pydantic-ai",
            "langsmith",
            "logfire.openai_agents",
            "openinference.instrumentation.openai_agents",
            "opentelemetry.instrumentation.genai.openai_agents",
            "opentelemetry.instrumentation.genai.langchain",
            "opentelemetry.instrumentation.llamaindex",
            "openlit.instrumentation.langchain",
            "langtrace_python_sdk.instrumentation.langchain.patch",
            "@arizeai/openinference-instrumentation-langchain",
            "@traceloop/instrumentation-langchain",
        ] {
            assert!(!Dialect::is_client(scope), "{scope}");
        }
    }
}
