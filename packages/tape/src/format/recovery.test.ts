import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Draft, sampleDrafts, tapeBytes, utf8 } from '../../../../test/support/tape-bytes.js'
import type { ByteSource } from './platform.js'
import { TapeError } from './errors.js'
import { openLayout } from './layout.js'
import { nodePlatform } from '../node/node-platform.js'
import { packFrames } from './pack.js'
import { Tape } from './tape.js'

const sourceOf = (bytes: Uint8Array): ByteSource => ({
  size: bytes.length,
  read: (offset, length) => bytes.subarray(offset, offset + length),
})
const open = (bytes: Uint8Array): Tape => Tape.open(nodePlatform, sourceOf(bytes), 'sample.tape')

/** Everything a reader can see of the first `count` events. */
const contents = (tape: Tape, count = tape.count): unknown[] =>
  Array.from({ length: count }, (_, seq) => [
    tape.event(seq),
    Buffer.from(tape.body(seq)).toString('latin1'),
  ])

function errorOf(action: () => unknown): TapeError {
  try {
    action()
  } catch (error) {
    if (error instanceof TapeError) return error
    throw error
  }
  throw new Error('expected a TapeError')
}

const concat = (...parts: readonly Uint8Array[]): Uint8Array => new Uint8Array(Buffer.concat(parts))
const unsealed = tapeBytes(sampleDrafts())
const sealed = tapeBytes(sampleDrafts(), { sealed: true })
const whole = contents(open(unsealed.bytes))

describe('a tape cut at any byte', () => {
  /** The expected result of opening a file that ends at byte `cut`. */
  function expectedAt(cut: number): unknown {
    if (cut === 0) return 'TAPE_EMPTY'
    const count = unsealed.ends.filter((end) => end <= cut).length
    if (count === 0) return 'TAPE_NO_RUN'
    const tornBytes = cut - (unsealed.ends[count - 1] ?? 0)
    const status = count === unsealed.ends.length ? 'ended' : 'truncated'
    return { count, tornBytes, status, ok: true }
  }

  function foundAt(cut: number): unknown {
    try {
      const tape = open(unsealed.bytes.subarray(0, cut))
      const { count, tornBytes, status } = tape
      return { count, tornBytes, status, ok: tape.verify().ok }
    } catch (error) {
      return error instanceof TapeError ? error.code : error
    }
  }

  test('shows exactly the complete events', () => {
    for (let cut = 0; cut <= unsealed.bytes.length; cut++) {
      expect(foundAt(cut), `cut at ${cut}`).toEqual(expectedAt(cut))
    }
  })

  test('shows the same content after any cut', () => {
    for (const end of unsealed.ends) {
      const tape = open(unsealed.bytes.subarray(0, end + 5))
      expect(contents(tape)).toEqual(whole.slice(0, tape.count))
    }
  })

  test('stays sealed when only its index is lost', () => {
    const sealEnd = Buffer.from(sealed.bytes).lastIndexOf('\n{"index"') + 1
    for (let cut = sealEnd; cut < sealed.bytes.length; cut++) {
      const tape = open(sealed.bytes.subarray(0, cut))
      expect(tape).toMatchObject({
        status: 'sealed',
        count: sealed.ends.length,
        tornBytes: cut - sealEnd,
      })
    }
    expect(open(sealed.bytes.subarray(0, sealEnd - 1)).status).toBe('ended')
  })
})

describe('a flipped bit', () => {
  test.each([
    ['an unsealed', unsealed],
    ['a sealed', sealed],
  ])('anywhere in %s tape is detected, or leaves exactly a valid prefix', (_, { bytes, ends }) => {
    const missed: string[] = []
    const found = { refused: 0, verify: 0, prefix: 0 }
    for (let at = 0; at < bytes.length; at++) {
      for (let bit = 0; bit < 8; bit += 1) {
        const damaged = new Uint8Array(bytes)
        damaged[at] = (damaged[at] ?? 0) ^ (1 << bit)
        const effect = effectOf(
          damaged,
          ends.findIndex((end) => at < end),
        )
        if (effect === 'missed') missed.push(`byte ${at} bit ${bit}`)
        else found[effect]++
      }
    }
    expect(missed).toEqual([])
    expect(found.refused + found.verify).toBeGreaterThan(found.prefix)
  })

  /** `hit` is the number of the damaged event; the index counts as part of the seal. */
  function effectOf(damaged: Uint8Array, hit: number): 'refused' | 'verify' | 'prefix' | 'missed' {
    let tape: Tape
    try {
      tape = open(damaged)
    } catch (error) {
      if (error instanceof TapeError) return 'refused'
      throw error
    }
    const { ok, problem } = tape.verify()
    if (!ok) return problem?.seq === hit ? 'verify' : 'missed'
    return tape.count === hit && tape.tornBytes > 0 && !tape.isComplete ? 'prefix' : 'missed'
  }
})

