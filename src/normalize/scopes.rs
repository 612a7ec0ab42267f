//! What the name of a scope says: which family of spans it is of, and whether it is a provider's client that speaks.

/// The scopes that are asked for in more than one place.
pub(super) const LANGSMITH: &str = "langsmith";
pub(super) const LITELLM: &str = "litellm";
pub(super) const LLAMA_INDEX: &str = "llamaindex.opentelemetry.tracer";
pub(super) const LOGFIRE_MCP: &str = "logfire.mcp";
pub(super) const MONOCLE: &str = "monocle_apptrace";

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
    /// Eino's callback for `APMPlus`.
    Eino,
    /// `OpenClaw`'s plugin for telemetry.
    OpenClaw,
    /// `OpenRouter`'s broadcast of the requests that pass through it.
    OpenRouter,
    /// Bifrost's plugin for OpenTelemetry, of the requests that pass through it.
    Bifrost,
    /// Whoever says in a key of its own which kind of span it is.
    Plain,
    /// Nobody we know.
    None,
}

impl Dialect {
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
            return matches!(
                Self::of_scope(scope_name),
                Self::None | Self::Langfuse | Self::Bifrost
            );
        };
        let is_one = |part: &str| CLIENTS.iter().any(|name| part.starts_with(name));
        what.split('.').any(is_one) && !what.contains("agents")
    }

    /// The dialect of a scope.
    pub(super) fn of_scope(scope_name: &str) -> Self {
        match scope_name {
            "ai" => Self::Vercel,
            "fastmcp" | "mcp-python-sdk" | LOGFIRE_MCP => Self::Mcp,
            "gemini-cli" | "qwen-code" => Self::GeminiCli,
            "gcp.vertex.agent" => Self::GoogleAdk,
            LANGSMITH => Self::LangSmith,
            "logfire.openai_agents" => Self::Logfire,
            "langfuse-sdk" => Self::Langfuse,
            "github.com/cloudwego/eino-ext/callbacks/apmplus" => Self::Eino,
            "openclaw" => Self::OpenClaw,
            "openrouter" => Self::OpenRouter,
            "bifrost" => Self::Bifrost,
            LLAMA_INDEX => Self::LlamaIndex,
            MONOCLE => Self::Monocle,
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
    use super::Dialect;

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
