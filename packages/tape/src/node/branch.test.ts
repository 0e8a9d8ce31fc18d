import { copyFileSync, existsSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { sampleDrafts, utf8 } from '../../../../test/support/tape-bytes.js'
import { TapeError } from '../format/errors.js'
import type { ParentLink } from '../format/events.js'
import { openOwnTape, openTape } from './open-tape.js'
import { isBeingWritten, TapeLock } from './tape-lock.js'
import { TapeWriter, type TapeWriterOptions } from './tape-writer.js'

const folder = mkdtempSync(join(tmpdir(), 'retake-branch-'))
const pathOf = (id: string): string => join(folder, `${id}.tape`)

function start(
  id: string,
  { parent, ...options }: TapeWriterOptions & { parent?: ParentLink } = {},
): TapeWriter {
  return TapeWriter.create(
    pathOf(id),
    {
      type: 'run',
      id,
      name: id,
      startedAt: 1,
      scope: 'process',
      node: 'v20',
      ...(parent && { parent }),
    },
    { cwd: `/${id}` },
    { now: () => 1, ...options },
  )
}

function record(id: string): void {
  const writer = start(id)
  for (const { event, body } of sampleDrafts()) writer.append(event, body)
  writer.seal()
}

function branch(id: string, parent: string, seq: number, lines: readonly string[]): void {
  const chain = openTape(pathOf(parent)).chainAt(seq - 1)
  const writer = start(id, { parent: { run: parent, seq, chain } })
  for (const line of lines) writer.append({ type: 'output', stream: 'stdout' }, utf8(line))
  writer.append({ type: 'note', kind: 'mark', name: `end of ${id}` })
  writer.seal()
}

function codeOf(action: () => unknown): string {
  try {
    action()
  } catch (error) {
    if (error instanceof TapeError) return error.code
    throw error
  }
  return 'nothing thrown'
}

record('root')
branch('a', 'root', 5, ['a1', 'a2'])
branch('b', 'a', 6, ['b1'])
branch('c', 'b', 6, [])

test('a branch reads as one run: its parent up to the fork, then its own', () => {
  const root = openTape(pathOf('root'))
  const a = openTape(pathOf('a'))
  expect(a.run.id).toBe('a')
  expect(a.details.cwd).toBe('/a')
  expect([...a.events()].map(({ seq }) => seq)).toEqual([...Array(a.count).keys()])
  expect([...a.events(1, 5)]).toEqual([...root.events(1, 5)])
  for (let seq = 1; seq < 5; seq++) expect(a.body(seq)).toEqual(root.body(seq))
  expect(a.ownFrom).toBe(5)
  expect(a.event(5)).toMatchObject({ seq: 5, type: 'output' })
  expect(Buffer.from(a.body(6)).toString()).toBe('a2')
  expect(a.count).toBe(5 + 2 + 1 + 1)
  expect(a.verify()).toMatchObject({ ok: true, count: a.count })
})

test('a branch of a branch of a branch reads through all of them', () => {
  const c = openTape(pathOf('c'))
  expect(Buffer.from(c.body(5)).toString()).toBe('a1')
  expect(c.event(6)).toMatchObject({ seq: 6, type: 'note', name: 'end of c' })
  expect([...c.events(1, 5)]).toEqual([...openTape(pathOf('root')).events(1, 5)])
  expect(c.verify().ok).toBe(true)
  expect(openOwnTape(pathOf('c')).count).toBe(3)
})

test('a branch without its parent says which file is missing', () => {
  branch('orphan', 'a', 6, ['x'])
  const kept = join(folder, 'a.kept')
  copyFileSync(pathOf('a'), kept)
  rmSync(pathOf('a'))
  expect(codeOf(() => openTape(pathOf('orphan')))).toBe('BRANCH_PARENT_MISSING')
  expect(codeOf(() => openTape(pathOf('c')))).toBe('BRANCH_PARENT_MISSING')
  copyFileSync(kept, pathOf('a'))
  expect(openTape(pathOf('orphan')).verify().ok).toBe(true)
})

test('a parent that differs in a single light event is refused', () => {
  branch('child', 'b', 7, ['x'])
  const again = (line: string): void => {
    rmSync(pathOf('b'))
    branch('b', 'a', 6, [line])
  }
  again('b1')
  expect(codeOf(() => openTape(pathOf('child')))).toBe('nothing thrown')
  again('b2')
  expect(codeOf(() => openTape(pathOf('child')))).toBe('BRANCH_PARENT_CHANGED')
})

test.each([
  { id: 'in-record', options: {} },
  { id: 'in-file', options: { lock: 'file' } as const },
])('a second writer is refused while the first lives, and no lock stays: $id', (each) => {
  const path = pathOf(each.id)
  const writer = start(each.id, each.options)
  const hasFile = 'lock' in each.options || process.platform !== 'linux'
  expect(readdirSync(folder).includes(`${each.id}.tape.lock`)).toBe(hasFile)
  expect(codeOf(() => TapeWriter.reopen(path))).toBe('TAPE_IN_USE')
  writer.close()
  TapeWriter.reopen(path).seal()
  expect(codeOf(() => TapeWriter.reopen(path))).toBe('TAPE_SEALED')
  expect(readdirSync(folder).filter((name) => name.includes('.lock'))).toEqual([])
})

test('only a process that has the tape open counts as its writer', () => {
  const path = pathOf('written')
  const writer = start('written')
  const copy = pathOf('copy')
  copyFileSync(path, copy)
  expect([isBeingWritten(path), isBeingWritten(copy)]).toEqual([true, false])
  // A lock that a killed process left behind does not hide the writer.
  symlinkSync(JSON.stringify({ pid: 2 ** 22 + 1, started: '1' }), `${path}.lock`)
  expect(isBeingWritten(path)).toBe(true)
  expect(codeOf(() => TapeLock.take(path))).toBe('TAPE_IN_USE')
  expect(existsSync(`${path}.lock`)).toBe(false)
  writer.close()
  expect(isBeingWritten(path)).toBe(false)
  const second = TapeWriter.reopen(path)
  expect(isBeingWritten(path)).toBe(true)
  second.seal()
  expect(isBeingWritten(path)).toBe(false)
})
