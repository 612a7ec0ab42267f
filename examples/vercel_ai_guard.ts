/**
 * Eddy's guard around the tools of the Vercel AI SDK 6.
 *
 *     npm install ai zod tsx
 *     eddy                                  # in another terminal
 *     npx tsx vercel_ai_guard.ts            # an agent that goes in circles, and is led out
 *
 * To use it, copy what stands above `stubborn`, and wrap the tools:
 *
 *     generateText({ model, tools: guarded(tools, runId), ... })
 *
 * `runId` is the id under which Eddy files the run: the session or conversation id that the telemetry carries
 * (`experimental_telemetry.metadata.sessionId`), else the id of the OpenTelemetry trace. A third argument names the agent,
 * where several have profiles of their own. Without a daemon the agent goes on as if nothing of this were here.
 */

import { readFile } from 'node:fs/promises';

import { generateText, stepCountIs, tool, type ToolSet } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import { z } from 'zod';

const ADDRESS = process.env.EDDY_API || '127.0.0.1:4319';
const API = (ADDRESS.includes('://') ? ADDRESS : `http://${ADDRESS}`).replace(/\/$/, '');
// The file of the token, where the daemon asks for one.
const TOKEN_FILE = process.env.EDDY_API_TOKEN_FILE;
const PATIENCE_MS = 500;

interface Answer {
  verdict: 'ALLOW' | 'NUDGE' | 'SKIP' | 'ABORT';
  message?: string;
  previous_result?: string;
}

/** Asks Eddy, and goes on without an answer where there is none in time. */
async function ask(what: 'check' | 'report', body: object): Promise<Answer> {
  try {
    const token = TOKEN_FILE && (await readFile(TOKEN_FILE, 'utf8')).trim();
    const answer = await fetch(`${API}/v1/guard/${what}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    if (!answer.ok) throw new Error(await answer.text());
    return ((await answer.json()) ?? { verdict: 'ALLOW' }) as Answer;
  } catch (error) {
    console.error(`eddy: the call goes on unguarded: ${error}`);
    return { verdict: 'ALLOW' };
  }
}

/** The same tools, each of whose calls is checked before it is made and reported afterwards. */
export function guarded<T extends ToolSet>(tools: T, runId: string, agent?: string): T {
  const wrapped = Object.entries(tools).map(([name, inner]) => [name, inner.execute ? wrap(name, inner, runId, agent) : inner]);
  return Object.fromEntries(wrapped) as T;
}

type Tool = ToolSet[string];
type ModelOutput = Awaited<ReturnType<NonNullable<Tool['toModelOutput']>>>;

function wrap(name: string, inner: Tool, runId: string, agent?: string): Tool {
  const execute = inner.execute!;
  // What the guard has to say about calls, by their ids. The model hears it; the results stay what the tool made them.
  const notes = new Map<string, { refuses: boolean; text: string }>();

  async function* each(input: any, options: any) {
    const id: string = options.toolCallId;
    const call = { run_id: runId, agent, tool: name, arguments: input, call_id: id };
    const { verdict, message = '', previous_result: earlier } = await ask('check', call);
    if (verdict === 'ABORT') throw new Error(message);
    if (verdict === 'SKIP') {
      const text = earlier === undefined ? message : `${message}\n\nThe earlier result:\n${earlier}`;
      notes.set(id, { refuses: true, text });
      yield text;
      return;
    }
    if (verdict === 'NUDGE') notes.set(id, { refuses: false, text: message });
    try {
      const made: any = execute(input, options);
      let result: any;
      if (made?.[Symbol.asyncIterator]) for await (result of made) yield result;
      else yield (result = await made);
      await ask('report', { ...call, status: 'success', result });
    } catch (error) {
      await ask('report', { ...call, status: 'error', error: String(error) });
      if (verdict === 'NUDGE' && error instanceof Error) error.message += `\n\n${message}`;
      throw error;
    }
  }

  async function last(input: any, options: any) {
    let result: any;
    for await (result of each(input, options));
    return result;
  }

  async function toModelOutput(made: { toolCallId: string; input: any; output: any }): Promise<ModelOutput> {
    const note = notes.get(made.toolCallId);
    if (note?.refuses) return { type: 'text', value: note.text };
    const output = inner.toModelOutput ? await inner.toModelOutput(made) : plain(made.output);
    return note ? withNote(output, note.text) : output;
  }

  const streams = execute.constructor.name === 'AsyncGeneratorFunction';
  return { ...inner, execute: streams ? each : last, toModelOutput } as Tool;
}

/** What the SDK shows a model of a result where the tool does not say. */
function plain(output: any): ModelOutput {
  return typeof output === 'string' ? { type: 'text', value: output } : { type: 'json', value: output ?? null };
}

function withNote(output: ModelOutput, note: string): ModelOutput {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return { ...output, value: `${output.value}\n\n${note}` };
    case 'json':
      return { type: 'text', value: `${JSON.stringify(output.value)}\n\n${note}` };
    case 'error-json':
      return { type: 'error-text', value: `${JSON.stringify(output.value)}\n\n${note}` };
    case 'content':
      return { ...output, value: [...output.value, { type: 'text', text: note }] };
    default:
      return output;
  }
}

/** A model that asks the same thing again and again until a call of it is refused. */
export function stubborn() {
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  };
  return new MockLanguageModelV3({
    doGenerate: async ({ prompt }) => {
      const results = prompt.filter((message) => message.role === 'tool');
      const last = JSON.stringify(results.at(-1) ?? 'no forecast');
      if (!last.includes('no forecast') || results.length === 30) {
        const text = 'I cannot find the forecast.';
        return { content: [{ type: 'text', text }], finishReason: { unified: 'stop', raw: 'stop' }, usage, warnings: [] };
      }
      const toolCall = {
        type: 'tool-call' as const,
        toolCallId: `call-${results.length}`,
        toolName: 'forecast',
        input: '{"city":"Bergen"}',
      };
      return { content: [toolCall], finishReason: { unified: 'tool-calls', raw: 'tool-calls' }, usage, warnings: [] };
    },
  });
}

async function main() {
  let made = 0;
  const tools = {
    forecast: tool({
      description: 'The weather in a city.',
      inputSchema: z.object({ city: z.string() }),
      execute: async ({ city }) => {
        made += 1;
        return `no forecast for ${city}`;
      },
    }),
  };
  const { steps } = await generateText({
    model: stubborn(),
    tools: guarded(tools, `example-vercel-ai-${crypto.randomUUID()}`, 'weather'),
    prompt: 'How will the weather be?',
    stopWhen: stepCountIs(40),
  });
  for (const { output } of steps.flatMap((step) => step.toolResults)) console.log(' ', output);
  console.log(`calls made: ${made}`);
}

if (process.argv[1]?.endsWith('vercel_ai_guard.ts')) void main();
