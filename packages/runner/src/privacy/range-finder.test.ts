import fc from 'fast-check'
import { expect, test } from 'vitest'
import { findRanges, RangeFinder } from './find-ranges.js'
import { readPatterns } from '@retake/engine/runs'

test('in texts that grow, change and shrink it finds the same as in each alone', () => {
  const patterns = readPatterns(['email', /a{3,}/])
  const word = fc.constantFrom(
    '"',
    'ann@example.org',
    'aaaa',
    String.raw`\"`,
    String.raw`b\u0040c.de`,
    ' x',
  )
  const part = fc
    .array(word, { minLength: 1, maxLength: 20 })
    .map((words) => words.join(' ').repeat(60))
  fc.assert(
    fc.property(fc.array(part, { minLength: 2, maxLength: 8 }), fc.nat(), (parts, at) => {
      const finder = new RangeFinder(patterns)
      const start = `{"x":"${'y '.repeat(20_000)}`
      const texts = parts.map((_, index) => start + parts.slice(0, index + 1).join('","'))
      const changed = `${start.slice(0, at % start.length)}ann@b.org${texts.at(-1)?.slice(at % start.length)}`
      for (const text of [...texts, changed, texts[0] ?? ''])
        expect(finder.find(text)).toEqual(findRanges(text, patterns))
    }),
    { numRuns: 12 },
  )
})
