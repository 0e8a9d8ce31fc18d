import { expect, test } from 'vitest'
import { SecretMask } from './secrets.js'

/** Made up at run time, so that no scanner finds a key in this file. */
const chosen = ['velvet', 'harbor', '47'].join('')
const key = '3f9c0a7b'.repeat(4)

const CHUNK = { type: 'deliver', op: 1, part: 'chunk' } as const

const int = (value: number, size = 4): Buffer => {
  const bytes = Buffer.alloc(size)
  bytes.writeIntBE(value, 0, size)
  return bytes
}

function message(type: string, ...parts: readonly (Buffer | string)[]): Buffer {
  const body = Buffer.concat(parts.map((each) => Buffer.from(each)))
  return Buffer.concat([Buffer.from(type), int(body.length + 4), body])
}

const description = (...columns: readonly string[]): Buffer =>
  message(
    'T',
    int(columns.length, 2),
    ...columns.map((name) => Buffer.concat([Buffer.from(`${name}\0`), Buffer.alloc(18)])),
  )

const row = (...values: readonly (string | null)[]): Buffer =>
  message(
    'D',
    int(values.length, 2),
    ...values.map((value) =>
      value === null ? int(-1) : Buffer.concat([int(Buffer.byteLength(value)), Buffer.from(value)]),
    ),
  )

const rowsOf = (chunks: readonly Buffer[]): string => {
  const mask = new SecretMask()
  const masked = chunks.map((chunk) => Buffer.from(mask.body(CHUNK, chunk)))
  expect(masked.map(({ length }) => length)).toEqual(chunks.map(({ length }) => length))
  return Buffer.concat(masked).toString()
}

test('values in columns named like secrets are hidden, also in the next chunk', () => {
  const columns = description('id', 'password', 'api_key', 'note')
  const first = row('7', chosen, key, 'a red lamp')
  const text = rowsOf([
    Buffer.concat([message('1'), message('2'), columns, first]),
    Buffer.concat([row('8', null, `${key.slice(8)}9a8b7c6d`, 'pâté'), message('C', 'SELECT 2\0')]),
  ])
  for (const secret of [chosen, key, key.slice(8)]) expect(text).not.toContain(secret)
  expect(text).toContain('a red lamp')
  expect(text).toContain('pâté')
  expect(text).toContain('SELECT 2')
})

test('other columns, and values that are no secret, stay', () => {
  const rows = [
    description('id', 'name', 'token', 'password_hash_rounds'),
    row('7', chosen, 'none', '12'),
    message('Z', 'I'),
  ]
  expect(rowsOf([Buffer.concat(rows)])).toBe(Buffer.concat(rows).toString())
  // The columns of another statement.
  const others = [description('password'), row(null), description('city'), row('Rotterdam1')]
  expect(rowsOf(others)).toBe(Buffer.concat(others).toString())
})

test('bytes of other protocols stay', () => {
  for (const text of ['HTTP/1.1 200 OK\r\n\r\nDone', 'Dear Ann, the Token is here', 'T', ''])
    expect(rowsOf([Buffer.from(text)])).toBe(text)
})
