import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bedrockEvent } from '../../test-support/event-frame.js'
import { EventScript } from '../../test-support/event-script.js'
import type { JsonRecord } from '../format/values/json-shape.js'
import { readRun } from '../read-model/run-view.js'
import type { Step } from '../read-model/step.js'
import { answerFormat } from '../providers/find-provider.js'
import type { AnswerFormat } from '../providers/specification/provider.js'
import { sseFrame } from '../providers/specification/wire-answer.js'
import { answerPayload } from './answer-payload.js'
import { checkAnswer } from './edited-body.js'
import { editedAnswer, type EditedAnswer, type EditOptions } from './edited-answer.js'
import { setPath } from './set-path.js'
import { readStream } from '../http/event-frames.js'

const MODELS = 'https://bedrock-runtime.us-east-1.amazonaws.com/model'
const FRAMES = 'application/vnd.amazon.eventstream'
const LINES = 'application/x-ndjson'
const SSE = 'text/event-stream'
const ASK = { messages: [{ role: 'user', content: [{ text: 'hi' }] }] }
const encode = (text: string): Uint8Array => new TextEncoder().encode(text)

interface Recorded {
  readonly url: string
  readonly ask: object
  readonly type: string
  readonly pieces: readonly Uint8Array[]
  readonly status?: number
}

const stepOf = ({ url, ask, type, pieces, status = 200 }: Recorded): [EventScript, Step] => {
  const tape = new EventScript()
  const op = tape.request(url, ask)
  tape.head(op, { type, status })
  for (const piece of pieces) tape.chunk(op, piece)
  tape.add({ type: 'deliver', op, part: 'end' })
  const [step] = readRun(tape.end()).steps
  return [tape, step as Step]
}

/** The step that a fork records when it is given the edited answer. */
const served = (recorded: Recorded, { deliveries }: EditedAnswer): Step => {
  const head = deliveries.find(({ event }) => event.type === 'response')?.event
  const type =
    head?.type === 'response' ? head.headers.find(([n]) => n === 'content-type')?.[1] : ''
  const status = head?.type === 'response' ? head.status : 0
  const pieces = deliveries.map(({ body }) => body).filter(({ length }) => length > 0)
  return stepOf({ ...recorded, type: type ?? '', pieces, status })[1]
}

const edit = (
  recorded: Recorded,
  edits: readonly (readonly [string, unknown])[],
  options: EditOptions = {},
): EditedAnswer => {
  const [tape, step] = stepOf(recorded)
  const payload = answerPayload(tape, step)
  const data = edits.reduce((made, [path, value]) => setPath(made, path, value), payload.data)
  return editedAnswer(tape, step, { ...payload, data }, options)
}

const line = (value: object): Uint8Array => encode(`${JSON.stringify(value)}\n`)
const event = (value: object): Uint8Array => encode(`data: ${JSON.stringify(value)}\r\n\r\n`)
const part = (text: string, more: object = {}): object => ({
  candidates: [{ content: { parts: [{ text }], role: 'model' }, index: 0, ...more }],
})

