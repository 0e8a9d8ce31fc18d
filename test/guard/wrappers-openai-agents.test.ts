import {
  Agent,
  OpenAIChatCompletionsModel,
  Runner,
  setTracingDisabled,
  tool,
  webSearchTool,
} from '@openai/agents'
import type { Tool } from '@openai/agents'
import OpenAI from 'openai'
import { record, replay } from 'retake'
import { guardTools } from 'retake/openai-agents'
import { expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { asks, DENIED, gate, model, sent, stepsOf, tempFolder } from './wrappers-setup.js'

setTracingDisabled(true)

/** Two tools that note what they were given. */
function makeTools() {
  const started: unknown[] = []
  const make = (name: string) =>
    tool({
      name,
      description: `Does ${name}.`,
      parameters: z.object({ of: z.string() }),
      execute: (input) => {
        started.push([name, input])
        return `${name} ${input.of}`
      },
    })
  return { started, tools: [make('look'), make('wipe')] }
}

/** Runs an agent with these tools against the model. */
async function runAgent(url: string, tools: Tool[]) {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none' })
  const agent = new Agent({
    name: 'Agent',
    model: new OpenAIChatCompletionsModel(client as never, 'gpt-4o'),
    tools,
  })
  const { finalOutput } = await new Runner({ tracingDisabled: true }).run(agent, 'Look, then wipe.')
  return finalOutput
}

test('a denied tool never starts, the model reads why, and the agent continues', async () => {
  const server = await model(asks('look', { of: 'a' }), asks('wipe', { of: 'b' }), {
    text: 'Done.',
  })
  const { started, tools } = makeTools()
  const guarded = guardTools(gate(), tools)
  expectTypeOf(guarded).toEqualTypeOf<typeof tools>()
  expect(await runAgent(server.url, guarded)).toBe('Done.')
  expect(started).toEqual([['look', { of: 'a' }]])
  expect(sent(server, 2)).toContain('look a')
  expect(sent(server, 3)).toMatch(DENIED)
  expect(server.requests[0]?.body['tools']).toMatchObject([
    { function: { name: 'look', description: 'Does look.', parameters: { required: ['of'] } } },
    { function: { name: 'wipe' } },
  ])
})

test('with throw, the run of the agent ends with the error of the guard', async () => {
  const server = await model(asks('wipe', { of: 'b' }))
  const { started, tools } = makeTools()
  const ended = runAgent(server.url, guardTools(gate(), tools, { onDenied: 'throw' }))
  await expect(ended).rejects.toThrow(/Nothing is wiped/)
  expect(started).toEqual([])
})

test('invalid arguments are denied with the schema, and the model reads it', async () => {
  const server = await model(asks('look', { of: 7 }), { text: 'Oh.' })
  const { started, tools } = makeTools()
  await runAgent(server.url, guardTools(gate(), tools))
  expect(started).toEqual([])
  expect(sent(server, 2)).toMatch(/INPUT_INVALID: .*of: expected string.*\{ of: string \}/s)
})

test('a JSON Schema that the SDK only sends to the model is checked by the guard', async () => {
  const started: unknown[] = []
  const refund = tool({
    name: 'refund',
    description: 'Refunds.',
    strict: false,
    parameters: {
      type: 'object',
      properties: { amount: { type: 'number', maximum: 10 } },
      required: ['amount'],
      additionalProperties: true,
    },
    execute: (input) => started.push(input),
  })
  const server = await model(asks('refund', { amount: 11 }), { text: 'Oh.' })
  await runAgent(server.url, guardTools(gate(), [refund]))
  expect(started).toEqual([])
  expect(sent(server, 2)).toMatch(/INPUT_INVALID: .*amount/s)
})

test('a tool that throws has failed, and the model gets the message of the SDK', async () => {
  const broken = tool({
    name: 'broken',
    description: 'Breaks.',
    parameters: z.object({}),
    execute: () => {
      throw new Error('disk is full')
    },
  })
  const run = gate()
  const server = await model(asks('broken'), { text: 'Oh.' })
  const guarded = guardTools(run, [broken])
  expect(await runAgent(server.url, guarded)).toBe('Oh.')
  expect(sent(server, 2)).toContain('An error occurred while running the tool')
  expect(await run.call('broken', {})).toMatchObject({ status: 'failed' })
})

test('tools that the provider runs are unchanged; others that no guard can wrap are refused', () => {
  const search = webSearchTool()
  expect(guardTools(gate(), [search])).toEqual([search])
  const shell = { type: 'shell', name: 'shell' }
  expect(() => guardTools(gate(), [shell])).toThrow(
    expect.objectContaining({ code: 'TOOL_NOT_GUARDABLE' }),
  )
})

test('an abort of the SDK reaches the tool', async () => {
  const controller = new AbortController()
  let isAborted = false
  const slow = tool({
    name: 'slow',
    description: 'Slow.',
    parameters: z.object({}),
    execute: (_input, _context, details) =>
      new Promise((_resolve, reject) => {
        details?.signal?.addEventListener('abort', () => {
          isAborted = true
          reject(new Error('given up'))
        })
        controller.abort()
      }),
  })
  const [guarded] = guardTools(gate(), [slow])
  const asked = guarded?.invoke(undefined as never, '{}', { signal: controller.signal } as never)
  await expect(asked).rejects.toThrow(/abort|given up/i)
  expect(isAborted).toBe(true)
})

test('a guarded tool is one step of a recording and does not run on replay', async () => {
  const server = await model(asks('look', { of: 'a' }), asks('wipe', { of: 'b' }), {
    text: 'Done.',
  })
  const { started, tools } = makeTools()
  const dir = tempFolder()
  const agent = () => runAgent(server.url, guardTools(gate({ dir }), tools))
  const recorded = await record({ name: 'agent', dir }, agent)
  expect(stepsOf(recorded.run.path).filter((step) => step.startsWith('tool'))).toHaveLength(2)
  await server.stop()
  const again = await replay(recorded.run.path, agent)
  expect(again).toEqual(expect.objectContaining({ output: 'Done.', divergences: [] }))
  expect(started).toHaveLength(1)
})
