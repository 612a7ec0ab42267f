/**
 * What the guard's example for the Vercel AI SDK does beside its own agent: with a tool that gives its result bit by bit, and
 * with one that says by itself what the model is shown.
 *
 *     EDDY_API=127.0.0.1:4319 npx tsx guard_cases.ts     # beside vercel_ai_guard.ts
 */

import assert from 'node:assert';
import { randomUUID } from 'node:crypto';

import { generateText, stepCountIs, tool, type ToolSet } from 'ai';
import { z } from 'zod';

import { guarded, stubborn } from './vercel_ai_guard';

const about = { description: 'The weather in a city.', inputSchema: z.object({ city: z.string() }) };
const text = 'no forecast for Bergen';
const tools: Record<string, any> = {
  'a text': tool({ ...about, execute: async () => text }),
  'an object': tool({ ...about, execute: async () => ({ rows: [text] }) }),
  'no promise': tool({ ...about, execute: () => text }),
  'bit by bit': tool({
    ...about,
    async *execute() {
      yield 'looking';
      yield text;
    },
  }),
  'shown otherwise': tool({
    ...about,
    execute: async () => ({ rows: [text] }),
    toModelOutput: ({ output }) => ({ type: 'text', value: output.rows.join(',') }),
  }),
  'shown in parts': tool({
    ...about,
    execute: async () => ({ rows: [text] }),
    toModelOutput: ({ output }) => ({ type: 'content', value: [{ type: 'text', text: output.rows.join(',') }] }),
  }),
};

async function main() {
  for (const [name, forecast] of Object.entries(tools)) {
    const model = stubborn();
    const { steps } = await generateText({
      model,
      tools: guarded({ forecast } as ToolSet, randomUUID()),
      prompt: 'How will the weather be?',
      stopWhen: stepCountIs(40),
    });
    const outputs = steps.flatMap((step) => step.toolResults).map(({ output }) => JSON.stringify(output));
    const made = outputs.filter((output) => output.includes(text));
    assert.ok(made.length === outputs.length - 1 && made.length <= 8, `${name}: ${outputs}`);
    assert.equal(new Set(made).size, 1, `${name}: what the tool gave is not left alone: ${made}`);
    const shown = (model.doGenerateCalls.at(-1)?.prompt ?? [])
      .filter((message) => message.role === 'tool')
      .map((message) => JSON.stringify(message.content));
    const lengths = new Set(shown.slice(0, made.length).map((content) => content.length));
    assert.ok(lengths.size > 1, `${name}: the model is shown no nudge: ${shown}`);
  }
  const wrapped = guarded({ forecast: tools['bit by bit'] } as ToolSet, randomUUID());
  const given: unknown[] = [];
  const options = { toolCallId: 'c', messages: [] };
  for await (const piece of (wrapped.forecast.execute as any)({ city: 'Bergen' }, options)) given.push(piece);
  assert.deepEqual(given, ['looking', text]);
  console.log('ok');
}

void main();
