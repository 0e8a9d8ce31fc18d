import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseSse, type SseEvent } from '../http/sse.js'
import type { JsonRecord } from '../format/values/json-shape.js'
import { answerFormat } from '../providers/find-provider.js'
import type { AnswerFormat } from '../providers/specification/provider.js'
import { sseFrame } from '../providers/specification/wire-answer.js'
import { textPieces } from '../providers/specification/reply.js'

const formatOf = (api: string): AnswerFormat => {
  const format = answerFormat(api)
  if (format === undefined) throw new Error(`no format for ${api}`)
  return format
}
const chat = formatOf('chat completions')
const responses = formatOf('responses')
const messages = formatOf('messages')

/** Reads a stream cut into pieces of any size, even inside a character. */
const readCut = (texts: readonly string[], sizes: readonly number[]): SseEvent[] => {
  const bytes = new TextEncoder().encode(texts.join(''))
  const chunks = []
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = sizes.length === 0 ? bytes.length : (sizes[turn % sizes.length] ?? 1)
    chunks.push({ at: turn, bytes: bytes.subarray(at, at + size) })
    at += size
  }
  return parseSse(chunks)
}

/** True for a text with half of a surrogate pair. */
const hasHalves = (whole: string): boolean => /\p{Surrogate}/u.test(whole)

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.string({ unit: 'grapheme', maxLength: 400 }),
  fc.constantFrom('', 'data: [DONE]\n\n', '\r\n\r\n', '☃ ünï 👩‍👩‍👧 \u2028'),
)
const name = fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 12 })
const count = fc.nat(100_000)
const sizes = fc.array(fc.integer({ min: 1, max: 90 }), { maxLength: 6 })
const plainObject = fc
  .dictionary(
    name.filter((key) => key !== '__proto__'),
    fc.jsonValue({ maxDepth: 2 }),
    { maxKeys: 4 },
  )
  // JSON has no negative zero.
  .map((value) => JSON.parse(JSON.stringify(value)) as JsonRecord)
const args = plainObject.map((value) => JSON.stringify(value))
const optional = <T extends object>(record: fc.Arbitrary<T>): fc.Arbitrary<T | object> =>
  fc.oneof(record, fc.constant({}))

const toolCall = fc.oneof(
  fc.record({
    id: name,
    type: fc.constant('function'),
    function: fc.record({ name, arguments: args }),
  }),
  fc.record({ id: name, type: fc.constant('custom'), custom: fc.record({ name, input: text }) }),
)
const chatUsage = fc.record({
  prompt_tokens: count,
  completion_tokens: count,
  total_tokens: count,
  prompt_tokens_details: fc.record({ cached_tokens: count }),
})
const chatMessage = fc
  .tuple(
    fc.record({
      role: fc.constant('assistant'),
      content: fc.option(text),
      refusal: fc.option(text),
    }),
    optional(fc.record({ reasoning_content: text })),
    optional(fc.record({ annotations: fc.array(plainObject, { maxLength: 2 }) })),
    optional(fc.record({ tool_calls: fc.array(toolCall, { minLength: 1, maxLength: 3 }) })),
  )
  .map((parts) => Object.assign({}, ...parts) as JsonRecord)
const completion = fc
  .record({
    id: name,
    created: count,
    model: name,
    choices: fc.array(
      fc.record({
        message: chatMessage,
        logprobs: fc.option(fc.record({ content: fc.array(plainObject, { maxLength: 2 }) })),
        finish_reason: fc.constantFrom('stop', 'length', 'tool_calls'),
      }),
      { minLength: 1, maxLength: 3 },
    ),
    usage: chatUsage,
    service_tier: fc.option(name),
  })
  .map((made) => ({
    ...made,
    object: 'chat.completion',
    choices: made.choices.map((choice, index) => ({ index, ...choice })),
  }))

const outputPart = fc.oneof(
  fc.record({
    type: fc.constant('output_text'),
    text,
    annotations: fc.array(plainObject, { maxLength: 2 }),
    logprobs: fc.constant([]),
  }),
  fc.record({ type: fc.constant('refusal'), refusal: text }),
)
const outputItem = fc.oneof(
  fc.record({
    id: name,
    type: fc.constant('message'),
    status: fc.constant('completed'),
    role: fc.constant('assistant'),
    content: fc.array(outputPart, { minLength: 1, maxLength: 3 }),
  }),
  fc.record({
    id: name,
    type: fc.constant('function_call'),
    status: fc.constant('completed'),
    call_id: name,
    name,
    arguments: args,
  }),
  fc.record({
    id: name,
    type: fc.constant('custom_tool_call'),
    call_id: name,
    name,
    input: text,
  }),
  fc.record({
    id: name,
    type: fc.constant('reasoning'),
    summary: fc.array(fc.record({ type: fc.constant('summary_text'), text }), { maxLength: 2 }),
    content: fc.array(fc.record({ type: fc.constant('reasoning_text'), text }), { maxLength: 2 }),
  }),
  fc.record({ id: name, type: fc.constant('web_search_call'), action: plainObject }),
)
const response = fc.record({
  id: name,
  object: fc.constant('response'),
  created_at: count,
  status: fc.constantFrom('completed', 'incomplete'),
  error: fc.constant(null),
  incomplete_details: fc.option(fc.record({ reason: name })),
  model: name,
  output: fc.array(outputItem, { minLength: 1, maxLength: 4 }),
  usage: fc.record({ input_tokens: count, output_tokens: count, total_tokens: count }),
})

