// A small agent run with a loop, sent through OpenTelemetry's own JavaScript exporters.
//
//     node send.js (json|protobuf) ENDPOINT CONVERSATION
//
// Six calls of one tool with the same arguments and the same result, in requests of at most three spans. Ends with 0 once
// everything has been acknowledged.

import { context, trace } from "@opentelemetry/api";
import { OTLPTraceExporter as JsonExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtobufExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";

const CALLS = 6;
const [protocol, endpoint, conversation] = process.argv.slice(2);

const Exporter = protocol === "json" ? JsonExporter : ProtobufExporter;
const exporter = new Exporter({ url: `${endpoint}/v1/traces` });
let failed = 0;
const watched = {
  export: (spans, done) =>
    exporter.export(spans, (result) => {
      failed += result.code === 0 ? 0 : 1;
      done(result);
    }),
  forceFlush: () => exporter.forceFlush(),
  shutdown: () => exporter.shutdown(),
};

const provider = new BasicTracerProvider({
  resource: resourceFromAttributes({ "service.name": "sdk-test" }),
  spanProcessors: [new BatchSpanProcessor(watched, { maxExportBatchSize: 3 })],
});
const tracer = provider.getTracer("sdk-test");
const agent = tracer.startSpan("invoke_agent searcher", {
  attributes: {
    "gen_ai.operation.name": "invoke_agent",
    "gen_ai.agent.name": "searcher",
    "gen_ai.conversation.id": conversation,
  },
});
const within = trace.setSpan(context.active(), agent);
for (let number = 0; number < CALLS; number += 1) {
  const attributes = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "search",
    "gen_ai.tool.call.id": `${conversation}-${number}`,
    "gen_ai.tool.call.arguments": JSON.stringify({ query: "eddies" }),
    "gen_ai.tool.call.result": JSON.stringify({ found: "the same as before" }),
    "gen_ai.conversation.id": conversation,
  };
  const call = tracer.startSpan("execute_tool search", { attributes }, within);
  // Spans begin at whole milliseconds here; calls that seem to overlap would be parallel ones, and no loop.
  await new Promise((done) => setTimeout(done, 5));
  call.end();
}
agent.end();
await provider.forceFlush();
await provider.shutdown();
process.exitCode = failed === 0 ? 0 : 1;
