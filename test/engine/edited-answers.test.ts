import { readdirSync } from 'node:fs'
import { Agent } from 'node:http'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import Anthropic from '@anthropic-ai/sdk'
import {
  answerPayload,
  editedAnswer,
  readRun,
  setPath,
  type EditedAnswer,
  type RunView,
  type Step,
  type Tape,
  type TapeEvent,
  type TapeLike,
} from '@retake/tape'
import { openTape } from '@retake/tape/node'
import axios from 'axios'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startProvider } from '../support/loopback-provider.mjs'
import { makeWorkspace, type Workspace } from '../support/run-retake.mjs'
import { serveBytes, serveDeliveries, type Served } from '../support/serve-deliveries.js'

/** One recorded agent. */
interface Recorded {
  readonly tape: Tape
  readonly view: RunView
}

const runs = new Map<string, Recorded>()
const workspaces: Workspace[] = []
const served: Served[] = []

beforeAll(async () => {
  const provider = await startProvider({ maxLatencyMs: 0 })
  for (const agent of ['openai-chat', 'openai-responses', 'anthropic', 'axios', 'http2']) {
    const workspace = await makeWorkspace()
    workspaces.push(workspace)
    const recorded = await workspace.record(`${agent}.mjs`, { provider })
    if (recorded.code !== 0) throw new Error(recorded.stderr)
    const folder = join(workspace.folder, '.retake', 'runs')
    const file = readdirSync(folder).find((name) => name.endsWith('.tape')) ?? ''
    const tape = openTape(join(folder, file))
    runs.set(agent, { tape, view: readRun(tape, { gunzip: gunzipSync }) })
  }
  await provider.close()
})

afterAll(async () => {
  for (const server of served) await server.close()
  for (const workspace of workspaces) await workspace.remove()
})

/** The first answered step of an agent that fits. */
function findStep(agent: string, fits: (step: Step) => boolean): { tape: Tape; step: Step } {
  const run = runs.get(agent)
  const step = run?.view.recordedSteps.find((each) => each.state === 'done' && fits(each))
  if (run === undefined || step === undefined) throw new Error(`no such step of ${agent}`)
  return { tape: run.tape, step }
}

const isModel =
  (streamed: boolean) =>
  (step: Step): boolean =>
    step.kind === 'model' && (step.exchange()?.response?.events !== undefined) === streamed

type Edit = readonly [path: string, value: unknown]

/** Edits the answer of a step. */
function edit(
  { tape, step }: { tape: Tape; step: Step },
  edits: readonly Edit[],
): { data: object; answer: EditedAnswer } {
  const payload = answerPayload(tape, step)
  const data = edits.reduce((made, [path, value]) => setPath(made, path, value), payload.data)
  return { data: data as object, answer: editedAnswer(tape, step, { ...payload, data }) }
}

/** Puts an edited answer where a client can ask for it. */
async function serve({ deliveries }: EditedAnswer, how = serveDeliveries): Promise<string> {
  const server = await how(deliveries)
  served.push(server)
  return server.url
}

const TEXT = 'It is “lost” ☃.\n\ndata: [DONE]\n\n— since 12:30, {"really":true} 👩‍👩‍👧'
const ARGS = { city: 'Ås', deep: { list: [1, null, '☃ "x"'] }, empty: {} }

describe('the OpenAI SDK reads an edited chat completion', () => {
  const toolCalls = ['call_a', 'call_b'].map((id) => ({
    id,
    type: 'function',
    function: { name: 'weather', arguments: JSON.stringify({ ...ARGS, id }) },
  }))
  const says = (message: object, reason: string): Edit[] => [
    ['choices.0.message', { role: 'assistant', ...message }],
    ['choices.0.finish_reason', reason],
    ['usage.completion_tokens', 4242],
  ]
  const cases: [string, Edit[]][] = [
    ['text', says({ content: TEXT, refusal: null }, 'length')],
    ['tool calls', says({ content: 'So:', tool_calls: toolCalls }, 'tool_calls')],
    ['a refusal', says({ content: null, refusal: TEXT }, 'stop')],
  ]
  const request = { model: 'gpt-example', messages: [] }
  const clientFor = async (answer: EditedAnswer): Promise<OpenAI> =>
    new OpenAI({ apiKey: 'none', baseURL: await serve(answer), maxRetries: 0 })

  test.each(cases)('with %s and its tokens', async (_, edits) => {
    const { data, answer } = edit(findStep('openai-chat', isModel(false)), edits)
    const client = await clientFor(answer)
    expect(await client.chat.completions.create(request)).toMatchObject(data)
  })

  test.each(cases)('with %s and its tokens, streamed', async (_, edits) => {
    const counted = (step: Step): boolean => isModel(true)(step) && step.usage !== undefined
    const { data, answer } = edit(findStep('openai-chat', counted), edits)
    const client = await clientFor(answer)
    const stream = client.chat.completions.stream(request)
    const chunks: OpenAI.ChatCompletionChunk[] = []
    stream.on('chunk', (chunk) => chunks.push(chunk))
    expect(await stream.finalChatCompletion()).toMatchObject(data)
    expect(chunks.length).toBeGreaterThan(4)
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: 4242 } })
    const { id } = data as { id: string }
    expect(chunks.filter((chunk) => chunk.id !== id)).toEqual([])
  })
})

