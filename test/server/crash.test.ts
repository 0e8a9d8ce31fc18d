import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { reindex, readSettings, readWorkerToken } from '@retake/server'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { Postgres } from '../../packages/server/dist/database/postgres.js'
import { serverParts } from '../../packages/cli/dist/team/server-parts.js'
import '../../packages/cli/dist/verbs/index.js'
import { cli, folderWith } from '../cli/workspace.js'
import { hasSandbox } from '../support/has-sandbox.js'
import { repetitions, skipTest, soakOnly } from '../support/soak.js'
import { postgresPid, type ServerProcess, startProcess } from './support/server-process.js'
import {
  createOrganization,
  type Credentials,
  newDataFolder,
  startTeam,
  writeRun,
} from './support/api-team.js'
import { freePort } from '../support/free-port.mjs'

const KILLS = repetitions('RETAKE_KILLS', { beforeMerge: 3, soak: 100 })
const CLIENTS = 3
const ROUTE = '/api/v1/acme/projects/refunds'

/** Changes that the server has confirmed, by run. */
interface Confirmed {
  readonly digest: string
  readonly tags: string[]
  readonly comments: string[]
}

interface StoredRun {
  readonly run: { readonly tags: string[]; readonly digest: string }
  readonly comments: readonly { readonly id: string }[]
  readonly files: readonly { readonly link: string }[]
}

/** The server at any moment; undefined while it is down. */
interface Target {
  current: ServerProcess | undefined
}

