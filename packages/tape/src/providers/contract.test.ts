import * as fc from 'fast-check'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { joinBytes } from '../format/values/bytes.js'
import { readStream } from '../http/event-frames.js'
import { APIS, clientProvider, conversationMembers, findApi, PROVIDERS } from './find-provider.js'
import { parseJson, type JsonRecord } from '../format/values/json-shape.js'
import type { Message } from './specification/message.js'
import { openaiChat } from './openai/chat.js'
import type {
  DecodedResponse,
  ModelApi,
  ProviderAnswer,
  ProviderRequest,
} from './specification/provider.js'
import { makeReply, type Reply, type ReplyRequest } from './specification/reply.js'
import type { WireAnswer } from './specification/wire-answer.js'

/** A request to one API, from `examples.json` of the provider's folder. */
interface Example {
  readonly api: string
  readonly url: string
  readonly body: JsonRecord
  /** Set if answers of this kind cannot contain reasoning or tool calls. */
  readonly carries?: 'text'
}

const EXAMPLES = readdirSync(import.meta.dirname, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .flatMap(({ name }): Example[] => {
    try {
      return JSON.parse(
        readFileSync(`${import.meta.dirname}/${name}/examples.json`, 'utf8'),
      ) as Example[]
    } catch {
      return []
    }
  })

const requestOf = ({ url, body }: Example): ProviderRequest => ({
  method: 'POST',
  url: new URL(url),
  headers: [],
  mentions: (...keys) => keys.every((key) => JSON.stringify(body).includes(`"${key}":`)),
  json: () => body,
})

const replyRequest = (example: Example): ReplyRequest => {
  const request = requestOf(example)
  const { stream, model } = findApi(request).decodeRequest(request)
  const { pathname, search } = request.url
  return {
    number: 1,
    path: pathname + search,
    body: example.body,
    stream,
    ...(model !== undefined && { model }),
  }
}

/** An answer as a client receives it; streams are cut into pieces of any size. */
const received = ({ status, headers, pieces }: WireAnswer, size = 64): ProviderAnswer => {
  const bytes = joinBytes(
    pieces.map((piece) => (typeof piece === 'string' ? new TextEncoder().encode(piece) : piece)),
  )
  const chunks = []
  for (let at = 0; at < bytes.length; at += size)
    chunks.push({ at, bytes: bytes.subarray(at, at + size) })
  const events = readStream(headers['content-type'] ?? '', chunks)?.events
  if (events !== undefined) return { status, events }
  const text = new TextDecoder().decode(bytes)
  return { status, json: parseJson(text), text, headers: Object.entries(headers) }
}

const json = fc
  .dictionary(fc.string({ maxLength: 8 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 })
  .map((value) => JSON.parse(JSON.stringify(value).replaceAll('__proto__', 'proto')) as JsonRecord)
const text = fc.oneof(fc.constant(''), fc.string({ unit: 'grapheme', minLength: 1 }))
const count = fc.integer({ min: 1, max: 5000 })

const replies = (model = 'scripted-model') =>
  fc
    .record({
      text,
      reasoning: text,
      toolCalls: fc.array(
        fc.record({
          name: fc.stringMatching(/^[a-z_]{1,12}$/),
          args: json,
          id: fc.stringMatching(/^[a-z0-9]{9}$/),
        }),
        { maxLength: 3 },
      ),
      usage: fc
        .record({ input: count, cachedInput: count, output: count, reasoning: count })
        .map((given) => ({ ...given, output: given.output + given.reasoning })),
      chunks: fc.option(fc.integer({ min: 1, max: 9 }), { nil: undefined }),
    })
    .map((given) => makeReply(given, { number: 1, model, promptText: '' }))

/** The output of a reply as a decoder returns it; an empty text may be omitted. */
const output = (reply: Reply): Message['parts'] => [
  ...(reply.reasoning === '' ? [] : [{ type: 'reasoning', text: reply.reasoning } as const]),
  ...(reply.text === '' ? [] : [{ type: 'text', text: reply.text } as const]),
  ...reply.toolCalls.map(
    ({ name, args, id = '' }) => ({ type: 'tool_call', id, name, args }) as const,
  ),
]

const expectDecoded = (decoded: DecodedResponse, reply: Reply, example?: Example): void => {
  const parts = decoded.messages.flatMap((message) => message.parts)
  const said = parts.filter((part) => part.type !== 'text' || part.text !== '')
  const expected = output(reply)
  if (example?.carries === 'text')
    expect(said.filter(({ type }) => type === 'text')).toEqual(
      expected.filter(({ type }) => type === 'text'),
    )
  else expect(said).toEqual(expected)
  expect(decoded.messages.every(({ role }) => role === 'assistant')).toBe(true)
  expect(decoded.finishReason).toEqual(expect.any(String))
  expect(decoded.error).toBeUndefined()
  expectUsage(decoded, reply)
}

/** Some APIs do not report cached input or reasoning separately; none loses tokens. */
const expectUsage = ({ usage }: DecodedResponse, { usage: given }: Reply): void => {
  expect(usage?.mismatch).toBeUndefined()
  const cached = usage?.cachedInput === 0 ? 0 : given.cachedInput
  const reasoning = usage?.reasoning === 0 ? 0 : given.reasoning
  const input = given.input + given.cachedInput
  const inputs = [input, given.input]
  expect([cached, reasoning, usage?.output]).toEqual([
    usage?.cachedInput,
    usage?.reasoning,
    given.output,
  ])
  expect(inputs).toContain((usage?.input ?? 0) + (usage?.cachedInput ?? 0))
}

const RUNS = { numRuns: 40 }

describe.each(APIS)('API $api of $provider', (api: ModelApi) => {
  const examples = EXAMPLES.filter((example) => example.api === api.api)

  test('recognises its example requests, and no other API does', () => {
    expect(examples, `add requests to examples.json of ${api.provider}`).not.toEqual([])
    for (const example of examples) {
      const request = requestOf(example)
      expect(APIS.filter((each) => each.matches(request))).toEqual([api])
      expect(findApi(request).provider).toBe(api.provider)
      expect(api.matches({ ...request, method: 'GET' })).toBe(false)
    }
  })

  test('decodes model and conversation of a request', () => {
    for (const example of examples) {
      const { model, messages } = api.decodeRequest(requestOf(example))
      expect(model).toEqual(expect.any(String))
      expect(messages).toEqual([
        { role: 'user', parts: [{ type: 'text', text: 'Where is my order?' }] },
      ])
    }
  })

  test('names the members of a request that become messages', () => {
    for (const example of examples.filter(() => api.conversation.length > 0)) {
      const messagesOf = (body: JsonRecord) =>
        api.decodeRequest(requestOf({ ...example, body })).messages
      const isSaid = ([name]: [string, unknown]) => api.conversation.includes(name)
      const entries = Object.entries(example.body)
      const rest = Object.fromEntries(entries.filter((entry) => !isSaid(entry)))
      expect(JSON.stringify(messagesOf(rest))).not.toContain('Where is my order?')
      const others = [...conversationMembers()].filter((name) => !api.conversation.includes(name))
      for (const name of others)
        for (const value of ['more', ['more'], [{ role: 'user', content: 'more' }]])
          expect(messagesOf({ ...example.body, [name]: value })).toEqual(messagesOf(example.body))
    }
  })

  test('decoders never throw, whatever the shape', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(200, 500), (value, status) => {
        const [example] = examples as [Example]
        const request = { ...requestOf(example), json: () => value }
        api.decodeRequest(request)
        api.decodeResponse({ status, json: value, text: JSON.stringify(value) }, request)
        const events = [{ event: 'message', data: JSON.stringify(value), at: 0 }]
        const { messages } = api.decodeResponse({ status, events }, request)
        expect(messages).toBeInstanceOf(Array)
      }),
      RUNS,
    )
  })

  const formats = api.scripted ?? []
  test.runIf(formats.length > 0)('decodes its own encoding, plain and streamed', () => {
    for (const example of examples) {
      const request = replyRequest(example)
      const path = request.path.replace(/\?.*$/, '')
      const format = formats.find((each) => each.path.test(path))
      if (format === undefined) throw new Error(`nothing is scripted at ${path}`)
      const isComputed = format.isComputed?.(request) === true
      fc.assert(
        fc.property(replies(request.model), fc.integer({ min: 1, max: 80 }), (reply, size) => {
          const answer = received(format.answer(reply, request), size)
          const decoded = api.decodeResponse(answer, requestOf(example))
          expect(decoded.finishReason === 'embedded').toBe(isComputed)
          if (!isComputed) expectDecoded(decoded, reply, example)
        }),
        RUNS,
      )
    }
  })

  test.runIf(api.answers !== undefined)('validates its own encoding, and refuses the rest', () => {
    const { answers } = api
    const [example] = examples as [Example]
    if (answers === undefined) return
    fc.assert(
      fc.property(replies(), (reply) => {
        const document = answers.encode(reply, replyRequest(example))
        expect(answers.check(document)).toEqual([])
        expectDecoded(api.decodeResponse({ status: 200, json: document }), reply, example)
      }),
      RUNS,
    )
    const document = answers.encode(makeReply({ text: 'Hi' }, { number: 1, promptText: '' }), {
      ...replyRequest(example),
      stream: false,
    })
    const rest = Object.entries(document).filter(([key]) => !answers.outputFields.includes(key))
    expect(answers.check(Object.fromEntries(rest))).not.toEqual([])
    for (const wrong of [null, 'text', [], {}]) expect(answers.check(wrong)).not.toEqual([])
  })

  test.runIf(formats.length > 0)('decodes the errors that its provider encodes', () => {
    const owner = PROVIDERS.find(({ name }) => name === api.provider)
    for (const status of [400, 401, 404, 429, 500, 529]) {
      const error = { status, message: `failed with ${status}` }
      const wire = owner?.failure?.(error, { number: 1, path: '/' }) as WireAnswer
      expect(wire.status).toBe(status)
      expect(api.decodeResponse(received(wire)).error).toBe(error.message)
    }
  })
})

