import fc from 'fast-check'
import { expect, test } from 'vitest'
import { diffLines, type DiffLine } from './line-diff.js'

const textOf = (lines: readonly DiffLine[], side: 'a' | 'b'): string =>
  lines
    .flatMap((line) => line[side] ?? [])
    .map(({ parts }) => parts.map(({ text }) => text).join(''))
    .join('\n')

test('a comparison holds both texts whole, whatever they are', () => {
  const line = fc.stringMatching(/^[ab \n]{0,12}$/)
  fc.assert(
    fc.property(line, line, (a, b) => {
      const lines = diffLines(a, b)
      expect(textOf(lines, 'a')).toBe(a)
      expect(textOf(lines, 'b')).toBe(b)
    }),
  )
})

test('only the words that changed are marked', () => {
  const [first, second] = diffLines('same\nwithin 60 days', 'same\nwithin 14 days')
  expect(first?.kind).toBe('same')
  expect(second?.a?.parts.filter(({ isChanged }) => isChanged).map(({ text }) => text)).toEqual([
    '60',
  ])
  expect(second?.b?.parts.filter(({ isChanged }) => isChanged).map(({ text }) => text)).toEqual([
    '14',
  ])
})

test('lines keep their own numbers where one side has more', () => {
  const lines = diffLines('one\nthree', 'one\ntwo\nthree')
  expect(lines.map(({ kind, a, b }) => [kind, a?.number, b?.number])).toEqual([
    ['same', 1, 1],
    ['added', undefined, 2],
    ['same', 2, 3],
  ])
})
