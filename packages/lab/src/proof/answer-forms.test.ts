import { describe, expect, test } from 'vitest'
import { proposeForms } from './answer-forms.js'

const CODE = "switch (mood) { case 'angry': use(all.delay_minutes) }"

const formsOf = (answer: unknown, isModel = false) =>
  proposeForms({ seq: 3, answer, isModel }, { code: CODE }).map(({ form, others }) => ({
    form: form.answer,
    others: others.map((each) => [each.recorded.answer, each.form.answer]),
  }))

describe('an answer has the form that code may expect, with', () => {
  test.each<[what: string, answer: unknown, form: unknown, recorded: unknown, other: unknown]>([
    [
      'names with underscores',
      { delayMinutes: 5 },
      { delay_minutes: 5 },
      { delayMinutes: 0 },
      { delay_minutes: 0 },
    ],
    [
      'names in camel case, also inside',
      { all: [{ shipped_at: 7 }] },
      { all: [{ shippedAt: 7 }] },
      { all: [{ shipped_at: 71 }] },
      { all: [{ shippedAt: 71 }] },
    ],
    [
      'the members of its only object',
      { customer: { cents: 9 } },
      { cents: 9 },
      { customer: { cents: 0 } },
      { cents: 0 },
    ],
    [
      'a list instead of its only item',
      { hits: { title: 'a' } },
      { hits: [{ title: 'a' }] },
      { hits: [] },
      { hits: [] },
    ],
    ['numbers instead of digits', { n: '3' }, { n: 3 }, { n: '37' }, { n: 37 }],
    [
      'one text instead of parts',
      { content: [{ type: 'text', text: 'a' }] },
      { content: 'a' },
      { content: [{ type: 'text', text: 'a' }, { type: 'other' }] },
      { content: 'a' },
    ],
  ])('%s', (_what, answer, form, recorded, other) => {
    expect(formsOf(answer)).toContainEqual({
      form,
      others: expect.arrayContaining([[recorded, other]]),
    })
  })

  test.each<[what: string, text: string, form: string, recorded: string]>([
    ['no code fence', '```\n[1]\n```', '[1]', '```JSON\n[1]\n```'],
    ['no signs between digits', "2'500.50", '2500.50', "1'002'500.50"],
    ['a word as the code has it', 'Angry', 'angry', '**Angry**'],
    ['numbers in the arguments of a call', '{"guests":"3"}', '{"guests":3}', '{"guests":"37"}'],
  ])('%s in a text of a model', (_what, text, form, recorded) => {
    const [found] = formsOf({ text }, true)
    expect(found?.form).toEqual({ text: form })
    expect(found?.others.map(([each]) => each)).toContainEqual({ text: recorded })
  })
})

test('members of a model API keep their names, and an answer in every form has none', () => {
  expect(formsOf({ finishReason: 5 }, true)).toEqual([])
  expect(formsOf({ text: 'Hello', n: 1 })).toEqual([])
  expect(formsOf({ text: 'angry' }, true)).toEqual([])
})