describe('a foreign tail', () => {
  const stale = unsealed.bytes.subarray(unsealed.ends[3], unsealed.ends[8])
  const other = tapeBytes(sampleDrafts(), {
    run: {
      event: {
        type: 'run',
        format: 1,
        id: 'other',
        name: 'o',
        startedAt: 2,
        scope: 'process',
        node: 'v22',
      },
      body: utf8('{}'),
    },
  })
  const leftByCrash: [string, Uint8Array][] = [
    ['zeros', new Uint8Array(4096)],
    ['garbage', Uint8Array.from({ length: 4096 }, (_, i) => (i * 2654435761) >>> 13)],
    ['newlines', new Uint8Array(300).fill(10)],
    ['records that were there before', stale],
  ]
  const fromElsewhere: [string, Uint8Array][] = [
    ['records of another tape', other.bytes],
    [
      'later records of another tape',
      concat(other.bytes.subarray(other.ends.at(-2)), utf8('{"seq":14,')),
    ],
  ]

  test.each(leftByCrash)('of %s is ignored', (_, tail) => {
    const tape = open(concat(unsealed.bytes, tail))
    expect(tape).toMatchObject({ count: unsealed.ends.length, tornBytes: tail.length })
    expect(tape.isComplete).toBe(false)
    expect(contents(tape)).toEqual(whole)
  })

  test.each(fromElsewhere)('of %s is damage', (_, tail) => {
    const error = errorOf(() => open(concat(unsealed.bytes, tail)))
    expect(error).toMatchObject({ code: 'TAPE_CORRUPT', offset: unsealed.bytes.length })
    expect(error.message).toContain('comes from another tape')
  })

  test.each([...leftByCrash, ...fromElsewhere])('of %s after the seal is damage', (_, tail) => {
    const error = errorOf(() => open(concat(sealed.bytes, tail)))
    expect(error).toMatchObject({ code: 'TAPE_CORRUPT', seq: sealed.ends.length })
    expect(error.message).toContain('The seal ends the run')
  })

  test('that is torn inside a body with a foreign tape in it is ignored', () => {
    const body = concat(utf8('\n'), other.bytes)
    const drafts = [
      ...sampleDrafts(),
      { event: { type: 'output', stream: 'stdout' }, body } as const,
    ]
    const torn = tapeBytes(drafts).bytes.slice(0, -20)
    expect(open(torn)).toMatchObject({ count: unsealed.ends.length })
  })
})

describe('damage in the middle', () => {
  test('is refused with the event and the byte it starts at', () => {
    const offset = unsealed.ends[4] ?? 0
    const damaged = new Uint8Array(unsealed.bytes)
    damaged.fill(0, offset + 30, offset + 60)
    const error = errorOf(() => open(damaged))
    expect(error).toMatchObject({ code: 'TAPE_CORRUPT', seq: 5, offset })
    expect(error.message).toContain(`event 5 (byte ${offset})`)
    expect(error.message).toContain('event 6 after it')
  })

  test('is refused when a record is missing', () => {
    const cut = concat(
      unsealed.bytes.subarray(0, unsealed.ends[4]),
      unsealed.bytes.subarray(unsealed.ends[5]),
    )
    expect(errorOf(() => open(cut))).toMatchObject({ code: 'TAPE_CORRUPT', seq: 5 })
  })

  test('is refused when bytes are missing inside the last large body', () => {
    const big = { event: { type: 'output', stream: 'stdout' }, body: new Uint8Array(5000) } as const
    const { bytes, ends } = tapeBytes([
      ...sampleDrafts(),
      big,
      { event: { type: 'draw', kind: 'x', value: 1 } },
    ])
    const from = (ends[unsealed.ends.length] ?? 0) - 4000
    const cut = concat(bytes.subarray(0, from), bytes.subarray(from + 3000))
    expect(errorOf(() => open(cut))).toMatchObject({
      code: 'TAPE_CORRUPT',
      seq: unsealed.ends.length,
    })
  })

  test('is refused when a record follows the seal', () => {
    const sealEnd = Buffer.from(sealed.bytes).lastIndexOf('\n{"index"') + 1
    const longer = tapeBytes([...sampleDrafts(), ...sampleDrafts()])
    const extra = longer.bytes.subarray(longer.ends[unsealed.ends.length])
    const error = errorOf(() => open(concat(sealed.bytes.subarray(0, sealEnd), extra)))
    expect(error.message).toContain('The seal ends the run')
  })
})

