import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync } from 'node:fs'
import { Agent, createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openTape } from '@retake/tape/node'
import { makeWorkspace, type Workspace } from '../support/run-retake.mjs'
import { repetitions } from '../support/soak.js'

/**
 * A recording proxy is killed at a random moment with many clients at work. What a
 * client has seen is on the tape, and so is every request that a provider got.
 */
const kills = repetitions('RETAKE_PROXY_KILLS', { beforeMerge: 4, soak: 100 })
const CLIENTS = 40
const cli = fileURLToPath(new URL('../../packages/cli/bin/retake.mjs', import.meta.url))

let workspace: Workspace
/** Bodies of the requests that arrived. */
const arrived = new Set<string>()

/** Streams as many pieces as the request says; some answers in one go. */
const provider = createServer((request, response) => {
  let body = ''
  request.setEncoding('utf8').on('data', (text: string) => (body += text))
  request.on('end', () => {
    arrived.add(body)
    const { id, pieces } = JSON.parse(body) as { id: string; pieces: number }
    let sent = 0
    const send = (): void => {
      if (sent === pieces) return void response.end()
      response.write(`data: ${id} ${sent++} ${'x'.repeat(sent * 97)}\n\n`)
      if (pieces > 4) setTimeout(send, Math.random() * 4)
      else send()
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    send()
  })
})

beforeAll(async () => {
  workspace = await makeWorkspace()
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve))
})
afterAll(async () => {
  provider.close()
  provider.closeAllConnections()
  await workspace.remove()
})

interface Seen {
  text: string
  isWhole: boolean
}

/** Asks one after the other until the proxy is gone; keeps what it has seen of each answer. */
async function ask(
  port: number,
  client: string,
  { seen, onWhole }: { readonly seen: Map<string, Seen>; readonly onWhole: () => void },
): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  for (let count = 0; ; count++) {
    const pieces = 1 + ((Number(client.split('-')[1]) * count) % 9)
    const body = JSON.stringify({ id: `${client}-${count}`, pieces })
    const mine: Seen = { text: '', isWhole: false }
    seen.set(body, mine)
    const isDone = await new Promise<boolean>((resolve) => {
      const asked = httpRequest({ port, host: '127.0.0.1', method: 'POST', agent }, (answer) => {
        answer.setEncoding('utf8').on('data', (text: string) => (mine.text += text))
        answer.on('error', () => resolve(false))
        answer.on('close', () => resolve((mine.isWhole = answer.complete)))
      })
      asked.on('error', () => resolve(false))
      asked.end(body)
    })
    if (!isDone) return agent.destroy()
    onWhole()
  }
}

async function recordAndKill(kill: number): Promise<{ tape: string; seen: Map<string, Seen> }> {
  const folder = join(workspace.folder, `kill-${kill}`)
  mkdirSync(folder)
  const upstream = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`
  const args = [cli, 'proxy', 'record', '--upstream', upstream, '--port', '0', '--json']
  const running = spawn(process.execPath, [...args, '--dir', folder], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const line = await new Promise<string>((resolve) =>
    running.stdout.once('data', (data: Buffer) => resolve(data.toString())),
  )
  const port = Number(/127\.0\.0\.1:(\d+)/.exec(line)?.[1])
  const seen = new Map<string, Seen>()
  let isDoomed = false
  const onWhole = (): void => {
    if (!isDoomed) setTimeout(() => running.kill('SIGKILL'), Math.random() * 400)
    isDoomed = true
  }
  const clients = Array.from({ length: CLIENTS }, (_, client) =>
    ask(port, `${kill}-${client}`, { seen, onWhole }),
  )
  await Promise.all(clients)
  const tape = readdirSync(folder).find((name) => name.endsWith('.tape'))
  return { tape: join(folder, String(tape)), seen }
}

/** By the body of the request: what the tape has of the answer. */
function answersOn(path: string): Map<string, Seen> {
  const tape = openTape(path)
  const byOp = new Map<number, Seen>()
  const byBody = new Map<string, Seen>()
  for (const event of tape.events(0)) {
    const text = (): string => Buffer.from(tape.body(event.seq)).toString()
    if (event.type === 'request') {
      const answer = { text: '', isWhole: false }
      byOp.set(event.seq, answer)
      byBody.set(text(), answer)
    }
    const answer = event.type === 'deliver' ? byOp.get(event.op) : undefined
    if (answer === undefined || event.type !== 'deliver') continue
    if (event.part === 'chunk') answer.text += text()
    if (event.part === 'end') answer.isWhole = true
  }
  return byBody
}

test(`after ${kills} kills of a recording proxy, everything its clients saw is on the tape`, async () => {
  let whole = 0
  for (let kill = 0; kill < kills; kill++) {
    arrived.clear()
    const { tape, seen } = await recordAndKill(kill)
    const taped = answersOn(tape)
    // What was on the wire when the proxy before died may have arrived late.
    const asked = [...arrived].filter((body) => body.startsWith(`{"id":"${kill}-`))
    for (const body of asked) expect(taped.has(body), `arrived, not taped: ${body}`).toBe(true)
    for (const [body, { text, isWhole }] of seen) {
      if (isWhole) whole += 1
      const answer = taped.get(body)
      const isTaped = isWhole
        ? answer?.isWhole === true && answer.text === text
        : (answer?.text.startsWith(text) ?? text === '')
      expect(isTaped, `seen, not taped: ${body}`).toBe(true)
    }
  }
  expect(whole).toBeGreaterThanOrEqual(kills)
}, 600_000)
