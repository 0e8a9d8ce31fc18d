import type { NewEvent, RequestEvent, RetakeError } from '@retake/tape/format'
import { expect, test } from 'vitest'
import { type TapeLine, writeTape } from '../../test-support/write-tape.js'
import { SecretMask } from '../secrets/secrets.js'
import { type DivergenceFacts, DivergenceLog } from './divergence.js'
import { type Leave, LeftTape } from './go-live.js'
import { type Action, Operation, type Session } from './session.js'
import { SequenceMatcher } from './sequence-matcher.js'
import { TapeCursor } from './timeline.js'

const bytes = (text: string): Uint8Array => Buffer.from(text)

const request = (url = 'https://a/'): NewEvent<RequestEvent> => ({
  type: 'request',
  seam: 'fetch',
  method: 'POST',
  url,
  headers: [],
})
const draw = (value: number): NewEvent => ({ type: 'draw', kind: 'Date.now', value })
const end = { type: 'end', exitCode: 0 } as const

interface Setup {
  readonly mode?: 'observe'
  readonly leave?: Leave
  readonly mask?: SecretMask
}

/** A matcher at the start of a tape with these events. */
function matcherOf(
  lines: readonly TapeLine[],
  { mode, leave, mask = new SecretMask() }: Setup = {},
) {
  const tape = writeTape(...lines)
  const cursor = new TapeCursor(tape)
  const divergences: DivergenceFacts[] = []
  let advanced = 0
  const log = new DivergenceLog(cursor, {
    ...(mode && { mode }),
    leave,
    onDivergence: (divergence) => divergences.push(divergence),
    errorFor: ({ code }) => Object.assign(new Error(code), { code }) as RetakeError,
    onStopped: () => {},
  })
  const matcher = new SequenceMatcher(tape, {
    cursor,
    log,
    tolerance: undefined,
    secrets: mask,
    onAdvanced: () => (advanced += 1),
    afterInitiation: undefined,
  })
  return { matcher, cursor, divergences, advanced: () => advanced, log }
}

test('what is next on the tape is taken, in order', () => {
  const { matcher, cursor, advanced } = matcherOf([draw(7), [request(), 'body'], end])
  expect(matcher.draw('Date.now')?.value).toBe(7)
  expect(matcher.take({ event: request(), body: bytes('body') })?.seq).toBe(2)
  expect(cursor.seq).toBe(3)
  expect(advanced()).toBe(2)
})

test('a request with another body stops the replay, with the difference', () => {
  const { matcher, divergences, log } = matcherOf([[request(), '{"a":1}'], end])
  expect(() => matcher.take({ event: request(), body: bytes('{"a":2}') })).toThrow('call-differs')
  expect(divergences).toMatchObject([
    { seq: 1, kind: 'different', mismatches: [{ field: 'body.a', recorded: 1, current: 2 }] },
  ])
  expect(() => matcher.draw('Date.now')).toThrow(log.stopped)
})

test('a request to another address has the same code, another tool has its own', () => {
  const tool = (name: string): NewEvent & { type: 'call' } => ({ type: 'call', kind: 'tool', name })
  const other = matcherOf([request(), end])
  expect(() => other.matcher.take({ event: request('https://b/') })).toThrow('call-differs')
  const renamed = matcherOf([tool('a'), end])
  expect(() => renamed.matcher.take({ event: tool('b') })).toThrow('other-call')
})

test('a draw where the tape has a request is named', () => {
  const { matcher, divergences } = matcherOf([request(), end])
  expect(() => matcher.draw('Date.now')).toThrow('other-event')
  expect(divergences).toMatchObject([{ seq: 1, kind: 'unexpected', recorded: { type: 'request' } }])
})

test('a run that observes reports a difference and continues at the event that fits', () => {
  const { matcher, divergences, cursor } = matcherOf([draw(1), draw(2), [request(), 'b'], end], {
    mode: 'observe',
  })
  expect(matcher.take({ event: request(), body: bytes('b') })?.seq).toBe(3)
  expect(divergences).toHaveLength(1)
  expect(cursor.seq).toBe(4)
})