/** The server may be starting it at this moment, so that there is none. */
function killPostgres(data: string): void {
  const pid = postgresPid(data)
  try {
    if (pid !== undefined) process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** One request; undefined if it was not confirmed. */
async function attempt<T>(
  { current }: Target,
  as: Credentials,
  method: string,
  route: string,
  body: unknown,
): Promise<T | undefined> {
  try {
    const isBytes = body instanceof Uint8Array
    const response = await fetch(`${current?.url ?? 'http://127.0.0.1:1'}${route}`, {
      method,
      headers: { ...as, ...(!isBytes && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: isBytes ? body : JSON.stringify(body) }),
    })
    const answer = (await response.json()) as T
    // Failures say that the database is gone; anything else would be a bug.
    if (response.status >= 500 && response.status !== 503)
      throw new Error(`status ${response.status}: ${JSON.stringify(answer)}`)
    if (response.ok) return answer
    await pause(50)
    return undefined
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('status')) throw error
    await pause(50)
    return undefined
  }
}

/** Waits as long as the server limits requests. */
async function patientFetch(url: string, init: RequestInit): Promise<Response> {
  for (;;) {
    const response = await fetch(url, init)
    if (response.status !== 429) return response
    await pause(1000)
  }
}

test(`nothing confirmed is lost when server and PostgreSQL are killed ${KILLS} times`, async () => {
  const data = newDataFolder()
  const tapes = path.join(path.dirname(data), 'tapes')
  mkdirSync(tapes)
  const team = await startTeam({}, data)
  const { owner } = await createOrganization(team, 'acme')
  await team.request(owner, 'POST', '/api/v1/acme/projects', { slug: 'refunds' })
  const made = await team.request(owner, 'POST', '/api/v1/acme/keys', { name: 'load' })
  const as = { authorization: `Bearer ${made.json<{ key: string }>().key}` }
  await team.server.close()

  const target: Target = { current: await startProcess(data) }
  const confirmed = new Map<string, Confirmed>()
  const loading = new AbortController()
  let count = 0
  let operations = 0

  const client = async (name: number): Promise<void> => {
    while (!loading.signal.aborted) {
      const id = `run-${name}-${count++}`
      const tape = writeRun(tapes, id, id)
      const content = readFileSync(tape)
      const digest = createHash('sha256').update(content).digest('hex')
      const files = [{ name: `${id}.tape`, digest, bytes: content.length }]
      for (let isPushed = false; !isPushed && !loading.signal.aborted;) {
        const upload = `${ROUTE}/uploads/${digest}`
        const missing = await attempt<{ missing: { received: number }[] }>(
          target,
          as,
          'POST',
          `${ROUTE}/uploads`,
          { files },
        )
        const received = missing?.missing[0]?.received ?? 0
        await attempt(
          target,
          as,
          'PATCH',
          `${upload}?offset=${received}&size=${content.length}`,
          content.subarray(received),
        )
        isPushed =
          (await attempt(target, as, 'POST', `${ROUTE}/runs`, { run: id, files })) !== undefined
        if (isPushed) confirmed.set(id, { digest, tags: [], comments: [] })
        if (isPushed) operations += 1
      }
      const known = confirmed.get(id)
      if (known === undefined) continue
      for (let change = 0; change < 3 && !loading.signal.aborted; change++) {
        const tags = [...known.tags, `tag${change}`]
        const tagged = await attempt(target, as, 'PATCH', `${ROUTE}/runs/${id}`, { tags })
        if (tagged !== undefined) known.tags.splice(0, Infinity, ...tags)
        if (tagged !== undefined) operations += 1
        const said = await attempt<{ comment: { id: string } }>(
          target,
          as,
          'POST',
          `${ROUTE}/runs/${id}/comments`,
          { text: `comment ${change}` },
        )
        if (said !== undefined) known.comments.push(said.comment.id)
        if (said !== undefined) operations += 1
      }
      await pause(20)
    }
  }

  const killer = async (): Promise<void> => {
    for (let kill = 0; kill < KILLS; kill++) {
      // A kill hits different moments of the work, so it waits for some work first.
      const wanted = operations + 1 + Math.floor(Math.random() * 8)
      await expect.poll(() => operations, { timeout: 60_000, interval: 10 }).toBeGreaterThan(wanted)
      await pause(Math.random() * 150)
      const victims = ['server', 'postgres', 'both'] as const
      const victim = victims[kill % victims.length]
      if (victim !== 'server') killPostgres(data)
      if (victim === 'postgres') continue
      const before = target.current
      target.current = undefined
      await before?.end('SIGKILL')
      target.current = await startProcess(data)
    }
    // Work continues after the last kill.
    const sofar = confirmed.size
    await expect.poll(() => confirmed.size, { timeout: 60_000 }).toBeGreaterThan(sofar)
    loading.abort()
  }

  const clients = Array.from({ length: CLIENTS }, (_, index) => client(index))
  await Promise.all([killer(), ...clients])

  const stored = async (server: ServerProcess): Promise<Map<string, StoredRun>> => {
    const found = new Map<string, StoredRun>()
    for (const id of confirmed.keys()) {
      const response = await patientFetch(`${server.url}${ROUTE}/runs/${id}`, { headers: as })
      if (response.ok) found.set(id, (await response.json()) as StoredRun)
    }
    return found
  }
  const check = async (server: ServerProcess): Promise<void> => {
    const found = await stored(server)
    for (const [id, { digest, tags, comments }] of confirmed) {
      const run = found.get(id)
      expect(run?.run.digest, `run ${id} was confirmed`).toBe(digest)
      expect(run?.run.tags, `tags of ${id}`).toEqual(expect.arrayContaining(tags))
      expect(run?.comments.map((each) => each.id)).toEqual(expect.arrayContaining(comments))
      const file = await patientFetch(`${server.url}/api/v1/${run?.files[0]?.link}`, {})
      const bytes = Buffer.from(await file.arrayBuffer())
      expect(createHash('sha256').update(bytes).digest('hex'), `tape of ${id}`).toBe(digest)
    }
  }
  await target.current?.end('SIGTERM')
  const recovered = await startProcess(data)
  await check(recovered)
  await recovered.end('SIGTERM')

  // Tapes and records alone give the same answers.
  const [indexed] = await reindex(readSettings({ data }, {}), await serverParts())
  expect(indexed?.problems).toEqual([])
  const rebuilt = await startProcess(data)
  await check(rebuilt)
  await rebuilt.end('SIGTERM')
  expect(postgresPid(data), 'PostgreSQL ended with its server').toBe(undefined)
  rmSync(path.dirname(data), { recursive: true, force: true })
})

/** A worker in a process of its own, which is started again when it was killed. */
class KillableWorker {
  #child: ChildProcess
  readonly #start: () => ChildProcess

  constructor(name: string, folder: string, settings: { server: string; token: string }) {
    const args = ['worker', `--server=${settings.server}`, `--data=${folder}`, `--name=${name}`]
    this.#start = () =>
      spawn(process.execPath, [cli, ...args, '--json'], {
        stdio: 'ignore',
        env: { ...process.env, RETAKE_WORKER_TOKEN: settings.token },
      })
    this.#child = this.#start()
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const ended = once(this.#child, 'exit')
    this.#child.kill(signal)
    await ended
  }

  async killAndRestart(): Promise<void> {
    await this.end('SIGKILL')
    this.#child = this.#start()
  }
}

const AGENT = `
const { price } = await (await fetch(process.env.SHOP_URL)).json()
console.log('price', price)
`

/** Records an agent, and pushes it with its code; returns its run. */
async function pushAgent(server: string, key: string): Promise<string> {
  const shop = createServer((_, response) => response.end('{"price": 20}')).listen(0, '127.0.0.1')
  await once(shop, 'listening')
  const { retake } = await folderWith({ 'package.json': '{}', 'agent.mjs': AGENT })
  const env = {
    SHOP_URL: `http://127.0.0.1:${(shop.address() as AddressInfo).port}/`,
    RETAKE_SERVER: server,
    RETAKE_PROJECT: 'acme/refunds',
    RETAKE_API_KEY: key,
  }
  expect(await retake(['record', 'agent.mjs'], { env })).toMatchObject({ code: 0 })
  shop.close()
  const pushed = await retake(['push', 'last', '--code', '--allow-secrets', '--json'], { env })
  return (JSON.parse(pushed.stdout) as { runs: { run: string }[] }).runs[0]?.run ?? ''
}

test(`every job happens once when workers, server and PostgreSQL are killed ${KILLS} times`, async () => {
  soakOnly()
  if (!hasSandbox) skipTest('no bubblewrap')
  const data = newDataFolder()
  const team = await startTeam({}, data)
  const { owner } = await createOrganization(team, 'acme')
  await team.request(owner, 'POST', '/api/v1/acme/projects', { slug: 'refunds' })
  const scopes = ['read', 'push', 'jobs']
  const made = await team.request(owner, 'POST', '/api/v1/acme/keys', { name: 'load', scopes })
  const { key } = made.json<{ key: string }>()
  const as = { authorization: `Bearer ${key}` }
  await team.server.close()

  const settings = { RETAKE_PORT: String(await freePort()) }
  const target: Target = { current: await startProcess(data, settings) }
  const server = `http://localhost:${settings.RETAKE_PORT}`
  const run = await pushAgent(server, key)
  const token = readWorkerToken(readSettings({ data }, {}))
  const workers = ['a', 'b'].map(
    (name) => new KillableWorker(name, path.join(path.dirname(data), name), { server, token }),
  )
  onTestFinished(async () => {
    for (const worker of workers) await worker.end('SIGKILL')
    await target.current?.end('SIGTERM')
    rmSync(path.dirname(data), { recursive: true, force: true, maxRetries: 5 })
  })

  const confirmed: string[] = []
  const loading = new AbortController()
  const client = async (): Promise<void> => {
    for (let count = 0; !loading.signal.aborted; count++) {
      const job = { run, kind: 'fork', options: { at: '1', set: [`price=${count}`] } }
      const made = await attempt<{ job: { id: string } }>(target, as, 'POST', `${ROUTE}/jobs`, job)
      if (made !== undefined) confirmed.push(made.job.id)
      await pause(1500)
    }
  }
  const killer = async (): Promise<void> => {
    const victims = ['worker a', 'server', 'worker b', 'postgres', 'both'] as const
    for (let kill = 0; kill < KILLS; kill++) {
      await pause(500 + Math.random() * 2500)
      const victim = victims[kill % victims.length]
      if (victim === 'worker a') await workers[0]?.killAndRestart()
      else if (victim === 'worker b') await workers[1]?.killAndRestart()
      else {
        if (victim !== 'server') killPostgres(data)
        if (victim === 'postgres') continue
        const before = target.current
        target.current = undefined
        await before?.end('SIGKILL')
        target.current = await startProcess(data, settings)
      }
    }
    loading.abort()
  }
  await Promise.all([killer(), client()])

  const states = async (): Promise<string[]> => {
    const found = await Promise.all(
      confirmed.map((id) =>
        attempt<{ job: { state: string } }>(target, as, 'GET', `${ROUTE}/jobs/${id}`, undefined),
      ),
    )
    return found.map((each) => each?.job.state ?? 'unknown')
  }
  await expect
    .poll(async () => (await states()).filter((state) => !/done|failed/.test(state)).length, {
      timeout: 600_000,
      interval: 2000,
    })
    .toBe(0)
  await Promise.all(workers.map((worker) => worker.end('SIGTERM')))

  const database = new pg.Client(Postgres.connectionOf(data))
  await database.connect()
  const { rows: jobs } = await database.query<{
    id: string
    state: string
    attempts: number
    result: { runs?: { run: string }[]; error?: { code: string } } | null
  }>('select id, state, attempts, result from retake.job')
  const { rows: branches } = await database.query<{ id: string }>(
    'select id from retake.run where parent = $1',
    [run],
  )
  await database.end()
  const results = jobs.flatMap(({ result }) => (result?.runs ?? []).map((each) => each.run))
  expect(jobs.filter(({ attempts }) => attempts > 1).length).toBeGreaterThan(0)
  expect(jobs.map(({ id }) => id)).toEqual(expect.arrayContaining(confirmed))
  for (const { id, state, attempts, result } of jobs) {
    // A job whose worker was killed three times is given up, and says so.
    const isGivenUp = state === 'failed' && attempts === 3
    expect(isGivenUp || state === 'done', JSON.stringify({ id, state, attempts, result })).toBe(
      true,
    )
    expect(result?.runs ?? [], id).toHaveLength(isGivenUp ? 0 : 1)
  }
  // Not one branch more than results, and none of them twice.
  expect(branches.map(({ id }) => id).toSorted()).toEqual(results.toSorted())
})
