import { generateKeyPairSync } from 'node:crypto'
import { createServer } from 'node:http'
import { once } from 'node:events'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { openTape } from '@retake/tape/node'
import { blocksOf } from '../support/report-blocks.js'
import { folderWith, tapesOf } from './workspace.js'
import { soakOnly } from '../support/soak.js'

/** Made up at run time, so that no scanner finds a key in this file. */
const letters = 'aB3dE6gH9jK2mN5pQ8sT1vW4xY7zC0fR3uI6oL9e'

/** Answers every request with what it was sent. */
async function startEcho(): Promise<{ url: string; close: () => void }> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => response.end(Buffer.concat(chunks)))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = (): void => {
    server.close()
    server.closeAllConnections()
  }
  onTestFinished(close)
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close }
}

/** Everything that can be read from a tape: records, bodies put together, details. */
function everythingOn(file: string): string {
  const tape = openTape(file)
  const parts = [JSON.stringify(tape.details)]
  for (const event of tape.events())
    parts.push(JSON.stringify(event), Buffer.from(tape.body(event.seq)).toString('latin1'))
  return parts.join('\n')
}

test('a key in the code is masked in prompts, answers, files, output, source lines, states, reports and exports', async () => {
  const echo = await startEcho()
  const key = `sk-${letters}`
  const workspace = await folderWith({
    'package.json': '{}',
    'notes.txt': `the old key was ghp_${letters}\n`,
    'agent.mjs': `
import { readFileSync, writeFileSync } from 'node:fs'
const key = '${key}'
const response = await fetch(process.argv[2], { method: 'POST', body: JSON.stringify({ prompt: 'use ' + key }) })
console.log(await response.text(), readFileSync('notes.txt', 'utf8'))
writeFileSync('out.txt', key)
if (key.length !== ${key.length}) throw new Error(key)
`,
  })
  const { retake, folder } = workspace
  const recorded = await retake(['record', 'agent.mjs', echo.url])
  expect(recorded.code, recorded.stderr).toBe(0)
  expect(recorded.stdout).toContain(key)
  expect(await readFile(join(folder, 'out.txt'), 'utf8')).toBe(key)
  const [tape = ''] = await tapesOf(workspace)
  expect(everythingOn(tape)).not.toContain(letters)

  echo.close()
  const replayed = await retake(['replay', 'last'])
  expect(replayed.code, replayed.stderr).toBe(0)

  expect((await retake(['debug', 'snapshot', 'last'])).stdout).toMatch(/^1 state of 1 step/)
  const report = await retake(['report', 'last', '-o', 'report.html'])
  expect(report.code, report.stderr).toBe(0)
  const blocks = blocksOf(join(folder, 'report.html'))
  expect(String(blocks.get('retake-parts'))).toContain("const key = 'sk-")
  for (const [id, block] of blocks) expect(block.includes(letters), id).toBe(false)
  for (const args of [
    ['show', 'last'],
    ['show', 'last', '--json'],
    ['show', 'last', '--step', '1', '--state', '--json'],
    ['export', 'last', '--jsonl'],
    ['replay', 'last', '--step', '1'],
    ['debug', 'eval', 'last', '--at', 'agent.mjs:5', 'key'],
  ]) {
    const shown = await retake(args)
    expect(shown.code, shown.stderr).toBe(0)
    expect(shown.stdout, args.join(' ')).not.toContain(letters)
  }
})

const shuffled = (by: number): string => letters.slice(by) + letters.slice(0, by)

/** Secrets of which some are only known by their names, others only by their values. */
const planted: Readonly<Record<string, string>> = {
  OPENAI_API_KEY: `sk-${letters}`,
  DB_PASS: 'tr0ub4dor&3',
  STRIPE_SK: `planted-${shuffled(5)}`,
  JWT: `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJwbGFudGVkIn0.${shuffled(7)}`,
  AUTH: 'planted:authentication',
  COMPANY_PIN: '7351',
  DATABASE_URL: 'postgres://app:planted-password@db.example/main',
  SIGNING: ['-----BEGIN PRIVATE', ` KEY-----\n${shuffled(11)}\n`, '-----END PRIVATE KEY-----'].join(
    '',
  ),
  SERVICE: shuffled(17).slice(0, 36),
  GITHUB: `ghp_${shuffled(23).slice(0, 36)}`,
}

