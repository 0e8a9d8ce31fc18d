// One small agent for each way in which recorders of this kind are known to fail.
import { execFileSync, spawn } from 'node:child_process'
import dgram from 'node:dgram'
import dns from 'node:dns'
import fs from 'node:fs'
import http from 'node:http'
import http2 from 'node:http2'
import net from 'node:net'
import { inspect } from 'node:util'
import { Worker } from 'node:worker_threads'
import { tool } from '@retake/engine'

const ask = async (base, content, model = 'gpt-example') => {
  const response = await fetch(`${base}/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ model, messages: [{ role: 'user', content }] }),
  })
  const { choices } = await response.json()
  return choices[0].message.content
}
const echo = async (base) => (await fetch(`${base}/echo`, { method: 'POST', body: 'same' })).json()

// ── order ───────────────────────────────────────────────────────────────────

const search = tool('search', (query) => ({ query, found: Math.random() }))

export const modelToolModel = async (base) => [
  await ask(base, 'first'),
  await search('policy'),
  await ask(base, 'second'),
]

export const toolModelModel = async (base) => [
  await search('policy'),
  await ask(base, 'first'),
  await ask(base, 'second'),
]

export const modelTool = async (base) => [await ask(base, 'first'), await search('policy')]

export const drawsAndAsks = async (base) => [Math.random(), await ask(base, 'hello')]

// ── the same question twice ─────────────────────────────────────────────────

export async function sameTwice(base) {
  const answers = [await echo(base), await echo(base)]
  const found = [await search('x'), await search('x')]
  const overHttp = [await echoOverHttp(base), await echoOverHttp(base)]
  return { answers, found, overHttp }
}

export async function sameAtOnce(base) {
  const order = []
  const each = async (index) => {
    const answer = await echo(base)
    order.push(index)
    return answer
  }
  const answers = await Promise.all(Array.from({ length: 12 }, (_, index) => each(index)))
  const prompts = await Promise.all(Array.from({ length: 6 }, () => ask(base, 'same prompt')))
  return { answers, order, prompts }
}

function echoOverHttp(base, options = {}) {
  return new Promise((resolve, reject) => {
    const request = http.request(`${base}/echo`, { method: 'POST', ...options }, (response) => {
      let text = ''
      response.on('data', (chunk) => (text += chunk))
      response.on('end', () => resolve(JSON.parse(text)))
    })
    request.on('error', reject)
    request.end('same')
  })
}

// ── what must never happen on replay ────────────────────────────────────────

const charge = tool('charge', () => {
  process.stderr.write('the tool was executed\n')
  return 'charged'
})

export const quiet = (base) => ask(base, 'hello')

/** Like `quiet`, then everything else a program could do to reach the outside. */
export async function loud(base) {
  const answer = await ask(base, 'hello')
  const { hostname, port } = new URL(base)
  const settled = (start, good, bad = 'error') =>
    new Promise((resolve, reject) => start().once(good, resolve).once(bad, reject))
  const attempts = {
    fetch: () => fetch(`${base}/echo`),
    model: () => ask(base, 'one more'),
    http: () => echoOverHttp(base, { agent: new http.Agent() }),
    http2: () => settled(() => http2.connect(base), 'connect'),
    socket: () => settled(() => net.connect(Number(port), hostname), 'connect'),
    datagram: async () => dgram.createSocket('udp4').send('x', Number(port), hostname),
    name: () => dns.promises.lookup('localhost'),
    process: () => settled(() => spawn(process.execPath, ['-e', '']), 'exit'),
    'process at once': async () => execFileSync(process.execPath, ['-e', '']),
    file: () => fs.promises.writeFile('written.txt', 'x'),
    'file at once': async () => fs.writeFileSync('written.txt', 'x'),
    'file of an earlier time': () => fs.promises.rm('kept.txt'),
    thread: () => settled(() => new Worker('', { eval: true }), 'exit'),
    tool: () => charge(),
  }
  for (const [name, attempt] of Object.entries(attempts)) {
    await attempt().then(
      () => process.stderr.write(`${name} succeeded\n`),
      () => undefined,
    )
  }
  return answer
}

/** Like `quiet`, but leaves something behind that goes on after the run. */
export async function leavesWorkBehind(base) {
  setTimeout(() => fetch(`${base}/echo`).catch(() => undefined), 100)
  return ask(base, 'hello')
}

// ── what must survive ───────────────────────────────────────────────────────

const results = {
  date: () => new Date(),
  map: () => new Map([['a', new Set([1, 'b', Math.random()])]]),
  bytes: () => crypto.getRandomValues(new Uint8Array(8)),
  buffer: () => Buffer.from('ü☃'),
  bigint: () => 2n ** 70n,
  nothing: () => undefined,
  null: () => null,
  numbers: () => [Number.NaN, -0, Infinity, 1e-7],
  nested: () => ({
    when: new Date(1182),
    list: [undefined, /a+/giu, new URL('http://a.example/?b')],
  }),
  text: () => 'plain',
}

export async function anyResult() {
  const seen = {}
  for (const [name, make] of Object.entries(results)) {
    const result = await tool(name, make)()
    seen[name] = `${Object.prototype.toString.call(result)} ${inspect(result, { depth: 9 })}`
  }
  return seen
}

export const twoModels = async (base) => {
  for (const model of ['gpt-4o-mini', 'gpt-nobody-knows']) await ask(base, 'price?', model)
}
