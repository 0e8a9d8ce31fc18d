import fc from 'fast-check'
import { expect, test } from 'vitest'
import { LinearPattern, patternProblem } from './linear-pattern.js'

const piece: fc.Arbitrary<string> = fc.letrec<{ node: string }>((tie) => ({
  node: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom('a', 'b', 'c', '.', '[ab]', '[^a]', '\\d', '\\w', '\\b', '^', '$', 'é', '\\.'),
    fc.array(tie('node'), { minLength: 1, maxLength: 3 }).map((parts) => parts.join('')),
    fc.tuple(tie('node'), tie('node')).map(([left, right]) => `(?:${left}|${right})`),
    fc
      .tuple(tie('node'), fc.constantFrom('*', '+', '?', '{2}', '{1,2}', '{0,}', '*?'))
      .map(([inner, times]) => `(${inner})${times}`),
  ),
})).node

test('a pattern matches what JavaScript matches', () => {
  const text = fc.array(fc.constantFrom('a', 'b', 'c', '1', ' ', '.', 'é', 'A'), { maxLength: 8 })
  fc.assert(
    fc.property(piece, text, fc.boolean(), (source, chars, ignoreCase) => {
      const given = chars.join('')
      expect(new LinearPattern(source, ignoreCase).test(given)).toBe(
        new RegExp(source, ignoreCase ? 'iu' : 'u').test(given),
      )
    }),
    { numRuns: 1000 },
  )
})

test.each([
  ['^[\\w.+-]+@[\\w-]+(\\.[\\w-]+)+$', 'ann@mail.example.org', true],
  ['^[\\w.+-]+@[\\w-]+(\\.[\\w-]+)+$', 'ann@mail', false],
  ['^https://([a-z0-9-]+\\.)*example\\.com(/|$)', 'https://a.b.example.com/x', true],
  ['^https://([a-z0-9-]+\\.)*example\\.com(/|$)', 'https://example.com.evil.org/', false],
  ['\\p{Lu}', 'straßE', true],
  ['\\u{1F600}|x', 'a😀', true],
  ['[^\\]]\\]$', 'a]', true],
  ['', '', true],
  ['^\\s$', '\u00a0', true],
  ['^[\\sx]$', '\u2003', true],
  ['^\\S$', '\u00a0', false],
  ['\\p{Script=Greek}', 'α', true],
  ['[\\b]', '\b', true],
])('%s on "%s": %s', (source, text, expected) => {
  expect(new LinearPattern(source).test(text)).toBe(expected)
})

test.each(['^(a+)+$', '^(a|a)*$', '^(a|aa)+$', '(.*)*x', '^(\\w+\\s?)*$', 'a*a*a*a*a*a*b'])(
  '%s takes time in proportion to the text',
  (source) => {
    // Natively each of these would take longer than anybody waits.
    expect(new LinearPattern(source).test(`${'a'.repeat(20_000)}!`)).toBe(false)
  },
)

test('a dot for a line break is ambiguous', () => {
  expect(new LinearPattern('rm.*-rf').fit('rm\n-rf')).toBe(1)
  expect(new LinearPattern('rm.*-rf').fit('rm\r-rf')).toBe(1)
  expect(new LinearPattern('^[a-z.]+$').fit('a\nb')).toBe(0)
  expect(new LinearPattern('rm').fit('rm\n-rf')).toBe(2)
})

test.each([
  ['(', 'Unterminated group'],
  ['[a', 'Unterminated character class'],
  ['(a)\\1', 'refers back'],
  ['(?<x>a)\\k<x>', 'refers back'],
  ['(?=a)', 'looks ahead'],
  ['(?<!a)b', 'looks ahead'],
  ['((a{100}){100}){100}', 'repeat count'],
])('%s is refused: %s', (source, why) => {
  expect(patternProblem(source)).toContain(why)
})
