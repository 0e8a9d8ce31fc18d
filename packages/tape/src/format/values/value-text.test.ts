import { expect, test } from 'vitest'
import { valueTexts } from './value-text.js'

test.each([
  [
    ['4.90', 4.9],
    ['"4.90"', '4.9'],
  ],
  [
    ['true', true],
    ['"true"', 'true'],
  ],
  [
    ['', undefined],
    ['""', undefined],
  ],
  [
    [null, undefined],
    ['null', undefined],
  ],
  [
    ['order 1182', 'order "1182"'],
    ['"order 1182"', '"order \\"1182\\""'],
  ],
])('types are visible: %j', (values, texts) => {
  expect(valueTexts(values)).toEqual(texts)
})

test('a prompt of several lines is compared as it is, also with a shorter one', () => {
  expect(valueTexts(['You are "careful".\nBe brief.', 'Be brief.'])).toEqual([
    'You are "careful".\nBe brief.',
    'Be brief.',
  ])
  expect(valueTexts(['a\nb', undefined])).toEqual(['a\nb', undefined])
})

test('several lines are quoted if they could be taken for a value of another type', () => {
  expect(valueTexts(['{\n"a": 1\n}', { a: 1 }])).toEqual(['"{\\n\\"a\\": 1\\n}"', '{"a":1}'])
  expect(valueTexts(['a\nb', 4.9])).toEqual(['"a\\nb"', '4.9'])
  expect(valueTexts(['a\nb', '4.9'])).toEqual(['"a\\nb"', '"4.9"'])
  expect(valueTexts([{ a: 1 }], { indent: 2 })).toEqual(['{\n  "a": 1\n}'])
})
