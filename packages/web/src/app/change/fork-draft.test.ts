import { expect, test } from 'vitest'
import { draftFields, NEW_DRAFT, readJson, readLeaf, readyFork, withValueAt } from './fork-draft.js'
import fc from 'fast-check'

const CHAT = {
  id: 'x',
  choices: [{ index: 0, message: { role: 'assistant', content: 'No.' }, finish_reason: 'stop' }],
}

test.each([
  ['chat completions', CHAT, 'No.'],
  ['messages', { type: 'message', content: [{ type: 'text', text: 'Hi' }] }, 'Hi'],
  ['responses', { output: [{ type: 'message', content: [{ text: 'Yes' }] }] }, 'Yes'],
  ['gemini', { candidates: [{ content: { parts: [{ text: 'Ja' }] } }] }, 'Ja'],
  ['MCP', { jsonrpc: '2.0', id: 1, result: { content: [{ type: 'text', text: 'ok' }] } }, 'ok'],
])('the text of an answer of %s has its own field', (_format, answer, text) => {
  expect(draftFields(answer).map((field) => field.value)).toEqual([text])
})

test('every value of a small result has a field, named by its path', () => {
  expect(draftFields({ title: 'a', more: { text: 'b' }, price: null, items: [3, true] })).toEqual([
    { at: ['title'], label: 'title', value: 'a' },
    { at: ['more', 'text'], label: 'more.text', value: 'b' },
    { at: ['price'], label: 'price', value: null },
    { at: ['items', 0], label: 'items.0', value: 3 },
    { at: ['items', 1], label: 'items.1', value: true },
  ])
  expect(draftFields('all of it')).toEqual([{ at: [], label: 'Value', value: 'all of it' }])
})

test('a result with many values, or with one that JSON cannot express, is edited as JSON', () => {
  expect(draftFields(Array.from({ length: 25 }, String))).toEqual([])
  expect(draftFields({ a: 1, when: { $: 'date', v: '2026-01-01' } })).toEqual([])
})

test.each([
  ['129.5', 129.5],
  ['null', null],
  ['false', false],
  ['"5"', '5'],
  ['five', 'five'],
  ['{"a":1}', '{"a":1}'],
  ['', ''],
])('%j in a field for a value means %j', (text, value) => {
  expect(readLeaf(text)).toBe(value)
})

test('a field is set in place, and nothing else changes', () => {
  const [field] = draftFields(CHAT)
  const edited = withValueAt(CHAT, field?.at ?? [], 'Yes.')
  expect(edited).toEqual({
    ...CHAT,
    choices: [{ ...CHAT.choices[0], message: { role: 'assistant', content: 'Yes.' } }],
  })
})

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

test('truncated JSON has its problem at its end, or where a value was split', () => {
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

const EDITABLE = {
  answer: { form: 'json', text: '{\n  "price": 60\n}', kind: 'result' },
  request: { form: 'text', text: 'ask', kind: 'text' },
} as const

test('an edited answer is sent as written, with the chosen options', () => {
  const draft = { ...NEW_DRAFT, answer: '{"price": 49}', name: 'cheap', tail: 'offline' } as const
  expect(readyFork('3', draft, EDITABLE)).toEqual({
    ok: true,
    request: { at: '3', tail: 'offline', name: 'cheap', response: '{"price": 49}' },
  })
})

test('an edited request is sent as written', () => {
  const draft = { ...NEW_DRAFT, choice: 'request', request: 'ask more' } as const
  expect(readyFork('3', draft, EDITABLE)).toMatchObject({ request: { requestText: 'ask more' } })
})

test('asking again needs no edit, and sends none that was written before', () => {
  const draft = { ...NEW_DRAFT, choice: 'again', answer: '{"price": 49}', status: '500' } as const
  expect(readyFork('3', draft, EDITABLE)).toEqual({
    ok: true,
    request: { at: '3', tail: 'live' },
  })
})

test('another status alone is a change', () => {
  expect(readyFork('3', { ...NEW_DRAFT, status: '429' }, EDITABLE)).toEqual({
    ok: true,
    request: { at: '3', tail: 'live', status: 429 },
  })
  expect(readyFork('3', { ...NEW_DRAFT, status: '42' }, EDITABLE)).toMatchObject({ ok: false })
})

test('spaces are not a change, and invalid JSON is reported with its line', () => {
  expect(readyFork('3', { ...NEW_DRAFT, answer: '{"price":60}' }, EDITABLE)).toMatchObject({
    ok: false,
    why: 'Nothing is changed yet.',
  })
  expect(readyFork('3', { ...NEW_DRAFT, answer: '{\n"price": x}' }, EDITABLE)).toMatchObject({
    ok: false,
    problem: { line: 2 },
  })
})
