import { describe, expect, test } from 'vitest'
import { type Draft, tapeBytes, utf8 } from '../../../../test/support/tape-bytes.js'
import type { ByteSource } from './platform.js'
import { encodeIndex, readIndex } from './index-footer.js'
import { nodePlatform } from '../node/node-platform.js'
import { Tape } from './tape.js'

const drafts = Array.from({ length: 20_000 }, (_, i): Draft =>
  i % 20 === 0
    ? { event: { type: 'call', kind: 'tool', name: `t${i}` }, body: utf8(`[${i}]`.repeat(300)) }
    : { event: { type: 'deliver', op: i, part: 'chunk' }, body: utf8(`chunk ${i} `.repeat(10)) },
)

/** A source that counts what is read from it. */
function counted(bytes: Uint8Array): { source: ByteSource; read: () => number } {
  let read = 0
  return {
    source: {
      size: bytes.length,
      read: (offset, length) => {
        const view = bytes.subarray(offset, offset + length)
        read += view.length
        return view
      },
    },
    read: () => read,
  }
}

describe('a sealed tape of 20,000 events', () => {
  const { bytes } = tapeBytes(drafts, { sealed: true })

  test('shows its first page after reading a small part of it', () => {
    const { source, read } = counted(bytes)
    const tape = Tape.open(nodePlatform, source, 'x')
    expect([...tape.events(0, 50)]).toHaveLength(50)
    expect(tape.count).toBe(20_002)
    expect(read() / bytes.length).toBeLessThan(0.12)
  })

  test('gives any event the same as a full scan does', () => {
    const sealEnd = Buffer.from(bytes).lastIndexOf('\n{"index"') + 1
    const scanned = Tape.open(nodePlatform, counted(bytes.subarray(0, sealEnd)).source, 'x')
    const indexed = Tape.open(nodePlatform, counted(bytes).source, 'x')
    expect(indexed.count).toBe(scanned.count)
    for (let i = 0; i < 300; i++) {
      const seq = (i * 7919) % scanned.count
      expect(indexed.event(seq)).toEqual(scanned.event(seq))
      expect(indexed.body(seq)).toEqual(scanned.body(seq))
    }
    expect(indexed.verify()).toEqual(scanned.verify())
  })

  test('reads every byte about once for all its events', () => {
    const { source, read } = counted(bytes)
    const tape = Tape.open(nodePlatform, source, 'x')
    expect([...tape.events()]).toHaveLength(tape.count)
    expect(read() / bytes.length).toBeLessThan(1.3)
  })
})

test('an index line knows its own length, at every number of digits', () => {
  for (let entries = 0; entries < 3000; entries += entries < 30 ? 1 : 97) {
    const offsets = Array.from({ length: entries }, (_, i) => i * 11)
    const index = { count: 32 * entries + 5, seal: 9, offsets }
    const line = encodeIndex(nodePlatform, 42, index)
    // The records of the tape, of which nothing is read.
    const before = 40 * index.count
    const read = (at: number, n: number) => line.subarray(at - before, at - before + n)
    const source = { size: before + line.length, read }
    expect(readIndex(nodePlatform, source, 42)).toEqual({ index, offset: before })
    expect(readIndex(nodePlatform, source, 43)).toBeUndefined()
  }
})

test('an index that points elsewhere is damage', () => {
  const { bytes, ends } = tapeBytes(drafts.slice(0, 100), { sealed: true })
  const seed = parseInt(
    Buffer.from(bytes.subarray(0, bytes.indexOf(10)))
      .subarray(-10, -2)
      .toString(),
    16,
  )
  const sealEnd = Buffer.from(bytes).lastIndexOf('\n{"index"') + 1
  const lie = encodeIndex(nodePlatform, seed, { count: 50, seal: ends[48] ?? 0, offsets: [0] })
  const forged = new Uint8Array(Buffer.concat([bytes.subarray(0, sealEnd), lie]))
  expect(() => Tape.open(nodePlatform, counted(forged).source, 'x')).toThrow('not the index')
})
