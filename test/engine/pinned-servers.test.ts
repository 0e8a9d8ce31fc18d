import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type PinnedPlan } from '@retake/engine'
import { planPinned, searchableSteps } from '@retake/engine/plans'
import type { Tape } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { expect, onTestFinished, test } from 'vitest'
import { continueAgent } from '../../packages/runner/dist/agent/continue-agent.js'
import { trustInThisProcess } from '../../packages/runner/dist/agent/trust.js'
import { folderWith, tapesOf } from '../cli/workspace.js'

/** A server over stdio without an SDK: it notes each call of a tool, and counts them. */
const SERVER = `
import { appendFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
let calls = 0
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) continue
  if (method === 'tools/call') appendFileSync(process.env.TOLD, params.name + ' ')
  const result =
    method === 'initialize'
      ? { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'shop', version: '1' } }
      : { content: [{ type: 'text', text: params.name + ' ' + (calls += 1) + ' ' + params.arguments.of }] }
  console.log(JSON.stringify({ jsonrpc: '2.0', id, result }))
}
`

const AGENT = `
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
const child = spawn(process.execPath, ['server.mjs'], { stdio: ['pipe', 'pipe', 'inherit'] })
const waiting = new Map()
createInterface({ input: child.stdout }).on('line', (line) => {
  const message = JSON.parse(line)
  waiting.get(message.id)(message.result)
})
let id = 0
const ask = (method, params) =>
  new Promise((resolve) => {
    waiting.set((id += 1), resolve)
    child.stdin.write(JSON.stringify({ jsonrpc: '2.0', id, method, params }) + '\\n')
  })
const call = async (name, of) => (await ask('tools/call', { name, arguments: { of } })).content[0].text
await ask('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'a', version: '1' } })
child.stdin.write(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }) + '\\n')
const price = await call('price', 'lamp')
console.log(price)
const stock = await call('stock', 'lamp at ' + price)
console.log(stock)
console.log(await call('order', stock))
child.stdin.end()
await new Promise((resolve) => child.on('close', resolve))
console.log('closed')
`

const NOTHING = { draws: [], files: [], variables: [], order: true }

test('requests to a server on pipes are pinned, given and live one by one', async () => {
  const workspace = await folderWith({ 'agent.mjs': AGENT, 'server.mjs': SERVER })
  const told = path.join(workspace.folder, 'told.txt')
  const recorded = await workspace.retake(['record', 'agent.mjs'], { env: { TOLD: told } })
  expect(recorded.code, recorded.stderr).toBe(0)
  const [file = ''] = await tapesOf(workspace)
  const tape = openTape(file)
  trustInThisProcess(tape)
  const labels = searchableSteps(tape).map(({ label }) => label)
  const [price = '', stock = '', order = ''] = labels
  expect(labels).toHaveLength(3)
  const forked = async (plan: Partial<PinnedPlan>) => {
    await writeFile(told, '')
    return { ...(await runFork(tape, plan, told)), told: readFileSync(told, 'utf8').trim() }
  }

  // No server is started, and the agent sees its end all the same.
  const all = await forked({ pinned: labels })
  expect(all).toMatchObject({ stdout: recorded.stdout, told: '', live: 0, forced: [] })

  // A real one gets the handshake and the one free request.
  const free = await forked({ pinned: [price, order] })
  expect(free.told).toBe('stock')
  expect(free.stdout).toBe(recorded.stdout.replace('stock 2', 'stock 1'))
  expect(free).toMatchObject({ live: 1, forced: [order] })
  expect(free.matched).toEqual(expect.arrayContaining(labels))

  // Pinned ones never reach it, also when it is there.
  const later = await forked({ pinned: [order] })
  expect(later.told).toBe('price stock')

  const content = [{ type: 'text', text: 'nothing left' }]
  const given = await forked({ pinned: [price], answers: { [stock]: { payload: { content } } } })
  expect(given.stdout).toContain('nothing left\norder 1 nothing left\n')
  expect(given.told).toBe('order')

  // A tool with effects that may not run gets the answer of the same call, or ends the fork.
  const blocked = await forked({ pinned: [price, stock], liveTools: [] })
  expect(blocked).toMatchObject({ told: '', live: 0, stdout: recorded.stdout })
})

async function runFork(tape: Tape, plan: Partial<PinnedPlan>, told: string) {
  const folder = mkdtempSync(path.join(tmpdir(), 'retake-servers-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  let stdout = ''
  const fork = planPinned(tape, {
    pinned: [],
    mode: 'free',
    seed: 1,
    folder,
    ambient: NOTHING,
    ...plan,
  })
  const { pinned, code } = await continueAgent(tape, fork, {
    env: { TOLD: told },
    stdio: ['ignore', 'pipe', 'inherit'],
    onOutput: (chunk) => (stdout += String(chunk)),
    timeoutMs: 600_000,
  })
  expect(code).toBe(0)
  expect(existsSync(tape.path)).toBe(true)
  const { live, forced, matched } = pinned ?? {}
  return { stdout, live, forced, matched: Object.keys(matched ?? {}) }
}

test('a thread is served while everything is pinned, and starts in other forks', async () => {
  const workspace = await folderWith({
    'agent.mjs': `
import { Worker } from 'node:worker_threads'
import { tool } from '${new URL('../../packages/cli/dist/index.js', import.meta.url).href}'
const worker = new Worker('./worker.mjs')
const ask = (text) =>
  new Promise((resolve) => {
    worker.once('message', resolve)
    worker.postMessage(text)
  })
console.log(await ask('one'))
console.log(await tool('say', async (word) => word)('two'))
console.log(await ask('three'))
await worker.terminate()
console.log('closed')
`,
    'worker.mjs': `
import { appendFileSync } from 'node:fs'
import { parentPort } from 'node:worker_threads'
parentPort.on('message', (text) => {
  appendFileSync(process.env.TOLD, text + ' ')
  parentPort.postMessage('heard ' + text)
})
`,
  })
  const told = path.join(workspace.folder, 'told.txt')
  const recorded = await workspace.retake(['record', 'agent.mjs'], { env: { TOLD: told } })
  expect(recorded.stdout).toBe('heard one\ntwo\nheard three\nclosed\n')
  const [file = ''] = await tapesOf(workspace)
  const tape = openTape(file)
  trustInThisProcess(tape)
  await writeFile(told, '')
  const pinned = searchableSteps(tape).map(({ label }) => label)
  expect(await runFork(tape, { pinned }, told)).toMatchObject({ stdout: recorded.stdout, live: 0 })
  expect(readFileSync(told, 'utf8')).toBe('')
  expect(await runFork(tape, {}, told)).toMatchObject({ stdout: recorded.stdout, live: 1 })
  expect(readFileSync(told, 'utf8')).toBe('one three ')
})
