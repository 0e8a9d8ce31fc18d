import { expect, test } from 'vitest'
import { chooseMode, isCi } from '@retake/runner/tests'

const inCi = { CI: 'true' }

test('a test replays unless it or the environment says otherwise', () => {
  expect(chooseMode(undefined, {})).toBe('replay')
  expect(chooseMode('record', {})).toBe('record')
  expect(chooseMode('replay', { RETAKE_MODE: 'record' })).toBe('record')
  expect(chooseMode('record', { RETAKE_MODE: 'replay' })).toBe('replay')
  expect(chooseMode('record', { RETAKE_MODE: '' })).toBe('record')
})

test('offline has precedence, wherever it is set', () => {
  expect(chooseMode('offline', { RETAKE_MODE: 'record' })).toBe('offline')
  expect(chooseMode('record', { RETAKE_MODE: 'offline', ...inCi })).toBe('offline')
})

test('in CI only the environment can enable recording', () => {
  expect(() => chooseMode('record', inCi)).toThrow(
    expect.objectContaining({ code: 'TEST_RECORDS_IN_CI' }) as Error,
  )
  expect(chooseMode('record', { RETAKE_MODE: 'record', ...inCi })).toBe('record')
  expect(chooseMode(undefined, inCi)).toBe('replay')
})

test('CI is detected by its variables, and can be turned off', () => {
  expect(['true', '1', 'woodpecker'].map((CI) => isCi({ CI }))).toEqual([true, true, true])
  expect(['', '0', 'false', undefined].map((CI) => isCi({ CI }))).toEqual([
    false,
    false,
    false,
    false,
  ])
})

test('another mode is a mistake', () => {
  for (const [asked, env] of [
    ['rec', {}],
    [undefined, { RETAKE_MODE: 'recording' }],
  ] as const)
    expect(() => chooseMode(asked, env)).toThrow(
      expect.objectContaining({ code: 'TEST_MODE_UNKNOWN' }) as Error,
    )
})
