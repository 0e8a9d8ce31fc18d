import { createServer } from 'node:net'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, readdir, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startModelServer } from '@retake/engine/testing'
import { expect, onTestFinished, test } from 'vitest'
import { hasSandbox } from '../support/has-sandbox.js'
import { run } from '../support/run-retake.mjs'
import { makeProject } from './runner-project.js'
import { cli } from './workspace.js'

const script = fileURLToPath(new URL('../support/run-in-trial-sandbox.mjs', import.meta.url))

/** Tries everything that a hostile fix could try, and reports what worked. */
const attack = `
import fs from 'node:fs'
import net from 'node:net'
import { spawn, spawnSync } from 'node:child_process'
import { Worker } from 'node:worker_threads'
const [port, modelPort, secretFile, project] = JSON.parse(fs.readFileSync(new URL('targets.json', import.meta.url), 'utf8'))
const found = {}
const attempt = (name, work) => {
  try { found[name] = work() ?? 'worked' } catch (error) { found[name] = error.code ?? error.message }
}
const connect = (to) => new Promise((resolve) => {
  const socket = net.connect(to)
  socket.on('connect', () => { socket.destroy(); resolve('worked') })
  socket.on('error', ({ code }) => resolve(code))
})
attempt('secret file', () => fs.readFileSync(secretFile, 'utf8'))
attempt('.env', () => fs.readFileSync('.env', 'utf8'))
attempt('write outside', () => fs.writeFileSync(secretFile, 'x'))
attempt('write project', () => fs.writeFileSync(project + '/agent.mjs', 'x'))
attempt('write packages', () => fs.writeFileSync(fs.realpathSync('node_modules') + '/planted.js', 'x'))
attempt('write programs', () => fs.writeFileSync('/usr/bin/planted', 'x'))
attempt('process', () => { const { error } = spawnSync('/bin/true'); if (error) throw error })
found['fork bomb'] = await new Promise((resolve) => {
  let started = 0
  for (let index = 0; index < 200; index++) {
    try {
      const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60000)'], { detached: true, stdio: 'ignore' })
      child.on('spawn', () => started++)
      child.on('error', () => {})
    } catch {}
  }
  setTimeout(() => resolve(started === 0 ? 'no process' : 'worked ' + started), 500)
})
attempt('thread', () => void new Worker('', { eval: true }))
found.environment = Object.keys(process.env).filter((name) => /SECRET|TOKEN|KEY/.test(name)).join()
attempt('processes', () => fs.readdirSync('/proc').filter((name) => /^\\d+$/.test(name)).length)
found.loopback = await connect({ port, host: '127.0.0.1' })
found.network = await connect({ port: 443, host: '1.1.1.1' })
found.model = await connect({ port: modelPort, host: '127.0.0.1' })
found.key = process.env.OPENAI_API_KEY
console.log(JSON.stringify(found))
process.exit()
`

test('code in a trial reaches no network, file, secret or process of the machine; a live one reaches only its models', async (context) => {
  context.skip(!hasSandbox, 'there is no bubblewrap')
  const model = await startModelServer({ answer: () => ({ text: 'fine' }) })
  onTestFinished(() => model.stop())
  const other = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1')
  await once(other, 'listening')
  onTestFinished(() => void other.close())
  const outside = await realpath(await mkdtemp(join(tmpdir(), 'retake-outside-')))
  onTestFinished(() => rm(outside, { recursive: true, force: true }))
  await writeFile(join(outside, 'secret.txt'), 'a secret')
  const folder = await makeProject({
    'package.json': '{ "type": "module", "private": true }',
    'agent.mjs': `
import OpenAI from 'openai'
const messages = [{ role: 'user', content: 'Hello' }]
const { choices } = await new OpenAI().chat.completions.create({ model: 'gpt-4o-mini', messages })
console.log(choices[0].message.content)
`,
    'attack.mjs': attack,
    'wait.mjs': 'setInterval(() => {}, 1000)',
    '.env': 'NAME=value',
  })
  await writeFile(
    join(folder, 'targets.json'),
    JSON.stringify([
      (other.address() as AddressInfo).port,
      Number(new URL(model.url).port),
      join(outside, 'secret.txt'),
      folder,
    ]),
  )
  const key = model.env['OPENAI_API_KEY'] ?? ''
  const env = { ...model.env, SECRET_TOKEN: 'hidden', AWS_SECRET_ACCESS_KEY: 'hidden' }
  expect(await run(process.execPath, [cli, 'record', 'agent.mjs'], folder, { env })).toMatchObject({
    code: 0,
  })
  const names = await readdir(join(folder, '.retake/runs'))
  const tape = names.find((name) => name.endsWith('.tape')) ?? ''
  const attacked = async (...mode: string[]) => {
    const module = mode.includes('ended') ? 'wait.mjs' : 'attack.mjs'
    const args = [script, join(folder, '.retake/runs', tape), module, ...mode]
    const sandbox = mode.includes('off') ? { RETAKE_SANDBOX: 'off' } : {}
    const { stdout, stderr } = await run(process.execPath, args, folder, {
      env: { ...env, ...sandbox },
    })
    return JSON.parse(stdout.split('\n')[0] || `"${stderr}"`) as Record<string, unknown>
  }
  const contained = {
    'secret file': 'ENOENT',
    '.env': 'ENOENT',
    'write outside': 'ENOENT',
    'write packages': 'EROFS',
    'write programs': 'EROFS',
    process: 'EPERM',
    'fork bomb': 'no process',
    thread: 'worked',
    processes: 2,
    loopback: 'ECONNREFUSED',
    network: 'ENETUNREACH',
  }
  // Ended while its sandbox starts, it leaves no process behind.
  expect(await attacked('ended')).toEqual({ signals: ['SIGTERM'], left: 0 })
  const offline = await attacked()
  expect(offline).toMatchObject({ ...contained, model: 'ECONNREFUSED' })
  expect(offline['key']).not.toBe(key)
  expect(offline['environment']).not.toMatch(/SECRET/)
  const live = await attacked('live')
  expect(live).toMatchObject({ ...contained, model: 'worked', key })
  expect(live['environment']).not.toMatch(/SECRET/)
  // Under Node's permission model the network is only closed from Node 25 on.
  const { loopback: _loopback, network: _network, ...permitted } = await attacked('off')
  expect(permitted).toMatchObject({
    'secret file': 'ERR_ACCESS_DENIED',
    '.env': 'ENOENT',
    'write outside': 'ERR_ACCESS_DENIED',
    'write project': 'ERR_ACCESS_DENIED',
    'write packages': 'ERR_ACCESS_DENIED',
    'write programs': 'ERR_ACCESS_DENIED',
    process: 'ERR_ACCESS_DENIED',
    'fork bomb': 'no process',
    thread: 'ERR_ACCESS_DENIED',
  })
  expect(permitted['key']).not.toBe(key)
  expect(permitted['environment']).not.toMatch(/SECRET/)
  // Nothing is left behind: what it wrote to the project's path was in its own memory.
  expect(readFileSync(join(folder, 'agent.mjs'), 'utf8')).toContain('chat.completions')
  expect(existsSync('/usr/bin/planted')).toBe(false)
  expect(await readdir(outside)).toEqual(['secret.txt'])
})
