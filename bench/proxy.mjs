import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request as ask } from 'node:http'
import { join } from 'node:path'
import { startLoopbackServer } from './measure/start-loopback-server.mjs'
import { median } from './measure/statistics.mjs'
import { withTemporaryFolder } from './measure/temporary-folder.mjs'

/**
 * What the recording proxy adds, against a proxy that only forwards. Server and
 * both proxies are processes of their own.
 *
 * @param {{ quick: boolean }} options
 * @returns {Promise<import('./measure/row.mjs').Row[]>}
 */
export async function measure({ quick }) {
  const server = await startLoopbackServer()
  return withTemporaryFolder(async (dir) => {
    const bare = await startBare(server.url)
    const recording = await startRecording(server.url, dir)
    try {
      const paced = await underLoad({ bare, recording }, quick ? 1 : 8, 20)
      const load = await underLoad({ bare, recording }, quick ? 1 : 12, 1)
      const json = await latency({ bare, recording }, quick ? 3 : 40, 25)
      const clients = `${CLIENTS} clients at once, streams of 10 chunks, in turns`
      const against = (field, { recording: with_, bare: without }) =>
        `${with_[field].toFixed(1)} ms against ${without[field].toFixed(1)} ms`
      return [
        {
          name: 'recording proxy / bare proxy, p50 latency at the pace of models',
          ratio: paced.recording.p50 / paced.bare.p50,
          method: `${clients}, 20 ms apart; ${against('p50', paced)}`,
        },
        {
          name: 'recording proxy / bare proxy, p50 time to the first chunk',
          ratio: paced.recording.first / paced.bare.first,
          method: `the same streams; ${against('first', paced)}`,
        },
        {
          name: 'recording proxy / bare proxy, p50 latency',
          ratio: load.recording.p50 / load.bare.p50,
          gate: { max: 1.5 },
          method: `${clients}, 1 ms apart; ${against('p50', load)}`,
        },
        {
          name: 'recording proxy / bare proxy, throughput',
          ratio: load.recording.rate / load.bare.rate,
          gate: { min: 0.7 },
          method: `${clients}, 1 ms apart; ${load.recording.rate.toFixed(0)} against ${load.bare.rate.toFixed(0)} exchanges a second`,
        },
        {
          name: 'recording proxy / bare proxy, one client, JSON answered at once',
          ratio: json.recording / json.bare,
          method: `POST of 1 KB, on disk before it leaves; p50 in turns; ${json.recording.toFixed(2)} ms against ${json.bare.toFixed(2)} ms`,
        },
      ]
    } finally {
      await Promise.all([bare.stop(), recording.stop(), server.stop()])
    }
  })
}

const CLIENTS = 200
const PER_CLIENT = 3

async function startBare(upstream) {
  const script = join(import.meta.dirname, 'measure', 'bare-proxy.mjs')
  const child = spawn(process.execPath, [script, upstream], { stdio: ['pipe', 'pipe', 'inherit'] })
  const [line] = await once(child.stdout, 'data')
  return proxyAt(String(line).trim(), child, () => child.stdin.end())
}

async function startRecording(upstream, dir) {
  const cli = join(import.meta.dirname, '..', 'packages', 'cli', 'bin', 'retake.mjs')
  const args = ['proxy', 'record', '--upstream', upstream, '--port', '0', '--dir', dir, '--json']
  const child = spawn(process.execPath, [cli, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = await once(child.stdout, 'data')
  return proxyAt(JSON.parse(String(line)).listening, child, () => child.kill('SIGINT'))
}

function proxyAt(url, child, end) {
  const agent = new Agent({ keepAlive: true })
  const stop = async () => {
    const closed = once(child, 'close')
    agent.destroy()
    end()
    await closed
  }
  return { url, agent, stop }
}

const history = 'What does the refund policy say? '.repeat(30)
let questions = 0

function exchange({ url, agent }, path) {
  const content = `${history} And for order ${questions++}?`
  const body = JSON.stringify({ model: 'gpt-example', messages: [{ role: 'user', content }] })
  return new Promise((resolve, reject) => {
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    }
    const asked = ask(url + path, { method: 'POST', headers, agent }, (answer) => {
      let firstAt
      answer.on('data', () => (firstAt ??= performance.now()))
      answer.on('end', () => resolve(firstAt))
      answer.on('error', reject)
    })
    asked.on('error', reject)
    asked.end(body)
  })
}

/** Every exchange is timed alone; rounds of both proxies take turns. */
async function latency(proxies, rounds, perRound) {
  const times = { bare: [], recording: [] }
  await inTurns(rounds, async (name, isWarmUp) => {
    for (let count = 0; count < perRound; count++) {
      const started = performance.now()
      await exchange(proxies[name], '/json')
      if (!isWarmUp) times[name].push(performance.now() - started)
    }
  })
  return { bare: median(times.bare), recording: median(times.recording) }
}

/** All clients ask a few times, one exchange after the other. */
async function underLoad(proxies, rounds, gapMs) {
  const nothing = () => ({ rates: [], times: [], firsts: [] })
  const seen = { bare: nothing(), recording: nothing() }
  await inTurns(rounds, async (name, isWarmUp) => {
    const { rates, times, firsts } = seen[name]
    const client = async () => {
      for (let count = 0; count < PER_CLIENT; count++) {
        const started = performance.now()
        const firstAt = await exchange(proxies[name], `/stream?count=10&gapMs=${gapMs}`)
        if (isWarmUp) continue
        times.push(performance.now() - started)
        firsts.push(firstAt - started)
      }
    }
    const started = performance.now()
    await Promise.all(Array.from({ length: CLIENTS }, client))
    const seconds = (performance.now() - started) / 1000
    if (!isWarmUp) rates.push((CLIENTS * PER_CLIENT) / seconds)
  })
  const told = ({ rates, times, firsts }) => ({
    rate: median(rates),
    p50: median(times),
    first: median(firsts),
  })
  return { bare: told(seen.bare), recording: told(seen.recording) }
}

async function inTurns(rounds, work) {
  for (let round = -1; round < rounds; round++) {
    const names = round % 2 === 0 ? ['bare', 'recording'] : ['recording', 'bare']
    for (const name of names) await work(name, round < 0)
  }
}
