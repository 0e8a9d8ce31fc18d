import fc from 'fast-check'
import { expect, test } from 'vitest'
import { utf8 } from '../../../../test/support/tape-bytes.js'
import { Chain } from './chain.js'
import { nodePlatform } from '../node/node-platform.js'

interface Link {
  readonly heavy: boolean
  readonly text: string
  readonly body: Uint8Array
}

/** Hash of a heavy event that follows these links. */
function headAfter(links: readonly Link[]): string {
  const chain = new Chain(nodePlatform)
  for (const { heavy, text, body } of links) {
    if (heavy) chain.addHeavy(utf8(text), body.length, body)
    else chain.addLight(utf8(text), body)
  }
  return chain.addHeavy(utf8('{"type":"end"}'), 0, new Uint8Array(0))
}

const anyLink: fc.Arbitrary<Link> = fc.record({
  heavy: fc.boolean(),
  text: fc.string({ maxLength: 5 }).map((text) => JSON.stringify({ text })),
  body: fc.uint8Array({ maxLength: 8 }),
})

test('two runs have the same head only if every event is the same', () => {
  fc.assert(
    fc.property(
      fc.array(anyLink, { maxLength: 8 }),
      fc.array(anyLink, { maxLength: 8 }),
      (a, b) => {
        const key = (links: readonly Link[]) =>
          JSON.stringify(links.map(({ heavy, text, body }) => [heavy, text, [...body]]))
        expect(headAfter(a) === headAfter(b)).toBe(key(a) === key(b))
      },
    ),
    { numRuns: 500 },
  )
})

test('removing, doubling, swapping or changing any event changes the head', () => {
  fc.assert(
    fc.property(fc.array(anyLink, { minLength: 2, maxLength: 12 }), fc.nat(), (links, pick) => {
      const at = pick % links.length
      const link = links[at] as Link
      const head = headAfter(links)
      expect(headAfter(links.toSpliced(at, 1))).not.toBe(head)
      expect(headAfter(links.toSpliced(at, 0, link))).not.toBe(head)
      expect(headAfter(links.with(at, { ...link, text: `${link.text} ` }))).not.toBe(head)
      expect(headAfter(links.with(at, { ...link, heavy: !link.heavy }))).not.toBe(head)
      const longer = { ...link, body: Uint8Array.of(...link.body, 1) }
      expect(headAfter(links.with(at, longer))).not.toBe(head)
      const other = links[(at + 1) % links.length] as Link
      const same =
        link.heavy === other.heavy &&
        link.text === other.text &&
        Buffer.from(link.body).equals(other.body)
      const swapped = links.with(at, other).with((at + 1) % links.length, link)
      expect(headAfter(swapped) === head).toBe(same)
    }),
  )
})

/** The chain as docs/tape-format.md describes it. */
function describedChain(links: readonly Link[]): string {
  const sha = (data: Uint8Array): Buffer => Buffer.from(nodePlatform.sha256(data))
  const newline = Buffer.from('\n')
  let gathered = newline
  let head = ''
  for (const { heavy, text, body } of links) {
    const linked = heavy && body.length > 511 ? sha(body) : body
    gathered = Buffer.concat([gathered, Buffer.from(`${text}\n${body.length}\n`), linked])
    if (heavy) head = sha(gathered).toString()
    if (heavy || gathered.length > 32_768) gathered = Buffer.concat([sha(gathered), newline])
  }
  return head
}

test('every link is the sha256 of the described content, however large the events are', () => {
  const anySize = fc.oneof(
    fc.nat(600),
    fc.nat(100_000),
    fc.integer({ min: 32_600, max: 32_800 }),
    fc.constantFrom(0, 511, 512),
  )
  const anyLarge = fc.record({
    heavy: fc.boolean(),
    text: fc.oneof(fc.nat(9), fc.nat(40_000)).map((length) => `{"é":"${'☃'.repeat(length)}"}`),
    size: anySize,
  })
  fc.assert(
    fc.property(fc.array(anyLarge, { maxLength: 12 }), (sizes) => {
      const links = sizes.map(({ heavy, text, size }, i): Link => ({
        heavy,
        text,
        body: new Uint8Array(size).fill(i),
      }))
      const chain = new Chain(nodePlatform)
      for (const { heavy, text, body } of links) {
        const linked = body.length > 511 ? nodePlatform.sha256(body) : body
        if (heavy) chain.addHeavy(utf8(text), body.length, linked)
        else chain.addLight(utf8(text), body)
      }
      expect(chain.head).toBe(describedChain(links))
    }),
  )
})

test('the predecessor of light events is named, and a chain that starts there continues identically', () => {
  const chain = new Chain(nodePlatform)
  expect([chain.digest(), chain.lightsDigest()]).toEqual(['', ''])
  const head = chain.addHeavy(utf8('{"a":1}'), 0, new Uint8Array(0))
  expect([chain.digest(), chain.lightsDigest()]).toEqual([head, ''])
  const later = new Chain(nodePlatform, head)
  for (const one of [chain, later]) {
    one.addLight(utf8('{"b":2}'), utf8('x'))
    expect(one.digest()).toBe(nodePlatform.sha256(`${head}\n{"b":2}\n1\nx`))
    expect(one.lightsDigest()).toBe(one.digest())
  }
  // Reading the digests must not change the chain.
  const next = chain.addHeavy(utf8('{"c":3}'), 0, new Uint8Array(0))
  expect(later.addHeavy(utf8('{"c":3}'), 0, new Uint8Array(0))).toBe(next)
})
