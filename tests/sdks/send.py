"""A small agent run with a loop, sent through OpenTelemetry's own Python exporters.

    python send.py (grpc|http) ENDPOINT CONVERSATION

Six calls of one tool with the same arguments and the same result, in requests of at most three spans.
Ends with 0 once everything has been acknowledged.
"""

import json
import sys

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

CALLS = 6


def exporter(protocol, endpoint):
    if protocol == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

        return OTLPSpanExporter(endpoint=endpoint, insecure=True)
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter(endpoint=f"{endpoint}/v1/traces")


class Watched(SpanExporter):
    """Remembers whether every request was acknowledged."""

    def __init__(self, inner):
        self.inner = inner
        self.failed = 0

    def export(self, spans):
        result = self.inner.export(spans)
        self.failed += result is not SpanExportResult.SUCCESS
        return result

    def shutdown(self):
        self.inner.shutdown()

    def force_flush(self, timeout_millis=30000):
        return self.inner.force_flush(timeout_millis)


def main(protocol, endpoint, conversation):
    watched = Watched(exporter(protocol, endpoint))
    provider = TracerProvider(resource=Resource.create({"service.name": "sdk-test"}))
    provider.add_span_processor(BatchSpanProcessor(watched, max_export_batch_size=3))
    tracer = provider.get_tracer("sdk-test")
    agent = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "searcher",
        "gen_ai.conversation.id": conversation,
    }
    with tracer.start_as_current_span("invoke_agent searcher", attributes=agent):
        for number in range(CALLS):
            call = {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "search",
                "gen_ai.tool.call.id": f"{conversation}-{number}",
                "gen_ai.tool.call.arguments": json.dumps({"query": "eddies"}),
                "gen_ai.tool.call.result": json.dumps({"found": "the same as before"}),
                "gen_ai.conversation.id": conversation,
            }
            with tracer.start_as_current_span("execute_tool search", attributes=call):
                pass
    provider.shutdown()
    return 1 if watched.failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
