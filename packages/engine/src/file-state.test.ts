import {
  appendFileSync,
  closeSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { FileBefore } from '@retake/tape/format'
import { contentProof, finishWrite, lookAtFile } from './file-state.js'
import type { FileFinding } from './kernel/settle-doubts.js'
import { proofOf } from './secrets/machine-key.js'

let folder: string
let file: string
const { XDG_STATE_HOME } = process.env
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'file-state-'))
  file = join(folder, 'log.txt')
  process.env['XDG_STATE_HOME'] = folder
})
afterEach(() => {
  rmSync(folder, { recursive: true })
  if (XDG_STATE_HOME === undefined) delete process.env['XDG_STATE_HOME']
  else process.env['XDG_STATE_HOME'] = XDG_STATE_HOME
})

type Write = Omit<FileBefore, 'path' | 'size' | 'content'>

/** The file as it is now, before `write`. */
function before(write: Write): FileBefore {
  const fd = openSync(file, 'r')
  const size = readFileSync(fd).length
  const content = contentProof(fd, { ...write, size }, true)
  closeSync(fd)
  return { path: file, ...write, size, ...(content && { content }) }
}

const look = (state: FileBefore, body: string): FileFinding => lookAtFile(state, Buffer.from(body))

describe('an append that a kill interrupted', () => {
  const line = 'second line\n'
  let state: FileBefore
  beforeEach(() => {
    writeFileSync(file, 'first line\n')
    state = before({ at: 11, length: line.length })
  })

  test('had no effect if the file is as before', () => {
    expect(look(state, line)).toEqual({ state: 'unchanged' })
  })

  test('is finished if the file has the beginning of the line', () => {
    appendFileSync(file, line.slice(0, 4))
    expect(look(state, line)).toEqual({ state: 'partial', written: 4 })
    finishWrite(state, Buffer.from(line), 4)
    expect(readFileSync(file, 'utf8')).toBe(`first line\n${line}`)
    expect(look(state, line)).toEqual({ state: 'complete' })
  })

  test.each([
    ['another program has appended', 'other\n'],
    ['another program has appended after it', `${line}other\n`],
    ['another program has appended after a part of it', `${line.slice(0, 4)}other\n`],
  ])('stays in doubt if %s', (_, appended) => {
    appendFileSync(file, appended)
    expect(look(state, line)).toMatchObject({ state: 'changed', size: 11 + appended.length })
  })

  test('stays in doubt if the file was rewritten with the same length, or removed', () => {
    writeFileSync(file, 'third line\n')
    expect(look(state, line)).toEqual({ state: 'changed', size: 11 })
    writeFileSync(file, `third line\n${line}`)
    expect(look(state, line)).toMatchObject({ state: 'changed' })
    rmSync(file)
    expect(look(state, line)).toEqual({ state: 'changed' })
  })

  test('stays in doubt during another write, and if the file cannot be read', () => {
    expect(look({ ...state, isShared: true }, line)).toEqual({ state: 'shared' })
    expect(look({ ...state, path: join(file, 'below') }, line)).toEqual({
      state: 'unreadable',
      code: 'ENOTDIR',
    })
  })

  test('is recognised by a proof if its bytes contain a secret', () => {
    const proof = proofOf('', line, true) ?? ''
    appendFileSync(file, line)
    expect(look({ ...state, proof }, 'masked')).toEqual({ state: 'complete' })
    writeFileSync(file, `first line\n${line.slice(0, 4)}`)
    expect(look({ ...state, proof }, 'masked')).toMatchObject({ state: 'changed' })
  })

  test('may have created its file', () => {
    const created = { path: file, at: 0, length: line.length }
    rmSync(file)
    expect(look(created, line)).toEqual({ state: 'unchanged' })
    writeFileSync(file, '')
    expect(look(created, line)).toEqual({ state: 'partial', written: 0 })
    writeFileSync(file, line)
    expect(look(created, line)).toEqual({ state: 'complete' })
  })
})

test('a rewrite is done again unless the file has other content than before, and less or other than after', () => {
  writeFileSync(file, 'old content')
  const state = before({ length: 11 })
  const findings = ['old content', '', 'new', 'new content', 'new contents', 'other'].map((now) => {
    writeFileSync(file, now)
    return look(state, 'new content')
  })
  expect(findings).toEqual([
    { state: 'unchanged' },
    { state: 'partial', written: 0 },
    { state: 'partial', written: 3 },
    { state: 'complete' },
    { state: 'changed', size: 12 },
    { state: 'changed', size: 5 },
  ])
})

test('bytes in the middle of a file are compared with those that they overwrite', () => {
  writeFileSync(file, 'aaaabbbbcccc')
  const state = before({ at: 4, length: 4 })
  const findings = ['aaaabbbbcccc', 'aaaaBBBBcccc', 'aaaaBBbbcccc', 'aaaaBBBB'].map((now) => {
    writeFileSync(file, now)
    return look(state, 'BBBB').state
  })
  expect(findings).toEqual(['unchanged', 'complete', 'changed', 'changed'])
})

test('a file is cut again unless the part that stays has changed', () => {
  writeFileSync(file, 'aaaabbbb')
  const state = before({ at: 4, length: 0, isCut: true })
  const findings = ['aaaabbbb', 'aaaa', 'aaaabb', 'AAAA'].map((now) => {
    writeFileSync(file, now)
    return look(state, '').state
  })
  expect(findings).toEqual(['unchanged', 'unchanged', 'changed', 'changed'])
})
