import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { bedrockEvent } from '../../test-support/event-frame.js'
import { EventScript } from '../../test-support/event-script.js'
import { costUsd, type PriceTable } from '../prices.js'
import { readRun } from '../read-model/read-run.js'
import type { Step } from '../read-model/step.js'
import { messageText, type Message } from './message.js'
import type { Usage } from './usage.js'

/**
 * Exchanges in the shapes that providers document, as bytes on a tape. Usage
 * and cost are worked out by hand: cost is a list of tokens and dollars for a
 * million of them, or none where it cannot be known.
 */
interface Recorded {
  readonly url: string
  readonly request: object
  readonly status?: number
  readonly headers: Readonly<Record<string, string>>
  /** Pieces of the body, or the events of an AWS event stream. */
  readonly body?: readonly string[]
  readonly frames?: readonly (readonly [string, unknown])[]
  readonly prices?: PriceTable
  /** What was asked, where that is worth a look: roles and texts. */
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
    readonly cost: readonly (readonly [number, number])[] | null
    readonly error?: string
    readonly servedBy?: string
  }
}

const folder = new URL('../../../../test/golden/providers/', import.meta.url)
const recordings = readdirSync(folder)
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

const partsOf = (messages: readonly Message[], type: 'text' | 'reasoning'): string =>
  messages
    .flatMap(({ parts }) => parts)
    .map((part) => (part.type === type ? part.text : ''))
    .join('')

/** Dollars, without the noise that adding in another order makes. */
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

const wantedOf = ({ expect: wanted }: Recorded): object => {
  const dollars = wanted.cost?.reduce((sum, [tokens, price]) => sum + tokens * price, 0)
  return {
    kind: 'model',
    state: 'done',
    text: '',
    reasoning: '',
    toolCalls: [],
    ...wanted,
    ...(wanted.usage !== undefined && { usage: { ...wanted.usage, unpriced: [] } }),
    cost: rounded(dollars === undefined ? undefined : dollars / 1e6),
  }
}

describe('an exchange as it was recorded', () => {
  test.each(recordings)('is read in full: %s', (_, recorded) => {
    const step = stepOf(recorded, piecesOf(recorded))
    expect(seenIn(step)).toEqual(wantedOf(recorded))
    const { messages } = recorded
    const asked = step.exchange()?.messages.map((message) => [message.role, messageText(message)])
    expect(asked).toEqual(messages ?? asked)
  })

  test.each(recordings)('reads the same when every byte comes alone: %s', (_, recorded) => {
    const bytes = piecesOf(recorded).flatMap((piece) => [...piece])
    const alone = bytes.map((byte) => Uint8Array.of(byte))
    expect(seenIn(stepOf(recorded, alone))).toEqual(wantedOf(recorded))
  })

  test.each(recordings)('never throws, wherever it breaks off: %s', (_, recorded) => {
    const bytes = Uint8Array.from(piecesOf(recorded).flatMap((piece) => [...piece]))
    for (let end = 0; end < bytes.length; end += 7) {
      const step = stepOf(recorded, [bytes.subarray(0, end)])
      expect(() => [step.title, step.error, step.costUsd, step.exchange()]).not.toThrow()
    }
  })

  test.each(recordings)('never throws, whatever bit of it is wrong: %s', (_, recorded) => {
    const bytes = Uint8Array.from(piecesOf(recorded).flatMap((piece) => [...piece]))
    for (let at = 0; at < bytes.length; at += 11) {
      const wrong = bytes.slice()
      wrong[at] = (wrong[at] ?? 0) ^ (1 << (at % 8))
      const step = stepOf(recorded, [wrong])
      expect(() => [step.title, step.error, step.costUsd, step.exchange()]).not.toThrow()
    }
  })
})

test('a wrong checksum in an event stream fails the step, and what came before it is shown', () => {
  const recorded = recordings.find(([name]) => name === 'bedrock-converse-stream')?.[1] as Recorded
  const pieces = piecesOf(recorded)
  const last = pieces.at(-1) as Uint8Array
  last[last.length - 1] = (last.at(-1) ?? 0) ^ 1
  const step = stepOf(recorded, pieces)
  expect(step.state).toBe('failed')
  expect(step.error).toBe('message 15 of the event stream: its checksum does not match')
  expect(step.finishReason).toBe('tool_use')
  expect(step.exchange()?.response?.problem).toBe(step.error)
  expect([step.usage, step.costUsd]).toEqual([undefined, undefined])
})

test('prices of the user come before what a router says it charged', () => {
  const recorded = recordings.find(([name]) => name === 'openrouter-stream')?.[1] as Recorded
  const price = { input: 1, cachedInput: 2, output: 3 }
  const prices = { 'claude-sonnet-4-5': price }
  const { usage, costUsd: cost } = stepOf({ ...recorded, prices }, piecesOf(recorded))
  expect(cost).toBeCloseTo((200 * 1 + 1000 * 2 + 50 * 3) / 1e6, 12)
  expect(costUsd('x', usage as Usage, { x: price })).toBe(cost)
})
