import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readAddress, writeAddress } from './address.js'

test('any text and any list of texts comes back from an address, a single text as itself', () => {
  const value = fc.oneof(fc.string({ unit: 'binary' }), fc.array(fc.string()), fc.json())
  // A lone surrogate is not text that an address can hold.
  const isText = (search: unknown): boolean => JSON.stringify(search).isWellFormed()
  const search = fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), value).filter(isText)
  fc.assert(
    fc.property(search, (written) => {
      const short = Object.entries(written).map(([name, value]) => [
        name,
        Array.isArray(value) && value.length === 1 ? value[0] : value,
      ])
      expect(readAddress(writeAddress(written))).toEqual(Object.fromEntries(short))
    }),
  )
})

test('an address can be read by people', () => {
  expect(writeAddress({ step: '3', q: 'refund window', tab: undefined })).toBe(
    '?step=3&q=refund+window',
  )
  expect(writeAddress({})).toBe('')
  expect(readAddress('?step=%223%22&kind=%5B%22tool%22%5D')).toEqual({ step: '3', kind: ['tool'] })
})

test('text that only looks like JSON stays text', () => {
  expect(readAddress('?q={"a')).toEqual({ q: '{"a' })
})
