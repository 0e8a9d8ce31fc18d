import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { deflateRawSync } from 'node:zlib'
import { afterAll, describe, expect, test } from 'vitest'
import { type RawRecord, readRecords, writeRecords } from '../../../../test/support/forge-tape.js'
import { type Draft, sampleDrafts, tapeBytes, utf8 } from '../../../../test/support/tape-bytes.js'
import { browserPlatform } from '../browser/browser-platform.js'
import { nodePlatform } from '../node/node-platform.js'
import { openIntactTape, openTape } from '../node/open-tape.js'
import { indexRun } from '../read-model/run-index.js'
import { TapeError } from './errors.js'
import type { RunEvent } from './events.js'
import { openLayout } from './layout.js'
import { packFrames } from './pack.js'

/** Tapes from strangers: all checksums are right, and no Retake wrote what they say. */

const folder = mkdtempSync(path.join(tmpdir(), 'retake-strange-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const file = path.join(folder, 'run-1.tape')

/** Reads all of a tape, and gives the error that it ends in. */
function errorOf(name = file): { code: string; seq: number | undefined; why: string } | undefined {
  try {
    const tape = openTape(name)
    indexRun(tape)
    for (let seq = 0; seq < tape.count; seq++) tape.body(seq)
    return undefined
  } catch (error) {
    if (!(error instanceof TapeError)) throw error
    const { code, seq, why } = error
    return { code, seq, why }
  }
}

const run: RunEvent = {
  type: 'run',
  seq: 0,
  at: 0,
  format: 1,
  id: 'run-1',
  name: 'n',
  startedAt: 1,
  scope: 'process',
  node: 'v20',
}
const request = { type: 'request', seam: 'fetch', method: 'GET', url: 'https://a', headers: [] }

const write = (drafts: readonly unknown[], first: object = run, details: unknown = {}): void => {
  const { bytes } = tapeBytes(drafts as Draft[], {
    run: {
      event: first as RunEvent,
      body: utf8(typeof details === 'string' ? details : JSON.stringify(details)),
    },
  })
  writeFileSync(file, bytes)
}

describe('an event that no recorder writes is named', () => {
  test.each<[string, object, string]>([
    ['no headers', { ...request, headers: undefined }, '"headers" that is not a list'],
    ['odd headers', { ...request, headers: [['a']] }, '"headers" that is not a list of names'],
    ['a url that is no text', { ...request, url: 7 }, '"url" that is not a text'],
    ['an unknown type', { type: 'constructor' }, 'type is unknown'],
    ['an operation of the future', { type: 'result', op: 9 }, 'event 9, which is not before it'],
    ['an operation below zero', { type: 'result', op: -1 }, '"op" that is not a whole number'],
    ['half an operation', { type: 'result', op: 0.5 }, '"op" that is not a whole number'],
    ['an error without a message', { type: 'end', error: { class: 'Error' } }, '"message"'],
    ['a scope of an unknown kind', { ...request, within: [{ kind: 'x', name: 'a' }] }, '"within"'],
    ['a second run record', { ...run, seq: 1 }, 'Only the first event'],
  ])('%s', (_, event, why) => {
    write([{ event }])
    expect(errorOf()).toEqual({ code: 'TAPE_CORRUPT', seq: 1, why: expect.stringContaining(why) })
    expect(openIntactTape(file)).toMatchObject({ count: 1, damage: { seq: 1 } })
  })

  test('a value 100,000 levels deep', () => {
    write([{ event: { type: 'draw', kind: 'x', value: 7 } }])
    const [first, draw] = readRecords(file) as [RawRecord, RawRecord]
    const value = '['.repeat(100_000) + ']'.repeat(100_000)
    writeRecords(file, [
      first,
      { ...draw, text: draw.text.replace('"value":7', `"value":${value}`) },
    ])
    expect(errorOf()).toMatchObject({
      code: 'TAPE_CORRUPT',
      seq: 1,
      why: expect.stringContaining('deep'),
    })
  })

  test.each<[string, object, unknown]>([
    ['an id that leaves the folder', { id: '../../outside' }, {}],
    ['an id that is a folder', { id: '..' }, {}],
    ['an id of 1,000 letters', { id: 'x'.repeat(1000) }, {}],
    ['a parent that leaves the folder', { parent: { run: '../a', seq: 1, chain: '' } }, {}],
    ['a start that no date has', { startedAt: 1e300 }, {}],
    ['a folder with a NUL', {}, { cwd: '\0' }],
    ['a format below 1', { format: 0 }, {}],
    ['a format below 0', { format: -1 }, {}],
    ['a format that is not a whole number', { format: 1.5 }, {}],
    ['no name', { name: undefined }, {}],
    ['no details', {}, ''],
    ['details that are a list', {}, []],
    ['odd details', {}, { args: 'a', cwd: 7 }],
    ['a run that started it outside', {}, { startedBy: { run: '../x', seq: 0 } }],
  ])('a run record with %s', (_, change, details) => {
    write([], { ...run, ...change }, details)
    expect(errorOf()).toMatchObject({ code: 'TAPE_CORRUPT', seq: 0 })
  })
})

describe('a body that cannot be what its record says', () => {
  const forge = (change: (record: RawRecord, seq: number) => RawRecord): void => {
    writeFileSync(file, tapeBytes(sampleDrafts()).bytes)
    writeRecords(file, readRecords(file).map(change))
  }
  const at7 = (envelope: object, stored = Buffer.alloc(0)) =>
    forge((record, seq) =>
      seq === 7
        ? {
            ...record,
            envelope: { ...(stored.length > 0 && { stored: stored.length }), ...envelope },
            stored,
          }
        : record,
    )

  test.each<[string, object]>([
    ['an event before the first', { size: 9, same: -1 }],
    ['half an event', { size: 1, parts: [0.5, 0, 1] }],
    ['itself', { size: 9, same: 7 }],
    ['an event after it', { size: 9, base: 8, ops: [0, 9] }],
    ['bytes that are not there', { size: 9, parts: [2, 1e6, 9] }],
    ['more than the tape can make', { size: 1e12, same: 2 }],
    ['a size below zero', { size: -5 }],
  ])('names %s', (_, envelope) => {
    at7(envelope)
    expect(errorOf()).toMatchObject({ code: 'TAPE_CORRUPT', seq: 7 })
  })

  test('is not inflated beyond its stated size', () => {
    const bomb = deflateRawSync(Buffer.alloc(64 << 20))
    at7({ size: 100, deflate: 1 }, bomb)
    const before = process.memoryUsage().arrayBuffers
    expect(errorOf()).toMatchObject({ code: 'TAPE_CORRUPT', seq: 7 })
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 << 20)
    for (const platform of [nodePlatform, browserPlatform])
      expect(() => platform.inflateRaw(bomb, 100)).toThrow(/./)
  })

  test('is not assembled again and again beyond all measure', () => {
    // Each record doubles the one before it: 30 records of 60 bytes would be gigabytes.
    const records = [
      { text: 'x', envelope: {}, stored: Buffer.alloc(1 << 16) },
      ...Array.from({ length: 30 }, (_, i) => ({ source: i })),
    ]
    writeFileSync(
      file,
      tapeBytes(records.map(() => ({ event: { type: 'output', stream: 'stdout' } }))).bytes,
    )
    const doubled = readRecords(file).map((record, seq) => {
      if (seq === 0) return record
      const stored = Buffer.alloc(seq === 1 ? 1 << 16 : 0)
      const half = 2 ** (14 + seq)
      const parts = [seq - 1, 0, half, seq - 1, 0, half]
      return {
        ...record,
        envelope: seq === 1 ? { stored: 1 << 16 } : { size: 2 * half, parts },
        stored,
      }
    })
    writeRecords(file, doubled)
    expect(errorOf()).toMatchObject({ code: 'TAPE_CORRUPT' })
  })
})

test('a block of a packed tape is not inflated beyond its stated size', () => {
  const { bytes } = tapeBytes(sampleDrafts(), { sealed: true })
  const layout = openLayout(
    nodePlatform,
    { size: bytes.length, read: (at, n) => bytes.subarray(at, at + n) },
    'x',
  )
  const bomb = { ...nodePlatform, deflateRaw: () => deflateRawSync(Buffer.alloc(64 << 20)) }
  writeFileSync(file, Buffer.concat([...packFrames(bomb, layout.frames, layout.seed)]))
  expect(errorOf()).toMatchObject({ code: 'TAPE_CORRUPT', seq: 1 })
})

test('a run that continues itself is refused', () => {
  write([], { ...run, parent: { run: 'run-1', seq: 1, chain: '' } })
  expect(errorOf()).toMatchObject({ code: 'TAPE_CORRUPT', seq: 0 })
  const other = path.join(folder, 'other.tape')
  writeFileSync(other, readFileSync(file))
  write([], { ...run, parent: { run: 'other', seq: 1, chain: '' } })
  expect(errorOf(other)?.code).toBe('TAPE_CORRUPT')
})
