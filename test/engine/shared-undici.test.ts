import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { fork, openTape, readRun, record, replay } from 'retake'
import { Agent, errors, fetch, Pool, request, RetryAgent } from 'undici'
import { afterAll, beforeAll, expect, test } from 'vitest'

let folder: string
let server: Server
let origin: string
let count = 0
let agent: Agent
let pool: Pool
let retrying: RetryAgent

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'retake-undici-'))
  const respond = async (asked: IncomingMessage, answer: ServerResponse): Promise<void> => {
    const number = ++count
    if (asked.url === '/never') return
    if (asked.url === '/busy' && number % 2 === 1) {
      answer.statusCode = 503
      answer.end()
      return
    }
    let body = ''
    for await (const chunk of asked) body += String(chunk)
    const text = JSON.stringify({ number, url: asked.url, body })
    await new Promise((resolve) => setTimeout(resolve, number % 7))
    answer.setHeader('content-type', 'application/json')
    if (asked.url === '/gzip') answer.setHeader('content-encoding', 'gzip')
    answer.write('')
    answer.end(asked.url === '/gzip' ? gzipSync(text) : text)
  }
  server = createServer((asked, answer) => void respond(asked, answer)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  agent = new Agent({ connections: 2, headersTimeout: 300 })
  pool = new Pool(origin, { connections: 2 })
  retrying = new RetryAgent(new Agent(), { minTimeout: 1 })
})

afterAll(async () => {
  await Promise.all([agent.destroy(), pool.destroy()])
  server.close()
  await rm(folder, { recursive: true, force: true })
})

/** Fewer connections than runs, so that requests wait for those of other runs. */
const clients: Record<string, (n: number) => Promise<unknown>> = {
  'a shared agent': async (n) => {
    const { body } = await request(`${origin}/agent`, {
      dispatcher: agent,
      method: 'POST',
      body: Readable.from(['order ', String(n)]),
    })
    return body.json()
  },
  'a shared pool': async (n) => {
    const { body, headers } = await pool.request({ path: '/pool', query: { n }, method: 'GET' })
    return [headers['content-type'], await body.json()]
  },
  'the global dispatcher': async (n) => (await request(`${origin}/global/${n}`)).body.json(),
  'undici.fetch': async () => (await fetch(`${origin}/gzip`, { dispatcher: agent })).json(),
}

test.for(Object.keys(clients))(
  'requests of concurrent runs through %s are steps of their run, and replay without a server',
  async (name) => {
    const ask = clients[name]!
    const runs = await Promise.all(
      Array.from({ length: 6 }, (_, n) =>
        record({ name, dir: folder }, async () => [await ask(n), await ask(n)]),
      ),
    )
    const sent = count
    for (const [n, { output, run }] of runs.entries()) {
      const steps = readRun(openTape(run.path)).steps
      expect(steps.map(({ kind }) => kind)).toEqual(['http', 'http'])
      const again = await replay(run.path, async () => [await ask(n), await ask(n)])
      expect(again.output).toEqual(output)
    }
    expect(count).toBe(sent)
  },
)

test('retries, timeouts and aborted requests of a shared agent replay with their errors', async () => {
  const outcomeOf = (outcome: Promise<unknown>): Promise<unknown> =>
    outcome.catch((error: unknown) => [
      (error as Error).constructor.name,
      (error as Error).message,
      error instanceof errors.HeadersTimeoutError,
    ])
  const work = async (): Promise<unknown[]> => [
    await outcomeOf(request(`${origin}/never`, { dispatcher: agent })),
    await outcomeOf(
      request(`${origin}/never`, { dispatcher: agent, signal: AbortSignal.timeout(20) }),
    ),
    (await request(`${origin}/busy`, { dispatcher: retrying })).statusCode,
    (await request(`${origin}/busy`, { dispatcher: retrying })).statusCode,
  ]
  const { output, run } = await record({ name: 'failures', dir: folder }, work)
  expect(output.slice(0, 2)).toEqual([
    ['HeadersTimeoutError', 'Headers Timeout Error', true],
    ['DOMException', 'The operation was aborted due to timeout', false],
  ])
  expect(output.slice(2)).toEqual([200, 200])
  expect((await replay(run.path, work)).output).toEqual(output)
})

test('a fork changes the compressed answer to a request of a shared agent', async () => {
  const work = async (): Promise<unknown> =>
    (await fetch(`${origin}/gzip`, { dispatcher: agent })).json()
  const { run } = await record({ name: 'gzip', dir: folder }, work)
  const [step] = readRun(openTape(run.path)).steps
  expect(step?.exchange()?.response?.status).toBe(200)
  const forked = await fork(run.path, work, { at: 1, set: { number: 99 } })
  expect(forked.output).toMatchObject({ number: 99, url: '/gzip' })
})
