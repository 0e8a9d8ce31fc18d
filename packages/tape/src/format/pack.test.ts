import { describe, expect, test } from 'vitest'
import { type Draft, sampleDrafts, tapeBytes, utf8 } from '../../../../test/support/tape-bytes.js'
import { browserPlatform } from '../browser/browser-platform.js'
import type { ByteSource, TapePlatform } from './platform.js'
import { TapeError } from './errors.js'
import { openLayout } from './layout.js'
import { nodePlatform } from '../node/node-platform.js'
import { packFrames } from './pack.js'
import { Tape } from './tape.js'

const sourceOf = (bytes: Uint8Array): ByteSource => ({
  size: bytes.length,
  read: (offset, length) => bytes.subarray(offset, offset + length),
})
const open = (bytes: Uint8Array, platform: TapePlatform = nodePlatform): Tape =>
  Tape.open(platform, sourceOf(bytes), 'x.tape')

function pack(bytes: Uint8Array): Uint8Array {
  const { frames, seed } = openLayout(nodePlatform, sourceOf(bytes), 'x.tape')
  return new Uint8Array(Buffer.concat([...packFrames(nodePlatform, frames, seed)]))
}

/** A run long enough for several blocks. */
function longRun(): Draft[] {
  const messages: string[] = []
  return Array.from({ length: 60 }, (_, step): Draft[] => {
    messages.push(`message ${step} `.repeat(40 + (step % 7) * 20))
    const op = 1 + step * 42
    return [
      {
        event: { type: 'request', seam: 'fetch', method: 'POST', url: 'https://m/', headers: [] },
        body: utf8(JSON.stringify(messages)),
      },
      ...Array.from({ length: 40 }, (_, i): Draft => ({
        event: { type: 'deliver', op, part: 'chunk' },
        body: utf8(`data: {"token":"${(step * 7919 + i * 104729).toString(36)}"}\n\n`.repeat(4)),
      })),
      { event: { type: 'result', op, as: 'text' }, body: utf8(`result ${step} `.repeat(300)) },
    ]
  }).flat()
}

describe.each([
  ['a small run', sampleDrafts()],
  ['a run of several blocks', longRun()],
  ['a run of nothing', []],
  [
    'a run with one large body',
    [{ event: { type: 'output', stream: 'stdout' }, body: new Uint8Array(3 << 20).fill(7) }],
  ],
] satisfies [string, Draft[]][])('packing %s', (_, drafts) => {
  const plain = tapeBytes(drafts, { sealed: true }).bytes
  const packed = pack(plain)

  test('keeps every event, body and hash', () => {
    const [before, after] = [open(plain), open(packed)]
    expect([...after.events()]).toEqual([...before.events()])
    for (let seq = before.count - 1; seq >= 0; seq--) {
      expect(Buffer.from(after.body(seq)).equals(before.body(seq))).toBe(true)
      expect(after.chainAt(seq)).toBe(before.chainAt(seq))
    }
    expect(after.status).toBe('sealed')
    expect(after.verify()).toEqual(before.verify())
    expect(after.verify().ok).toBe(true)
  })

  test('can be read without Node', () => {
    const browser = open(packed, browserPlatform)
    expect(browser.verify()).toEqual(open(packed).verify())
  })

  test('is idempotent', () => {
    expect(Buffer.from(pack(packed)).equals(packed)).toBe(true)
  })
})

test('a packed tape is much smaller', () => {
  const plain = tapeBytes(longRun(), { sealed: true }).bytes
  expect(pack(plain).length / plain.length).toBeLessThan(0.35)
})

describe('a damaged packed tape', () => {
  const packed = pack(tapeBytes(sampleDrafts(), { sealed: true }).bytes)
  const runEnd = packed.indexOf(10, packed.indexOf(10) + 1) + 1

  const outcome = (bytes: Uint8Array): string => {
    try {
      const tape = open(bytes)
      return tape.verify().ok ? `${tape.status} ${tape.count}` : 'not ok'
    } catch (error) {
      return error instanceof TapeError ? error.code : String(error)
    }
  }

  test('is refused or fails verification for any flipped bit', () => {
    const missed: string[] = []
    for (let at = 0; at < packed.length; at++) {
      for (const bit of [0, 2, 5, 7]) {
        const damaged = new Uint8Array(packed)
        damaged[at] = (damaged[at] ?? 0) ^ (1 << bit)
        const found = outcome(damaged)
        if (found !== 'not ok' && !found.startsWith('TAPE_')) missed.push(`${at}.${bit} ${found}`)
      }
    }
    expect(missed).toEqual([])
  })

  test('is refused when its end is missing', () => {
    for (let cut = runEnd + 3; cut < packed.length; cut++) {
      expect(outcome(packed.subarray(0, cut)), `cut at ${cut}`).toBe('TAPE_CORRUPT')
    }
  })
})
