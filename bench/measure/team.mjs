import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { basename, join } from 'node:path'
import { createInterface } from 'node:readline'
import { TapeWriter } from '@retake/tape/node'

const cli = join(import.meta.dirname, '../../packages/cli/bin/retake.mjs')
const streams = new Agent({ maxSockets: Infinity })

/** Starts `retake server`; resolves when it has printed its address. */
export async function startServer(data) {
  const started = performance.now()
  const child = spawn(process.execPath, [cli, 'server', '--data', data, '--port', '0', '--json'], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, RETAKE_REQUESTS_PER_MINUTE: '10000000' },
  })
  const ended = once(child, 'exit')
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.startsWith('{')) continue
    const { url, setupLink } = JSON.parse(line)
    const seconds = (performance.now() - started) / 1000
    const stop = async () => {
      child.kill('SIGTERM')
      await ended
    }
    return { url, setupLink, data, seconds, pid: child.pid, stop }
  }
  throw new Error('the server did not start')
}

/** Memory of a process and its descendants; shared pages count in parts. */
export function treeMegabytes(root) {
  const parents = new Map(
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap((pid) => {
        const stat = read(`/proc/${pid}/stat`)
        return stat === undefined
          ? []
          : [[Number(pid), Number(stat.slice(stat.lastIndexOf(')') + 4).split(' ')[0])]]
      }),
  )
  const isInTree = (pid) => pid === root || (parents.has(pid) && isInTree(parents.get(pid)))
  return [...parents.keys()]
    .filter(isInTree)
    .map((pid) => megabytes(pid))
    .reduce((sum, each) => sum + each, 0)
}

/**
 * Memory of one process. `Pss`: shared pages count in parts, so that it grows when another process
 * of Node ends. `Pss_Anon`: without files, such as the program.
 */
export const megabytes = (pid, kind = 'Pss') =>
  Number(
    new RegExp(`^${kind}:\\s+(\\d+)`, 'm').exec(read(`/proc/${pid}/smaps_rollup`) ?? '')?.[1] ?? 0,
  ) / 1024

function read(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

/** A person in the organization `bench` of a new server, who has a project and a key for programs. */
export class Team {
  static async create({ url, setupLink }) {
    const form = {
      token: new URL(setupLink).searchParams.get('token'),
      email: 'bench@example.test',
      name: 'Bench',
      organization: 'Bench',
    }
    const response = await fetch(`${url}/setup`, {
      method: 'POST',
      redirect: 'manual',
      headers: { origin: url },
      body: new URLSearchParams(form),
    })
    const cookie = response.headers.getSetCookie().map((each) => each.split(';')[0])
    const team = new Team(url, cookie.join('; '))
    await team.#change('/projects', { slug: 'p', name: 'P' })
    team.#key = (await team.#change('/keys', { name: 'bench', scopes: ['read', 'push'] })).key
    return team
  }

  #key = ''

  constructor(url, cookie) {
    this.url = url
    this.cookie = cookie
  }

  async #change(route, body) {
    const response = await fetch(`${this.url}/api/v1/bench${route}`, {
      method: 'POST',
      headers: { cookie: this.cookie, origin: this.url, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (!response.ok) throw new Error(await response.text())
    return response.json()
  }

  /** A request for a path of the server, as a program; throws unless it succeeds. */
  async request(path, init = {}) {
    const response = await fetch(`${this.url}${path}`, {
      ...init,
      headers: { authorization: `Bearer ${this.#key}`, ...init.headers },
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`)
    return text
  }

  /** A request for a path of the project. */
  async send(method, route, body) {
    const init =
      body === undefined || Buffer.isBuffer(body)
        ? { method, body }
        : {
            method,
            body: JSON.stringify(body),
            headers: { 'content-type': 'application/json' },
          }
    return JSON.parse(await this.request(`/api/v1/bench/projects/p${route}`, init))
  }

  /** Pushes a tape as `retake push` does. */
  async push(tape) {
    const content = readFileSync(tape)
    const digest = createHash('sha256').update(content).digest('hex')
    const files = [{ name: basename(tape), digest, bytes: content.length }]
    await this.send('POST', '/uploads', { files })
    await this.send('PATCH', `/uploads/${digest}?offset=0&size=${content.length}`, content)
    await this.send('POST', '/runs', { run: basename(tape, '.tape'), files })
  }

  /** Events of the overview. Like a browser, it connects again when the server ends the stream. */
  async watch(notify) {
    const request = get(`${this.url}/bench/events`, {
      agent: streams,
      headers: { cookie: this.cookie },
    })
    const [response] = await once(request, 'response')
    if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`)
    response.on('data', (chunk) => {
      if (chunk.includes('data:')) notify()
    })
    response.on('end', () => void this.watch(notify).catch(() => {}))
    // Streams break when the server stops.
    response.on('error', () => {})
  }
}

/** Writes the tape of a run with so many steps; returns its path. A step has 14 events. */
export function writeRun(folder, id, { steps = 4, words = 200 } = {}) {
  mkdirSync(folder, { recursive: true })
  const file = join(folder, `${id}.tape`)
  const run = { type: 'run', id, name: 'chat', scope: 'function' }
  const writer = TapeWriter.create(
    file,
    { ...run, startedAt: Date.now(), node: process.version, durability: 'process' },
    { input: `order ${id}` },
  )
  const prompt = 'Where is my order? '.repeat(words / 4)
  for (let step = 0; step < steps; step++) {
    modelCall(writer, `${prompt} ${id} ${step}`)
    const call = { type: 'call', kind: 'tool', name: 'find_order', as: 'json' }
    const op = writer.buffer(call, Buffer.from(`[{"id":"${id}"}]`))
    writer.buffer({ type: 'result', op, as: 'json' }, Buffer.from('{"state":"shipped"}'))
  }
  writer.buffer({ type: 'end' })
  writer.seal()
  return file
}

function modelCall(writer, prompt) {
  const body = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: prompt }] }
  const headers = [['content-type', 'application/json']]
  const url = 'https://api.openai.com/v1/chat/completions'
  const request = { type: 'request', seam: 'fetch', method: 'POST', url, headers }
  const op = writer.buffer(request, Buffer.from(JSON.stringify(body)))
  writer.buffer({ type: 'response', op, status: 200, statusText: 'OK', headers })
  const message = { role: 'assistant', content: 'Your order was shipped. '.repeat(10) }
  const text = JSON.stringify({
    model: 'gpt-4o-mini',
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    usage: { prompt_tokens: 900, completion_tokens: 40, total_tokens: 940 },
  })
  const size = Math.ceil(text.length / 9)
  for (let at = 0; at < text.length; at += size)
    writer.buffer({ type: 'deliver', op, part: 'chunk' }, Buffer.from(text.slice(at, at + size)))
  writer.buffer({ type: 'deliver', op, part: 'end' })
}
