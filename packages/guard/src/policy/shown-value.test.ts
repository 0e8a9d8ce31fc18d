import { expect, test } from 'vitest'
import { shownValue } from './describe-denial.js'

/** Built here, so that no file contains something that looks like a key. */
const key = (start: string): string => start + 'a1B2'.repeat(8)

test.each<[unknown, string]>([
  [250, '250'],
  ['mallory@evil.example', '"mallory@evil.example"'],
  [
    '/home/ann/project-7/src/components/button.tsx',
    '"/home/ann/project-7/src/components/button.tsx"',
  ],
  [
    'https://shop.example.com/orders/2026-11-15/17',
    '"https://shop.example.com/orders/2026-11-15/17"',
  ],
  ['two\nlines', String.raw`"two\nlines"`],
  [{ a: 1 }, '{"a":1}'],
  [10n, '10'],
  [undefined, 'missing'],
  [Buffer.from('abc'), '3 bytes'],
])('%o is shown', (value, expected) => {
  expect(shownValue(value)).toBe(expected)
})

test.each<[string, unknown, string?]>([
  ['a key with a known beginning', key(['sk', ''].join('-'))],
  ['a long token', `use ${key('')} please`],
  ['a token in an address', `https://api.example.com/hook/${key('')}`],
  ['a password in an address', ['postgres://ann', 'hunter2@db.example/x'].join(':')],
  ['a bearer', `Bearer ${key('')}`],
  ['whatever is called so', 'hunter2', 'login.password'],
  ['a number that is called so', 123_456, 'apiToken'],
  ['one inside an object', { note: key('') }],
])('%s is hidden', (_, value, name) => {
  expect(shownValue(value, name)).toMatch(/^a hidden /)
})

test('long texts are clipped quickly', () => {
  expect(shownValue('a/'.repeat(5_000_000))).toHaveLength(62)
  expect(shownValue('word '.repeat(100))).toHaveLength(62)
})
