import { expect, test } from 'vitest'
import { NEW_DRAFT, readyFork } from './fork-draft.js'

const EDITABLE = {
  answer: { form: 'json', text: '{\n  "price": 60\n}', kind: 'result' },
  request: { form: 'text', text: 'ask', kind: 'text' },
} as const

test('an edited answer goes as it was written, with what was chosen beside it', () => {
  const draft = { ...NEW_DRAFT, answer: '{"price": 49}', name: 'cheap', tail: 'offline' } as const
  expect(readyFork('3', draft, EDITABLE)).toEqual({
    ok: true,
    request: { at: '3', tail: 'offline', name: 'cheap', response: '{"price": 49}' },
  })
})

test('an edited question goes as a question', () => {
  const draft = { ...NEW_DRAFT, choice: 'question', request: 'ask more' } as const
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

test('spaces are no change, and what is no JSON is said with its line', () => {
  expect(readyFork('3', { ...NEW_DRAFT, answer: '{"price":60}' }, EDITABLE)).toMatchObject({
    ok: false,
    why: 'Nothing is changed yet.',
  })
  expect(readyFork('3', { ...NEW_DRAFT, answer: '{\n"price": x}' }, EDITABLE)).toMatchObject({
    ok: false,
    problem: { line: 2 },
  })
})
