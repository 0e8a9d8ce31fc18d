import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { bedrockEvent } from '../../test-support/event-frame.js'
import { EventScript } from '../../test-support/event-script.js'
import type { PriceTable } from './specification/price.js'
import { costUsd } from './cost.js'
import { readRun } from '../read-model/run-view.js'
import type { Step } from '../read-model/step.js'
import { messageText, type Message } from './specification/message.js'
import type { Usage } from './specification/usage.js'

/**
 * Exchanges in the shapes of real recordings, as bytes on a tape. Usage and cost were calculated by
 * hand, with the arithmetic written out; unknown costs are missing. See the README beside them.
 */
interface Recorded {
  /** Where the shape was seen; `documented` if no recording was found. */
  readonly shape: string
  readonly url: string
  readonly request: object
  readonly status?: number
  readonly headers: Readonly<Record<string, string>>
  /** Pieces of the body, or the events of an AWS event stream. */
  readonly body?: readonly string[]
  readonly frames?: readonly (readonly [string, unknown])[]
  readonly prices?: PriceTable
  /** Roles and texts of the request, if worth checking. */
  readonly messages?: readonly (readonly [string, string])[]
  readonly expect: {
    readonly provider: string
    readonly api: string
    readonly model: string
    readonly state?: string
    readonly finishReason?: string
    readonly text?: string
    readonly reasoning?: string
    readonly toolCalls?: readonly object[]
    readonly usage?: Partial<Usage>
    readonly cost: string | null
    readonly error?: string
    readonly servedBy?: string
  }
}

const folder = new URL('../../../../test/golden/providers/', import.meta.url)
const recordings = readdirSync(folder)
  .filter((file) => file.endsWith('.json'))
  .toSorted()
  .map((file): [string, Recorded] => [
    file.replace('.json', ''),
    JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as Recorded,
  ])

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)

const piecesOf = ({ body, frames }: Recorded): Uint8Array[] =>
  body === undefined
    ? (frames ?? []).map(([event, value]) => bedrockEvent(event, value))
    : body.map(encode)

const stepOf = (recorded: Recorded, pieces: readonly Uint8Array[]): Step => {
  const { url, request, status = 200, headers, prices } = recorded
  const tape = new EventScript()
  const op = tape.request(url, request)
  const statusText = status === 200 ? 'OK' : 'Trouble'
  tape.add({ type: 'response', op, status, statusText, headers: Object.entries(headers) })
  for (const piece of pieces) tape.chunk(op, piece)
  tape.add({ type: 'deliver', op, part: 'end' })
  const [step] = readRun(tape.end(), prices === undefined ? {} : { prices }).steps
  if (step === undefined) throw new Error('no step')
  return step
}

/** Step between cuts, so that even a long recording is read about thirty times. */
const stepOver = (bytes: Uint8Array): number => Math.max(7, Math.floor(bytes.length / 30))

const partsOf = (messages: readonly Message[], type: 'text' | 'reasoning'): string =>
  messages
    .flatMap(({ parts }) => parts)
    .map((part) => (part.type === type ? part.text : ''))
    .join('')

/** Dollars, without rounding errors from a different order of addition. */
const rounded = (cost: number | undefined): number | undefined =>
  cost === undefined ? undefined : Number(cost.toFixed(12))

const seenIn = (step: Step): object => {
  const exchange = step.exchange()
  const answer = exchange?.answer ?? []
  const { kind, provider, model, state, finishReason, usage, error } = step
  return {
    kind,
    provider,
    model,
    state,
    finishReason,
    usage,
    error,
    api: exchange?.api,
    text: partsOf(answer, 'text'),
    reasoning: partsOf(answer, 'reasoning'),
    toolCalls: step.toolCalls.map(({ id, name, args }) => ({ id, name, args })),
    servedBy: exchange?.servedBy,
    cost: rounded(step.costUsd),
  }
}

/**
 * Parsed from `12 × $0.30/M + 4,000 × $0.03/M = $0.0001236`, after `charged:` if the answer reports
 * it too.
 */
interface Sum {
  readonly terms: readonly (readonly [tokens: number, price: number])[]
  readonly dollars: number
  readonly isCharged: boolean
}

const readSum = (cost: string): Sum => {
  const [, charged, sum = '', dollars] = /^(charged: )?(.+) = \$([\d.]+)$/.exec(cost) ?? []
  const terms = sum.split(' + ').map((term) => {
    const [, tokens = '', price] = /^([\d,]+) × \$([\d.]+)\/M$/.exec(term) ?? []
    return [Number(tokens.replaceAll(',', '')), Number(price)] as const
  })
  return { terms, dollars: Number(dollars), isCharged: charged !== undefined }
}

const wantedOf = ({ expect: wanted }: Recorded): object => {
  return {
    kind: 'model',
    state: 'done',
    text: '',
    reasoning: '',
    toolCalls: [],
    ...wanted,
    ...(wanted.usage !== undefined && { usage: { ...wanted.usage, unpriced: [] } }),
    cost: rounded(wanted.cost === null ? undefined : readSum(wanted.cost).dollars),
  }
}

const priced = recordings.flatMap(([name, { expect: wanted }]): [string, Sum, Usage][] =>
  wanted.cost === null ? [] : [[name, readSum(wanted.cost), wanted.usage as Usage]],
)

