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
