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

test('the folder of a shell is not hidden, but a password of a connection string is', () => {
  const environment = JSON.stringify({ PWD: '/home/ada/shop', OLDPWD: 'C:\\work', HOME: '/' })
  expect(redactText(environment)).toBe(environment)
  expect(redactText('export PWD=/srv/app-7Hq2x')).toBe('export PWD=/srv/app-7Hq2x')
  expect(redactText(`Driver={x};UID=sa;PWD=${chosen};`)).not.toContain(chosen)
})

const chosen = ['velvet', 'harbor', '47'].join('')
const uuid = '3f2504e0-4f89-41d3-9a0c-0305e82c3301'
const code = 'aB3dE6gH9jK2mN5pQ8sT1vW4xY7z'
const phrase = Array.from({ length: 12 }, (_, at) => ['lamp', 'maple', 'cotton'][at % 3]).join(' ')

test.each([
  [`Mot de passe : ${chosen}`, chosen],
  [`Mi contraseña es ${chosen}.`, chosen],
  [`Minha senha é ${chosen}.`, chosen],
  [`La mia password è ${chosen}.`, chosen],
  [`Wachtwoord: ${chosen}`, chosen],
  [`Hasło: ${chosen}`, chosen],
  [`Lösenord: ${chosen}`, chosen],
  [`Şifre: ${chosen}`, chosen],
  [`Mật khẩu: ${chosen}`, chosen],
  [`Пароль: ${chosen}`, chosen],
  [`请登录。密码:${chosen}`, chosen],
  [`密码：\`${chosen}\``, chosen],
  [`パスワードは${chosen}です。`, chosen],
  [`비밀번호: ${chosen}`, chosen],
  [`Mein API-Schlüssel lautet ${uuid}, danke.`, uuid],
  [`APIキーは${key}です。`, key],
  [`访问令牌:${code}`, code],
  [`Phrase secrète : ${phrase}`, phrase],
])('the secret in %s is found, also in bytes and in escapes of JSON', (text, secret) => {
  const escaped = text.replaceAll(
    /[^\0-\x7f]/g,
    (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  for (const form of [text, Buffer.from(text).toString('latin1'), escaped])
    expect(namedSecrets(form).map(({ start, end }) => form.slice(start, end))).toEqual([secret])
})

test.each([
  'Le mot de passe est trop court.',
  'Mot de passe : obligatoire',
  'La contraseña es obligatoria.',
  'A senha é obrigatória.',
  'Пароль: обязательное поле',
  'パスワードは必須です。',
  '密码:必填',
  'Der API-Schlüssel lautet anders.',
  'La contraseña es https://shop.example/reset',
])('nothing is found in %s, in any form', (text) => {
  for (const form of [text, Buffer.from(text).toString('latin1')])
    expect(namedSecrets(form)).toEqual([])
})

test.each([
  [`const PASSWORD = "${chosen}"`, chosen],
  [`db_pass = "${chosen}"`, chosen],
  [`{ user: 'app', password: '${chosen}' }`, chosen],
  [`{"query":"mutation { login(user: \\"app\\", password: \\"${chosen}\\") { id } }"}`, chosen],
  [`The password for the shop is \`${chosen}\`, as before.`, chosen],
  [`Run curl -s -u app:${chosen} https://shop.example/orders`, chosen],
  ['My pin is 4821936070 and I want to see the orders.', '4821936070'],
  [`first line.\\nlicense key: 7QK2M-4ZT8P-1XW9D`, '7QK2M-4ZT8P-1XW9D'],
  [`user=app&code=${code}&remember=1`, code],
])('the secret in %s is found', (text, secret) => {
  expect(namedSecrets(text).map(({ start, end }) => text.slice(start, end))).toEqual([secret])
})

test.each([
  `const password = 'password123'`,
  `password: 'hunter2'`,
  `password = "example2026"`,
  `const passwordHash = 'sha256'`,
  'The pin is 13, and the pin is 4.5 mm long.',
  'curl -u user:password https://shop.example',
  'curl -u $USER:$PASSWORD https://shop.example',
  'order=4821936070&code=EUR',
  'country=DE&code=SUMMER2026SALE&page=2',
])('nothing is found in %s', (text) => {
  expect(namedSecrets(text)).toEqual([])
})

test('a word that was a name of a member is still hidden as a password', () => {
  const word = ['correct', 'horse_battery', 'staple'].join('_')
  const member = `{"${word}":1}`
  expect(redactText(member)).toBe(member)
  expect(redactText(`{"password":"${word}"}`)).not.toContain(word)
})

test('a count of tokens does not hide the secret that follows it', () => {
  const secret = 'aB3dE6gH9'.repeat(3)
  for (const before of ['{"prompt_tokens":1,', '{"tokens":2,"x":1,', 'tokens tokens {'])
    expect(redactText(`${before}"access_token":"${secret}"}`)).not.toContain(secret)
})
