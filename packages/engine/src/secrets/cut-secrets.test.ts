import { describe, expect, test } from 'vitest'
import { SecretMask } from './secrets.js'

/** Made up at run time, so that no scanner finds a key in this file. */
const letters = 'aB3dE6gH9jK2mN5pQ8sT1vW4xY7zC0fR3uI6oL9e'
const hex = '3f9c0a7be24d6185c03b9e72fa41d58c'
const base64 = (text: string): string => Buffer.from(text).toString('base64url')

const CHUNK = { type: 'deliver', op: 1, part: 'chunk' } as const
const END = { type: 'deliver', op: 1, part: 'end' } as const

const chunksOf = (mask: SecretMask, chunks: readonly string[]): string[] =>
  chunks.map((chunk) => Buffer.from(mask.body(CHUNK, Buffer.from(chunk))).toString())

const deltas = (parts: readonly string[]): string[] =>
  parts.map(
    (content) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`,
  )

const said = (events: readonly string[]): string =>
  events.map((event) => /"content":"([^"]*)"/.exec(event)?.[1]).join('')

const block = (body: string): string =>
  ['-----BEGIN', 'PRIVATE KEY-----'].join(' ') + `\n${body}\n-----END PRIVATE KEY-----\n`

const KEYS: Readonly<Record<string, { readonly key: string; readonly secret: string }>> = {
  anthropic: { key: `sk-ant-api03-${letters}`, secret: letters },
  github: { key: `ghp_${letters.slice(0, 36)}`, secret: letters.slice(0, 36) },
  supabase: { key: `sbp_${hex}${hex.slice(0, 8)}`, secret: `${hex}${hex.slice(0, 8)}` },
  'new relic': {
    key: `NRAK-${letters.slice(3, 30).toUpperCase()}`,
    secret: letters.slice(3, 30).toUpperCase(),
  },
  slack: { key: `xoxb-274918365027-${letters.slice(0, 24)}`, secret: letters.slice(0, 24) },
  jwt: {
    key: `${base64('{"alg":"HS256"}')}.${base64('{"sub":"1234567890"}')}.${letters}`,
    secret: letters,
  },
  'private key': { key: block(letters.repeat(2)), secret: letters.repeat(2) },
  'after a name': { key: `{"client_secret":"${letters}"}`, secret: letters },
}

describe.each(Object.entries(KEYS))('a key of %s', (name, { key, secret }) => {
  const text = `it is ${key} now`
  test.each([3, 2])('of which a chunk has one part of %i leaves at most 12 characters', (parts) => {
    const at = text.indexOf(secret)
    const size = Math.ceil(secret.length / parts)
    const cuts = Array.from({ length: parts - 1 }, (_, index) => at + size * (index + 1))
    const pieces = [0, ...cuts].map((from, index) => text.slice(from, cuts[index]))
    const mask = new SecretMask()
    const masked = chunksOf(mask, pieces)
    expect(masked.map(({ length }) => length)).toEqual(pieces.map(({ length }) => length))
    for (let from = 0; from + 12 < secret.length; from += 1)
      expect(masked.join('')).not.toContain(secret.slice(from, from + 13))
    // A replay has one placeholder in all parts.
    expect(new SecretMask().text(masked.join(''))).toBe(masked.join(''))
    if (name === 'after a name') return
    const streamed = said(
      chunksOf(new SecretMask(), deltas(pieces)).map((event) => event.replaceAll('\\n', '')),
    )
    for (let from = 0; from + 12 < secret.length; from += 1)
      expect(streamed).not.toContain(secret.slice(from, from + 13))
  })
})

test('examples of keys, words and addresses at the end of a chunk stay', () => {
  const examples =
    'ghp_your_token_here sk-ant-api03-... sk-proj-your-key sk-learn-intro http://localhost:3000/x key-value ' +
    'xoxb-1234567890 api-key re_exported AKIA secret_name 2026-11-18T19:28:24.123Z'
  for (let at = 1; at < examples.length; at += 1)
    expect(chunksOf(new SecretMask(), [examples.slice(0, at), examples.slice(at)]).join('')).toBe(
      examples,
    )
})

test('what began like a key and is none is written the same everywhere', () => {
  const word = ['ghp', '_aB3dE6g9', 'H2'].join('')
  const mask = new SecretMask()
  const events = chunksOf(mask, deltas(['try ', word.slice(0, 12), `${word.slice(12)} instead`]))
  const written = /try (\S+) instead/.exec(said(events))?.[1] ?? ''
  expect(written).toHaveLength(word.length)
  expect(written).not.toContain('aB3dE6')
  const sent = Buffer.from(mask.bytes(Buffer.from(`you said: ${word}.`))).toString()
  expect(sent).toBe(`you said: ${written}.`)
  // A replay sends what it was given.
  expect(new SecretMask().text(sent)).toBe(sent)
})

test('a value after a name is learned whole, not as the part that the first chunk has', () => {
  const mask = new SecretMask()
  const value = letters.slice(0, 36)
  const masked = chunksOf(mask, ['access_token=', value.slice(0, 22), value.slice(22)])
  expect(masked.join('')).not.toContain(value.slice(24))
  mask.body(END, Buffer.alloc(0))
  expect(mask.text(`it is ${value}`)).not.toContain(value.slice(0, 8))
})

test('a secret in escapes of JSON is hidden in escapes', () => {
  const escaped = (text: string): string =>
    Array.from(text, (each) => `\\u00${each.charCodeAt(0).toString(16)}`).join('')
  const key = `ghp_${letters.slice(0, 36)}`
  const body = `{"user":"app","note":"${escaped(key)}","client_secret":"${escaped(letters)}","sign":"\\u003d\\u0022"}`
  const masked = Buffer.from(new SecretMask().bytes(Buffer.from(body))).toString()
  expect(masked).toHaveLength(body.length)
  const read = JSON.parse(masked) as Record<string, string>
  expect(read['note']).toMatch(/^ghp_retake-hidden/)
  expect(read['client_secret']).toMatch(/^retake-hidden/)
  expect(read['sign']).toBe('="')
  expect(Buffer.from(new SecretMask().bytes(Buffer.from(masked))).toString()).toBe(masked)
  const known = new SecretMask()
  known.add('SERVICE_CODE', 'silver window')
  expect(known.text(`"${escaped('a silver window!')}"`)).not.toContain(escaped('silver'))
  expect(new SecretMask().text(`"${escaped('a red lamp')}"`)).toBe(`"${escaped('a red lamp')}"`)
})

test('a random value of Redis is hidden, and UUIDs, digests and JSON are not', () => {
  const answer = (value: string): string => `$${value.length}\r\n${value}\r\n`
  const masked = chunksOf(new SecretMask(), [answer(letters)]).join('')
  expect(masked).toHaveLength(answer(letters).length)
  expect(masked).not.toContain(letters.slice(0, 8))
  for (const value of [
    hex,
    '3f2504e0-4f89-41d3-9a0c-0305e82c3301',
    '{"total":216,"items":["aB3dE6gH9jK2"]}',
  ])
    expect(chunksOf(new SecretMask(), [answer(value)]).join('')).toBe(answer(value))
})

test('an answer in JSON that ends with its piece hides nothing of what the next pieces show', () => {
  const mask = new SecretMask()
  const [whole, open = '', rest = ''] = chunksOf(mask, [
    '{"status":"ok","completion_tokens":1}',
    `{"api_key":"sk-ant-api03-${letters.slice(0, 20)}`,
    `${letters.slice(20)}"}`,
  ])
  expect(whole).toBe('{"status":"ok","completion_tokens":1}')
  expect(open + rest).not.toContain(letters.slice(12))
  expect((open + rest).length).toBe(`{"api_key":"sk-ant-api03-${letters}"}`.length)
})

test('events after a piece of JSON are read as one text of the model', () => {
  const key = `ghp_${letters.slice(0, 36)}`
  const events = deltas([key.slice(0, 20), key.slice(20)])
  const [, ...written] = chunksOf(new SecretMask(), ['{"ready":true}', '\n', ...events])
  expect(said(written.slice(1))).not.toContain(letters.slice(16, 36))
})
