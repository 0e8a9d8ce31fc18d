import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { namedSecrets, strengthOf } from './named-secrets.js'
import { redactText } from './redact-text.js'

test('names that were judged do not keep the bodies that they are from in memory', () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  const before = process.memoryUsage().heapUsed
  for (let at = 0; at < 60; at++) {
    const filler = Buffer.alloc(1 << 20, `abc ${at} `).toString('latin1')
    const value = `aB3${at}dE6gH9jK2mN5pQ8sT1vW4`
    const body = `{"api_key_of_customer_${at}":"${value}","text":"${filler}"}`
    const start = body.indexOf('api')
    strengthOf(body.slice(start, body.indexOf('"', start)))
    redactText(body)
  }
  collect()
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(20e6)
})

const password = ['planted', 'K4', 'lamp', '7q'].join('')
const key = '0f3a9c81'.repeat(4)

test.each([
  [`define( 'DB_PASSWORD', '${password}' );`, password],
  [`define("DB_PASSWORD", "planted-words-only");`, 'planted-words-only'],
  [`| api key | ${key} |`, key],
  [`La mia password è ${password}.`, password],
  [`Mein Passwort lautet ${password}, danke.`, password],
])('the secret in %s is found', (text, secret) => {
  expect(namedSecrets(text).map(({ start, end }) => text.slice(start, end))).toEqual([secret])
})

test.each([
  "define('password', readPassword())",
  "assert('password', 'planted-words-only')",
  '| password | required |',
  'La password è obbligatoria.',
])('nothing is found in %s', (text) => {
  expect(namedSecrets(text)).toEqual([])
})

test('a name is found anywhere in a long text, after letters that are not English', () => {
  for (const before of ['', 'a', 'ab', 'abc', 'ü', 'パ'.repeat(5)]) {
    const text = `${before.padEnd(80_000, ' lamp')} {"password": "${password}"}`
    expect(namedSecrets(text).map(({ start, end }) => text.slice(start, end))).toEqual([password])
  }
})

test.each(['signature', 'thoughtSignature', 'thought_signature'])(
  'the %s of a reasoning is not hidden: the model wants it back unchanged',
  (name) => {
    const answer = JSON.stringify({ type: 'thinking', [name]: 'Eq3b'.repeat(20) + '==' })
    expect(redactText(answer)).toBe(answer)
  },
)

test('the code of an error is not hidden, also beside words of OAuth', () => {
  const error = '{"code":"ERR_HTTP2_STREAM_ERROR","stack":"at oauth.callback (client_id)"}'
  expect(redactText(error)).toBe(error)
})
