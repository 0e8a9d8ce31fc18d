import { appendFileSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { TAPE_FORMAT } from '../format/events.js'
import { openTape } from './open-tape.js'
import { TapeWriter } from './tape-writer.js'

const folder = mkdtempSync(join(tmpdir(), 'retake-writer-'))
let files = 0
const freshPath = (): string => join(folder, `${files++}.tape`)
const run = {
  type: 'run',
  id: 'r1',
  name: 'demo',
  startedAt: 1,
  scope: 'function',
  node: 'v20.20.2',
} as const
const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)
const bytes = (value: string): Uint8Array => new TextEncoder().encode(value)

test('appended events and bodies can be read back', () => {
  const path = freshPath()
  let clock = 0
  const writer = TapeWriter.create(path, run, { cwd: '/x' }, { now: () => clock++ / 3 })
  expect(writer.append({ type: 'draw', kind: 'Date.now', value: 'ünï\tcode\n' })).toBe(1)
  expect(writer.append({ type: 'call', kind: 'tool', name: 'add' }, bytes('[1,2]'))).toBe(2)
  expect(writer.append({ type: 'output', stream: 'stdout' }, bytes('hi\n{"seq":9'))).toBe(3)
  writer.append({ type: 'end', exitCode: 0 })
  expect(openTape(path).status).toBe('ended')
  writer.seal()
  const tape = openTape(path)
  expect(tape.status).toBe('sealed')
  expect(tape.count).toBe(6)
  const { creator, ...written } = tape.run
  expect(written).toEqual({ seq: 0, at: 0, format: TAPE_FORMAT, ...run })
  expect(creator?.pid).toBe(process.platform === 'linux' ? process.pid : undefined)
  expect(tape.details).toEqual({ cwd: '/x' })
  expect([...tape.events(1, 3)]).toEqual([
    { seq: 1, at: 0.333, type: 'draw', kind: 'Date.now', value: 'ünï\tcode\n' },
    { seq: 2, at: 0.667, type: 'call', kind: 'tool', name: 'add' },
  ])
  expect(text(tape.body(2))).toBe('[1,2]')
  expect(text(tape.body(3))).toBe('hi\n{"seq":9')
  expect(tape.body(1)).toHaveLength(0)
  expect(tape.verify()).toMatchObject({ ok: true, count: 6, signature: 'none' })
  expect(statSync(path).mode & 0o777).toBe(0o600)
})

test('a tape of durability process says so, is complete, and is never synced', () => {
  const path = freshPath()
  const writer = TapeWriter.create(path, { ...run, durability: 'process' }, {})
  writer.append({ type: 'timer', kind: 'timeout', ms: 5 })
  writer.barrier()
  writer.seal()
  expect(writer.syncs).toBe(0)
  expect(openTape(path).run.durability).toBe('process')
  expect(openTape(path).verify()).toMatchObject({ ok: true, count: 3 })
})

test('a tape that is continued has the durability it was created with', () => {
  const path = freshPath()
  TapeWriter.create(path, { ...run, durability: 'process' }, {}).close()
  const writer = TapeWriter.reopen(path)
  writer.append({ type: 'timer', kind: 'timeout', ms: 5 })
  writer.seal()
  expect(writer.syncs).toBe(0)
  expect(openTape(path).status).toBe('sealed')
})

test('callers that wait for the disk at the same time share a sync', async () => {
  const writer = TapeWriter.create(freshPath(), run, {})
  const waiting = Array.from({ length: 20 }, (_, ms) => {
    writer.append({ type: 'timer', kind: 'timeout', ms })
    return new Promise<void>((resolve, reject) =>
      writer.whenDurable((failure) => (failure ? reject(failure) : resolve())),
    )
  })
  const sealed = new Promise<void>((resolve) => writer.sealLater({}, () => resolve()))
  await Promise.all([...waiting, sealed])
  expect(writer.syncs).toBe(2)
})

test('a tape is alone until another one is synced by the same process', async () => {
  // Tests of other files in this process may leave writers open.
  vi.resetModules()
  const { TapeWriter } = await import('./tape-writer.js')
  const [first, unsynced] = [freshPath(), freshPath()].map((path, index) =>
    TapeWriter.create(path, index === 0 ? run : { ...run, durability: 'process' }, {}),
  )
  expect(first?.isAlone).toBe(true)
  const second = TapeWriter.create(freshPath(), run, {})
  expect(first?.isAlone).toBe(false)
  second.close()
  expect(first?.isAlone).toBe(true)
  first?.close()
  unsynced?.close()
})

test('a seal can be signed, and the tape says by which key', () => {
  const path = freshPath()
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const writer = TapeWriter.create(path, run, {})
  writer.append({ type: 'timer', kind: 'timeout', ms: 5 })
  writer.seal({ privateKey })
  const x = publicKey.export({ format: 'jwk' }).x ?? ''
  expect(openTape(path).verify()).toMatchObject({
    ok: true,
    signature: 'valid',
    key: Buffer.from(x, 'base64url').toString('base64'),
  })
})

