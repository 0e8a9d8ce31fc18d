import fc from 'fast-check'
import { expect, test } from 'vitest'
import { containsSecret, maskedEnvironment, placeholderFor, SecretMask } from './secrets.js'

const name = 'MODEL_API_KEY'
const letters = fc.stringMatching(/^[a-zA-Z0-9]{8,40}$/)
const secrets = fc.oneof(
  letters,
  letters.map((text) => `sk-${text}`),
  letters.map((text) => `postgres://user:${text}@db.example:5432/main`),
  letters.map((text) => `https://hooks.example/services/${text}`),
  letters.map((text) => JSON.stringify({ type: 'account', private_key: `${text}\n` }, null, 2)),
  letters.map((text) =>
    [
      '-----BEGIN PRIVATE',
      ` KEY-----\n${text}xxxxxxxxxxxxxxxx\n`,
      '-----END PRIVATE KEY-----',
    ].join(''),
  ),
  fc.string({ minLength: 8, unit: 'grapheme' }),
)

test('a placeholder has the length of the secret, hides it, and is stable', () => {
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

test('masking does not change the number of bytes', () => {
  const mask = new SecretMask()
  mask.add(name, value)
  const text = `b\r\nkey=${value};${value}\r\n`
  const masked = Buffer.from(mask.bytes(Buffer.from(text)))
  expect(masked.length).toBe(text.length)
  expect(masked.toString()).toBe(mask.text(text))
  expect(masked.toString()).not.toContain(value)
})

test('an address with a password is hidden whatever the name of its variable', () => {
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

test('messages repeated to a new server contain the real secrets, unlike the tape', () => {
  const mask = new SecretMask()
  mask.addEnvironment({ SERVICE_TOKEN: value, OTHER_KEY: `$&${value}` })
  mask.hide('cookie-of-nobody')
  const line = JSON.stringify({ params: { token: value, key: `$&${value}` } })
  expect(mask.text(line)).not.toContain(value)
  expect(mask.reveal(mask.text(line))).toBe(line)
  expect(mask.reveal('x'.repeat(16))).toBe('x'.repeat(16))
  // Has the length of the first one, so it is cut to the same placeholder.
  mask.add('SERVICE_TOKEN_OF_ANOTHER', 'another-notasecret-x')
  expect(mask.text('another-notasecret-x')).toBe(mask.text(value))
  expect(mask.reveal(mask.text(value))).toBe(mask.text(value))
})

const random = 'aB3dE6gH9jK2mN5pQ8sT1vW4xY7zC0fR3uI6oL9'
const privateKey = [
  '-----BEGIN PRIVATE',
  ' KEY-----\n',
  random,
  '\n-----END PRIVATE',
  ' KEY-----',
].join('')

test.each([
  ['DB_PASS', 'tr0ub4dor'],
  ['STRIPE_SK', 'whatever-it-is'],
  ['JWT', 'header.claims.signature'],
  ['AUTH', 'user:pw1'],
  ['COMPANY_PIN', '1234'],
  ['MYSQL_PWD', 'hunter2'],
  ['SENTRY_DSN', 'https://abc@o1.ingest.example/1'],
  ['SERVICE_ACCOUNT', privateKey],
  ['CONFIG', `{"db":"postgres://me:${random}@db.example/x"}`],
  ['SOMETHING', `sk-${random}`],
  ['SOMETHING', random],
  ['SOMETHING', '0123456789abcdef'.repeat(4)],
])('%s with such a value is a secret', (variable, secret) => {
  expect(containsSecret(variable, secret)).toBe(true)
  expect(maskedEnvironment({ [variable]: secret })[variable]).not.toContain(secret)
})

test.each([
  ['PATH', '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin'],
  ['HOME', '/home/someone'],
  ['PWD', '/home/someone/A1b2C3d4E5f6G7h8I9j0/project'],
  ['OLDPWD', '/home/someone'],
  ['LANG', 'en_US.UTF-8'],
  ['NODE_ENV', 'production'],
  ['KEYBOARD', 'german'],
  ['XKB_KEYMAP', 'us'],
  ['SSH_AUTH_SOCK', '/tmp/ssh-XXXXabcd1234/agent.1234'],
  ['XAUTHORITY', '/run/user/1000/.Xauthority'],
  ['AUTH_MODE', 'oauth'],
  ['AUTH', 'disabled'],
  ['MODEL', 'meta-llama/Llama-3.3-70B-Instruct-Turbo'],
  ['GITHUB_SHA', '0123456789abcdef0123456789abcdef01234567'],
  ['RUN_UUID', '3f2504e0-4f89-41d3-9a0c-0305e82c3301'],
  ['HOSTNAME', 'app-7d9f8b6c5d-x2x9z.eu-west-1.compute.internal'],
  ['TERM', 'xterm-256color'],
  ['AUTHOR', 'someone'],
  ['SPINNER', 'dots'],
  ['BASE_URL', 'http://127.0.0.1:8080/v1'],
])('%s=%s is not a secret', (variable, harmless) => {
  expect(containsSecret(variable, harmless)).toBe(false)
})

test('a key is masked by its shape wherever it comes from, in text and in bytes', () => {
  const mask = new SecretMask()
  const text = `my key is sk-${random}, and ÿ`
  const bytes = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text)])
  expect(mask.text(text)).not.toContain(random)
  const masked = Buffer.from(mask.bytes(bytes))
  expect(masked.includes(random)).toBe(false)
  expect(masked.length).toBe(bytes.length)
  expect(masked.subarray(0, 2)).toEqual(bytes.subarray(0, 2))
})

test('a named secret keeps its placeholder', () => {
  const mask = new SecretMask()
  mask.add(name, `sk-${random}`)
  expect(mask.text(`use sk-${random} now`)).toContain(`sk-retake-hidden-${name}`)
})

test('a variable that says where a secret is, or how long, is not hidden', () => {
  const env = {
    PASSWORD_FILE: '/var/shop/login',
    PASSWORD_MIN_LENGTH: '12',
    TOKEN_URL: 'https://login.example/oauth',
    SHOP_SORT_KEY: 'price_ascending',
  }
  expect(maskedEnvironment(env)).toEqual(env)
  const secret = maskedEnvironment({
    TOKEN_URL: `https://me:${value}@login.example/oauth`,
    ORDERS_WEBHOOK_URL: `https://hooks.example/${value}`,
  })
  expect(JSON.stringify(secret)).not.toContain(value)
})

test('a password that is not ASCII is hidden in bytes without changing their length', () => {
  const mask = new SecretMask()
  const body = Buffer.from(JSON.stringify({ name: 'Jörg', password: 'größe-1182-für-alle' }))
  const masked = mask.bytes(body)
  expect(masked).toHaveLength(body.length)
  expect(Buffer.from(masked).toString()).toMatch(
    /^\{"name":"Jörg","password":"retake-hidden[^"]*"\}$/,
  )
})