test('variables that the program did not read are not on the tape', async () => {
  soakOnly()
  const workspace = await folderWith({
    'agent.mjs': `
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
console.log(execFileSync('node', ['-p', '1 + 1']).toString().trim())
await once(spawn('node', ['-e', '']), 'close')
console.log(process.env.PLAIN, process.env.NOT_SET, 'FLAG' in process.env)
`,
  })
  const { retake } = workspace
  const env = { ...planted, PLAIN: 'plain-value', FLAG: '1', UNREAD: 'unread-value' }
  const recorded = await retake(['record', 'agent.mjs'], { env })
  expect(recorded.code, recorded.stderr).toBe(0)
  const [tape = ''] = await tapesOf(workspace)
  const text = everythingOn(tape)
  expect(text).toContain('plain-value')
  expect(text).not.toContain('unread-value')
  for (const name of Object.keys(planted)) expect(text).not.toContain(name)
  const replayed = await retake(['replay', 'last'], { env: { FLAG: '' } })
  expect(replayed.stdout).toBe(recorded.stdout)
  expect(replayed.code, replayed.stderr).toBe(0)
})

test('no secret can be read on the tape of a program that lists its whole environment', async () => {
  const echo = await startEcho()
  const workspace = await folderWith({
    'agent.mjs': `
const names = ${JSON.stringify(Object.keys(planted))}
const response = await fetch(process.argv[2], { method: 'POST', body: JSON.stringify({ ...process.env }) })
console.log((await response.text()).length, Object.keys(process.env).filter((name) => names.includes(name)))
console.log(names.map((name) => process.env[name].length))
`,
  })
  const { retake } = workspace
  const recorded = await retake(['record', 'agent.mjs', echo.url], { env: planted })
  expect(recorded.code, recorded.stderr).toBe(0)
  const [tape = ''] = await tapesOf(workspace)
  const text = everythingOn(tape)
  // A short one is hidden as the value of its variable only.
  for (const [name, value] of Object.entries(planted))
    expect(text, name).not.toContain(value.length < 8 ? `"value":"${value}"` : value)
  expect(text).not.toContain('planted-password')
  echo.close()
  // A short one was sent in clear, so it must be there; the others need not be.
  for (const env of [planted, { COMPANY_PIN: planted['COMPANY_PIN'] ?? '' }]) {
    const replayed = await retake(['replay', 'last'], { env })
    expect(replayed.code, replayed.stderr).toBe(0)
    expect(replayed.stdout).toBe(recorded.stdout)
  }
})

test('changes that a program makes to its environment are visible to it on replay', async () => {
  soakOnly()
  const { retake } = await folderWith({
    'agent.mjs': `
import { inspect } from 'node:util'
const { env } = process
env.WRITTEN = \`\${env.PLAIN}!\`
delete env.FLAG
Object.assign(env, { NUMBER: 5 })
Object.defineProperty(env, 'DEFINED', { value: 'd', writable: true, enumerable: true, configurable: true })
console.log(env.WRITTEN, env.FLAG, env.NUMBER, env.DEFINED, env.hasOwnProperty('FLAG'), String(env))
console.log('WRITTEN' in env, inspect(env).includes('WRITTEN'), JSON.stringify(env).includes('PLAIN'))
const listed = []
for (const name in env) listed.push(name)
console.log(listed.length === Object.keys(env).length, listed.includes('FLAG'), Object.entries(env).length)
env.TZ = 'Asia/Tokyo'
console.log(new Date(0).getHours(), process.env.TZ)
`,
  })
  const recorded = await retake(['record', 'agent.mjs'], { env: { PLAIN: 'p', FLAG: '1' } })
  expect(recorded.code, recorded.stderr).toBe(0)
  expect(recorded.stdout).toContain('p! undefined 5 d false')
  const replayed = await retake(['replay', 'last'])
  expect(replayed.code, replayed.stderr).toBe(0)
  expect(replayed.stdout).toBe(recorded.stdout)
})

