import fc from 'fast-check'
import { expect, test } from 'vitest'
import { excerpts } from '@retake/runner/terminal'

const shown = (recorded: string, current: string, width = 60): string[] =>
  excerpts(recorded, current, width).map(
    ({ before, differs, after }) => `${before}[${differs}]${after}`,
  )

test('whole words are marked, with their context', () => {
  expect(shown('Refund the careful buyer.', 'Refund the careless buyer.')).toEqual([
    'Refund the [careful] buyer.',
    'Refund the [careless] buyer.',
  ])
})

test('text that was only added or removed is marked on its own side', () => {
  expect(shown('Be kind.', 'Be kind. Be brief.')).toEqual(['Be kind.[]', 'Be kind.[ Be brief.]'])
  expect(shown('', 'all new')).toEqual(['[]', '[all new]'])
})

test('long texts are cut on both sides, line breaks and control characters are shown', () => {
  const long = `${'word '.repeat(40)}here\n${'tail '.repeat(40)}`
  const [recorded = ''] = shown(long, long.replace('here', 'there'))
  expect(recorded).toMatch(/^….*word \[here\]⏎tail .*…$/)
  expect(recorded.length).toBeLessThanOrEqual(62)
  expect(shown('a\u001B[2J', 'b')).toEqual(['[a\\x1b[2J]', '[b]'])
})

test('an excerpt is never wider than asked', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), fc.integer({ min: 50, max: 100 }), (a, b, width) => {
      for (const { before, differs, after } of excerpts(a, b, width)) {
        expect((before + differs + after).length).toBeLessThanOrEqual(width)
      }
    }),
  )
})

test('different texts never look the same', () => {
  const words = fc.stringMatching(/^[a-z ]{0,12}$/)
  fc.assert(
    fc.property(words, words, (a, b) => {
      fc.pre(a !== b)
      const [left, right] = excerpts(a, b, 80)
      expect(left).not.toEqual(right)
    }),
  )
})
