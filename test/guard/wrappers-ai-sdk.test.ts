import { createOpenAI } from '@ai-sdk/openai'
import { generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai'
import { record, replay } from 'retake'
import { guardTools } from 'retake/ai-sdk'
import { expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { asks, DENIED, gate, model, sent, stepsOf, tempFolder } from './wrappers-setup.js'

/** Two tools that note what they were given. */
function makeTools() {
  const started: unknown[] = []
  const note = (name: string) => (input: unknown) => {
    started.push([name, input])
    return { [name]: input }
  }
  const inputSchema = z.object({ of: z.string().transform((text) => text.toUpperCase()) })
  const tools = {
    look: tool({ description: 'Looks.', inputSchema, execute: note('look') }),
    wipe: tool({ description: 'Wipes.', inputSchema, execute: note('wipe') }),
  }
  return { started, tools }
}

const chat = (url: string) => createOpenAI({ baseURL: `${url}/v1`, apiKey: 'none' }).chat('gpt-4o')

test('a denied tool never starts, the model reads why, and the agent continues', async () => {
  const server = await model(
    {
      toolCalls: [
        ...(asks('look', { of: 'a' }).toolCalls ?? []),
        ...(asks('wipe', { of: 'b' }).toolCalls ?? []),
      ],
    },
    { text: 'Done what I may.' },
  )
  const { started, tools } = makeTools()
  const guarded = guardTools(gate(), tools)
  expectTypeOf(guarded).toEqualTypeOf<typeof tools>()
  const { text } = await generateText({
    model: chat(server.url),
    prompt: 'Look, then wipe.',
    tools: guarded,
    stopWhen: stepCountIs(3),
  })
  expect(text).toBe('Done what I may.')
  expect(started).toEqual([['look', { of: 'A' }]])
  expect(sent(server, 2)).toMatch(DENIED)
  expect(sent(server, 2)).toContain('{"look":{"of":"A"}}')
  expect(server.requests[0]?.body['tools']).toMatchObject([
    { function: { name: 'look', description: 'Looks.', parameters: { required: ['of'] } } },
    { function: { name: 'wipe', description: 'Wipes.' } },
  ])
})

test('a denied call in a stream is a tool error there, too', async () => {
  const server = await model(asks('wipe', { of: 'b' }), { text: 'No.' })
  const { started, tools } = makeTools()
  const result = streamText({
    model: chat(server.url),
    prompt: 'Wipe.',
    tools: guardTools(gate(), tools),
    stopWhen: stepCountIs(3),
  })
  const kinds: string[] = []
  for await (const part of result.fullStream) kinds.push(part.type)
  expect(kinds).toContain('tool-error')
  expect(started).toEqual([])
  expect(sent(server, 2)).toMatch(DENIED)
})

test('a JSON Schema that the SDK only sends to the model is checked by the guard', async () => {
  const server = await model(asks('refund', { amount: 'much' }), { text: 'Oh.' })
  const started: unknown[] = []
  const refund = tool({
    inputSchema: jsonSchema<{ amount: number }>({
      type: 'object',
      properties: { amount: { type: 'number' } },
      required: ['amount'],
    }),
    execute: (input) => started.push(input),
  })
  await generateText({
    model: chat(server.url),
    prompt: 'Refund.',
    tools: guardTools(gate(), { refund }),
    stopWhen: stepCountIs(3),
  })
  expect(started).toEqual([])
  expect(sent(server, 2)).toMatch(/INPUT_INVALID: .*amount: expected number.*\{ amount: number \}/s)
})

test('the guard knows the schemas, for calls from elsewhere', async () => {
  const { started, tools } = makeTools()
  const run = gate()
  guardTools(run, tools)
  expect(run.toolNames).toEqual(['look', 'wipe'])
  const bad = await run.call('look', { of: 7 })
  expect(bad).toMatchObject({ status: 'denied', error: { code: 'INPUT_INVALID' } })
  const good = await run.call('look', { of: 'a' })
  expect(good.output).toEqual({ look: { of: 'A' } })
  expect(started).toEqual([['look', { of: 'A' }]])
})

test('a tool gets all options of the SDK, and its last chunk is its result', async () => {
  const seen: unknown[] = []
  const count = tool({
    inputSchema: z.object({}),
    async *execute(_input, { toolCallId, messages }) {
      seen.push(toolCallId, messages.length)
      yield 'one'
      yield 'two'
    },
  })
  const run = gate()
  const execute = guardTools(run, { count }).count.execute
  const result = await execute?.(
    {},
    { toolCallId: 'call-7', messages: [{ role: 'user', content: 'x' }] },
  )
  expect(result).toBe('two')
  expect(seen).toEqual(['call-7', 1])
})

test('a tool may be named like a property of every object', async () => {
  const echo = tool({ inputSchema: z.object({}), execute: () => 'here' })
  const guarded = guardTools(gate(), { constructor: echo, toString: echo }, { tools: {} })
  const told = { toolCallId: 'call-1', messages: [] }
  expect(await guarded.constructor.execute?.({}, told)).toBe('here')
  expect(await guarded.toString.execute?.({}, told)).toBe('here')
})

test.each([
  [{ tool: { look: { effects: ['read'] } } }, 'Unknown key "tool". Did you mean tools?'],
  [{ onDenied: 'throw' }, 'Unknown key "onDenied".'],
  [{ tools: 'look' }, 'tools: It must be an object, not a string.'],
])('meaningless options are refused: %j', (options, why) => {
  expect(() => guardTools(gate(), makeTools().tools, options as object)).toThrow(why)
})

test('tools that run elsewhere are unchanged', () => {
  const elsewhere = tool({ inputSchema: z.object({}), outputSchema: z.string() })
  expect(guardTools(gate(), { elsewhere }).elsewhere).toBe(elsewhere)
})

test('an error of the tool itself is passed on unchanged', async () => {
  const broken = tool({
    inputSchema: z.object({}),
    execute: (): string => {
      throw new RangeError('too far')
    },
  })
  const execute = guardTools(gate(), { broken }).broken.execute
  await expect(execute?.({}, { toolCallId: '1', messages: [] })).rejects.toThrow(
    new RangeError('too far'),
  )
})

test('an abort of the SDK reaches the tool', async () => {
  const controller = new AbortController()
  let reason: unknown
  const slow = tool({
    inputSchema: z.object({}),
    execute: (_input, { abortSignal }) =>
      new Promise((_resolve, reject) => {
        abortSignal?.addEventListener('abort', () => {
          reason = abortSignal.reason
          reject(new Error('given up'))
        })
        controller.abort('enough')
      }),
  })
  const execute = guardTools(gate(), { slow }).slow.execute
  const call = execute?.({}, { toolCallId: '1', messages: [], abortSignal: controller.signal })
  await expect(call).rejects.toThrow(/abort|given up/i)
  expect(reason).toBeDefined()
})

test('a guarded tool is one step of a recording and does not run on replay', async () => {
  const server = await model(asks('look', { of: 'a' }), asks('wipe', { of: 'b' }), {
    text: 'Done.',
  })
  const { started, tools } = makeTools()
  const dir = tempFolder()
  const agent = async () => {
    const run = gate({ dir })
    const { text, steps } = await generateText({
      model: chat(server.url),
      prompt: 'Look, then wipe.',
      tools: guardTools(run, tools),
      stopWhen: stepCountIs(4),
    })
    return [text, steps.flatMap(({ content }) => content.map(({ type }) => type))]
  }
  const recorded = await record({ name: 'agent', dir }, agent)
  expect(stepsOf(recorded.run.path).filter((step) => step.startsWith('tool'))).toHaveLength(2)
  expect(started).toHaveLength(1)
  await server.stop()
  const again = await replay(recorded.run.path, agent)
  expect(again).toEqual(expect.objectContaining({ output: recorded.output, divergences: [] }))
  expect(started).toHaveLength(1)
})
