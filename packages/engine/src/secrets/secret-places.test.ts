import { expect, test } from 'vitest'
import { isSecretFile, secretsOfFile } from './secret-files.js'
import { SecretMask } from './secrets.js'
import { secretParameters } from './sql-parameters.js'

/** Made up at run time, so that no scanner finds a secret in this file. */
const generated = 'kR7mQ2xV9pLw'.concat('4tZ8')
const weak = ['sun', 'shine'].join('')
const short = ['hun', 'ter2'].join('')
const chosen = ['ribbon', 'velvet', '58'].join('')

// ── files ───────────────────────────────────────────────────────────────────

const base64 = (text: string): string => Buffer.from(text).toString('base64')
test.each([
  ['.env', `PORT=3000\nMAILER=${generated}\n`, generated],
  ['.env.local', `export SERVICE_CODE="${generated.slice(0, 12)}"\n`, generated.slice(0, 12)],
  ['.env', `MAILER=${chosen}\n`, chosen],
  ['.env', `DB_PASSWORD=${short} # local\n`, short],
  ['.env', `COMPANY_PIN='4711'\n`, '4711'],
  ['.netrc', `machine api.example.com login ann password ${weak}\n`, weak],
  ['.netrc', `machine api.example.com\n  login ann\n  password ${short}\n`, short],
  ['.pgpass', `db.example:5432:shop:ann:${weak}\n`, weak],
  ['.npmrc', `registry=https://r.example\n//r.example/:_authToken=${generated}\n`, generated],
  ['.npmrc', `_auth=${base64(`ann:${weak}`)}\n`, base64(`ann:${weak}`)],
  ['.npmrc', `//r.example/:_password="${short}"\n`, short],
  ['.my.cnf', `[client]\nuser=ann\npassword=${short}\n`, short],
  ['.git-credentials', `https://ann:${weak}@git.example\n`, weak],
  ['.aws/credentials', `[default]\naws_secret_access_key = ${generated}/x\n`, `${generated}/x`],
  [
    '.docker/config.json',
    `{"auths":{"r.example":{"auth":"${base64(`ann:${weak}`)}"}}}`,
    base64(`ann:${weak}`),
  ],
  ['.kube/config', `users:\n- user:\n    token: ${generated}\n`, generated],
  ['.pypirc', `[pypi]\nusername = ann\npassword = ${weak}\n`, weak],
  ['.htpasswd', `ann:$apr1$${generated}\n`, `$apr1$${generated}`],
  ['.vault-token', `${generated}\n`, generated],
  ['.cargo/credentials.toml', `[registry]\ntoken = "${generated}"\n`, generated],
  [
    'service-account.json',
    `{"client_email":"a@b","private_key_id":"${generated}","client_secret":"${weak}"}`,
    weak,
  ],
])('the secrets of %s are hidden in its content, and wherever they occur', (file, text, secret) => {
  const mask = new SecretMask()
  mask.learnFile(`/home/ann/${file}`, text)
  const masked = mask.text(text)
  expect(masked).not.toContain(secret)
  expect(masked).toHaveLength(text.length)
  expect(mask.text(masked)).toBe(masked)
  expect(mask.text(`it is ${secret} now`).includes(secret)).toBe(secret.length < 8)
})

test('settings of a .env file are not secrets', () => {
  const text = `PORT=3000
NODE_ENV=production
DEBUG=app:*
LOG_LEVEL=info
REGION=eu-central-1
MODEL=gpt-4o-mini-2024-07-18
HOST=app-7d9f8b6c5d-x2x9z.internal.example
DATABASE_HOST=db1.example.com
PUBLIC_URL=https://shop.example.com/a1b2c3
BUILD_SHA=0a1b2c3d4e5f60718293a4b5c6d7e8f901234567
RUN_ID=3f2504e0-4f89-41d3-9a0c-0305e82c3301
IMAGE=postgres:16.2-alpine3.19
TZ=Europe/Berlin
STARTED=2026-11-18T19:22:23Z
NEXT_PUBLIC_CODE=abc123DEF456ghi
TIMEOUT=30s
EMAIL=ann.lee@example.com
MAX_TOKENS=4096
FEATURES=search,chat,export2pdf
VERSION=v20.11.0
DB_NAME=productionshop24
PROJECT=yellowlanterns24
UPSTREAM=lanternserver01
DISTRIBUTION=elasticsearch812
LAUNCH=summer2026
`
  expect(secretsOfFile('.env', text)).toEqual([])
  const mask = new SecretMask()
  mask.learnFile('.env', text)
  expect(mask.text(text)).toBe(text)
})

