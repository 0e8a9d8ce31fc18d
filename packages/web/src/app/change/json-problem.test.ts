import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readJson } from './fork-draft.js'

test.each([
  ['{\n  "text": 30 days\n}', 2, 14, 'A comma or } is expected, but there is days'],
  ['{"a": x}', 1, 7, 'A value is expected, but there is x'],
  ['{"a": 1,}', 1, 9, 'A key in double quotes is expected, but there is "}"'],
  ["{'a': 1}", 1, 2, 'A key in double quotes or } is expected, but there is "\'"'],
  ['[1, 2', 1, 6, 'A comma or ] is expected, but the text ends'],
  ['[1,\n\n]', 3, 1, 'A value is expected, but there is "]"'],
  ['{"a": "b}', 1, 7, 'A value is expected, but there is a string that is not closed'],
  ['{"a": "b\n", "c": 1}', 1, 9, 'A value is expected, but there is a line break in a string'],
  ['{}\n}', 2, 1, 'Nothing more is expected, but there is "}"'],
  ['[1}', 1, 3, 'A comma or ] is expected, but there is "}"'],
  ['', 1, 1, 'A value is expected, but the text ends'],
  ['01', 1, 1, 'A value is expected, but there is 01'],
])('%j is wrong at line %i, column %i', (text, line, column, message) => {
  const read = readJson(text)
  expect(read).toMatchObject({ ok: false, problem: { line, column } })
  expect(read.ok ? '' : read.problem.message).toContain(message)
})

test('deep nesting is no problem', () => {
  expect(readJson(`${'['.repeat(100_000)}x`)).toMatchObject({
    ok: false,
    problem: { line: 1, column: 100_001 },
  })
})

test('whatever is cut off has its problem at its end, or where a value was cut in two', () => {
  fc.assert(
    fc.property(fc.json(), fc.nat(), (text, where) => {
      const cut = text.slice(0, where % text.length)
      const read = readJson(cut)
      if (read.ok) return
      const rest = cut.slice(read.problem.column - 1)
      expect(rest).toMatch(/^(?:"(?:[^"\\]|\\.)*\\?|[-\w.+]*)$/)
    }),
  )
})
