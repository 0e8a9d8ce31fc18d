import fs from 'node:fs'
import { expect, test } from 'vitest'
import { changesDisk, fileEffect } from './file-functions.js'

/** Functions that take no part in a run: they create streams and handles of Node's own. */
const NO_CALLS = new Set(['mkdtempDisposable', '_toUnixTimestamp'])

test('every function of node:fs has an effect', () => {
  const isFunction = (name: string): boolean =>
    /^[a-z]/.test(name) && typeof (fs as unknown as Record<string, unknown>)[name] === 'function'
  const names = [...Object.keys(fs).filter(isFunction), ...Object.keys(fs.promises)]
  const missing = names.filter(
    (name) => fileEffect(name) === undefined && !NO_CALLS.has(name.replace(/Sync$/, '')),
  )
  expect(missing.filter((name) => name !== 'constants')).toEqual([])
})

test.each([
  ['fs.promises.readFile', 'read'],
  ['fs.realpathSync.native', 'look'],
  ['FileHandle.datasync', 'flush'],
  ['fs.fsyncSync', 'flush'],
  ['Dir.read', 'list'],
  ['FSWatcher', 'watch'],
  ['process.loadEnvFile', 'read'],
  ['fs.renameSync', 'copy'],
  ['fs.unheardOf', undefined],
])('%s has the effect %s', (call, effect) => {
  expect(fileEffect(call)).toBe(effect)
})

test('an unknown function may change the disk; reading and opening do not', () => {
  const calls = ['fs.unheardOf', 'fs.writeSync', 'fs.fsync', 'fs.open', 'fs.glob', 'Dir.close']
  expect(calls.filter(changesDisk)).toEqual(['fs.unheardOf', 'fs.writeSync', 'fs.fsync'])
})
