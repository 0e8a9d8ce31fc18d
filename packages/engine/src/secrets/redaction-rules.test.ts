import fc from 'fast-check'
import { expect, test } from 'vitest'
import { NameList } from './redaction-rules.js'

const names = ['Bo', 'Bo Li', 'BO LI', 'Li', "'t Ho", 'Zoë', 'Zoe\u0308 X', '(Al)', 'A.B', '𐐀b']

/** The same rule as an expression, which takes longer with each name. */
const expression = new RegExp(
  String.raw`(?<![\p{L}\p{N}_])(?:${names
    .toSorted((a, b) => b.length - a.length)
    .map((name) => name.replaceAll(/[.()]/g, String.raw`\$&`))
    .join('|')})(?![\p{L}\p{N}_])`,
  'gu',
)

test('names are found as whole words, from left to right, the longest first', () => {
  const piece = fc.constantFrom(...names, ' ', 'o', 'B', "'", '_', '1', 'ß', '\u0308', '\n', '𐐀')
  const list = new NameList(names)
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const text = pieces.join('')
      const expected = Array.from(text.matchAll(expression), ({ 0: name, index }) => [index, name])
      expect(list.matches(text)).toEqual(expected)
    }),
    { numRuns: 2000 },
  )
  expect(new NameList(['Bo Li', 'Bo']).matches('Bo Li, Bob, (Bo)')).toEqual([
    [0, 'Bo Li'],
    [13, 'Bo'],
  ])
})
