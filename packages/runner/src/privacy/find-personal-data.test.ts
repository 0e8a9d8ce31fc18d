import { createHash, createHmac } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import type { NewEvent } from '@retake/tape'
import { openTape, TapeWriter } from '@retake/tape/node'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { findRanges } from './find-ranges.js'
import {
  BUILT_IN,
  failedPatterns,
  type Pattern,
  readNames,
  readPatterns,
  VaultKey,
} from '@retake/engine/runs'
import { scrubRun } from './scrub-run.js'

const keyOf = (seed: string): VaultKey =>
  VaultKey.read(createHash('sha256').update(seed).digest('hex'), 'a test')
const key = keyOf('ours')

const VALUES = [
  ['email', 'ann.lee+x@mail.example.org'],
  ['phone', '+49 30 901820'],
  ['card', '4111 1111 1111 1111'],
  ['iban', 'DE89 3704 0044 0532 0130 00'],
  ['ip', '192.168.0.17'],
] as const

test.each(VALUES)('a pseudonym of %s is one, too', (kind, value) => {
  const pseudonym = key.pseudonym(kind, value)
  expect(pseudonym).not.toBe(value)
  const patterns = [BUILT_IN[kind] as Pattern]
  expect(findRanges(`x ${pseudonym} y`, patterns)).toEqual([[2, 2 + value.length]])
})

test('a pseudonym has the shape of any text, and as many bytes, also in JSON', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (value) => {
      const pseudonym = key.pseudonym('value', value)
      const shapes = (text: string): number[] => [
        Buffer.byteLength(text),
        Buffer.byteLength(JSON.stringify(text)),
        Array.from(text).length,
      ]
      expect(shapes(pseudonym)).toEqual(shapes(value))
      expect(pseudonym.replaceAll(/[\p{L}\p{N}]/gu, 'x')).toBe(
        value.replaceAll(/[\p{L}\p{N}]/gu, 'x'),
      )
      expect(key.pseudonym('value', value)).toBe(pseudonym)
    }),
  )
})

test('case and separators of a value change those of its pseudonym only', () => {
  const upper = key.pseudonym('email', 'ANN@EXAMPLE.ORG')
  expect(upper.toLowerCase()).toBe(key.pseudonym('email', 'ann@example.org'))
  const spaced = key.pseudonym('card', '4111 1111 1111 1111')
  expect(spaced.replaceAll(' ', '')).toBe(key.pseudonym('card', '4111111111111111'))
})

test('a guessed value cannot be checked without the key', () => {
  const pseudonym = key.pseudonym('phone', '+49 30 901820')
  const withoutKey = ['', 'retake', 'retake pseudonyms', key.id, pseudonym].map((secret) =>
    VaultKey.read(createHmac('sha256', secret).digest('hex'), 'a guess'),
  )
  for (const guess of [...withoutKey, keyOf('theirs')])
    expect(guess.pseudonym('phone', '+49 30 901820')).not.toBe(pseudonym)
})

function temporaryFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'retake-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

/** The bodies of a tape with these bodies, after it was scrubbed. */
function scrubbed(
  events: readonly (readonly [NewEvent, Uint8Array])[],
  patterns: readonly Pattern[],
): Buffer[] {
  process.env['RETAKE_VAULT_KEY'] = key.secret.toString('hex')
  onTestFinished(() => {
    delete process.env['RETAKE_VAULT_KEY']
  })
  const file = path.join(temporaryFolder(), 'run.tape')
  const run = { id: 'run', name: 'run', startedAt: 0, node: 'v20.0.0' }
  const writer = TapeWriter.create(file, { type: 'run', scope: 'process', ...run }, {})
  for (const [event, body] of events) writer.append(event, body)
  writer.seal()
  const { files } = scrubRun(file, path.join(temporaryFolder(), 'copy'), { patterns })
  expect(readFileSync(files[0] ?? '', 'latin1')).not.toContain('ann.lee')
  const copy = openTape(files[0] ?? '')
  return events.map((_, at) => Buffer.from(copy.body(at + 1)))
}

const output: NewEvent = { type: 'output', stream: 'stdout' }
const chunk: NewEvent = { type: 'deliver', op: 1, part: 'chunk' }
const email = 'ann.lee@mail.example.org'
const hidden = key.pseudonym('email', email)
const patterns = [...readPatterns(['email']), readNames(['Zoë', 'Bo Li'])]

test.each<[string, (value: string) => string]>([
  ['as it is', (value) => `to ${value}, please`],
  ['after an escape', (value) => JSON.stringify({ text: `to\n${value}` })],
  ['in JSON inside JSON', (value) => JSON.stringify(JSON.stringify([`"${value}"`]))],
  ['in a URL', (value) => `https://a.example/?to=%20${encodeURIComponent(value)}`],
  ['in base64', (value) => Buffer.from(`u:${value}:x`).toString('base64')],
  ['in hex, and as it is', (value) => `${value} ${Buffer.from(value).toString('hex')}`],
])('a value %s becomes its pseudonym in the same form', (_, form) => {
  const [body] = scrubbed([[output, Buffer.from(form(email))]], patterns)
  expect(body?.toString()).toBe(form(hidden))
})

test('a value inside gzip becomes its pseudonym', () => {
  const call: NewEvent = { type: 'call', kind: 'tool', name: 'a' }
  const result: NewEvent = { type: 'result', op: 1, as: 'bytes' }
  const head = Buffer.from(`about ${email}`)
  const packed = gzipSync(`to ${email}, and ${'more '.repeat(40)}`)
  const bodies = scrubbed(
    [
      [call, head],
      [result, packed],
    ],
    patterns,
  )
  expect(bodies[0]?.toString()).toBe(`about ${hidden}`)
  expect(gunzipSync(bodies[1] ?? '').toString()).toContain(`to ${hidden}, and`)
})

test('a value in pieces becomes the pieces of its pseudonym', () => {
  const pieces = (value: string): Buffer[] =>
    [`it is ${value.slice(0, 5)}`, value.slice(5, 16), `${value.slice(16)} now`].map((each) =>
      Buffer.from(each),
    )
  const call: NewEvent = { type: 'call', kind: 'tool', name: 'a' }
  const given = pieces(email).map((body) => [chunk, body] as const)
  expect(scrubbed([[call, new Uint8Array()], ...given], patterns).slice(1)).toEqual(pieces(hidden))
})

test('a short name is hidden as a word only, also escaped and in base64', () => {
  const [zoe, bo] = [key.pseudonym('name', 'Zoë'), key.pseudonym('name', 'Bo Li')]
  const form = (one: string, two: string): string =>
    JSON.stringify({ a: `to\n${one}, Zoëlla and ${two}`, b: encodeURIComponent(one) }) +
    ` ${Buffer.from(`hello, dear ${one}`).toString('base64')}`
  const [body] = scrubbed([[output, Buffer.from(form('Zoë', 'Bo Li'))]], patterns)
  expect(body?.toString()).toBe(form(zoe, bo))
})

test('a rule that throws hides the whole text, and is named', () => {
  const rule: Pattern = {
    name: 'broken',
    expression: /order/g,
    accepts: () => {
      throw new Error('no such order')
    },
  }
  const [body] = scrubbed([[output, Buffer.from('order 1182 for Ann')]], [rule])
  expect(body?.toString()).toMatch(/^[a-z]{5} \d{4} [a-z]{3} [A-Z][a-z]{2}$/)
  expect(body?.toString()).not.toMatch(/order|1182|Ann/)
  expect(failedPatterns()).toContain(rule)
})
