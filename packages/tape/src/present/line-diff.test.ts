import fc from 'fast-check'
import { expect, test } from 'vitest'
import { diffLines, unifiedDiff, type DiffLine } from './line-diff.js'

const sideOf = (lines: readonly DiffLine[], side: 'a' | 'b'): string =>
  lines
    .flatMap((line) => line[side] ?? [])
    .map(({ parts }) => parts.map(({ text }) => text).join(''))
    .join('\n')

const text = fc.stringMatching(/^[ab \n]{0,30}$/)

test('both texts can be read from their comparison, and equal parts from both sides', () => {
  fc.assert(
    fc.property(text, text, (a, b) => {
      const lines = diffLines(a, b)
      expect(sideOf(lines, 'a')).toBe(a)
      expect(sideOf(lines, 'b')).toBe(b)
      const equalParts = (side: 'a' | 'b'): (string | undefined)[] =>
        lines
          .filter(({ kind }) => kind === 'same' || kind === 'changed')
          .map((line) =>
            line[side]?.parts.flatMap((part) => (part.isChanged ? [] : [part.text])).join(''),
          )
      expect(equalParts('a')).toEqual(equalParts('b'))
    }),
  )
})

test('a comparison has as few changed lines as possible', () => {
  const lines = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 8 })
  const commonLength = (a: readonly string[], b: readonly string[]): number => {
    if (a.length === 0 || b.length === 0) return 0
    if (a[0] === b[0]) return 1 + commonLength(a.slice(1), b.slice(1))
    return Math.max(commonLength(a.slice(1), b), commonLength(a, b.slice(1)))
  }
  fc.assert(
    fc.property(lines, lines, (a, b) => {
      fc.pre(a.length > 0 && b.length > 0)
      const same = diffLines(a.join('\n'), b.join('\n')).filter(({ kind }) => kind === 'same')
      expect(same.length).toBe(commonLength(a, b))
    }),
  )
})

test('only the words that changed are marked', () => {
  const [first, second] = diffLines('same\nwithin 60 days', 'same\nwithin 14 days')
  const marked = (parts: DiffLine['a']): string[] | undefined =>
    parts?.parts.flatMap((part) => (part.isChanged ? [part.text] : []))
  expect(first?.kind).toBe('same')
  expect(marked(second?.a)).toEqual(['60'])
  expect(marked(second?.b)).toEqual(['14'])
})

test('lines have their own numbers where one side has more', () => {
  const lines = diffLines('one\nthree', 'one\ntwo\nthree')
  expect(lines.map(({ kind, a, b }) => [kind, a?.number, b?.number])).toEqual([
    ['same', 1, 1],
    ['added', undefined, 2],
    ['same', 2, 3],
  ])
})

test('two long texts without a common line are compared quickly', () => {
  const long = (letter: string): string =>
    Array.from({ length: 20_000 }, (_, index) => `${letter}${index}`).join('\n')
  expect(diffLines(long('a'), long('b')).length).toBe(20_000)
})

const terminated = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('')

test('lines far from a change are left out of a unified diff', () => {
  const lines = Array.from({ length: 30 }, (_, index) => `line ${index}`)
  const shown = unifiedDiff(terminated(lines), terminated(lines.with(15, 'other').with(28, 'x')))
  expect(shown.map(({ sign }) => sign).join('')).toBe('@   -+   @   -+ ')
  expect(shown.map((line) => line.text).slice(3, 6)).toEqual(['line 14', 'line 15', 'other'])
  expect(shown[0]?.text).toBe('@ line 13 → 13')
})

test('equal texts have no difference', () => {
  expect(unifiedDiff('a\nb\n', 'a\nb\n')).toEqual([])
})