const block = fc.oneof(
  fc.record({ type: fc.constant('text'), text, citations: fc.constant(null) }),
  fc.record({
    type: fc.constant('text'),
    text,
    citations: fc.array(plainObject, { minLength: 1, maxLength: 2 }),
  }),
  fc.record({ type: fc.constant('thinking'), thinking: text, signature: text }),
  fc.record({ type: fc.constant('redacted_thinking'), data: text }),
  fc.record({ type: fc.constant('tool_use'), id: name, name, input: plainObject }),
)
const message = fc.record({
  id: name,
  type: fc.constant('message'),
  role: fc.constant('assistant'),
  model: name,
  content: fc.array(block, { maxLength: 4 }),
  stop_reason: fc.constantFrom('end_turn', 'max_tokens', 'stop_sequence'),
  stop_sequence: fc.option(text),
  usage: fc.record({
    input_tokens: count,
    output_tokens: count,
    cache_read_input_tokens: count,
    cache_creation_input_tokens: fc.option(count),
    service_tier: name,
  }),
})

const askedForUsage = { events: [], request: { stream_options: { include_usage: true } } }
const nothing = { events: [], request: undefined }

describe('a stream made from any answer adds up to that answer, however it is cut', () => {
  test('chat completions', () => {
    fc.assert(
      fc.property(completion, sizes, (made, cuts) => {
        expect(
          chat.assemble(readCut(chat.restream(made, askedForUsage).map(sseFrame), cuts)),
        ).toEqual(made)
      }),
      { numRuns: 300 },
    )
  })

  test('responses, with and without the final event', () => {
    fc.assert(
      fc.property(response, sizes, (made, cuts) => {
        const texts = responses.restream(made, nothing).map(sseFrame)
        expect(responses.assemble(readCut(texts, cuts))).toEqual(made)
        const withoutLast = readCut(texts.slice(0, -1), cuts)
        expect(responses.assemble(withoutLast)['output']).toEqual(made.output)
        const deltasOnly = withoutLast.filter(({ event }) => !/(item|part)\.done$/.test(event))
        const statusless = made.output.map((item) =>
          'status' in item ? { ...item, status: 'in_progress' } : item,
        )
        expect(responses.assemble(deltasOnly)['output']).toEqual(statusless)
        const numbers = readCut(texts, cuts).map(
          ({ data }) => (JSON.parse(data) as { sequence_number: number }).sequence_number,
        )
        expect(numbers).toEqual(texts.map((_, index) => index))
      }),
      { numRuns: 300 },
    )
  })

  test('messages', () => {
    fc.assert(
      fc.property(message, sizes, (made, cuts) => {
        expect(
          messages.assemble(readCut(messages.restream(made, nothing).map(sseFrame), cuts)),
        ).toEqual(made)
      }),
      { numRuns: 300 },
    )
  })

  test('a text is cut into few pieces that make it up again', () => {
    fc.assert(
      fc.property(fc.oneof(text, fc.constant('word '.repeat(20_000))), (whole) => {
        const pieces = textPieces(whole)
        expect(pieces.join('')).toBe(whole)
        expect(pieces.length).toBeLessThanOrEqual(201)
        expect(pieces.some(hasHalves)).toBe(hasHalves(whole))
      }),
    )
  })
})

describe('counts of tokens in a chat stream', () => {
  const made = {
    id: 'c',
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
  }
  const recordedAs = (...chunks: object[]) => ({
    events: chunks.map((chunk) => ({ event: 'message', data: JSON.stringify(chunk), at: 0 })),
    request: undefined,
  })
  const usages = (texts: readonly string[]) =>
    parseSse([{ at: 0, bytes: new TextEncoder().encode(texts.join('')) }])
      .filter(({ data }) => data !== '[DONE]')
      .map(({ data }) => JSON.parse(data) as { choices: unknown[]; usage?: unknown })
      .map(({ choices, usage }) => [choices.length, usage === undefined ? '-' : usage === null])

  test('have their own chunk if the recorded stream had one', () => {
    const recorded = recordedAs({ choices: [{}], usage: null }, { choices: [], usage: {} })
    expect(usages(chat.restream(made, recorded).map(sseFrame))).toEqual([
      [1, true],
      [1, true],
      [1, true],
      [0, false],
    ])
  })

  test('are in the last chunk if the recorded stream had them there', () => {
    const recorded = recordedAs({ choices: [{}] }, { choices: [{}], usage: {} })
    expect(usages(chat.restream(made, recorded).map(sseFrame))).toEqual([
      [1, '-'],
      [1, '-'],
      [1, false],
    ])
  })

  test('are not sent to a client that did not request them', () => {
    expect(usages(chat.restream(made, recordedAs({ choices: [{}] })).map(sseFrame))).toEqual([
      [1, '-'],
      [1, '-'],
      [1, '-'],
    ])
  })
})

test('an error that a stream reported is reported again', () => {
  const error = { type: 'overloaded_error', message: 'Overloaded' }
  for (const format of [chat, messages]) {
    const texts = format.restream({ choices: [], content: [], error }, nothing).map(sseFrame)
    expect(texts.join('')).not.toMatch(/DONE|message_stop/)
    expect(format.assemble(readCut(texts, []))['error']).toEqual(error)
  }
})
