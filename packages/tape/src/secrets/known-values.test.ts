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
  known.set('secret-values-2', 'retake-hidden-2')
  expect(known.replace('a secret-value-')).toBe('a retake-hidden')
  expect(known.replace('a secret-values')).toBe('a retake-hidden')
})

test('values that are learned one by one are found as if all had been known before', () => {
  const value = fc
    .array(fc.constantFrom('ab', 'abc', 'd', ' ', '"', 'ü', '/'), { maxLength: 6 })
    .map((parts) => `abcdabcd${parts.join('')}`)
  const values = fc.uniqueArray(value, { minLength: 1, maxLength: 8 })
  fc.assert(
    fc.property(values, (learned) => {
      const text = `${JSON.stringify(learned)} ${learned.join('.')}`
      const [oneByOne, together] = [new KnownValues(), new KnownValues()]
      const placeholder = (each: string): string =>
        `retake-h${learned.indexOf(each)}`.padEnd(each.length, 'x').slice(0, each.length)
      for (const each of learned) {
        oneByOne.set(each, placeholder(each))
        oneByOne.replace(text)
      }
      for (const each of learned.toSorted((a, b) => b.length - a.length))
        together.set(each, placeholder(each))
      expect(oneByOne.replace(`${text}.`)).toBe(together.replace(`${text}.`))
      for (let end = text.length; end > text.length - 12; end--)
        expect(oneByOne.replace(text.slice(0, end))).not.toContain('abcdabcd')
    }),
    { numRuns: 500 },
  )
})
