import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Chain } from './chain.js'
import { nodeDoor } from './node/node-door.js'

interface Link {
  readonly heavy: boolean
  readonly text: string
  readonly body: Uint8Array
}

/** Hash of a heavy event that follows the links. */
function headAfter(links: readonly Link[]): string {
  const chain = new Chain(nodeDoor)
  for (const { heavy, text, body } of links) {
    if (heavy) chain.addHeavy(text, body.length, nodeDoor.sha256(body))
    else chain.addLight(text, body)
  }
  return chain.addHeavy('{"type":"end"}', 0, '')
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

test('many and large light events give the digest of all their bytes', () => {
  const sizes = [0, 10, 40_000, 5, 32_768, 100_000, 3]
  const links = sizes.map((size, i): Link => ({
    heavy: false,
    text: `{"i":${i},"é":1}`,
    body: new Uint8Array(size).fill(i),
  }))
  const chain = new Chain(nodeDoor)
  for (const { text, body } of links) chain.addLight(text, body)
  const all = Buffer.concat(
    links.flatMap(({ text, body }) => [Buffer.from(`${text}\n${body.length}\n`), body]),
  )
  expect(chain.lightsDigest()).toBe(nodeDoor.sha256(all))
})