describe.each(PROVIDERS)('provider $name', (provider) => {
  const { name, address, prices = {}, dialect } = provider

  test('has its own name, route and variables', () => {
    const others = PROVIDERS.filter((other) => other !== provider)
    const variables = (each: typeof provider) => [
      ...(each.address?.variables ?? []),
      ...(each.address?.whenSet ?? []),
      ...(each.address?.keys ?? []),
    ]
    const taken = new Set(others.flatMap((other) => [other.name, ...variables(other)]))
    expect([name, ...variables(provider)].filter((each) => taken.has(each))).toEqual([])
    expect(others.map((other) => other.address?.route)).not.toContain(address?.route ?? name)
  })

  test('is recognised by its route and its public address', () => {
    if (address === undefined) return
    expect(clientProvider({ path: `/${address.route}/x`, headers: {} })).toBe(provider)
    if (address.base === undefined) return
    const { hostname } = new URL(address.base)
    const claimed = PROVIDERS.filter(({ hosts }) => hosts?.test(hostname) === true)
    expect(claimed.filter((other) => other !== provider)).toEqual([])
  })

  test('has possible prices', () => {
    for (const [model, price] of Object.entries(prices)) {
      const figures = Object.values(price).filter((each) => typeof each === 'number')
      expect(
        figures.every((each) => Number.isFinite(each) && each >= 0),
        model,
      ).toBe(true)
      expect(price.cachedInput ?? 0, model).toBeLessThanOrEqual(price.input)
    }
  })

  test.runIf(dialect !== undefined)('speaks chat completions that decode', () => {
    const [format] = openaiChat.scripted ?? []
    if (format === undefined || dialect === undefined) return
    for (const example of EXAMPLES.filter(({ api }) => api === 'chat completions')) {
      const request = { ...replyRequest(example), dialect }
      fc.assert(
        fc.property(replies(), (reply) => {
          const answer = received(format.answer(reply, request))
          const decoded = openaiChat.decodeResponse(answer, requestOf(example))
          expect(decoded.messages).toHaveLength(1)
          expectDecoded(decoded, reply)
        }),
        RUNS,
      )
    }
  })
})