describe('the OpenAI SDK reads an edited response', () => {
  const output = [
    {
      id: 'rs_1',
      type: 'reasoning',
      summary: [{ type: 'summary_text', text: 'Think first.' }],
      content: [{ type: 'reasoning_text', text: 'Long, long thoughts.' }],
    },
    {
      id: 'msg_1',
      type: 'message',
      status: 'completed',
      role: 'assistant',
      content: [
        {
          type: 'output_text',
          text: TEXT,
          annotations: [{ type: 'url_citation', url: 'https://a.test', start_index: 0 }],
          logprobs: [],
        },
        { type: 'refusal', refusal: 'No.' },
      ],
    },
    {
      id: 'fc_1',
      type: 'function_call',
      status: 'completed',
      call_id: 'call_1',
      name: 'find_order',
      arguments: JSON.stringify(ARGS),
    },
    { id: 'ctc_1', type: 'custom_tool_call', call_id: 'call_2', name: 'run', input: 'print("☃")' },
  ]
  const edits: Edit[] = [
    ['output', output],
    ['usage.output_tokens', 4242],
  ]
  const request = { model: 'gpt-example', input: 'Where?' }
  const clientFor = async (answer: EditedAnswer): Promise<OpenAI> =>
    new OpenAI({ apiKey: 'none', baseURL: await serve(answer), maxRetries: 0 })

  test('with reasoning, text, a refusal, calls and its tokens', async () => {
    const { data, answer } = edit(findStep('openai-responses', isModel(false)), edits)
    const client = await clientFor(answer)
    const response = await client.responses.create(request)
    expect(response).toMatchObject(data)
    expect(response.output_text).toBe(TEXT)
  })

  test('with all of that, streamed', async () => {
    const { data, answer } = edit(findStep('openai-responses', isModel(true)), edits)
    const client = await clientFor(answer)
    const stream = client.responses.stream(request)
    const texts: string[] = []
    const args: string[] = []
    const numbers: number[] = []
    stream.on('response.output_text.delta', ({ delta }) => texts.push(delta))
    stream.on('response.function_call_arguments.delta', ({ delta }) => args.push(delta))
    stream.on('event', ({ sequence_number }) => numbers.push(sequence_number))
    expect(await stream.finalResponse()).toMatchObject(data)
    expect(texts.join('')).toBe(TEXT)
    expect(texts.length).toBeGreaterThan(4)
    expect(JSON.parse(args.join(''))).toEqual(ARGS)
    expect(numbers).toEqual(numbers.map((_, index) => index))
  })
})

