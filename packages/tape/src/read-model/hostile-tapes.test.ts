import { readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bedrockEvent } from '../../test-support/event-frame.js'
import { EventScript } from '../../test-support/event-script.js'
import { readRun, type RunView } from './run-view.js'

/** A tape can be read, with all its steps, whatever a provider, a server or an agent sends. */

interface Recorded {
  readonly url: string
  readonly request: object
  readonly status?: number
  readonly headers: Readonly<Record<string, string>>
  readonly body?: readonly string[]
  readonly frames?: readonly (readonly [string, unknown])[]
}

const folder = new URL('../../../../test/golden/providers/', import.meta.url)
const recordings = readdirSync(folder)
  .filter((file) => file.endsWith('.json'))
  .toSorted()
  .map((file) => JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as Recorded)

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)
const piecesOf = ({ body, frames }: Recorded): Uint8Array[] =>
  body?.map(encode) ?? (frames ?? []).map(([event, value]) => bedrockEvent(event, value))

/** Reads every property of every step. */
function readAll(view: RunView): number {
  for (const step of view.steps) {
    void [step.title, step.kind, step.state, step.error, step.parent, step.answerSeqs]
    void [step.latencyMs, step.timeToFirstChunkMs, step.lane]
    void [step.exchange(), step.call(), step.mcp(), step.answerFrames()]
    void [step.toolName, step.failure]
  }
  void [view.totals, view.lanes, view.outputs]
  return view.steps.length
}

const JUNK: readonly unknown[] = [
  null,
  true,
  -1,
  1e308,
  NaN,
  '',
  '\u0000',
  [],
  {},
  [[]],
  [null],
  { length: 1e9 },
  '__proto__',
  { __proto__: null },
  'x'.repeat(300),
  [{}],
  { type: 7 },
  2 ** 53,
]

/** Replaces some values inside a JSON value with junk, and removes others. */
function spoil(value: unknown, rolls: Iterator<number>): unknown {
  const roll = rolls.next().value as number
  if (roll < 6) return JUNK[Math.floor(((rolls.next().value as number) / 256) * JUNK.length)]
  if (Array.isArray(value)) return value.map((item) => spoil(item, rolls))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, item]) => [key, spoil(item, rolls)] as const)
  return Object.fromEntries(roll < 9 ? entries.slice(1) : entries)
}

const rollsOf = (bytes: Uint8Array) =>
  (function* (): Generator<number, number> {
    let seed = bytes.reduce((sum, byte) => (sum * 31 + byte) >>> 0, 7)
    for (;;) {
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
      yield seed >>> 24
    }
  })()

/** Corrupts the JSON in a text, line by line; other lines stay unchanged. */
const spoilText = (text: string, rolls: Iterator<number>): string =>
  text
    .split('\n')
    .map((line) => {
      const [, lead = '', json = line] = /^(data: ?)(.*)$/.exec(line) ?? []
      try {
        return lead + JSON.stringify(spoil(JSON.parse(json), rolls))
      } catch {
        return line
      }
    })
    .join('\n')

const spoilBytes = (bytes: Uint8Array, at: readonly number[]): Uint8Array => {
  const copy = Uint8Array.from(bytes)
  for (const place of at) if (copy.length > 0) copy[place % copy.length] = place >>> 8
  return copy
}

describe('a recorded exchange', () => {
  const any = fc.record({
    recorded: fc.constantFrom(...recordings),
    seed: fc.uint8Array({ minLength: 4, maxLength: 4 }),
    flips: fc.array(fc.nat(0xffff_ffff), { maxLength: 6 }),
    how: fc.constantFrom('values', 'bytes', 'cut', 'frames'),
    cut: fc.nat(4000),
  })

  test('is read whatever happened to its request and answer', () => {
    fc.assert(
      fc.property(any, ({ recorded, seed, flips, how, cut }) => {
        const rolls = rollsOf(seed)
        const request = how === 'values' ? spoil(recorded.request, rolls) : recorded.request
        let pieces = piecesOf(recorded)
        if (how === 'values' && recorded.body !== undefined)
          pieces = recorded.body.map((text) => encode(spoilText(text, rolls)))
        if (how === 'values' && recorded.frames !== undefined)
          pieces = recorded.frames.map(([event, value]) => bedrockEvent(event, spoil(value, rolls)))
        if (how === 'bytes') pieces = pieces.map((piece) => spoilBytes(piece, flips))
        if (how === 'cut') pieces = pieces.map((piece) => piece.subarray(0, cut)).toReversed()
        // Absurd lengths: the first four bytes of a frame, and the next four.
        if (how === 'frames')
          pieces = pieces.map((piece) =>
            spoilBytes(
              piece,
              flips.map((f) => (f & 0xff00) | (f % 8)),
            ),
          )
        const tape = new EventScript()
        const body = JSON.stringify(request) ?? ''
        const op = tape.add(
          { type: 'request', seam: 'fetch', method: 'POST', url: recorded.url, headers: [] },
          how === 'bytes' ? spoilBytes(encode(body), flips) : body,
        )
        const { status = 200, headers } = recorded
        tape.add({ type: 'response', op, status, statusText: '', headers: Object.entries(headers) })
        for (const piece of pieces) tape.add({ type: 'deliver', op, part: 'chunk' }, piece)
        expect(readAll(readRun(tape.end()))).toBeGreaterThan(0)
      }),
      { numRuns: Number(process.env['FC_RUNS'] ?? 300) },
    )
  })
})

