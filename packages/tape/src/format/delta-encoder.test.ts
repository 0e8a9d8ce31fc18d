import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Draft, tapeBytes, utf8 } from '../../../../test/support/tape-bytes.js'
import { nodePlatform } from '../node/node-platform.js'
import { DeltaEncoder } from './delta-encoder.js'
import { Tape } from './tape.js'

const request = (body: Uint8Array): Draft => ({
  event: { type: 'request', seam: 'fetch', method: 'POST', url: 'https://model/', headers: [] },
  body,
})

const openBytes = (bytes: Uint8Array): Tape =>
  Tape.open(nodePlatform, { size: bytes.length, read: (at, n) => bytes.subarray(at, at + n) }, 'x')

const tapeOf = (bodies: readonly Uint8Array[]): { tape: Tape; size: number } => {
  const { bytes } = tapeBytes(bodies.map(request))
  return { tape: openBytes(bytes), size: bytes.length }
}

/** A small repeatable stream of numbers below 1. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

/** About `bytes` bytes of words from a limited vocabulary. */
function prose(random: () => number, bytes: number): string {
  let text = ''
  while (text.length < bytes) text += `${Math.floor(random() * 40_000).toString(36)} `
  return text
}

type Conversation = (step: number) => string

/** How agents send their history: growing, with a clock in front, cut at the front, cleared in the middle. */
const shapes: Record<string, (random: () => number) => Conversation> = {
  plain: (random) => {
    const system = prose(random, 4000)
    const messages: string[] = []
    return () => {
      messages.push(prose(random, 300 + random() * 2000))
      return JSON.stringify({ system, messages })
    }
  },
  clock: (random) => {
    const grow = shapes['plain']?.(random)
    return (step) => `{"now":"2026-11-15T04:0${step % 10}:${step}.123Z","body":${grow?.(step)}}`
  },
  window: (random) => {
    const system = prose(random, 4000)
    const messages: string[] = []
    return () => {
      messages.push(prose(random, 300 + random() * 2000))
      return JSON.stringify({ system, messages: messages.slice(-20) })
    }
  },
  cleared: (random) => {
    const messages: string[] = []
    return () => {
      messages.push(prose(random, 300 + random() * 2000))
      return JSON.stringify(
        messages.map((text, i) => (i % 3 === 0 && i < messages.length - 6 ? '[cleared]' : text)),
      )
    }
  },
  interleaved: (random) => {
    const agents = Array.from({ length: 5 }, () => shapes['plain']?.(random))
    return (step) => agents[Math.floor(random() * agents.length)]?.(step) ?? ''
  },
  // Neither end of a body reveals its conversation.
  'of twins with a clock': (random) => {
    const system = prose(random, 4000)
    const agents = Array.from({ length: 5 }, (): string[] => [])
    return (step) => {
      const messages = agents[Math.floor(random() * agents.length)] ?? []
      messages.push(prose(random, 300 + random() * 2000))
      return JSON.stringify({ system, now: step * 7919, messages: messages.slice(-20), tools: 8 })
    }
  },
}

const conversation = (shape: string, steps: number, seed = 1): Uint8Array[] => {
  const next = shapes[shape]?.(randomFrom(seed))
  return Array.from({ length: steps }, (_, step) => utf8(next?.(step) ?? ''))
}

describe.each(Object.keys(shapes))('a conversation that is %s', (shape) => {
  const bodies = conversation(shape, 150)
  const { tape, size } = tapeOf(bodies)

  test('is read back byte for byte, in order and at random', () => {
    const fresh = tapeOf(bodies).tape
    const random = randomFrom(7)
    for (let i = 0; i < 60; i++) {
      const at = Math.floor(random() * bodies.length)
      expect(Buffer.from(fresh.body(at + 1)).equals(bodies[at] as Uint8Array)).toBe(true)
    }
    bodies.forEach((body, i) => expect(Buffer.from(tape.body(i + 1)).equals(body)).toBe(true))
    expect(tape.verify().ok).toBe(true)
  })

  test('takes a small part of its raw size', () => {
    const raw = bodies.reduce((sum, body) => sum + body.length, 0)
    expect(size / raw).toBeLessThan(0.1)
  })
})

test('the bytes per step do not grow with the conversation', () => {
  const perStep = (steps: number) => tapeOf(conversation('plain', steps)).size / steps
  expect(perStep(200) / perStep(50)).toBeLessThan(1.3)
})