describe('the Anthropic SDK reads an edited message', () => {
  const content = [
    { type: 'thinking', thinking: 'Hm, let me see.', signature: 'c2lnbmVk' },
    { type: 'redacted_thinking', data: 'aGlkZGVu' },
    { type: 'text', text: TEXT, citations: [{ type: 'page_location', cited_text: 'x' }] },
    { type: 'tool_use', id: 'toolu_1', name: 'look_up_policy', input: ARGS },
    { type: 'tool_use', id: 'toolu_2', name: 'look_up_policy', input: {} },
  ]
  const edits: Edit[] = [
    ['content', content],
    ['stop_reason', 'tool_use'],
    ['usage.output_tokens', 4242],
    ['usage.cache_read_input_tokens', 17],
  ]
  const request = { model: 'claude-example', max_tokens: 10, messages: [] }
  const clientFor = async (answer: EditedAnswer): Promise<Anthropic> =>
    new Anthropic({ apiKey: 'none', baseURL: await serve(answer), maxRetries: 0 })

  test('with thinking, text, citations, calls and its tokens', async () => {
    const { data, answer } = edit(findStep('anthropic', isModel(false)), edits)
    const client = await clientFor(answer)
    expect(await client.messages.create(request)).toMatchObject(data)
  })

  test('with all of that, streamed', async () => {
    const { data, answer } = edit(findStep('anthropic', isModel(true)), edits)
    const client = await clientFor(answer)
    const stream = client.messages.stream(request)
    const texts: string[] = []
    stream.on('text', (text) => texts.push(text))
    const final = await stream.finalMessage()
    expect(final).toMatchObject(data)
    expect(final.content).toEqual(content)
    expect(texts.join('')).toBe(TEXT)
    expect(texts.length).toBeGreaterThan(4)
  })

  test('that was recorded over HTTP/2', async () => {
    const { data, answer } = edit(findStep('http2', isModel(true)), [
      ['content', [{ type: 'text', text: TEXT }]],
      ['stop_reason', 'end_turn'],
    ])
    const client = await clientFor(answer)
    expect(await client.messages.stream(request).finalMessage()).toMatchObject(data)
  })
})

describe('axios reads the bytes of an edited answer off a socket', () => {
  const gets =
    (path: string) =>
    (step: Step): boolean =>
      step.kind === 'http' && step.exchange()?.request.url.includes(path) === true

  test('of a model, and the connection can be used again', async () => {
    const { data, answer } = edit(findStep('axios', isModel(false)), [
      ['choices.0.message.content', TEXT],
    ])
    const url = await serve(answer, serveBytes)
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    for (let round = 0; round < 3; round++) {
      const response = await axios.post(url, { any: 'thing' }, { httpAgent: agent, timeout: 5000 })
      expect(response.data).toEqual(data)
      expect(response.headers['content-type']).toContain('application/json')
    }
    agent.destroy()
  })

  test('that was compressed', async () => {
    const found = findStep('axios', gets('/gzip'))
    const { data, answer } = edit(found, [['random', 'edited']])
    const response = await axios.get(await serve(answer, serveBytes), { timeout: 5000 })
    expect(response.data).toEqual(data)
    expect(response.headers['content-encoding']).toBeUndefined()
  })

  test('that was a stream', async () => {
    const found = findStep('axios', gets('/events'))
    const { answer } = edit(found, [['text', 'data: one\n\ndata: two ☃\n\n']])
    const response = await axios.get<string>(await serve(answer, serveBytes), { timeout: 5000 })
    expect(response.data).toBe('data: one\n\ndata: two ☃\n\n')
  })
})

/** A tape that holds one step, answered with an edited answer. */
function tapeOf(tape: Tape, step: Step, { op, deliveries }: EditedAnswer): TapeLike {
  const started = [0, ...new Set([op, step.seq])]
  const events = [
    ...started.map((seq) => tape.event(seq)),
    ...deliveries.map(({ event }) => ({ ...event, op })),
  ].map((event, index) => ({ ...event, at: 0, seq: started[index] ?? tape.count + index }))
  const bodies = new Map(
    events.map(({ seq }, index) => [
      seq,
      deliveries[index - started.length]?.body ?? tape.body(seq),
    ]),
  )
  return {
    run: tape.run,
    details: {},
    count: events.length,
    status: 'sealed',
    event: (seq) => events.find((event) => event.seq === seq) as TapeEvent,
    events: () => events as TapeEvent[],
    body: (seq) => bodies.get(seq) ?? new Uint8Array(0),
  }
}

test('every unchanged answer of every agent reads the same when it is served', () => {
  let count = 0
  for (const { tape, view } of runs.values()) {
    for (const step of view.recordedSteps) {
      const response = step.exchange()?.response
      if (step.state !== 'done' || response === undefined) continue
      const payload = answerPayload(tape, step)
      const again = tapeOf(tape, step, editedAnswer(tape, step, payload))
      const [served] = readRun(again).recordedSteps
      expect(served && answerPayload(again, served), step.title).toEqual(payload)
      expect(served?.exchange()?.response, step.title).toMatchObject({
        status: response.status,
        statusText: response.statusText,
        complete: true,
      })
      expect([served?.title, served?.usage, served?.toolCalls]).toEqual([
        step.title,
        step.usage,
        step.toolCalls,
      ])
      count += 1
    }
  }
  expect(count).toBeGreaterThan(50)
})
