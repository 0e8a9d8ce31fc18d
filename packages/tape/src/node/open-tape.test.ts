import { mkdtempSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { sampleDrafts, tapeBytes, utf8 } from '../../../../test/support/tape-bytes.js'
import { TapeError } from '../format/errors.js'
import { openTape } from './open-tape.js'
import { TapeWriter } from './tape-writer.js'

const folder = mkdtempSync(join(tmpdir(), 'retake-open-'))
let files = 0
const fileWith = (content: Uint8Array | string): string => {
  const path = join(folder, `${files++}.tape`)
  writeFileSync(path, content)
  return path
}

function errorOf(path: string): TapeError {
  try {
    openTape(path)
  } catch (error) {
    if (error instanceof TapeError) return error
    throw error
  }
  throw new Error('expected a TapeError')
}

const { bytes } = tapeBytes(sampleDrafts())
const loop = join(folder, 'loop.tape')
symlinkSync(loop, loop)

describe('a file that cannot be opened as a tape says why, and what to do', () => {
  test.each([
    ['is missing', join(folder, 'nowhere.tape'), 'TAPE_MISSING', 'There is no tape at'],
    ['lies under a file', join(fileWith('x'), 'a.tape'), 'TAPE_MISSING', 'retake list'],
    ['is a folder', folder, 'TAPE_IS_DIRECTORY', 'is a folder'],
    ['leads nowhere', loop, 'TAPE_UNREADABLE', 'ELOOP'],
    ['is empty', fileWith(''), 'TAPE_EMPTY', 'is empty'],
    ['is something else', fileWith('{"name":"package"}\n'), 'TAPE_NOT_A_TAPE', 'is not a tape'],
    ['is binary', fileWith(new Uint8Array(5000)), 'TAPE_NOT_A_TAPE', 'is not a tape'],
    ['was cut at once', fileWith(bytes.subarray(0, 9)), 'TAPE_NO_RUN', 'inside its first record'],
    ['was cut early', fileWith(bytes.subarray(0, 200)), 'TAPE_NO_RUN', 'after 200 bytes'],
    ['was changed', fileWith(utf8('{"seq":0,"at":0,"type":"run"}\n')), 'TAPE_CORRUPT', 'event 0'],
    [
      'is from the future',
      fileWith('{"seq":0,"at":0,"type":"run","format":99,"what":"ever"}\n'),
      'TAPE_FROM_FUTURE',
      'written by a newer Retake',
    ],
  ])('because it %s', (_, path, code, text) => {
    const error = errorOf(path)
    expect(error.code).toBe(code)
    expect(error.message).toContain(text)
    expect(error.message).toBe(`${error.what} ${error.why} ${error.fix}`)
    expect([error.what, error.why, error.fix].every((part) => part.endsWith('.'))).toBe(true)
  })
})

describe('missing events', () => {
  const tape = openTape(fileWith(bytes))

  test.each([-1, 1.5, Number.NaN, 13, 1e9])('%d is refused', (seq) => {
    expect(() => tape.event(seq)).toThrow(/no event/)
    expect(() => tape.body(seq)).toThrow(/no event/)
    expect(() => tape.chainAt(seq)).toThrow(/no event/)
  })
})

test('a tape that is being written can be opened at any moment', () => {
  const path = join(folder, 'live.tape')
  const writer = TapeWriter.create(
    path,
    { type: 'run', id: 'l', name: 'l', startedAt: 1, scope: 'process', node: 'v20' },
    {},
  )
  for (let seq = 1; seq < 200; seq++) {
    writer.append({ type: 'output', stream: 'stdout' }, utf8(`line ${seq}\n`))
    const tape = openTape(path)
    expect(tape).toMatchObject({ count: seq + 1, status: 'truncated', tornBytes: 0 })
    expect(tape.event(seq).seq).toBe(seq)
  }
  writer.close()
})

test('a tape that shrinks while it is open is reported, not misread', () => {
  const path = join(folder, 'shrinking.tape')
  const large = {
    event: { type: 'output', stream: 'stdout' },
    body: new Uint8Array(3 << 20),
  } as const
  writeFileSync(path, tapeBytes([large, large, large], { sealed: true }).bytes)
  const tape = openTape(path)
  truncateSync(path, 4 << 20)
  expect(() => tape.body(3)).toThrow(/corrupt/)
  expect(tape.verify()).toMatchObject({ ok: false, problem: { seq: 2 } })
})

test('bodies of a hundred megabytes are written and read', () => {
  const path = join(folder, 'huge.tape')
  const writer = TapeWriter.create(
    path,
    { type: 'run', id: 'h', name: 'h', startedAt: 1, scope: 'process', node: 'v20' },
    {},
  )
  const body = new Uint8Array(100 << 20).fill(65)
  writer.append(
    { type: 'request', seam: 'fetch', method: 'PUT', url: 'https://x/', headers: [] },
    body,
  )
  body[50 << 20] = 66
  writer.append(
    { type: 'request', seam: 'fetch', method: 'PUT', url: 'https://x/', headers: [] },
    body,
  )
  writer.append({ type: 'deliver', op: 1, part: 'chunk' }, body)
  writer.seal()
  const tape = openTape(path)
  expect(Buffer.from(tape.body(2)).equals(body)).toBe(true)
  expect(Buffer.from(tape.body(3)).equals(body)).toBe(true)
  expect(tape.verify().ok).toBe(true)
  truncateSync(path, 0)
})

test('a recording reads as text', () => {
  const lines = readFileSync(fileWith(bytes), 'utf8').split('\n')
  expect(lines[0]).toMatch(
    /^\{"seq":0,"at":0,"type":"run","format":1,.*\}\t\{.*"crc":"[0-9a-f]{16}"\}$/,
  )
  expect(lines[1]).toBe('{"cwd":"/agent"}')
  expect(lines[2]).toMatch(
    /^\{"seq":1,"at":0.125,"type":"draw","kind":"Math.random","value":0.25\}\t/,
  )
})
