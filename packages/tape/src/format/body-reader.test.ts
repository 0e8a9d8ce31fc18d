import { describe, expect, test } from 'vitest'
import { sampleDrafts, tapeBytes, utf8 } from '../../../../test/support/tape-bytes.js'
import { encodeRecord, eventText, readLine } from './codec.js'
import { nodePlatform } from '../node/node-platform.js'
import { Tape } from './tape.js'

const { bytes } = tapeBytes(sampleDrafts())
const seed = readLine(nodePlatform, 0, bytes, 0, bytes.indexOf(10))?.crc ?? 0
const count = sampleDrafts().length + 1

/** The sample tape plus one record with a forged envelope. */
function withForged(envelope: object, stored?: Uint8Array): Tape {
  const text = eventText({ type: 'result', op: 1 }, count, 99)
  const record = encodeRecord(nodePlatform, seed, { text, envelope, ...(stored && { stored }) })
  const forged = new Uint8Array(Buffer.concat([bytes, record]))
  const source = {
    size: forged.length,
    read: (at: number, n: number) => forged.subarray(at, at + n),
  }
  return Tape.open(nodePlatform, source, 'forged.tape')
}

describe('a record with a forged envelope is refused when it', () => {
  const ten = new Uint8Array(10)
  const sha = 'ab'.repeat(32)
  test.each([
    ['is the same as itself', { size: 10, same: count }],
    ['is the same as a later event', { size: 10, same: count + 1 }],
    ['is the same as a shorter event', { size: 9000, same: 6 }],
    ['builds on a later event', { size: 10, base: count + 5, ops: [0, 10] }],
    ['copies from behind the end', { size: 10, base: 2, ops: [1e9, 10] }],
    ['copies from before the start', { size: 10, parts: [2, -5, 10] }],
    ['copies less than it says', { size: 11, base: 2, ops: [0, 10] }],
    ['copies a negative length', { size: 10, base: 2, ops: [0, 20, 30, -10] }],
    ['has a list that is none', { size: 10, parts: null }],
    ['uses bytes that it does not store', { size: 10, base: 2, ops: [-10] }],
    ['claims more than any memory', { size: 2 ** 52, base: 2, ops: [0, 10] }],
    ['stores what cannot be inflated', { stored: 10, size: 99, deflate: 1 }, ten],
    ['inflates to another length', { stored: 2, size: 99, deflate: 1 }, Uint8Array.of(3, 0)],
    ['has another sha256', { stored: 10, sha }, ten],
  ])('%s', (_, envelope, stored?: Uint8Array) => {
    const tape = withForged(envelope, stored)
    expect(tape.count).toBe(count + 1)
    expect(() => tape.body(count)).toThrow(/corrupt at event 13|not iterable|null/)
    expect(tape.verify()).toMatchObject({ ok: false, problem: { seq: count } })
  })
})

test('a heavy record with a body that is not short, but without its sha256, does not pass', () => {
  const forged = withForged({ stored: 512, chain: 'ab'.repeat(32) }, new Uint8Array(512))
  expect(forged.verify().problem).toEqual({ seq: count, message: 'it has no sha256' })
})

test('a reader that changes a body does not affect the next reader', () => {
  const source = { size: bytes.length, read: (at: number, n: number) => bytes.subarray(at, at + n) }
  const tape = Tape.open(nodePlatform, source, 'x')
  for (const seq of [2, 4, 7, 8, 10, 11]) {
    const first = tape.body(seq)
    const copy = new Uint8Array(first)
    first.fill(0)
    expect(tape.body(seq)).toEqual(copy)
  }
  expect(tape.verify().ok).toBe(true)
})

test('a body without content is empty, whatever its event is', () => {
  const drafts = [
    { event: { type: 'request', seam: 'fetch', method: 'GET', url: 'x', headers: [] } },
    { event: { type: 'result', op: 1 }, body: new Uint8Array(0) },
    { event: { type: 'output', stream: 'stdout' }, body: utf8('') },
  ] as const
  const empty = tapeBytes(drafts, { sealed: true }).bytes
  const tape = Tape.open(
    nodePlatform,
    { size: empty.length, read: (at, n) => empty.subarray(at, at + n) },
    'x',
  )
  expect([1, 2, 3].map((seq) => tape.body(seq).length)).toEqual([0, 0, 0])
  expect(tape.verify().ok).toBe(true)
})