test('a run that observes does not look behind the next delivery', () => {
  const delivery = { type: 'deliver', op: 1, part: 'end' } as const
  const { matcher } = matcherOf([request(), delivery, request('https://b/'), end], {
    mode: 'observe',
  })
  expect(matcher.take({ event: request() })?.seq).toBe(1)
  expect(matcher.take({ event: request('https://b/') })).toBeUndefined()
})

test('a killed run is left at its end, with the call that the tape does not answer', () => {
  const call = { type: 'call', kind: 'file', name: 'fs.readFileSync', sync: true } as const
  const { matcher } = matcherOf([call], { leave: 'at the end' })
  const initiation = matcher.take({ event: call })
  const answer = (): unknown => initiation && matcher.answerTo(initiation, call)
  expect(answer).toThrow(LeftTape)
  expect(answer).toThrow(expect.objectContaining({ answering: 1 }))
})

test('a changed run leaves the tape at the first difference, and has consumed nothing', () => {
  const { matcher, cursor, divergences } = matcherOf([[request(), 'a'], end], {
    leave: 'on mismatch',
  })
  expect(() => matcher.take({ event: request(), body: bytes('b') })).toThrow(LeftTape)
  expect(cursor.seq).toBe(1)
  expect(divergences).toEqual([])
})

test('a value that its owner would decide otherwise today is a difference', () => {
  const { matcher } = matcherOf([draw(1), end])
  expect(() => matcher.draw<number>('Date.now', (value) => value === 1)).toThrow('outdated-value')
})

test('output is compared, unless the tape hides it', () => {
  const output = [{ type: 'output', stream: 'stdout' }, 'recorded'] as const
  const { matcher } = matcherOf([output, end])
  expect(() => matcher.output('stdout', bytes('written'))).toThrow('output-differs')
  const mask = new SecretMask()
  mask.hidesOutput = true
  const hidden = matcherOf([output, end], { mask })
  hidden.matcher.output('stdout', bytes('written'))
  expect(hidden.cursor.seq).toBe(2)
})

test('a secret of this process matches its placeholder on the tape', () => {
  const mask = new SecretMask()
  mask.hideAs('secret-value-of-today', 'retake-hidden-API_KEYxx')
  const { matcher } = matcherOf([[request(), 'key=retake-hidden-API_KEYxx'], end], { mask })
  expect(matcher.take({ event: request(), body: bytes('key=secret-value-of-today') })?.seq).toBe(1)
})

test('without the key of a redacted run, only the structure of bodies is compared', () => {
  const mask = new SecretMask()
  mask.isStructural = true
  const lines: readonly TapeLine[] = [[request(), '{"name":"Mara Holt"}'], end]
  const same = matcherOf(lines, { mask })
  expect(same.matcher.take({ event: request(), body: bytes('{"name":"John Reed"}') })?.seq).toBe(1)
  const other = matcherOf(lines, { mask })
  expect(() =>
    other.matcher.take({ event: request(), body: bytes('["name"."JohnaReed"]') }),
  ).toThrow('call-differs')
})

test('bytes for a child process are compared with those that it got', () => {
  const process = { type: 'call', kind: 'process', name: 'cat' } as const
  const write = [{ type: 'write', op: 1 }, 'a line'] as const
  const { matcher } = matcherOf([process, write, end])
  matcher.take({ event: process })
  const operation = new Operation(1, { event: process } as unknown as Action, {} as Session)
  expect(() => matcher.write(operation, bytes('another'), undefined)).toThrow('write-differs')
})

test('a program that ends early, or otherwise, is reported', () => {
  const early = matcherOf([request(), end])
  expect(() => early.matcher.end({ exitCode: 0 })).toThrow('ended-early')
  expect(early.divergences).toMatchObject([{ rest: 3 }])
  const failed = matcherOf([end])
  expect(() => failed.matcher.end({ exitCode: 1 })).toThrow('end-differs')
  expect(failed.divergences).toMatchObject([
    { kind: 'result', mismatches: [{ field: 'exit code', recorded: 0, current: 1 }] },
  ])
  const equal = matcherOf([end])
  equal.matcher.end({ exitCode: 0 })
  expect(equal.divergences).toEqual([])
})
