import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { writtenFiles } from './record-command.js'

test('files written since a moment are found, also below, but not those of tools', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'retake-written-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const name of ['data', 'node_modules', '.git']) mkdirSync(path.join(folder, name))
  for (const name of ['old.txt', 'new.txt', 'data/new.txt', 'node_modules/new.js', '.git/index'])
    writeFileSync(path.join(folder, name), '')
  utimesSync(path.join(folder, 'old.txt'), 1, 1)
  expect(writtenFiles(folder, 2000).toSorted()).toEqual(['data/new.txt', 'new.txt'])
})
