import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { tapeErrors } from '@retake/tape/format'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { EventWriter } from '../kernel/background-writer.js'
import { FailFastWriter } from './fail-fast-writer.js'

const failure = tapeErrors.TAPE_WRITE_FAILED('a.tape', new Error('ENOSPC'))
const fail = (): never => {
  throw failure
}
const fails: EventWriter = {
  path: 'a.tape',
  isAlone: true,
  append: fail,
  buffer: fail,
  flush: fail,
  barrier: fail,
  whenDurable: (then) => then(failure),
  seal: fail,
  sealLater: (_, then) => then(failure),
  close: () => {},
}
const event = { type: 'output', stream: 'stdout' } as const

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'retake-writer-'))
})
afterEach(() => {
  vi.restoreAllMocks()
  rmSync(folder, { recursive: true })
})

test.each<[string, (writer: EventWriter, then: () => void) => void]>([
  ['append', (writer) => writer.append(event)],
  ['buffer', (writer) => writer.buffer(event)],
  ['flush', (writer) => writer.flush()],
  ['barrier', (writer) => writer.barrier()],
  ['whenDurable', (writer, then) => writer.whenDurable(then)],
  ['seal', (writer) => writer.seal()],
  ['sealLater', (writer, then) => writer.sealLater({}, then)],
])('a failing %s stops the process and says why', (_, write) => {
  const exit = vi.spyOn(process as unknown as { reallyExit(code: number): void }, 'reallyExit')
  exit.mockImplementation(() => {})
  const file = path.join(folder, 'failure.json')
  const then = vi.fn<() => void>()
  write(new FailFastWriter(fails, file), then)
  expect(exit.mock.calls).toEqual([[1]])
  expect(then).not.toHaveBeenCalled()
  expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ code: 'TAPE_WRITE_FAILED' })
})

test('watchers see each appended event before and after it is written', () => {
  const seen: string[] = []
  const writer = new FailFastWriter(
    {
      ...fails,
      append: () => {
        seen.push('written')
        return 7
      },
    },
    undefined,
    [{ before: ({ type }) => seen.push(`before ${type}`), after: () => seen.push('after') }],
  )
  expect(writer.append(event)).toBe(7)
  expect(seen).toEqual(['before output', 'written', 'after'])
})
