import { expect, test } from 'vitest'
import { errorTable, tapeErrors } from './errors.js'

const errors = errorTable({
  FILE_UNREADABLE: (file: string, cause: unknown) => [
    `${file} cannot be read.`,
    `The system said: ${String(cause)}.`,
    'Check the path.',
  ],
})

test('an error among the values of an error is its cause', () => {
  const cause = new Error('no such file')
  expect(errors.FILE_UNREADABLE('a.tape', cause)).toMatchObject({ code: 'FILE_UNREADABLE', cause })
})

test('an error without one has no cause', () => {
  expect('cause' in errors.FILE_UNREADABLE('a.tape', 'no such file')).toBe(false)
})

test('a tape that the permission model of Node forbids to write needs options, not disk space', () => {
  const denied = Object.assign(new Error('restricted'), { code: 'ERR_ACCESS_DENIED' })
  expect(tapeErrors.TAPE_WRITE_FAILED('a.tape', denied).fix).toContain('--allow-fs-write')
  expect(tapeErrors.TAPE_WRITE_FAILED('a.tape', new Error('full')).fix).toContain('Free disk space')
})
