import type { NewEvent, RequestEvent, Tape } from '@retake/tape/format'
import { expect, test } from 'vitest'
import { writeTape } from '../../test-support/write-tape.js'
import { DrawnValues } from '../kernel/draws.js'
import { TapeTimeline } from '../kernel/timeline.js'
import { SecretMask } from '../secrets/secrets.js'
import { viewOf } from './find-doubts.js'
import { PinnedMatcher, type PinnedMatcherOptions, recordedSteps } from './pinned-matcher.js'

const chat = (host = 'model.example'): NewEvent<RequestEvent> => ({
  type: 'request',
  seam: 'fetch',
  method: 'POST',
  url: `https://${host}/v1/chat/completions`,
  headers: [['content-type', 'application/json']],
})

type Message = readonly [role: string, content: string]

const body = (messages: readonly Message[], more: object = {}): string =>
  JSON.stringify({
    model: 'm',
    messages: messages.map(([role, content]) => ({ role, content })),
    ...more,
  })

/** The parts of a whole answer to the request `op`. */
const answer = (op: number) =>
  [
    { type: 'response', op, status: 200, statusText: 'OK', headers: [] },
    [{ type: 'deliver', op, part: 'chunk' }, '{"choices":[]}'],
    { type: 'deliver', op, part: 'end' },
  ] as const

const end = { type: 'end', exitCode: 0 } as const

/** A run of one request after the other: request, answer, request … */
const sequence = (...bodies: readonly string[]): Tape =>
  writeTape(
    ...bodies.flatMap((text, index) => [[chat(), text] as const, ...answer(1 + index * 4)]),
    end,
  )

/** A matcher for a run that is live from event `at`. Requests are numbered from there. */
function matcherOf(tape: Tape, options: Partial<PinnedMatcherOptions> = {}) {
  const steps = recordedSteps(tape, viewOf(tape).recordedSteps, new TapeTimeline(tape, 1))
  const matcher = new PinnedMatcher(tape, steps, {
    match: 'judged',
    ignoresSystem: false,
    at: 1,
    drawn: new DrawnValues(),
    owner: { secrets: new SecretMask() },
    isPinned: () => true,
    ...options,
  })
  let seq = (options.at ?? 1) - 1
  /** The label of the step that a request corresponds to. `after`: the request that caused it. */
  const match = (text: string, { after, event = chat() }: Call = {}): string | undefined => {
    seq += 1
    if (after !== undefined) matcher.causes.delivered(after)
    matcher.causes.started(seq, event)
    const { recorded } = matcher.take({ seq, event, body: Buffer.from(text) })
    if (recorded !== undefined) matcher.answered(recorded)
    return recorded?.label
  }
  return { matcher, match }
}

interface Call {
  readonly after?: number
  readonly event?: NewEvent<RequestEvent>
}

const ONE = body([['user', 'one']])
const TWO = body([['user', 'two']])

test('an identical request is found wherever it is made, and is not forced', () => {
  const { matcher, match } = matcherOf(sequence(ONE, TWO))
  expect(match(TWO)).toBe('2')
  expect(match(ONE)).toBe('1')
  expect(matcher.report).toMatchObject({ matched: { 1: 2, 2: 1 }, forced: [], unmatched: 0 })
})

test('equal requests match equal steps in order, and none of them twice', () => {
  const { matcher, match } = matcherOf(sequence(ONE, ONE))
  expect([match(ONE), match(ONE), match(ONE)]).toEqual(['1', '2', undefined])
  expect(matcher.report.unmatched).toBe(1)
})

test('a changed request corresponds to the step in its place, and is reported as forced', () => {
  const { matcher, match } = matcherOf(sequence(ONE, TWO))
  expect(match(body([['user', 'one, please']]))).toBe('1')
  expect(matcher.report.forced).toEqual(['1'])
})

