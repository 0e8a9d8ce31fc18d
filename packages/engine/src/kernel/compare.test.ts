import type { NewEvent, RequestEvent } from '@retake/tape/format'
import { describe, expect, test } from 'vitest'
import { writeTape } from '../../test-support/write-tape.js'
import {
  bodyMismatches,
  bodySha,
  compareInitiation,
  hasWritten,
  identityOf,
  MISMATCHES_MAX,
  recordedSha,
} from './compare.js'
import { type Action, Operation, type Session } from './session.js'

const bytes = (text: string): Uint8Array => Buffer.from(text)

const request = (changes: Partial<NewEvent<RequestEvent>> = {}): NewEvent<RequestEvent> => ({
  type: 'request',
  seam: 'fetch',
  method: 'POST',
  url: 'https://api.example.com/v1/chat',
  headers: [],
  ...changes,
})

const recorded = (changes?: Partial<NewEvent<RequestEvent>>): RequestEvent => ({
  ...request(changes),
  seq: 1,
  at: 0,
})

describe('bodies', () => {
  test('JSON is compared by path', () => {
    const before = { model: 'a', messages: [{ content: 'one' }, { content: 'two' }] }
    const now = { model: 'a', messages: [{ content: 'one' }, { content: '2' }], stream: true }
    expect(bodyMismatches(bytes(JSON.stringify(before)), bytes(JSON.stringify(now)))).toEqual([
      { field: 'body.messages[1].content', recorded: 'two', current: '2' },
      { field: 'body.stream', recorded: undefined, current: true },
    ])
  })

  test('a list is not a record with the same members', () => {
    expect(bodyMismatches(bytes('["a"]'), bytes('{"0":"a"}'))).toEqual([
      { field: 'body', recorded: ['a'], current: { 0: 'a' } },
    ])
  })

  test('the same JSON in another spelling is shown as text', () => {
    expect(bodyMismatches(bytes('{"a":1}'), bytes('{ "a": 1 }'))).toEqual([
      { field: 'body', recorded: '{"a":1}', current: '{ "a": 1 }' },
    ])
  })

  test('text is compared line by line', () => {
    expect(bodyMismatches(bytes('a\nb'), bytes('a\nc\nd'))).toEqual([
      { field: 'line 2', recorded: 'b', current: 'c', isPlain: true },
      { field: 'line 3', recorded: undefined, current: 'd', isPlain: true },
    ])
  })

  test('of bytes that are not text, only the number is named', () => {
    expect(bodyMismatches(new Uint8Array([0xff, 0]), bytes('ab'))).toEqual([
      { field: 'body', recorded: '2 bytes', current: '2 other bytes', isPlain: true },
    ])
  })

  test('at most twenty differences are named', () => {
    const list = (value: number): Uint8Array => bytes(JSON.stringify(Array(50).fill(value)))
    expect(bodyMismatches(list(1), list(2))).toHaveLength(MISMATCHES_MAX)
  })

  test('a body has the digest that the tape stores, and so has none at all', () => {
    const tape = writeTape([request(), 'some text'], request())
    expect(recordedSha(tape, 1)).toBe(bodySha(bytes('some text')))
    expect(recordedSha(tape, 1)).not.toBe(bodySha(bytes('other text')))
    expect(recordedSha(tape, 2)).toBe(bodySha(new Uint8Array()))
  })
})

