import { expect, test } from 'vitest'
import { withValueAt } from './fork-draft.js'
import { textFields } from './fork-draft.js'

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
])('what was said in an answer of %s has a field of its own', (_format, answer, text) => {
  expect(textFields(answer).map((field) => field.text)).toEqual([text])
})

test('the texts of a small result are named by where they stand', () => {
  expect(textFields({ title: 'a', more: { text: 'b' }, price: 3 })).toEqual([
    { at: ['title'], label: 'title', text: 'a' },
    { at: ['more', 'text'], label: 'more.text', text: 'b' },
  ])
  expect(textFields('all of it')).toEqual([{ at: [], label: 'Text', text: 'all of it' }])
})

test('a result with many texts is edited as JSON', () => {
  expect(textFields(Array.from({ length: 9 }, String))).toEqual([])
  expect(textFields({ when: { $: 'date', v: '2026-01-01' } })).toEqual([])
})

test('a field is put back where it stood, and nothing else changes', () => {
  const [field] = textFields(CHAT)
  const edited = withValueAt(CHAT, field?.at ?? [], 'Yes.')
  expect(edited).toEqual({
    ...CHAT,
    choices: [{ ...CHAT.choices[0], message: { role: 'assistant', content: 'Yes.' } }],
  })
})
