import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { folderWith } from './workspace.js'

/** Made up at run time, so that no scanner finds a secret in this file. */
const secret = (seed: string): string => `${seed}aB3dE6gH9jK2mN5pQ8s`
const TOKEN = secret('one')
const OTHER = secret('two')
const FROM_FILE = secret('six')

/** Answers with the token of the request: whole, cut in two, as a model streams it, and compressed. */
async function startEcho(): Promise<string> {
  const server = createServer((request, response) => {
    const { searchParams, pathname } = new URL(request.url ?? '', 'http://x')
    const text = JSON.stringify({ token: request.headers['x-note'], at: searchParams.get('at') })
    request.resume().on('end', () => {
      if (pathname === '/cut') {
        response.write(text.slice(0, 20))
        setTimeout(() => response.end(text.slice(20)), 20)
      } else if (pathname === '/stream') {
        response.setHeader('content-type', 'text/event-stream')
        for (const content of String(request.headers['x-note']).match(/.{1,4}/g) ?? [])
          response.write(`data: ${JSON.stringify({ delta: { content } })}\n\n`)
        response.end()
      } else if (pathname === '/gzip') {
        response.setHeader('content-encoding', 'gzip')
        response.end(gzipSync(text))
      } else if (pathname === '/header')
        response.setHeader('x-echo', String(request.headers['x-note'])).end('fine')
      else if (pathname === '/base64') response.end(Buffer.from(text).toString('base64'))
      else response.end(text)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Prints whether the answers have the same token as its environment and its file. */
const agent = `
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import { tool } from ${JSON.stringify(import.meta.resolve('retake'))}
const [, inFile] = /FILE_TOKEN=(.*)/.exec(readFileSync('.env', 'utf8'))
const ask = (path, token) => fetch(process.argv[2] + path, { headers: { 'x-note': token } })
const withHttp = (token) => new Promise((resolve) =>
  http.get(process.argv[2] + '/whole', { headers: { 'x-note': token } }, async (response) => {
    let text = ''
    for await (const chunk of response) text += chunk
    resolve(text)
  }))
const same = tool('same', async ({ of }) => ({ token: of === 'file' ? inFile : process.env.MY_TOKEN }))
for (const [name, token] of [['env', process.env.MY_TOKEN], ['file', inFile]]) {
  const parts = [
    (await (await ask('/whole', token)).json()).token === token,
    (await (await ask('/cut', token)).json()).token === token,
    (await (await ask('/gzip', token)).json()).token === token,
    (await ask('/header', token)).headers.get('x-echo') === token,
    JSON.parse(Buffer.from(await (await ask('/base64', token)).text(), 'base64')).token === token,
    [...(await (await ask('/stream', token)).text()).matchAll(/"content":"(.*?)"/g)].map(([, each]) => each).join('') === token,
    JSON.parse(await withHttp(token)).token === token,
    execFileSync('echo', [token]).toString().trim() === token,
    (await same({ of: name })).token === token,
  ]
  console.log(name, parts.join(' '))
}
console.log(await (await fetch(process.argv[2] + '/whole?at=' + (process.argv[3] ?? 'end'))).text())
`
const expected = ['env', 'file'].map((name) => `${name}${' true'.repeat(9)}\n`).join('')

async function recorded() {
  const url = await startEcho()
  const workspace = await folderWith({
    'agent.mjs': agent,
    '.env': `FILE_TOKEN=${FROM_FILE}\n`,
    'package.json': '{"type":"module"}',
  })
  const run = await workspace.retake(['record', 'agent.mjs', url], { env: { MY_TOKEN: TOKEN } })
  expect(run.code, run.stderr).toBe(0)
  expect(run.stdout).toContain(expected)
  return workspace
}

test('an answer has the same secret as the environment and the file: in a replay with them, with others, and without them', async () => {
  const { retake, folder } = await recorded()
  for (const env of [{ MY_TOKEN: TOKEN }, { MY_TOKEN: OTHER }, {}]) {
    const replayed = await retake(['replay', 'last'], { env })
    expect(replayed.code, replayed.stderr).toBe(0)
    expect(replayed.stdout).toContain(expected)
  }
  await writeFile(join(folder, '.env'), `FILE_TOKEN=${secret('ten')}\n`)
  const replayed = await retake(['replay', 'last'], { env: { MY_TOKEN: TOKEN } })
  expect(replayed.code, replayed.stderr).toBe(0)
  expect(replayed.stdout).toContain(expected)
})

test('the same in a fork and a rerun, where the program gets its own secret', async () => {
  const { retake } = await recorded()
  for (const env of [{ MY_TOKEN: TOKEN }, { MY_TOKEN: OTHER }, {}])
    for (const args of [
      ['fork', 'last', '--at', '19', '--tail', 'offline'],
      ['rerun', 'last'],
    ]) {
      const branch = await retake(args, { env })
      expect(
        branch.stdout,
        `${args.join(' ')} ${Object.values(env).join()} ${branch.stderr}`,
      ).toContain('env true true true true true true true')
    }
})
