import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hasKeyShape, KEY_PREFIXES, keyShapes, maskKeys } from './key-shapes.js'
import { redactText } from './redact-text.js'

/** Made up at run time, so that no scanner finds a key in this file. */
const letters = (count: number): string => 'aB3dE6gH9'.repeat(20).slice(0, count)
const upper = (count: number): string => 'AB3DE6GH9'.repeat(20).slice(0, count)
const claims = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const pem = (lineBreak: string): string =>
  [
    '-----BEGIN RSA PRIVATE',
    ' KEY-----',
    lineBreak,
    letters(64),
    lineBreak,
    letters(30),
    '==',
    lineBreak,
    '-----END RSA PRIVATE',
    ' KEY-----',
  ].join('')

const KEYS: readonly (readonly [string, string])[] = [
  ['OpenAI', `sk-${letters(48)}`],
  ['OpenAI project', `sk-proj-${letters(20)}_${letters(20)}-${letters(20)}`],
  ['Anthropic', `sk-ant-api03-${letters(60)}`],
  ['Stripe', `sk_live_${letters(24)}`],
  ['GitHub', `ghp_${letters(36)}`],
  ['GitHub fine-grained', `github_pat_${letters(22)}_${letters(40)}`],
  ['GitLab', `glpat-${letters(20)}`],
  ['Slack', ['xoxb', '12345678901', letters(24)].join('-')],
  ['AWS', `AKIA${upper(16)}`],
  ['Google', `AIza${letters(35)}`],
  ['Google access token', `ya29.${letters(60)}`],
  ['Hugging Face', `hf_${letters(34)}`],
  ['URL with a password', `postgres://app:${letters(12)}@db.example:5432/main`],
  ['JWT', `${claims({ alg: 'HS256' })}.${claims({ sub: 'someone' })}.${letters(43)}`],
  ['private key', pem('\n')],
  ['private key in JSON', pem(String.raw`\n`)],
]

test.each(KEYS)('a key of %s is hidden, at the same length, at any position', (_, key) => {
  for (const text of [key, `the key is ${key}.`, `{"key":"${key}","n":1}`, `KEY=${key}\nA=1`]) {
    const masked = maskKeys(text)
    expect(masked).not.toContain(key)
    expect(masked.length).toBe(text.length)
    expect(maskKeys(masked)).toBe(masked)
    expect(hasKeyShape(text)).toBe(true)
  }
})

test('the claims of a JWT can still be read, its signature cannot', () => {
  const head = `${claims({ alg: 'HS256' })}.${claims({ sub: 'someone', exp: 1 })}.`
  const signature = letters(43)
  const masked = maskKeys(`Bearer ${head}${signature}`)
  expect(masked).toContain(head)
  expect(masked).not.toContain(signature.slice(0, 12))
})

test('a private key inside JSON leaves JSON', () => {
  const json = JSON.stringify({ private_key: pem('\n'), id: 'a' })
  expect(JSON.parse(maskKeys(json))).toMatchObject({ id: 'a' })
  expect(JSON.parse(maskKeys(json)).private_key).toContain('\nxxx')
})

test.each([
  ['a digest', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
  ['a git hash', '0123456789abcdef0123456789abcdef01234567'],
  ['a UUID', '3f2504e0-4f89-41d3-9a0c-0305e82c3301'],
  ['a message id', 'chatcmpl-Abc123def456ghi789jkl012mno345'],
  ['a tool call id', 'toolu_01A09q90qw90lq917835lq9'],
  ['a response id', 'resp_67ccd2bed1ec8190b14f964abc0542670bb6a6b452d3795b'],
  ['a class name', 'sk-loading-spinner-container-large-2'],
  ['words', 'risk-adjusted task-2024-11-16-report-of-the-week disk-usage'],
  ['an npm variable', 'npm_config_user_agent npm_package_dependencies_something_long'],
  ['a certificate', '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----'],
  ['an address', 'http://localhost:3000/users/@me?at=12:30@home'],
  ['an image', `data:image/png;base64,${Buffer.from(letters(3000)).toString('base64')}`],
])('%s is left alone', (_, text) => {
  expect(maskKeys(text)).toBe(text)
})

test('masking keeps lengths and is idempotent, for any text around a key', () => {
  fc.assert(
    fc.property(fc.string(), fc.constantFrom(...KEYS), fc.string(), (before, [, key], after) => {
      const text = before + key + after
      const masked = maskKeys(text)
      expect(masked.length).toBe(text.length)
      expect(maskKeys(masked)).toBe(masked)
    }),
  )
})

test('the fast search finds what one expression for all shapes finds', () => {
  const pieces = KEYS.flatMap(([, key]) => [key, key.slice(0, -1), key.slice(3), key.slice(0, 12)])
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.constantFrom(...pieces), fc.string())), (texts) => {
      const text = texts.join('')
      const masked = maskKeys(text)
      for (const { 0: found, index } of text.matchAll(keyShapes()))
        expect(masked.slice(index, index + found.length)).not.toBe(found)
      expect(masked !== text && !hasKeyShape(text)).toBe(false)
    }),
  )
})

test.each(KEY_PREFIXES)('a key with the prefix %s is hidden, also in base64', (prefix) => {
  const length = { AKIA: 16, ASIA: 16, AIza: 35 }[prefix] ?? 40
  const secret = prefix.endsWith('IA') ? upper(length) : letters(length)
  expect(maskKeys(`key ${prefix}${secret} end`)).not.toContain(secret)
  for (const before of ['', ' ', '  ']) {
    const base64 = Buffer.from(`${before}${prefix}${secret}`).toString('base64')
    expect(Buffer.from(redactText(base64), 'base64').toString()).not.toContain(secret)
  }
})