test('a changed request matches nothing where only identical ones may match', () => {
  const { matcher, match } = matcherOf(sequence(ONE, TWO), { match: 'identical' })
  expect(match(body([['user', 'one, please']]))).toBeUndefined()
  expect(match(TWO)).toBe('2')
  expect(matcher.report).toMatchObject({ unmatched: 1, forced: [] })
})

test('a value that was drawn does not make a request another one', () => {
  const drawn = new DrawnValues()
  const recorded = '0b3f2a86-54a1-4c5e-9d2b-8a7f1c6e0d11'
  const current = '7e1d9c44-2f0a-4b7b-8c3e-5d6a9b8f2c20'
  for (const id of [recorded, current]) drawn.add('crypto.randomUUID', id)
  const withId = (id: string): string => body([['user', `order ${id}`]])
  const options = { drawn, match: 'identical' } as const
  expect(matcherOf(sequence(withId(recorded)), options).match(withId(current))).toBe('1')
  const other = '11111111-2222-4333-8444-555555555555'
  expect(matcherOf(sequence(withId(recorded)), options).match(withId(other))).toBeUndefined()
})

test('a changed system prompt is ignored only if that was requested', () => {
  const prompted = (system: string): string =>
    body([
      ['system', system],
      ['user', 'one'],
    ])
  const tape = sequence(prompted('Be brief.'))
  const options = { match: 'identical' } as const
  expect(matcherOf(tape, options).match(prompted('Be kind.'))).toBeUndefined()
  const ignoring = matcherOf(tape, { ...options, ignoresSystem: true })
  expect(ignoring.match(prompted('Be kind.'))).toBe('1')
  expect(matcherOf(tape, { ...options, ignoresSystem: true }).match(TWO)).toBeUndefined()
})

test('requests to another host, or for another form of answer, never match', () => {
  const { match } = matcherOf(sequence(ONE))
  expect(match(ONE, { event: chat('other.example') })).toBeUndefined()
  expect(match(body([['user', 'one']], { stream: true }))).toBeUndefined()
})

/** Two conversations at the same time, each with a second turn. */
const LANES = {
  first: [['user', 'Book a flight to Rome']],
  second: [['user', 'Cancel the hotel in Oslo']],
} as const
const continued = (lane: keyof typeof LANES, result: string): string =>
  body([...LANES[lane], ['assistant', 'I will look.'], ['tool', result]])
const lanes = (): Tape =>
  writeTape(
    [chat(), body(LANES.first)],
    [chat(), body(LANES.second)],
    ...answer(1),
    [chat(), continued('first', 'a flight')],
    ...answer(2),
    [chat(), continued('second', 'a hotel')],
    ...answer(6),
    ...answer(10),
    end,
  )

test('a changed request continues the conversation that it begins with', () => {
  const { match } = matcherOf(lanes())
  expect(match(body(LANES.first))).toBe('1')
  expect(match(body(LANES.second))).toBe('2')
  // The second lane comes first this time, with another result.
  expect(match(continued('second', 'no hotel'), { after: 2 })).toBe('4')
  expect(match(continued('first', 'no flight'), { after: 1 })).toBe('3')
})

test('a request to another model still continues its conversation', () => {
  const { match } = matcherOf(lanes())
  match(body(LANES.first))
  match(body(LANES.second))
  const toOther = continued('second', 'no hotel').replace('"m"', '"another-model"')
  expect(match(toOther)).toBe('4')
})

test('a request beyond the end of its lane does not take a step of another lane', () => {
  const { match } = matcherOf(lanes())
  match(body(LANES.first))
  match(continued('first', 'a flight'), { after: 1 })
  const third = body([
    ...LANES.first,
    ['assistant', 'I will look.'],
    ['tool', 'a flight'],
    ['assistant', 'I will book.'],
    ['tool', 'booked'],
  ])
  expect(match(third, { after: 2 })).toBeUndefined()
})

test('steps that were served before the run went live are used', () => {
  const { match } = matcherOf(sequence(ONE, ONE), { at: 5 })
  expect(match(ONE)).toBe('2')
})
