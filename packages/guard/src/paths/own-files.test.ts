import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  isOwnEntry,
  ownFileDenial,
  ownLocations,
  ownRemovalDenial,
  ownWordDenial,
  protectOwnFiles,
  protectTapes,
} from './own-files.js'

let folder: string
beforeAll(() => {
  folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'retake-own-')))
  mkdirSync(path.join(folder, '.retake', 'runs'), { recursive: true })
  mkdirSync(path.join(folder, 'real'))
  symlinkSync(path.join(folder, 'real'), path.join(folder, 'linked'))
  writeFileSync(path.join(folder, 'real', 'a.tape'), '')
  protectOwnFiles(path.join(folder, '.retake', 'runs'), 'the tapes')
  protectOwnFiles(path.join(folder, 'linked'), 'other tapes')
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const at = (name: string): string => `${folder}/${name}`

test.each([
  '.retake/runs',
  '.retake/runs/new/x',
  'x/../.retake/runs/a',
  'linked/a.tape',
  'real/a.tape',
])('%s is closed', (name) => {
  for (const access of ['read', 'write'])
    expect(ownFileDenial(access, at(name))).toMatchObject({
      code: 'GUARD_OWN_FILES',
      rule: 'guard/own-files',
    })
})

test.each(['', '.retake', '.retake/runs-2', '.retake/sample', 'a.tape', 'work/.retake/runs'])(
  '%j is not',
  (name) => {
    expect(ownFileDenial('write', at(name))).toBe(undefined)
  },
)

test('a folder above is neither moved nor removed, whatever leads to it', () => {
  for (const name of ['.retake/runs', '.retake', '', 'linked', 'real', 'x/../.retake'])
    expect(ownRemovalDenial(at(name))?.code, name).toBe('GUARD_OWN_FILES')
  for (const name of ['work', '.retake/sample', 'real-2'])
    expect(ownRemovalDenial(at(name)), name).toBe(undefined)
})

test('an argument of a program can lead there on its own, in an option or in shell text', () => {
  for (const word of [
    '.retake/runs/a.tape',
    './.retake',
    at('.retake/runs'),
    `--file=${at('.retake/runs/a')}`,
    'if=.retake/runs/a',
    `cat '${at('real/a.tape')}' | wc`,
    'echo x>.retake/runs/a',
    '-C.retake/runs',
  ])
    expect(ownWordDenial(word, folder)?.code, word).toBe('GUARD_OWN_FILES')
  for (const word of ['.', '..', 'work', '-la', 'runs', 'a.tape', at('work'), 'echo .retaken/runs'])
    expect(ownWordDenial(word, folder), word).toBe(undefined)
})

test('a listing omits closed files', () => {
  expect(isOwnEntry(at('.retake'), 'runs')).toBe(true)
  expect(isOwnEntry(at('.retake'), 'sample')).toBe(false)
})

test('in a shared folder of tapes, only files of guards are closed', () => {
  protectTapes(at('shared'))
  for (const name of ['x.tape', 'x.approvals/a.decision.json', 'x.tape.lock'])
    expect(ownFileDenial('write', at(`shared/${name}`))?.code, name).toBe('GUARD_OWN_FILES')
  for (const name of ['', 'package.json', 'src/index.ts', 'src/a.tape'])
    expect(ownFileDenial('write', at(`shared/${name}`)), name).toBe(undefined)
  expect(ownRemovalDenial(at('shared'))?.code).toBe('GUARD_OWN_FILES')
})

test('every sandbox hides a tape that was made just before it', () => {
  mkdirSync(at('mixed'))
  writeFileSync(at('mixed/package.json'), '')
  protectTapes(at('mixed'))
  const hidden = (): readonly string[] => ownLocations().filter((each) => each.includes('mixed'))
  expect(hidden()).toEqual([])
  writeFileSync(at('mixed/a.tape'), '')
  expect(hidden()).toEqual([at('mixed/a.tape')])
  writeFileSync(at('mixed/b.tape'), '')
  expect(hidden()).toEqual([at('mixed/a.tape'), at('mixed/b.tape')])
  protectOwnFiles(at('policy.yaml'), 'a policy')
  writeFileSync(at('policy.yaml'), '')
  expect(ownLocations()).toContain(at('policy.yaml'))
})
