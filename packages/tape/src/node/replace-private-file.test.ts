import { mkdtempSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'
import { replacePrivateFile } from './replace-private-file.js'

const folder = mkdtempSync(path.join(tmpdir(), 'retake-replace-'))
const modeOf = (file: string): number => statSync(file).mode & 0o777

test.skipIf(process.platform === 'win32')(
  'only this user may read the file and new folders',
  () => {
    const file = path.join(folder, 'new/deep/a.json')
    replacePrivateFile(file, 'one')
    expect([file, path.dirname(file), path.join(folder, 'new')].map(modeOf)).toEqual([
      0o600, 0o700, 0o700,
    ])
    const open = path.join(folder, 'open.json')
    writeFileSync(open, 'before', { mode: 0o644 })
    replacePrivateFile(open, 'after', { flush: true })
    expect(modeOf(open)).toBe(0o600)
    expect(readFileSync(open, 'utf8')).toBe('after')
  },
)

test('a failed write leaves no draft', () => {
  const taken = path.join(folder, 'taken')
  mkdirSync(path.join(taken, 'full'), { recursive: true })
  expect(() => replacePrivateFile(path.join(taken, 'full'), 'x')).toThrow(/EISDIR|EPERM/)
  expect(readdirSync(taken)).toEqual(['full'])
})