describe('initiations', () => {
  test('headers that describe the host, the moment or the key do not count', () => {
    const before = recorded({
      headers: [
        ['user-agent', 'node/20'],
        ['x-stainless-retry-count', '0'],
        ['authorization', 'retake-hidden'],
        ['content-type', 'application/json'],
      ],
    })
    const now = request({ headers: [['content-type', 'application/json']] })
    expect(compareInitiation(before, now)).toEqual([])
  })

  test('all other headers count, in any order', () => {
    const before = recorded({
      headers: [
        ['x-mode', 'a'],
        ['accept', 'text/html'],
      ],
    })
    const same = request({
      headers: [
        ['accept', 'text/html'],
        ['x-mode', 'a'],
      ],
    })
    const other = request({
      headers: [
        ['accept', 'text/html'],
        ['x-mode', 'b'],
      ],
    })
    expect(compareInitiation(before, same)).toEqual([])
    expect(compareInitiation(before, other)).toEqual([
      { field: 'header x-mode', recorded: 'a', current: 'b' },
    ])
  })

  test('the boundary of a form is drawn, so it does not count', () => {
    const form = (boundary: string): Partial<RequestEvent> => ({
      headers: [['content-type', `multipart/form-data; boundary=${boundary}`]],
    })
    expect(compareInitiation(recorded(form('a')), request(form('b')))).toEqual([])
  })

  test('the title of a call counts where it is the only name of what is called', () => {
    const call = (kind: 'file' | 'tool', title: string) =>
      ({ type: 'call', kind, name: 'read', title }) as const
    const compare = (kind: 'file' | 'tool') =>
      compareInitiation({ ...call(kind, 'a'), seq: 1, at: 0 }, call(kind, 'b'))
    expect(compare('file')).toEqual([{ field: 'title', recorded: 'a', current: 'b' }])
    expect(compare('tool')).toEqual([])
  })

  test('operations of different types differ', () => {
    const timer = { type: 'timer', kind: 'timeout', ms: 5 } as const
    expect(compareInitiation(recorded(), timer).map(({ field }) => field)).toContain('type')
  })

  test('equal operations have the same identity, others have not', () => {
    const sha = bodySha(bytes('a'))
    const identity = identityOf(request({ headers: [['date', 'today']] }), sha)
    expect(identityOf(recorded(), sha)).toBe(identity)
    expect(identityOf(recorded(), bodySha(bytes('b')))).not.toBe(identity)
    expect(identityOf(recorded({ method: 'GET' }), sha)).not.toBe(identity)
  })
})

describe('bytes written to a connection', () => {
  const connection = (stamp?: { written: number; digest: string }, digestAt?: string): Operation =>
    new Operation(
      1,
      {
        event: { type: 'socket', kind: 'tcp', host: 'a', port: 1 },
        start: () => {},
        deliver: () => {},
        ...(stamp && { stamp: () => stamp }),
        digestAt: () => digestAt,
      } as Action,
      {} as Session,
    )
  const part = { type: 'deliver', op: 1, part: 'chunk', seq: 2, at: 0 } as const
  const after = { ...part, written: 10, digest: 'recorded' }

  test('an answer waits until the agent has written as much as it had', () => {
    expect(hasWritten(connection({ written: 9, digest: 'x' }), after)).toBe('less')
    expect(hasWritten(connection({ written: 10, digest: 'recorded' }), after)).toBe('enough')
  })

  test('other bytes of the same length are reported with their digest', () => {
    expect(hasWritten(connection({ written: 10, digest: 'other' }), after)).toEqual({
      otherDigest: 'other',
    })
  })

  test('if more was written, the digest at the recorded length decides, if it is known', () => {
    const more = { written: 12, digest: 'longer' }
    expect(hasWritten(connection(more, 'recorded'), after)).toBe('enough')
    expect(hasWritten(connection(more, 'other'), after)).toEqual({ otherDigest: 'other' })
    expect(hasWritten(connection(more), after)).toBe('enough')
  })

  test('bytes before the operation are not counted', () => {
    const stamp = connection({ written: 15, digest: 'recorded' })
    expect(hasWritten(stamp, after, { recorded: 4, current: 10 })).toBe('less')
    expect(hasWritten(stamp, after, { recorded: 4, current: 9 })).toBe('enough')
  })

  test('an answer without a count waits for nothing', () => {
    expect(hasWritten(connection({ written: 0, digest: '' }), part)).toBe('enough')
    expect(hasWritten(connection(), after)).toBe('enough')
  })
})
