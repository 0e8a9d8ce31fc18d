import fc from 'fast-check'
import { expect, test } from 'vitest'
import { maskedEnvironment, placeholderFor, SecretMask } from './secrets.js'

const name = 'MODEL_API_KEY'
const letters = fc.stringMatching(/^[a-zA-Z0-9]{8,40}$/)
const secrets = fc.oneof(
  letters,
  letters.map((text) => `sk-${text}`),
  letters.map((text) => `postgres://user:${text}@db.example:5432/main`),
  letters.map((text) => `https://hooks.example/services/${text}`),
  letters.map((text) => JSON.stringify({ type: 'account', private_key: `${text}\n` }, null, 2)),
  fc.string({ minLength: 8, unit: 'grapheme' }),
)

test('a placeholder is as long as the secret, hides it, and stays as it is', () => {
  fc.assert(
    fc.property(secrets, (secret) => {
      const placeholder = placeholderFor(name, secret)
      expect(Buffer.byteLength(placeholder)).toBe(Buffer.byteLength(secret))
      expect(placeholderFor(name, placeholder)).toBe(placeholder)
    }),
  )
})

const value = 'notasecret'.repeat(2)
test.each([
  [value, 'retake-hidden-MODEL_'],
  [`sk-${value}`, 'sk-retake-hidden-MODEL_'],
  [`db://user:${value}@db.example/x`, 'db://user:retake-hidden-MODEL_@db.example/x'],
  [`https://hooks.example/${value}`, 'https://hooks.example/retake-hidden-MODEL_'],
  [`https://müller.example/${value}`, 'https://müller.example/retake-hidden-MODEL_'],
  [`{"id": "a", "key": "${value}"}`, '{"id": "a", "key": "retake-hidden-MODEL_"}'],
])('%s keeps its shape', (secret, placeholder) => {
  expect(placeholderFor(name, secret)).toBe(placeholder)
})

test('masked bytes are as many as before', () => {
  const mask = new SecretMask()
  mask.add(name, value)
  const text = `b\r\nkey=${value};${value}\r\n`
  const masked = Buffer.from(mask.bytes(Buffer.from(text)))
  expect(masked.length).toBe(text.length)
  expect(masked.toString()).toBe(mask.text(text))
  expect(masked.toString()).not.toContain(value)
})

test('an address with a password is hidden whatever its variable is called', () => {
  const env = { HTTPS_PROXY: `http://me:${value}@proxy.example:8080`, HOME: '/home/me' }
  const masked = maskedEnvironment(env)
  expect(masked).toEqual({
    HTTPS_PROXY: 'http://me:retake-hidden-HTTPS_@proxy.example:8080',
    HOME: '/home/me',
  })
  const mask = new SecretMask()
  mask.addEnvironment(env)
  expect(mask.text(`via ${env.HTTPS_PROXY}: ${value}`)).not.toContain(value)
})

test('what is said again to a new server has the secrets in it that the tape has not', () => {
  const mask = new SecretMask()
  mask.addEnvironment({ SERVICE_TOKEN: value, OTHER_KEY: `$&${value}` })
  mask.hide('cookie-of-nobody')
  const line = JSON.stringify({ params: { token: value, key: `$&${value}` } })
  expect(mask.text(line)).not.toContain(value)
  expect(mask.reveal(mask.text(line))).toBe(line)
  expect(mask.reveal('x'.repeat(16))).toBe('x'.repeat(16))
  // As long as the first one, and so cut to the same placeholder.
  mask.add('SERVICE_TOKEN_OF_ANOTHER', 'another-notasecret-x')
  expect(mask.text('another-notasecret-x')).toBe(mask.text(value))
  expect(mask.reveal(mask.text(value))).toBe(mask.text(value))
})
