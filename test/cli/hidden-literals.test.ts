import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { blocksOf } from '../support/report-blocks.js'
import { folderWith, tapesOf } from './workspace.js'

/** Of no known shape, and made up at run time, so that no scanner finds them in this file. */
const key = ['melon', 'carpet', 'window', 'orbit', 'lamp'].join('-')
const cookie = ['walnut', 'ribbon', 'harbour'].join('.')
const password = ['Sun', 'shine', 'Day'].join('')

test('a literal that the recorder hid is hidden in source lines, states, output and errors', async () => {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.end('{"choices":[]}'))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const workspace = await folderWith({
    'package.json': '{}',
    'agent.mjs': `
const settings = { one: '${key}', two: '${cookie}', three: "${password}" }
await fetch(process.argv[2], { headers: { authorization: 'Bearer ' + settings.one, cookie: 'a=b; sid=' + settings.two } })
await fetch(process.argv[2], { method: 'POST', body: JSON.stringify({ user: 'ann', password: settings.three }) })
throw new Error('cannot sign in with ' + settings.one)
`,
  })
  const { retake, folder } = workspace
  const recorded = await retake(['record', 'agent.mjs', url])
  expect(recorded.code).toBe(1)
  const secrets = [key, cookie, password]
  const [tape = ''] = await tapesOf(workspace)
  const bytes = readFileSync(tape, 'latin1')
  for (const secret of secrets) expect(bytes.includes(secret), secret).toBe(false)

  expect((await retake(['debug', 'snapshot', 'last'])).code).toBe(0)
  const report = await retake(['report', 'last', '-o', 'report.html'])
  expect(report.code, report.stderr).toBe(0)
  const blocks = blocksOf(join(folder, 'report.html'))
  expect(String(blocks.get('retake-parts'))).toContain('const settings = ')
  const shown = [...blocks].map(([id, block]) => [id, String(block)] as const)
  for (const args of [
    ['show', 'last'],
    ['show', 'last', '--step', '2', '--state', '--json'],
    ['export', 'last', '--jsonl'],
    ['replay', 'last', '--step', '1'],
    ['debug', 'eval', 'last', '--at', 'agent.mjs:4', 'settings'],
    ['debug', 'eval', 'last', '--at', 'agent.mjs:4', 'settings', '--json'],
    ['debug', 'eval', 'last', '--at', 'agent.mjs:4', '"the " + settings.one'],
  ]) {
    const { stdout, stderr } = await retake(args)
    expect(stdout.length, `${args.join(' ')} ${stderr}`).toBeGreaterThan(0)
    shown.push([args.join(' '), stdout + stderr])
  }
  const readable = shown.flatMap(([where, text]) =>
    secrets.filter((secret) => text.includes(secret)).map((secret) => `${where}: ${secret}`),
  )
  expect(readable).toEqual([])
})

test('nobody can check a guess with the tape alone', async () => {
  const workspace = await folderWith({
    'agent.mjs': `console.log('{"password":"${password}"}')`,
  })
  const prints: string[] = []
  for (const home of ['one', 'two']) {
    const env = { XDG_STATE_HOME: join(workspace.folder, home) }
    const recorded = await workspace.retake(['record', 'agent.mjs'], { env })
    expect(recorded.code, recorded.stderr).toBe(0)
  }
  for (const tape of await tapesOf(workspace))
    prints.push(
      ...[...readFileSync(tape, 'latin1').matchAll(/"hides":\["([\w-]+)"/g)].map(
        ([, each = '']) => each,
      ),
    )
  expect(prints).toHaveLength(2)
  expect(new Set(prints).size).toBe(2)
})