describe('data on pipes', () => {
  const id = fc.oneof(
    fc.integer({ min: -2, max: 3 }),
    fc.constantFrom('1', '', '__proto__'),
    fc.constantFrom(null, {}, [], 1e300),
  )
  const method = fc.constantFrom(
    'initialize',
    'tools/call',
    'tools/list',
    'notifications/progress',
    'notifications/cancelled',
    'sampling/createMessage',
    'x',
    '',
  )
  const value = fc.oneof(
    fc.constantFrom(...JUNK),
    fc.jsonValue(),
    fc.record(
      {
        name: fc.jsonValue(),
        arguments: fc.jsonValue(),
        _meta: fc.jsonValue(),
        content: fc.jsonValue(),
        isError: fc.boolean(),
        serverInfo: fc.jsonValue(),
        requestId: id,
        progressToken: id,
      },
      { requiredKeys: [] },
    ),
  )
  const frame = fc.record(
    {
      jsonrpc: fc.constantFrom('2.0', '2.0', '2.0', '1.0', 2),
      id,
      method,
      params: value,
      result: value,
      error: value,
    },
    { requiredKeys: [] },
  )
  const line = fc.oneof(
    { weight: 6, arbitrary: frame.map((message) => encode(`${JSON.stringify(message)}\n`)) },
    { weight: 1, arbitrary: fc.array(frame).map((batch) => encode(`${JSON.stringify(batch)}\n`)) },
    { weight: 1, arbitrary: fc.uint8Array() },
    { weight: 1, arbitrary: fc.string().map((text) => encode(`${text}\r\n`)) },
    {
      weight: 1,
      arbitrary: fc
        .constantFrom(
          '{"jsonrpc":"2.0",',
          '\n\n',
          '[[[[',
          '[]\n',
          '[null]\n',
          '{"jsonrpc":"2.0","id":1,"result":',
        )
        .map(encode),
    },
  )
  const said = fc.array(
    fc.tuple(fc.constantFrom('write', 'says', 'stderr', 'exit', 'message'), line, fc.nat(40)),
    { maxLength: 30 },
  )

  test('is read whatever it contains, in any chunks', () => {
    fc.assert(
      fc.property(said, (pieces) => {
        const tape = new EventScript()
        const op = tape.add(
          { type: 'call', kind: 'process', name: 'spawn', title: 'x', as: 'json' },
          '{}',
        )
        tape.add(
          { type: 'write', op },
          '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}\n',
        )
        for (const [who, bytes, cut] of pieces) {
          for (const part of [bytes.subarray(0, cut), bytes.subarray(cut)]) {
            if (who === 'write') tape.add({ type: 'write', op }, part)
            if (who === 'message') tape.add({ type: 'write', op, as: 'json' }, part)
            if (who === 'says') tape.add({ type: 'deliver', op, part: 'chunk', pipe: 1 }, part)
            if (who === 'stderr') tape.add({ type: 'deliver', op, part: 'chunk', pipe: 2 }, part)
          }
          if (who === 'exit') tape.add({ type: 'deliver', op, part: 'exit', value: [cut, null] })
        }
        expect(readAll(readRun(tape.end()))).toBeGreaterThan(1)
      }),
      { numRuns: Number(process.env['FC_RUNS'] ?? 200) },
    )
  })

  test('over HTTP is read, too', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            asked: line,
            answered: fc.array(line, { maxLength: 3 }),
            isStream: fc.boolean(),
            status: fc.constantFrom(200, 202, 404, 500),
            method: fc.constantFrom('POST', 'GET', 'DELETE'),
          }),
          { maxLength: 8 },
        ),
        (sent) => {
          const tape = new EventScript()
          for (const { asked, answered, isStream, status, method } of sent) {
            const op = tape.add(
              {
                type: 'request',
                seam: 'fetch',
                method,
                url: 'http://127.0.0.1:1/mcp',
                headers: [
                  ['mcp-session-id', 'a'],
                  ['accept', 'text/event-stream'],
                ],
              },
              asked,
            )
            tape.add({
              type: 'response',
              op,
              status,
              statusText: '',
              headers: [['content-type', isStream ? 'text/event-stream' : 'application/json']],
            })
            for (const piece of answered)
              tape.add(
                { type: 'deliver', op, part: 'chunk' },
                isStream ? encode(`data: ${new TextDecoder().decode(piece)}\n\n`) : piece,
              )
          }
          expect(readAll(readRun(tape.end()))).toBe(sent.length)
        },
      ),
      { numRuns: Number(process.env['FC_RUNS'] ?? 100) },
    )
  })
})
