import fc from 'fast-check'
import { expect, test } from 'vitest'
import { lineDiff } from './line-diff.js'

const text = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('')
const few = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 6 })

test('both sides can be read from a difference of short texts', () => {
  fc.assert(
    fc.property(few, few, (a, b) => {
      fc.pre(a.join() !== b.join())
      const lines = lineDiff(text(a), text(b)).filter(({ sign }) => sign !== '@')
      const side = (sign: string): string[] =>
        lines.filter((line) => line.sign === ' ' || line.sign === sign).map((line) => line.text)
      // Nothing is left out: six lines are near any change but when it is at an end.
      const isEnd = (part: readonly string[], whole: readonly string[]): boolean =>
        whole.join('').includes(part.join(''))
      expect(isEnd(side('-'), a) && isEnd(side('+'), b)).toBe(true)
    }),
  )
})

test('lines that are far from a change are left out', () => {
  const lines = Array.from({ length: 30 }, (_, index) => `line ${index}`)
  const shown = lineDiff(text(lines), text(lines.with(15, 'other')))
  expect(shown.map(({ sign }) => sign).join('')).toBe('@   -+   ')
  expect(shown.map(({ text: line }) => line).slice(3, 6)).toEqual(['line 14', 'line 15', 'other'])
})

test('equal texts have no difference', () => {
  expect(lineDiff('a\nb\n', 'a\nb\n')).toEqual([])
})