const signer = `
import { createHmac } from 'node:crypto'
const sign = (text) => createHmac('sha256', process.env.HOOK_SECRET).update(text).digest('hex')
for (const text of ['one', 'two']) {
  const response = await fetch(process.argv[2], { method: 'POST', body: text, headers: { 'x-check': sign(text) } })
  console.log(await response.text())
}
`

test('a header signed with a secret of the environment replays with the secret, and is named without it', async () => {
  soakOnly()
  const echo = await startEcho()
  const workspace = await folderWith({ 'agent.mjs': signer })
  const { retake } = workspace
  const env = { HOOK_SECRET: `hook-${letters}` }
  const recorded = await retake(['record', 'agent.mjs', echo.url], { env })
  expect(recorded.code, recorded.stderr).toBe(0)
  const [tape = ''] = await tapesOf(workspace)
  expect(everythingOn(tape)).not.toContain(letters)
  echo.close()
  const replayed = await retake(['replay', 'last', '--json'], { env })
  expect(replayed.code, replayed.stderr).toBe(0)
  for (const other of [{}, { HOOK_SECRET: `hook-other-${letters}` }]) {
    const elsewhere = await retake(['replay', 'last', '--json'], { env: other })
    expect(elsewhere.code).toBe(3)
    expect(elsewhere.stdout).toContain('header x-check')
    expect(elsewhere.stdout).toContain('"placeholders"')
    expect(elsewhere.stdout).toContain('"HOOK_SECRET"')
  }
})

test('a read-only home directory does not break a recording', async () => {
  soakOnly()
  const workspace = await folderWith({ 'agent.mjs': 'console.log(process.env.SOME_TOKEN.length)' })
  const env = { SOME_TOKEN: letters, XDG_STATE_HOME: '/dev/null/nowhere' }
  const recorded = await workspace.retake(['record', 'agent.mjs'], { env })
  expect(recorded.code, recorded.stderr).toBe(0)
  const replayed = await workspace.retake(['replay', 'last', '--trust'], { env })
  expect(replayed.code, replayed.stderr).toBe(0)
})

/** Reads a key from a file in every way that the first argument names, and sends a token signed with it. */
const tokenSigner = `
import { createPrivateKey, sign } from 'node:crypto'
import { createReadStream, openSync, readFileSync, readSync, closeSync } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
const ways = {
  sync: () => readFileSync('signing.pem', 'utf8'),
  later: () => readFile('signing.pem'),
  handle: async () => { const file = await open('signing.pem'); const key = await file.readFile('utf8'); await file.close(); return key },
  stream: async () => { let key = ''; for await (const chunk of createReadStream('signing.pem')) key += chunk; return key },
  number: () => { const fd = openSync('signing.pem'); const bytes = Buffer.alloc(8192); const count = readSync(fd, bytes); closeSync(fd); return bytes.toString('utf8', 0, count) },
}
const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url')
for (const [way, read] of Object.entries(ways)) {
  const key = createPrivateKey(await read())
  const unsigned = part({ alg: 'EdDSA' }) + '.' + part({ sub: way })
  const signature = sign(undefined, Buffer.from(unsigned), key).toString('base64url')
  const headers = { authorization: 'Bearer ' + unsigned + '.' + signature, 'x-check': signature.slice(0, 12) }
  const response = await fetch(process.argv[2], { method: 'POST', body: way, headers })
  console.log(await response.text(), signature.length)
}
`

const newKey = (): string =>
  String(generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }))