describe('detected as damage', () => {
  /** True if every hash is right and the run is complete. */
  function isFine(bytes: Uint8Array): boolean {
    try {
      const tape = open(bytes)
      return tape.isComplete && tape.verify().ok
    } catch (error) {
      if (error instanceof TapeError) return false
      throw error
    }
  }

  const pack = (bytes: Uint8Array): Uint8Array => {
    const { frames, seed } = openLayout(nodePlatform, sourceOf(bytes), 'x')
    return concat(...packFrames(nodePlatform, frames, seed))
  }

  const drafts = fc.array(
    fc.record({
      heavy: fc.boolean(),
      body: fc.oneof(
        fc.uint8Array({ maxLength: 80 }),
        fc.uint8Array({ minLength: 600, maxLength: 900 }),
      ),
    }),
    { maxLength: 40 },
  )
  const run = fc.record({ id: fc.stringMatching(/^[a-z]{3}$/), drafts }).map(({ id, drafts }) => {
    const made = drafts.map(({ heavy, body }): Draft => ({
      event: heavy
        ? { type: 'call', kind: 'tool', name: 'f' }
        : { type: 'output', stream: 'stdout' },
      body,
    }))
    const event = { type: 'run', format: 1, id, name: id, startedAt: 1, scope: 'process' } as const
    const first: Draft = { event: { ...event, node: 'v22.0.0' }, body: utf8('{}') }
    return tapeBytes(made, { sealed: true, run: first })
  })
  const tape = fc
    .tuple(run, fc.boolean())
    .map(([{ bytes, ends }, packed]) => ({ bytes: packed ? pack(bytes) : bytes, ends }))

  test('a tape cut at a record boundary, or anywhere else', () => {
    fc.assert(
      fc.property(run, fc.boolean(), fc.nat(), ({ bytes, ends }, packed, at) => {
        expect(isFine(bytes)).toBe(true)
        for (const end of ends.slice(0, -1)) expect(isFine(bytes.subarray(0, end))).toBe(false)
        const whole = packed ? pack(bytes) : bytes
        expect(isFine(whole)).toBe(true)
        expect(isFine(whole.subarray(0, at % whole.length))).toBe(false)
      }),
      { numRuns: 60 },
    )
  })

  test('a tape joined from two, whole or cut', () => {
    fc.assert(
      fc.property(tape, tape, fc.boolean(), fc.nat(), (a, b, same, at) => {
        const second = same ? a : b
        const cut = a.ends[at % a.ends.length] ?? 0
        const rest = second.bytes.subarray(second.ends[at % second.ends.length])
        expect(isFine(concat(a.bytes, second.bytes))).toBe(false)
        expect(isFine(concat(a.bytes.subarray(0, cut), second.bytes))).toBe(false)
        expect(isFine(concat(a.bytes, rest))).toBe(rest.length === 0)
      }),
      { numRuns: 100 },
    )
  })

  test('a tape with bytes inserted, removed or changed', () => {
    const piece = fc.uint8Array({ minLength: 1, maxLength: 40 })
    fc.assert(
      fc.property(tape, fc.nat(), piece, fc.nat(40), ({ bytes }, nat, inserted, removed) => {
        const at = nat % (bytes.length + 1)
        const changed = concat(bytes.subarray(0, at), inserted, bytes.subarray(at + removed))
        expect(isFine(changed)).toBe(Buffer.from(changed).equals(bytes))
        const shorter = concat(bytes.subarray(0, at), bytes.subarray(at + removed))
        expect(isFine(shorter)).toBe(shorter.length === bytes.length)
      }),
      { numRuns: 400 },
    )
  })
})
