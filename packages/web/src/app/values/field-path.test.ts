import fc from 'fast-check'
import { expect, test } from 'vitest'
import { joinPath, keysWithin, readFieldPath } from './field-path.js'

test('keys that are joined are read back, whatever is in them', () => {
  const unit = fc.nat({ max: 0xffff }).map((code) => String.fromCharCode(code))
  const key = fc.string({
    unit: fc.oneof(unit, fc.constantFrom('.', '"', '\\', '[', ']', ' ', '=')),
    minLength: 1,
  })
  fc.assert(
    fc.property(fc.array(key, { minLength: 1 }), (keys) => {
      expect(readFieldPath(keys.reduce(joinPath, ''))).toEqual(keys)
    }),
  )
})

test('a path that makes no sense ends where it stops making sense', () => {
  expect(readFieldPath('a..b')).toEqual(['a'])
  expect(readFieldPath('"open')).toEqual(['"open'])
  expect(readFieldPath('')).toEqual([])
})

test('a path lies within another by whole keys', () => {
  expect(keysWithin('messages.3', 'messages.3.parts.0')).toEqual(['parts', '0'])
  expect(keysWithin('messages.3', 'messages.30')).toBeUndefined()
  expect(keysWithin('messages.3', undefined)).toBeUndefined()
})
