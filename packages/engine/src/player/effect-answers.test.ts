import { expect, test } from 'vitest'
import { acknowledges, differsOnlyInWords } from './effect-answers.js'

test.each([
  [
    [{ to: 'a@b.example', text: 'We paid your refund today.' }],
    [{ to: 'a@b.example', text: 'Your refund was paid.' }],
    true,
  ],
  [
    [{ to: 'a@b.example', text: 'We paid your refund.' }],
    [{ to: 'c@d.example', text: 'We paid your refund.' }],
    false,
  ],
  [
    [{ amount: 200, text: 'For order 7, thank you' }],
    [{ amount: 20, text: 'For order 7, thank you' }],
    false,
  ],
  [['one two three'], ['one two three', 'four'], false],
  [{ id: '1128' }, { id: '1182' }, false],
])('calls differ only in their wording: %j and %j: %s', (then, now, expected) => {
  expect(differsOnlyInWords(then, now)).toBe(expected)
})

test.each([
  [{ ok: true, id: 'tr_81' }, true],
  [{ status: 'queued' }, true],
  ['sent', true],
  [null, true],
  [{ paid: 249 }, false],
  [{ ok: false }, false],
  [{ id: '1128' }, false],
  [[{ ok: true }], false],
  ['Customers may return an item within 30 days.', false],
])('an answer only acknowledges a call: %j: %s', (answer, expected) => {
  expect(acknowledges(answer)).toBe(expected)
})