test('other files are not read', () => {
  for (const file of ['config.json', 'package.json', 'src/env.ts', 'credentials.md', 'config'])
    expect(isSecretFile(file), file).toBe(false)
})

// ── arguments ───────────────────────────────────────────────────────────────

test.each([
  ['deploy', ['--password', weak], weak],
  ['deploy', ['--api-key', generated], generated],
  ['deploy', [`--token=${weak}`], weak],
  ['deploy', ['--db-pass', short], short],
  ['deploy', [`DB_PASSWORD=${short}`], short],
  ['/usr/bin/curl', ['-u', `ann:${short}`, 'https://x.example'], short],
  ['curl', [`-uann:${short}`], short],
  ['curl', ['--user', `ann:${weak}`], weak],
  ['curl', [`--user=ann:${weak}`], weak],
  ['mysql', ['-uroot', `-p${short}`, 'shop'], short],
  ['sshpass', ['-p', short, 'ssh', 'host'], short],
  ['redis-cli', ['-a', short], short],
  ['openssl', ['enc', '-pass', `pass:${short}`], short],
  ['smbclient', ['-U', `ann%${short}`], short],
  ['sh', ['-c', `mysql -uroot -p${short} shop`], short],
  ['bash', ['-c', `cd x && curl -s -u 'ann:${short}' https://x.example | jq .`], short],
  ['sh', ['-c', `FOO=1 deploy --password "${weak}" --yes`], weak],
])('%s %j: the secret is hidden, and the rest stays', (program, args, secret) => {
  const mask = new SecretMask()
  const masked = mask.arguments(args, program)
  expect(masked.join(' ')).not.toContain(secret)
  expect(masked.join(' ')).toHaveLength(args.join(' ').length)
  expect(mask.arguments(masked, program)).toEqual(masked)
})

test.each([
  ['mysql', ['-P', '3306', '-h', 'db', '--protocol=tcp']],
  ['mkdir', ['-p', 'some/folder']],
  ['docker', ['run', '-p', '8080:80', 'nginx']],
  ['git', ['commit', '-m', 'Change the password field']],
  ['curl', ['-u', 'ann', '-X', 'POST', '-a', 'https://x.example:8080/y']],
  ['node', ['agent.mjs', '--max-tokens', '4096', '--no-password', '--password-stdin', 'x']],
  ['tool', ['--token', '--verbose', '--password-file', 'pw.txt']],
  ['sh', ['-c', 'ls -p | grep -a word']],
])('%s %j has no secret', (program, args) => {
  expect(new SecretMask().arguments(args, program)).toEqual(args)
})

// ── statements ──────────────────────────────────────────────────────────────

test.each<[string, unknown, string]>([
  ['insert into users (name, password) values ($1, $2)', ['ann', weak], weak],
  [
    'INSERT INTO "users"("name","api_key") VALUES (?, ?), (?, ?)',
    ['a', 'b', 'c', generated],
    generated,
  ],
  ['update users set api_key = ?, name = ? where id = ?', [generated, 'ann', 7], generated],
  [
    'update users set password = crypt($2, gen_salt($3)) where name = $1',
    ['ann', short, 'bf'],
    short,
  ],
  ['select id from users where name = $1 and token = $2', ['ann', weak], weak],
  ['insert into t values (:id, :password)', { id: 'one', password: short }, short],
  ['update t set note = @note, x = @token', [{ note: 'n', token: weak }], weak],
  ['update t set a = ?1, secret = ?2', ['one', weak], weak],
  ['insert into u (pw_hash, password) select ?, ?', ['one', weak], 'none'],
])('%s: what is bound to the secret is hidden', (sql, values, secret) => {
  const masked = JSON.stringify(new SecretMask().parameters(sql, values))
  expect(masked).not.toContain(secret)
  expect(masked).toHaveLength(JSON.stringify(values).length)
})

test('what is bound to other columns stays', () => {
  const mask = new SecretMask()
  const values = ['ann', 'a note about passwords', 7, null]
  const sql = 'insert into notes (name, note, size, token_count) values ($1, $2, $3, $4)'
  expect(mask.parameters(sql, values)).toBe(values)
  expect(secretParameters('select * from t where a = $1').size).toBe(0)
  const mixed = mask.parameters('update u set password = $2, name = $1', ['ann', weak])
  expect(mixed).toEqual(['ann', expect.stringContaining('retake')])
})
