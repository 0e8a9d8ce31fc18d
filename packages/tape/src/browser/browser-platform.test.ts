import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { constants, deflateRawSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sampleDrafts, tapeBytes } from '../../../../test/support/tape-bytes.js'
import { nodePlatform } from '../node/node-platform.js'
import { Tape } from '../format/tape.js'
import { browserPlatform, readTape } from './browser-platform.js'

/** Structured and random bytes, so that all kinds of deflate blocks appear. */
const anyBytes = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  fc
    .tuple(fc.array(fc.string({ maxLength: 12 }), { minLength: 1, maxLength: 20 }), fc.nat(3000))
    .map(([words, count]) =>
      new TextEncoder().encode(
        Array.from({ length: count }, (_, i) => words[(i * i) % words.length]).join(' '),
      ),
    ),
  fc
    .tuple(fc.uint8Array({ minLength: 1, maxLength: 5 }), fc.nat(70_000))
    .map(([unit, length]) => new Uint8Array(Buffer.alloc(length, unit))),
)

describe('the browser platform agrees with Node', () => {
  test('on sha256, in one call and in pieces', () => {
    fc.assert(
      fc.property(fc.array(anyBytes, { maxLength: 4 }), (pieces) => {
        const whole = new Uint8Array(Buffer.concat(pieces))
        const inPieces = browserPlatform.createSha256()
        for (const piece of pieces) inPieces.update(piece)
        const expected = nodePlatform.sha256(whole)
        expect(browserPlatform.sha256(whole)).toBe(expected)
        expect(inPieces.hex()).toBe(expected)
      }),
    )
  })

  test('on sha256 of every length around a block, and of text', () => {
    for (let length = 0; length < 200; length++) {
      const bytes = new Uint8Array(length).fill(length)
      expect(browserPlatform.sha256(bytes)).toBe(nodePlatform.sha256(bytes))
    }
    expect(browserPlatform.sha256('é☃😀')).toBe(nodePlatform.sha256('é☃😀'))
  })

  test('on CRC-32 with any seed', () => {
    fc.assert(
      fc.property(anyBytes, fc.nat(0xffffffff), (bytes, seed) => {
        expect(browserPlatform.crc32(bytes, seed)).toBe(nodePlatform.crc32(bytes, seed))
      }),
    )
  })

  test('on raw deflate of every level and strategy', () => {
    const { Z_DEFAULT_STRATEGY, Z_FIXED, Z_HUFFMAN_ONLY } = constants
    fc.assert(
      fc.property(
        anyBytes,
        fc.integer({ min: 0, max: 9 }),
        fc.constantFrom(Z_DEFAULT_STRATEGY, Z_FIXED, Z_HUFFMAN_ONLY),
        (bytes, level, strategy) => {
          const deflated = deflateRawSync(bytes, { level, strategy })
          expect(Buffer.from(browserPlatform.inflateRaw(deflated, Infinity)).equals(bytes)).toBe(
            true,
          )
        },
      ),
    )
  })

  test('on gzip with several members and trailing bytes', () => {
    fc.assert(
      fc.property(anyBytes, anyBytes, (a, b) => {
        const members = Buffer.concat([gzipSync(a), gzipSync(b), Buffer.alloc(3)])
        expect(Buffer.concat([a, b]).equals(browserPlatform.gunzip(members, Infinity))).toBe(true)
      }),
    )
  })

  test('on gzip with a file name in its header', () => {
    const plain = gzipSync('hello')
    const named = Buffer.concat([
      plain.subarray(0, 10),
      Buffer.from('name.txt\0'),
      plain.subarray(10),
    ])
    named[3] = 8
    expect(browserPlatform.gunzip(named, Infinity)).toEqual(new TextEncoder().encode('hello'))
  })
})

describe('damaged compressed data', () => {
  const deflated = deflateRawSync(Buffer.from('some text that repeats, some text '.repeat(40)))
  const gzipped = gzipSync('x'.repeat(1000))

  test('is refused wherever deflate data ends early', () => {
    for (let cut = 0; cut < deflated.length; cut++) {
      expect(
        () => browserPlatform.inflateRaw(deflated.subarray(0, cut), Infinity),
        `cut ${cut}`,
      ).toThrow(/deflate/)
    }
  })

  test('is refused wherever gzip data ends early or has another content', () => {
    for (let cut = 0; cut < gzipped.length; cut++) {
      expect(() => browserPlatform.gunzip(gzipped.subarray(0, cut), Infinity)).toThrow(
        /deflate|gzip/,
      )
    }
    const wrong = Buffer.from(gzipped)
    wrong[wrong.length - 8] = (wrong.at(-8) ?? 0) ^ 1
    expect(() => browserPlatform.gunzip(wrong, Infinity)).toThrow(/CRC/)
    expect(() => browserPlatform.gunzip(Buffer.from('plain text'), Infinity)).toThrow(/not gzip/)
  })

  test('never hangs, whatever the bytes are', () => {
    const outcome = (bytes: Uint8Array): string => {
      try {
        return typeof browserPlatform.inflateRaw(bytes, 1 << 30).length
      } catch (error) {
        return error instanceof Error ? 'refused' : 'broken'
      }
    }
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(['number', 'refused']).toContain(outcome(bytes))
      }),
      { numRuns: 2000 },
    )
  })
})

describe('a tape', () => {
  const { bytes } = tapeBytes([...sampleDrafts(), ...sampleDrafts()], { sealed: true })
  const source = { size: bytes.length, read: (at: number, n: number) => bytes.subarray(at, at + n) }

  test('reads the same on both platforms', () => {
    const browser = readTape(bytes)
    const node = Tape.open(nodePlatform, source, 'tape')
    expect([...browser.events()]).toEqual([...node.events()])
    for (let seq = 0; seq < node.count; seq++) expect(browser.body(seq)).toEqual(node.body(seq))
    expect(browser.verify()).toEqual(node.verify())
    expect(browser.details).toEqual(node.details)
  })
})

test('the browser entry imports nothing from Node', () => {
  const seen = new Set<string>()
  const foreign: string[] = []
  const visit = (file: string): void => {
    if (seen.has(file)) return
    seen.add(file)
    for (const [, specifier = ''] of readFileSync(file, 'utf8').matchAll(
      /(?:from|import\()\s*'([^']+)'/g,
    )) {
      if (specifier.startsWith('.'))
        visit(resolve(dirname(file), specifier.replace(/\.js$/, '.ts')))
      else foreign.push(`${file}: ${specifier}`)
    }
  }
  visit(join(import.meta.dirname, 'index.ts'))
  expect(foreign).toEqual([])
  expect(seen.size).toBeGreaterThan(readdirSync(import.meta.dirname).length)
})