describe('a cost calculated by hand', () => {
  test.each(priced)('adds up, and leaves no token out: %s', (_, { terms, dollars }, usage) => {
    const sum = terms.reduce((total, [tokens, price]) => total + tokens * price, 0)
    expect(dollars).toBeCloseTo(sum / 1e6, 12)
    const { input, cachedInput, cacheWrite, cacheWriteLong, output } = usage
    const classes = [input, cachedInput, cacheWrite - cacheWriteLong, cacheWriteLong, output]
    expect(terms.map(([tokens]) => tokens)).toEqual(classes.filter((tokens) => tokens > 0))
  })
})

const isStream = ({ headers }: Recorded): boolean =>
  Object.entries(headers).some(
    ([name, value]) => name.toLowerCase() === 'content-type' && /stream|ndjson/.test(value),
  )

/** Kinds of exchanges that every provider needs at least once. */
const KINDS: readonly (readonly [kind: string, seen: (recorded: Recorded) => boolean])[] = [
  ['a plain answer', (recorded) => !isStream(recorded) && recorded.expect.text !== undefined],
  ['a streamed answer', (recorded) => isStream(recorded) && recorded.expect.text !== undefined],
  ['a tool call', (recorded) => !isStream(recorded) && recorded.expect.toolCalls !== undefined],
  [
    'a streamed tool call',
    (recorded) => isStream(recorded) && recorded.expect.toolCalls !== undefined,
  ],
  ['cached input', ({ expect: { usage } }) => (usage?.cachedInput ?? 0) > 0],
  ['an error', ({ expect: { error } }) => error !== undefined],
]

describe.each([
  'openai chat completions',
  'openai responses',
  'anthropic messages',
  'google generate content',
  'vertex generate content',
  'groq chat completions',
  'mistral chat completions',
  'openrouter chat completions',
  'bedrock converse',
  'bedrock invoke model',
])('among the recordings of %s', (server) => {
  const own = recordings.filter(
    ([
      ,
      {
        expect: { provider, api },
      },
    ]) => `${provider} ${api}` === server,
  )
  test.each(KINDS)('there is %s', (_, seen) => {
    expect(own.filter(([, recorded]) => seen(recorded)).map(([name]) => name)).not.toEqual([])
  })
})

describe('a recorded exchange', () => {
  test.each(recordings)('is read in full: %s', (_, recorded) => {
    const step = stepOf(recorded, piecesOf(recorded))
    expect(seenIn(step)).toEqual(wantedOf(recorded))
    const { messages } = recorded
    const asked = step.exchange()?.messages.map((message) => [message.role, messageText(message)])
    expect(asked).toEqual(messages ?? asked)
  })

  test.each(recordings)('reads the same if every byte arrives alone: %s', (_, recorded) => {
    const bytes = piecesOf(recorded).flatMap((piece) => [...piece])
    const alone = bytes.map((byte) => Uint8Array.of(byte))
    expect(seenIn(stepOf(recorded, alone))).toEqual(wantedOf(recorded))
  })

  test.each(recordings)('never throws, wherever it breaks off: %s', (_, recorded) => {
    const bytes = Uint8Array.from(piecesOf(recorded).flatMap((piece) => [...piece]))
    for (let end = 0; end < bytes.length; end += stepOver(bytes)) {
      const step = stepOf(recorded, [bytes.subarray(0, end)])
      expect(() => [step.title, step.error, step.costUsd, step.exchange()]).not.toThrow()
    }
  })

  test.each(recordings)('never throws, whichever bit is wrong: %s', (_, recorded) => {
    const bytes = Uint8Array.from(piecesOf(recorded).flatMap((piece) => [...piece]))
    for (let at = 0; at < bytes.length; at += stepOver(bytes)) {
      const wrong = bytes.slice()
      wrong[at] = (wrong[at] ?? 0) ^ (1 << (at % 8))
      const step = stepOf(recorded, [wrong])
      expect(() => [step.title, step.error, step.costUsd, step.exchange()]).not.toThrow()
    }
  })
})

test('a wrong checksum in an event stream fails the step, and earlier content is shown', () => {
  const recorded = recordings.find(([name]) => name === 'bedrock-converse-stream')?.[1] as Recorded
  const pieces = piecesOf(recorded)
  const last = pieces.at(-1) as Uint8Array
  last[last.length - 1] = (last.at(-1) ?? 0) ^ 1
  const step = stepOf(recorded, pieces)
  expect(step.state).toBe('failed')
  const why = `message ${pieces.length} of the event stream: its checksum does not match`
  expect(step.error).toBe(why)
  expect(step.finishReason).toBe('end_turn')
  expect(step.exchange()?.response?.problem).toBe(step.error)
  expect([step.usage, step.costUsd]).toEqual([undefined, undefined])
})

test('prices of the user override the charge reported by a router', () => {
  const recorded = recordings.find(([name]) => name === 'openrouter-stream')?.[1] as Recorded
  const price = { input: 7, output: 3 }
  const prices = { 'claude-haiku-4-5': price }
  const { usage, costUsd: cost } = stepOf({ ...recorded, prices }, piecesOf(recorded))
  expect(cost).toBeCloseTo((36 * 7 + 18 * 3) / 1e6, 12)
  expect(costUsd('x', usage as Usage, { x: price })).toBe(cost)
})
