import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import type { NewEvent } from '@retake/tape'
import { openTape, TapeWriter } from '@retake/tape/node'
import { expect, onTestFinished, test } from 'vitest'
import { refuseSecrets, scanFile, secretsIn, secretsOnTape, filesToScan } from './find-secrets.js'
import { scrubRun } from './scrub-run.js'

/** Made up at run time, so that no scanner finds a key in this file. */
const letters = 'aB3dE6gH9jK2mN5pQ8sT1vW4xY7zC0fR3uI6oL9e'
const key = `sk-${letters}`

function temporaryFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'retake-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

/** A tape of a recorder that hides nothing. */
function olderTape(details: object, events: readonly (readonly [NewEvent, Uint8Array])[]): string {
  const file = path.join(temporaryFolder(), 'older.tape')
  const run = { id: 'older', name: 'older', startedAt: 0, node: 'v20.0.0' }
  const writer = TapeWriter.create(file, { type: 'run', scope: 'process', ...run }, details)
  for (const [event, body] of events) writer.append(event, body)
  writer.seal()
  return file
}

const output: NewEvent = { type: 'output', stream: 'stdout' }
const chunk: NewEvent = { type: 'deliver', op: 1, part: 'chunk' }
const nothing = new Uint8Array()

test.each<[string, object, (readonly [NewEvent, Uint8Array])[], string]>([
  ['in a body', {}, [[output, Buffer.from(`it is ${key}`)]], 'output body'],
  ['in an event', {}, [[{ type: 'call', kind: 'tool', name: key }, nothing]], 'call event'],
  ['in the details', { env: { GATEWAY: key } }, [], 'run record'],
  [
    'in base64',
    {},
    [[output, Buffer.from(Buffer.from(`u:${key}`).toString('base64'))]],
    'output body',
  ],
  ['in gzip', {}, [[output, gzipSync(`it is ${key}`)]], 'output body'],
  ['after a name', {}, [[output, Buffer.from(`{"api_key":"${letters}"}`)]], 'output body'],
  [
    'in two chunks',
    {},
    [
      [{ type: 'call', kind: 'tool', name: 'a' }, nothing],
      [chunk, Buffer.from(`it is ${key.slice(0, 9)}`)],
      [chunk, Buffer.from(`${key.slice(9)} now`)],
    ],
    'deliver body',
  ],
])('a tape with a secret %s is found, refused and scrubbed', (_, details, events, where) => {
  const file = olderTape(details, events)
  const before = openTape(file).digest
  const findings = secretsOnTape(file)
  expect(findings.map((each) => each.where)).toContain(where)
  expect(JSON.stringify(findings)).not.toContain(letters.slice(0, 12))
  expect(() => refuseSecrets([file], 'older')).toThrow(/not passed on/)

  const scrubbed = scrubRun(file, path.join(temporaryFolder(), 'new'))
  const copy = scrubbed.files.at(-1) ?? ''
  expect(secretsOnTape(copy)).toEqual([])
  expect(openTape(copy).details.scrubbedFrom).toBe(before)
  expect(scrubbed.digest).not.toBe(before)
  expect(openTape(file).digest).toBe(before)
  expect(openTape(copy).count).toBe(openTape(file).count)
})

test('a scrubbed copy never replaces a tape', () => {
  const file = olderTape({}, [[output, Buffer.from(key)]])
  expect(() => scrubRun(file, path.dirname(file))).toThrow(/would replace/)
})

test('a tape without secrets is passed on', () => {
  const file = olderTape({}, [[output, Buffer.from('no key')]])
  expect(secretsOnTape(file)).toEqual([])
  refuseSecrets([file], 'older')
})

test('other files are searched line by line, folders without node_modules', () => {
  const folder = temporaryFolder()
  mkdirSync(path.join(folder, 'node_modules'))
  writeFileSync(path.join(folder, 'node_modules', 'a.txt'), key)
  writeFileSync(path.join(folder, 'b.txt'), `one\ntwo ${key}\nthree`)
  writeFileSync(path.join(folder, 'damaged.tape'), `not a tape ${key}`)
  const files = filesToScan(folder, () => {
    throw new Error('no run is meant')
  })
  const findings = files.flatMap(secretsIn)
  expect(findings.map(({ file, where, rule }) => [path.basename(file), where, rule])).toEqual([
    ['b.txt', 'line 2', 'key'],
    ['damaged.tape', 'line 1', 'key'],
  ])
})

