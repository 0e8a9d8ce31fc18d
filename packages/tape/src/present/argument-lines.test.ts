import { expect, test } from 'vitest'
import { argumentLines, visibleText } from './argument-lines.js'

test('amounts and targets come first', () => {
  expect(argumentLines({ note: 'thanks', to: 'a@b.c', amount: 5 })).toEqual([
    'to: "a@b.c"',
    'amount: 5',
    'note: "thanks"',
  ])
})

test.each([
  ['a\u3164b', 'a\\u{3164}b'],
  ['a\u202eb', 'a\\u{202e}b'],
  ['a\ufe0fb\u{e0101}', 'a\\u{fe0f}b\\u{e0101}'],
  ['\u2800x', '\\u{2800}x'],
  [`ok${' '.repeat(80)}amount: 1`, 'ok⟨80 spaces⟩amount: 1'],
  ['a\u00a0b', 'a\\u{a0}b'],
  ['\u001b[2K', '\\u{1b}[2K'],
])('nothing in %j is hidden', (text, shown) => {
  expect(visibleText(text)).toBe(shown)
  expect(argumentLines({ text }).join('\n')).toContain(shown)
})

test('long values are folded and say how long they are', () => {
  const text = argumentLines({ body: 'x'.repeat(5000), amount: 9 })
  expect(text[0]).toBe('amount: 9')
  expect(text[1]).toContain('⟨… 4700 more characters …⟩')
  const list = argumentLines({ ids: Array.from({ length: 5000 }, (_, id) => id), amount: 9 })
  expect(list[0]).toBe('amount: 9')
  expect(list.length).toBeLessThan(30)
  expect(list.at(-4)).toContain('… 4980 more …')
  expect(list.at(-1)).toContain('4999')
  expect(argumentLines({ text: 'line\n'.repeat(50), amount: 9 })[0]).toBe('amount: 9')
})

test('a value cannot imitate a separate line', () => {
  const lines = argumentLines({ note: 'x\namount: 1', amount: 5000 })
  expect(lines).toEqual(['amount: 5000', 'note: a text of 2 lines', '  | x', '  | amount: 1'])
})

test('changes since the last approval are marked', () => {
  const last = { amount: 5, to: 'a', memo: 'm' }
  expect(argumentLines({ amount: 500, to: 'a' }, last)).toEqual([
    '* amount: 500',
    'to: "a"',
    '* memo: not given this time',
  ])
})

test('blanks are counted before a long text is folded', () => {
  const [line] = argumentLines({ note: `harmless${' '.repeat(300)}evil` })
  expect(line).toBe('note: "harmless⟨300 spaces⟩evil"')
})

test('letters that imitate another alphabet are marked', () => {
  expect(argumentLines({ to: '\u0430cme@example.com' })).toEqual([
    'to: "\u0430cme@example.com" ⟨letters of several alphabets in a word⟩',
  ])
  expect(argumentLines({ to: 'Привет world, naïve Ωmega' })[0]).toContain('several alphabets')
  expect(argumentLines({ to: 'Привет world, naïve' })[0]).not.toContain('several alphabets')
})

test('a list of objects shows each beside its dash', () => {
  expect(argumentLines({ lines: [{ sku: 'A', qty: 2 }, {}] })).toEqual([
    'lines: a list of 2',
    '  - sku: "A"',
    '    qty: 2',
    '  - {}',
  ])
})