/** Bodies made by cutting, repeating and editing earlier ones, unlike any real agent's. */
const adversarial = fc
  .array(
    fc.record({
      op: fc.constantFrom(
        'new',
        'append',
        'prepend',
        'cut',
        'splice',
        'repeat',
        'reverse',
        'same',
        'flip',
      ),
      from: fc.nat(),
      at: fc.nat(),
      length: fc.integer({ min: 0, max: 5000 }),
      unit: fc.uint8Array({ minLength: 1, maxLength: 40 }),
    }),
    { minLength: 1, maxLength: 30 },
  )
  .map((steps) => {
    const bodies: Buffer[] = []
    for (const { op, from, at, length, unit } of steps) {
      const base = bodies[from % Math.max(1, bodies.length)] ?? Buffer.alloc(0)
      const fresh = Buffer.alloc(length, unit)
      const cut = at % (base.length + 1)
      const flipped = Buffer.from(base)
      if (flipped.length > 0) flipped[at % flipped.length] = (flipped[at % flipped.length] ?? 0) ^ 1
      const made = {
        new: fresh,
        append: Buffer.concat([base, fresh]),
        prepend: Buffer.concat([fresh, base]),
        cut: Buffer.concat([base.subarray(0, cut), base.subarray(cut + length)]),
        splice: Buffer.concat([base.subarray(0, cut), fresh, base.subarray(cut)]),
        repeat: Buffer.concat([base, base.subarray(cut)]),
        reverse: Buffer.concat([base.subarray(cut), base.subarray(0, cut)]),
        same: base,
        flip: flipped,
      }[op]
      bodies.push(made.subarray(0, 60_000))
    }
    return bodies
  })

test('decoding gives the encoded bytes, however bodies depend on each other', () => {
  fc.assert(
    fc.property(adversarial, fc.nat(), (bodies, first) => {
      const { tape } = tapeOf(bodies)
      const start = first % bodies.length
      expect(Buffer.from(tape.body(start + 1)).equals(bodies[start] as Buffer)).toBe(true)
      bodies.forEach((body, i) => expect(Buffer.from(tape.body(i + 1)).equals(body)).toBe(true))
      expect(tape.verify().ok).toBe(true)
    }),
    { numRuns: 200 },
  )
})

test('recipes that name their sources directly give the same bytes', () => {
  fc.assert(
    fc.property(adversarial, (bodies) => {
      const encoder = new DeltaEncoder(nodePlatform, { depthMax: 3 })
      bodies.forEach((body, seq) => {
        const delta = encoder.encode(seq, body)
        if (delta === undefined) return encoder.addWhole(seq, body)
        const literals = Buffer.concat(delta.literals)
        let taken = 0
        const pieces = delta.recipe.map(({ source, offset, length }) => {
          if (source !== undefined) return bodies[source]?.subarray(offset, offset + length) ?? body
          taken += length
          return literals.subarray(taken - length, taken)
        })
        expect(Buffer.concat(pieces).equals(body)).toBe(true)
      })
    }),
    { numRuns: 300 },
  )
})

test('changing a body after the call does not affect later deltas', () => {
  const reused = utf8(prose(randomFrom(3), 5000))
  const zeros = new Uint8Array(6000)
  const { bytes } = tapeBytes([request(reused), request(zeros)], {
    afterEach: (seq) => seq === 1 && reused.fill(0),
  })
  const tape = openBytes(bytes)
  expect(tape.body(2)).toEqual(zeros)
  expect(tape.verify().ok).toBe(true)
})

test('megabytes without anything in common are stored whole and quickly', () => {
  const noise = (seed: number) => {
    const random = randomFrom(seed)
    return Uint8Array.from({ length: 3 << 20 }, () => random() * 256)
  }
  const bodies = [noise(1), noise(2), noise(1)]
  const { tape, size } = tapeOf(bodies)
  expect(size).toBeLessThan(6.1 * (1 << 20))
  bodies.forEach((body, i) => expect(Buffer.from(tape.body(i + 1)).equals(body)).toBe(true))
})

test('bodies stored for comparison are limited by their bytes, too', () => {
  const encoder = new DeltaEncoder(nodePlatform, { bytesMax: 25_000 })
  const bodies = [1, 2, 3].map((seed) => utf8(prose(randomFrom(seed), 10_000)))
  bodies.forEach((body, seq) => encoder.addWhole(seq, body))
  const again = (seq: number) => encoder.encode(10 + seq, bodies[seq] ?? new Uint8Array())?.base
  expect([again(0), again(1), again(2)]).toEqual([undefined, 1, 2])
  encoder.addWhole(20, utf8(prose(randomFrom(4), 30_000)))
  expect(again(2)).toBeUndefined()
  expect(encoder.encode(21, utf8(prose(randomFrom(4), 30_000)))?.base).toBe(20)
})