test('a damaged or truncated tape is not reported as completely searched', () => {
  const text = Buffer.from('a text that is long enough to be cut in the middle')
  const file = olderTape({}, [
    [output, text],
    [output, text],
  ])
  expect(scanFile(file)).toEqual({ findings: [], possible: [] })
  const whole = readFileSync(file)
  const cut = (from: number, to: number): void =>
    writeFileSync(file, Buffer.concat([whole.subarray(0, from), whole.subarray(to)]))
  cut(whole.lastIndexOf(text) + 10, whole.length)
  expect(scanFile(file)).toEqual({ findings: [], possible: [], unread: 'It ends inside event 2.' })
  cut(whole.indexOf(text), whole.indexOf(text) + 10)
  expect(scanFile(file).unread).toContain('The record there is damaged')
  cut(whole.lastIndexOf(text), whole.length)
  expect(scanFile(file).unread).toBe('It ends inside event 2.')
})

test('a text file of another program with the extension of tapes is completely searched', () => {
  const file = path.join(temporaryFolder(), 'demo.tape')
  writeFileSync(file, `Output demo.gif\nType "${key}"\n`)
  const { findings, unread } = scanFile(file)
  expect(findings).toHaveLength(1)
  expect(unread).toBeUndefined()
})

test('a large file is searched in pieces, also on their border and behind it', () => {
  const file = path.join(temporaryFolder(), 'large.log')
  const piece = 64 << 20
  const line = `${'a log line without anything secret'.padEnd(1023)}\n`
  const text = line.repeat(piece / line.length)
  const [before, after] = [`${'b'.repeat(20)}\n${key}\n`, `c\n${key}\n`]
  // The border is inside of the first key.
  writeFileSync(file, [text.slice(0, piece - 30), before, line, after].join(''))
  const { findings, unread } = scanFile(file)
  const first = piece / line.length + 1
  expect(findings.map(({ line: each }) => each)).toEqual([first, first + 3])
  expect(unread).toBeUndefined()
})

test('a compressed file that is too large to unpack is not reported as completely searched', () => {
  const folder = temporaryFolder()
  const [large, small, text] = ['large.gz', 'small.gz', 'x.txt'].map((name) =>
    path.join(folder, name),
  ) as [string, string, string]
  writeFileSync(large, gzipSync(Buffer.alloc(9 << 20, `nothing ${key} `)))
  writeFileSync(small, gzipSync(`nothing ${key}`))
  // Its first two bytes are also those of zlib.
  writeFileSync(text, 'x = 1\n')
  expect(scanFile(large).unread).toContain('too large')
  expect(scanFile(small)).toMatchObject({ findings: [{ where: 'content' }] })
  expect(scanFile(text)).toEqual({ findings: [], possible: [] })
})

test('a random value near a word such as key is possible, and refuses nothing', () => {
  const value = letters.slice(0, 14).toLowerCase()
  const file = olderTape({}, [
    [output, Buffer.from(`the key that Ann gave me was ${value}, I think`)],
    [output, Buffer.from(`order ${value} has arrived; the key is under the mat`)],
    [output, Buffer.from('{"usage":{"prompt_tokens":512},"id":"chatcmpl-aB3dE6gH9jK2mN5p"}')],
  ])
  expect(scanFile(file)).toEqual({
    findings: [],
    possible: [{ rule: 'possible', file, event: 1, where: 'output body' }],
  })
  expect(secretsOnTape(file)).toEqual([])
  refuseSecrets([file], 'older')
  const text = path.join(temporaryFolder(), 'notes.md')
  writeFileSync(
    text,
    `# Notes\n\nToken for the gateway (old): ${value}\nThe digest is sha256:${'0a1b'.repeat(16)}\n`,
  )
  expect(scanFile(text)).toMatchObject({ findings: [], possible: [{ where: 'line 3', line: 3 }] })
})