const GEMINI: Recorded = {
  url: 'https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse',
  ask: { contents: [] },
  type: SSE,
  pieces: [
    event({ ...part('It is '), modelVersion: 'gemini-2.5-flash', responseId: 'r1' }),
    event({
      ...part('here.', { finishReason: 'STOP' }),
      usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 4, totalTokenCount: 9 },
      modelVersion: 'gemini-2.5-flash',
      responseId: 'r1',
    }),
  ],
}
const CONVERSE: Recorded = {
  url: `${MODELS}/amazon.nova-lite-v1%3A0/converse-stream`,
  ask: ASK,
  type: FRAMES,
  pieces: [
    bedrockEvent('messageStart', { role: 'assistant', p: 'abc' }),
    bedrockEvent('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'It is ' }, p: 'a' }),
    bedrockEvent('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'here.' }, p: 'a' }),
    bedrockEvent('contentBlockStop', { contentBlockIndex: 0, p: 'a' }),
    bedrockEvent('messageStop', { stopReason: 'end_turn', p: 'a' }),
    bedrockEvent('metadata', {
      usage: { inputTokens: 5, outputTokens: 4, totalTokens: 9 },
      metrics: { latencyMs: 8 },
      p: 'a',
    }),
  ],
}
const said = (content: string): object => ({
  model: 'llama3',
  created_at: '2026-11-02T09:30:15Z',
  message: { role: 'assistant', content },
})
const OLLAMA: Recorded = {
  url: 'http://127.0.0.1:11434/api/chat',
  ask: { model: 'llama3', messages: [] },
  type: LINES,
  pieces: [
    line({ ...said('It is '), done: false }),
    line({ ...said('here.'), done: false }),
    line({ ...said(''), done: true, done_reason: 'stop', prompt_eval_count: 5, eval_count: 4 }),
  ],
}

const answerOf = (step: Step): object => ({
  text: step.exchange()?.answer.flatMap(({ parts }) => parts),
  calls: step.toolCalls.map(({ name, args }) => [name, args]),
  finishReason: step.finishReason,
  output: step.usage?.output,
  error: step.error,
})

const SAID = 'It is “lost” ☃.\n\ndata: [DONE]\n\n— since 12:30, {"really":true} 👩‍👩‍👧'

describe('a changed text is streamed again in the form it had', () => {
  test.each([
    [
      'Gemini',
      GEMINI,
      'candidates.0.content.parts.0.text',
      'usageMetadata.candidatesTokenCount',
      'STOP',
    ],
    ['Converse', CONVERSE, 'output.message.content.0.text', 'usage.outputTokens', 'end_turn'],
    ['Ollama', OLLAMA, 'message.content', 'eval_count', 'stop'],
  ])('%s', (_, recorded, path, counted, finishReason) => {
    const total = recorded === GEMINI ? [['usageMetadata.totalTokenCount', 47] as const] : []
    const sum = recorded === CONVERSE ? [['usage.totalTokens', 47] as const] : []
    const answer = edit(recorded, [[path, SAID], [counted, 42], ...total, ...sum])
    const step = served(recorded, answer)
    expect(answerOf(step)).toEqual({
      text: [{ type: 'text', text: SAID }],
      calls: [],
      finishReason,
      output: 42,
      error: undefined,
    })
    expect(step.exchange()?.response?.headers).toEqual([['content-type', recorded.type]])
    expect(answer.deliveries.length).toBeGreaterThan(6)
  })
})

describe('a call can replace a text', () => {
  const args = { city: 'Ås', deep: { list: [1, null, '☃ "x"'] }, empty: {} }
  test.each([
    [
      'Gemini',
      GEMINI,
      [['candidates.0.content.parts', [{ functionCall: { name: 'look', args } }]]] as const,
    ],
    [
      'Converse',
      CONVERSE,
      [
        ['output.message.content', [{ toolUse: { toolUseId: 't1', name: 'look', input: args } }]],
        ['stopReason', 'tool_use'],
      ] as const,
    ],
    [
      'Ollama',
      OLLAMA,
      [
        ['message.content', ''],
        ['message.tool_calls', [{ function: { name: 'look', arguments: args } }]],
      ] as const,
    ],
  ])('%s', (_, recorded, edits) => {
    expect(answerOf(served(recorded, edit(recorded, edits)))).toMatchObject({
      calls: [['look', args]],
      error: undefined,
    })
  })
})

test('unchanged streams add up to the recorded answer', () => {
  for (const recorded of [GEMINI, CONVERSE, OLLAMA]) {
    const before = answerOf(stepOf(recorded)[1])
    expect(answerOf(served(recorded, edit(recorded, [])))).toEqual(before)
  }
})

test('an error can be replaced by a stream', () => {
  const failed = { type: 'application/json', status: 429, pieces: [encode('{"message":"slow"}')] }
  for (const recorded of [GEMINI, CONVERSE, OLLAMA]) {
    const [tape, step] = stepOf(recorded)
    const { data } = answerPayload(tape, step)
    const [failedTape, failedStep] = stepOf({ ...recorded, ...failed })
    const answer = editedAnswer(failedTape, failedStep, { kind: 'json', data }, { status: 200 })
    const made = served(recorded, answer)
    expect(answerOf(made)).toEqual(answerOf(step))
    expect(made.exchange()?.response?.headers).toEqual([['content-type', recorded.type]])
  }
})

test('an exception in a stream of Bedrock is reported again', () => {
  const pieces = [
    ...CONVERSE.pieces.slice(0, 3),
    bedrockEvent('throttlingException', { message: 'Too many tokens' }),
  ]
  const recorded = { ...CONVERSE, pieces }
  const step = served(recorded, edit(recorded, [['output.message.content.0.text', 'Half']]))
  expect(answerOf(step)).toMatchObject({ text: [{ text: 'Half' }], error: 'Too many tokens' })
})

describe('an answer that the provider would never give is refused', () => {
  test.each([
    [
      GEMINI,
      'candidates.0.content.parts.0.text',
      7,
      'candidates.0.content.parts.0.text is not a string',
    ],
    [GEMINI, 'candidates', [], 'candidates is empty'],
    [CONVERSE, 'stopReason', 'done', 'stopReason is "done"'],
    [CONVERSE, 'stopReason', 'tool_use', 'but no block is one'],
    [CONVERSE, 'usage.outputTokens', -1, 'usage.outputTokens is -1, which is not a count'],
    [OLLAMA, 'message.role', 'user', 'message.role is "user"'],
    [OLLAMA, 'done', false, 'done is false'],
    [
      OLLAMA,
      'message.tool_calls',
      [{ function: { name: 'x', arguments: '{}' } }],
      'is not an object',
    ],
  ])('%#', (recorded, path, value, why) => {
    expect(() => edit(recorded, [[path, value]])).toThrow(
      expect.objectContaining({ code: 'EDIT_INVALID_ANSWER' }),
    )
    const [tape, step] = stepOf(recorded)
    const data = setPath(answerPayload(tape, step).data, path, value)
    expect(checkAnswer(step.exchange()?.api ?? '', data).join('\n')).toContain(why)
    expect(() => edit(recorded, [[path, value]], { force: true })).not.toThrow()
  })
})

test('streams of a custom format are edited as bytes, and keep their type', () => {
  const pieces = [bedrockEvent('chunk', { generation: 'Hi' })]
  const url = `${MODELS}/meta.llama3-8b-instruct-v1%3A0/invoke-with-response-stream`
  const [tape, step] = stepOf({ url, ask: { prompt: 'hi' }, type: FRAMES, pieces })
  const { deliveries } = editedAnswer(tape, step, answerPayload(tape, step))
  expect(deliveries.flatMap(({ body }) => [...body])).toEqual([...(pieces[0] ?? [])])
  expect(deliveries[0]?.event).toMatchObject({ headers: [['content-type', FRAMES]] })
})

/** Reads the stream of a format, cut into pieces of any size. */
const readBack = (format: AnswerFormat, made: JsonRecord, size: number): JsonRecord => {
  const events = format.restream(made, { events: [], request: undefined })
  const frame = format.frame ?? sseFrame
  const bytes = events.flatMap((event) => {
    const framed = frame(event)
    return [...(typeof framed === 'string' ? encode(framed) : framed)]
  })
  const chunks = []
  for (let at = 0; at < bytes.length; at += size)
    chunks.push({ at, bytes: Uint8Array.from(bytes.slice(at, at + size)) })
  const read = readStream(format.streamType ?? SSE, chunks)
  expect(read?.problem).toBeUndefined()
  return format.assemble(read?.events ?? [])
}

describe('a stream made from any answer adds up to that answer, however it is cut', () => {
  const text = fc.oneof(
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 200 }),
    fc.constantFrom('data: [DONE]\n\n', '\r\n\r\n', '☃ ünï 👩‍👩‍👧 \u2028', '\n', '{"a":1}\n'),
  )
  const name = fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 12 })
  const size = fc.integer({ min: 1, max: 90 })
  const args = fc
    .dictionary(
      name.filter((key) => key !== '__proto__'),
      fc.jsonValue({ maxDepth: 2 }),
      { maxKeys: 4 },
    )
    .map((value) => JSON.parse(JSON.stringify(value)) as JsonRecord)
  const law = (api: string, answer: fc.Arbitrary<object>): fc.IProperty<[object, number]> =>
    fc.property(answer, size, (made, cut) => {
      expect(readBack(answerFormat(api) as AnswerFormat, made as JsonRecord, cut)).toEqual(made)
    })
  const failures = (api: string, answer: fc.Arbitrary<object>): readonly unknown[] | null =>
    fc.check(law(api, answer), { numRuns: 150 }).counterexample

  test('Gemini', () => {
    const parts = fc.tuple(
      fc.option(fc.record({ text, thought: fc.constant(true) }), { nil: undefined }),
      fc.option(fc.record({ text, thoughtSignature: name }), { nil: undefined }),
      fc.array(fc.record({ functionCall: fc.record({ name, args }) }), { maxLength: 2 }),
    )
    const candidate = parts
      .map(([thought, spoken, calls]) =>
        [thought, spoken, ...calls].filter((one) => one !== undefined),
      )
      .filter((made) => made.length > 0)
      .map((made) => ({
        index: 0,
        content: { role: 'model', parts: made },
        finishReason: 'STOP',
      }))
    const counts = { promptTokenCount: 3, candidatesTokenCount: 4, totalTokenCount: 7 }
    const problem = failures(
      'generate content',
      fc.record({
        candidates: candidate.map((one) => [one]),
        modelVersion: name,
        usageMetadata: fc.constant(counts),
      }),
    )
    expect(problem).toBeNull()
  })

  test('Converse', () => {
    const block = fc.oneof(
      fc.record({ text }),
      fc.record({ toolUse: fc.record({ toolUseId: name, name, input: args }) }),
      fc.record({
        reasoningContent: fc.record({ reasoningText: fc.record({ text, signature: name }) }),
      }),
      fc.record({ reasoningContent: fc.record({ redactedContent: name }) }),
    )
    const problem = failures(
      'converse',
      fc.record({
        output: fc.record({
          message: fc.record({
            role: fc.constant('assistant'),
            content: fc.array(block, { maxLength: 4 }),
          }),
        }),
        stopReason: fc.constant('end_turn'),
        usage: fc.constant({ inputTokens: 1, outputTokens: 2, totalTokens: 3 }),
        metrics: fc.constant({ latencyMs: 5 }),
      }),
    )
    expect(problem).toBeNull()
  })

  test('Ollama', () => {
    const ended = {
      done: fc.constant(true),
      done_reason: fc.constant('stop'),
      eval_count: fc.nat(99),
    }
    const call = fc.record({ function: fc.record({ name, arguments: args }) })
    const chat = fc.record(
      {
        role: fc.constant('assistant'),
        content: fc.oneof(text, fc.constant('')),
        thinking: text,
        tool_calls: fc.array(call, { minLength: 1, maxLength: 2 }),
      },
      { requiredKeys: ['role', 'content'] },
    )
    expect(
      failures('ollama', fc.record({ model: name, created_at: name, message: chat, ...ended })),
    ).toBeNull()
    expect(
      failures(
        'ollama',
        fc.record({ model: name, response: fc.oneof(text, fc.constant('')), ...ended }),
      ),
    ).toBeNull()
  })
})