test('reopening cuts a torn tail and continues the chain', () => {
  const path = freshPath()
  const first = TapeWriter.create(path, run, {}, { now: () => 100 })
  first.append({ type: 'note', kind: 'mark', name: 'a' })
  first.append({ type: 'output', stream: 'stderr' }, bytes('light'))
  first.close()
  const whole = readFileSync(path)
  appendFileSync(path, '{"seq":3,"at":1')
  expect(openTape(path)).toMatchObject({ count: 3, tornBytes: 15, status: 'truncated' })
  const second = TapeWriter.reopen(path)
  expect(readFileSync(path).equals(whole)).toBe(true)
  expect(second.append({ type: 'end', signal: 'SIGKILL' })).toBe(3)
  second.seal()
  const tape = openTape(path)
  expect(tape.verify()).toMatchObject({ ok: true, count: 5 })
  expect(tape.event(3).at).toBeGreaterThanOrEqual(100)
  expect(() => TapeWriter.reopen(path)).toThrow(/sealed/)
})

test('buffered events reach the file with the next flush, append or barrier, in order', () => {
  const path = freshPath()
  const writer = TapeWriter.create(path, run, {})
  const names = () =>
    [...openTape(path).events()].flatMap((event) => (event.type === 'note' ? [event.name] : []))
  const note = (name: string) => ({ type: 'note', kind: 'mark', name }) as const
  expect(writer.buffer(note('a'))).toBe(1)
  expect(writer.buffer(note('b'))).toBe(2)
  expect(names()).toEqual([])
  writer.flush()
  expect(names()).toEqual(['a', 'b'])
  writer.buffer(note('c'))
  writer.append(note('d'))
  expect(names()).toEqual(['a', 'b', 'c', 'd'])
  writer.buffer(note('e'))
  writer.barrier()
  expect(names()).toHaveLength(5)
  // A body too large to copy, then records that exceed the buffer together.
  writer.buffer(note('f'), randomBytes(300_000))
  expect(names()).toHaveLength(6)
  for (let count = 0; count < 5; count++) writer.buffer(note('g'), randomBytes(60_000))
  expect(names()).toHaveLength(9)
  writer.buffer(note('h'))
  writer.seal()
  const tape = openTape(path)
  expect(names()).toHaveLength(12)
  expect(tape.verify().ok).toBe(true)
  expect(() => writer.buffer(note('i'))).toThrow(/closed/)
})

test('barriers sync only what was appended since the last one', () => {
  const writer = TapeWriter.create(freshPath(), run, {})
  writer.barrier()
  writer.barrier()
  expect(writer.syncs).toBe(1)
  writer.append({ type: 'note', kind: 'mark', name: 'a' })
  writer.barrier()
  expect(writer.syncs).toBe(2)
  writer.close()
  expect(() => writer.append({ type: 'note', kind: 'mark', name: 'a' })).toThrow(/closed/)
})

test('a recording never overwrites a file, and says when its folder is missing', () => {
  const path = freshPath()
  writeFileSync(path, 'precious')
  expect(() => TapeWriter.create(path, run, {})).toThrow(
    expect.objectContaining({ code: 'TAPE_EXISTS' }),
  )
  expect(readFileSync(path, 'utf8')).toBe('precious')
  expect(() => TapeWriter.create(join(folder, 'no', 'where.tape'), run, {})).toThrow(
    expect.objectContaining({ code: 'TAPE_WRITE_FAILED' }),
  )
})

test('a value that JSON cannot represent is refused before anything is written', () => {
  const path = freshPath()
  const writer = TapeWriter.create(path, run, {})
  expect(() => writer.append({ type: 'draw', kind: 'x', value: 1n })).toThrow(TypeError)
  expect(writer.append({ type: 'draw', kind: 'x', value: 1 })).toBe(1)
  writer.seal()
  expect(openTape(path).verify()).toMatchObject({ ok: true, count: 3 })
})

test('a continued conversation is stored as its new part only', () => {
  const path = freshPath()
  const request = {
    type: 'request',
    seam: 'fetch',
    method: 'POST',
    url: 'https://m/',
    headers: [],
  } as const
  const history = Array.from({ length: 400 }, (_, i) => `${i * 7919} `.repeat(5)).join()
  const first = TapeWriter.create(path, run, {})
  first.append(request, bytes(history))
  first.close()
  const before = statSync(path).size
  const second = TapeWriter.reopen(path)
  expect(second.count).toBe(2)
  second.append(request, bytes(`${history} and one more`))
  second.append(request, bytes(history))
  second.close()
  expect(statSync(path).size - before).toBeLessThan(1000)
  expect(text(openTape(path).body(2))).toBe(`${history} and one more`)
  expect(text(openTape(path).body(3))).toBe(history)
})
