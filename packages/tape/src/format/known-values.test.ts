import fc from 'fast-check'
import { expect, test } from 'vitest'
import { KnownValues } from './known-values.js'

test('a value is replaced by one of another length, also next to one of its own length', () => {
  const known = new KnownValues()
  known.set('/home/ann/project', '/srv/checkout')
  known.set('secret-value-1', 'retake-hidden1')
  expect(known.replace('file:///home/ann/project/a.ts secret-value-1')).toBe(
    'file:///srv/checkout/a.ts retake-hidden1',
  )
})

test('only the start of a secret is replaced at the end of a text, not that of a folder', () => {
  const known = new KnownValues()
  known.set('/home/ann/project', '/srv/checkout')
  known.set('secret-value-1', 'retake-hidden1')
  expect(known.replace('in /home/ann/pro')).toBe('in /home/ann/pro')
  expect(known.replace('a secret-val')).toBe('a retake-hid')
})

test('values that are learned one by one are found as if all had been known before', () => {
  const value = fc
    .array(fc.constantFrom('ab', 'abc', 'd', ' ', '"', 'ü', '/'), { minLength: 3, maxLength: 12 })
    .map((parts) => parts.join(''))
  const values = fc.array(value, { minLength: 1, maxLength: 8 })
  fc.assert(
    fc.property(values, values, (learned, said) => {
      const text = [...said, JSON.stringify(learned), ...learned].join('.')
      const [oneByOne, together] = [new KnownValues(), new KnownValues()]
      for (const [index, each] of learned.entries()) {
        const placeholder = `retake-h${index}`.padEnd(each.length, 'x').slice(0, each.length)
        oneByOne.set(each, placeholder)
        oneByOne.replace(text)
        together.set(each, placeholder)
      }
      for (let end = text.length; end > text.length - 12; end--)
        expect(oneByOne.replace(text.slice(0, end))).toBe(together.replace(text.slice(0, end)))
    }),
    { numRuns: 500 },
  )
})