test('a token signed with a key from a file replays with the file, and the file is named without it', async () => {
  soakOnly()
  const echo = await startEcho()
  const key = newKey()
  const workspace = await folderWith({ 'agent.mjs': tokenSigner, 'signing.pem': key })
  const { retake, folder } = workspace
  const recorded = await retake(['record', 'agent.mjs', echo.url])
  expect(recorded.code, recorded.stderr).toBe(0)
  const [tape = ''] = await tapesOf(workspace)
  expect(everythingOn(tape)).not.toContain(key.split('\n')[1])
  echo.close()
  const replayed = await retake(['replay', 'last'])
  expect(replayed.code, replayed.stderr).toBe(0)
  expect(replayed.stdout).toBe(recorded.stdout)

  for (const other of [newKey(), undefined]) {
    if (other === undefined) await rm(join(folder, 'signing.pem'))
    else await writeFile(join(folder, 'signing.pem'), other)
    const elsewhere = await retake(['replay', 'last', '--json'])
    expect(elsewhere.code).toBe(3)
    expect(JSON.parse(elsewhere.stdout)).toMatchObject({ placeholders: ['signing.pem'] })
    expect((await retake(['replay', 'last'])).stderr).toContain('signing.pem: a placeholder')
  }
})

const envReader = `
import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
const [, secret] = /HOOK_SECRET=(.*)/.exec(readFileSync('.env', 'utf8'))
const signature = createHmac('sha256', secret).update('text').digest('hex')
const response = await fetch(process.argv[2], { method: 'POST', body: 'text ' + secret, headers: { 'x-check': signature } })
console.log(await response.text())
`

test('a header signed with a secret of a .env file replays with the file, and the file is named without it', async () => {
  soakOnly()
  const echo = await startEcho()
  const secret = `hook-${letters}`
  const file = `PORT=1\nHOOK_SECRET=${secret}\n`
  const workspace = await folderWith({ 'agent.mjs': envReader, '.env': file })
  const { retake, folder } = workspace
  const recorded = await retake(['record', 'agent.mjs', echo.url])
  expect(recorded.code, recorded.stderr).toBe(0)
  const [tape = ''] = await tapesOf(workspace)
  expect(everythingOn(tape)).not.toContain(letters)
  echo.close()
  const replayed = await retake(['replay', 'last'])
  expect(replayed.code, replayed.stderr).toBe(0)
  for (const verb of [
    ['replay', 'last', '--step', '1'],
    ['debug', 'eval', 'last', '--at', 'agent.mjs:5', 'secret'],
  ])
    expect((await retake(verb)).stdout).not.toContain(letters)

  for (const other of [file.replace('hook', 'hoot'), undefined]) {
    if (other === undefined) await rm(join(folder, '.env'))
    else await writeFile(join(folder, '.env'), other)
    const elsewhere = await retake(['replay', 'last', '--json'])
    expect(elsewhere.code).toBe(3)
    expect(JSON.parse(elsewhere.stdout)).toMatchObject({ placeholders: ['.env'] })
    expect((await retake(['replay', 'last'])).stderr).toContain('.env: a placeholder')
  }
})

test('a run that goes live has the current secrets of the file', async () => {
  soakOnly()
  const echo = await startEcho()
  const workspace = await folderWith({
    'agent.mjs': envReader,
    '.env': `HOOK_SECRET=hook-${letters}\n`,
  })
  const { retake, folder } = workspace
  expect((await retake(['record', 'agent.mjs', echo.url])).code).toBe(0)
  await writeFile(join(folder, '.env'), `HOOK_SECRET=hook-${shuffled(3)}\n`)
  await writeFile(join(folder, 'agent.mjs'), envReader.replace("'text '", "'other '"))
  const rerun = await retake(['rerun', 'last'])
  expect(rerun.code, rerun.stderr).toBe(0)
  expect(rerun.stdout).toBe(`other hook-${shuffled(3)}\n`)
  for (const tape of await tapesOf(workspace)) {
    expect(everythingOn(tape)).not.toContain(letters)
    expect(everythingOn(tape)).not.toContain(shuffled(3))
  }
})
