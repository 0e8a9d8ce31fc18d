import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readWorkerToken, readSettings } from '@retake/server'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { ApiKeys } from '../../packages/server/dist/people/api-keys.js'
import { JobSandbox } from '../../packages/server/dist/jobs/job-sandbox.js'
import type { ClaimedJob, Job } from '../../packages/server/dist/jobs/jobs.js'
import { serverParts } from '../../packages/cli/dist/team/server-parts.js'
import { hasSandbox } from '../support/has-sandbox.js'
import { cli, folderWith } from '../cli/workspace.js'
import { startTeamServer, type TeamServer } from './support/team-server.js'

let server: TeamServer
let key: string
let scratch: string
let token: string

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'retake-jobs-'))
  await chmod(scratch, 0o711)
  server = await startTeamServer({ RETAKE_WORKERS: '0' })
  await server.accounts.createOwner(
    { email: 'ann@example.com', name: 'Ann', organization: 'Acme', slug: 'acme' },
    new Headers(),
  )
  const made = await new ApiKeys(server.database).create(await owner(), {
    name: 'test',
    scopes: ['read', 'push', 'jobs'],
    project: null,
    days: 1,
  })
  key = made.key
  token = readWorkerToken(readSettings({ data: server.data }, {}))
  await api('POST', '', { slug: 'refunds', name: 'Refunds' })
})

afterAll(async () => {
  await server.remove()
  await rm(scratch, { recursive: true, force: true })
})

async function owner() {
  const [organization] = await server.database.organizations()
  return { org: organization?.id ?? '', user: 'ann', role: 'owner' } as const
}

async function api<T>(method: string, path: string, body?: unknown): Promise<T> {
  const response = await fetch(`${server.url}/api/v1/acme/projects${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return (await response.json()) as T
}

async function start(run: string, kind: string, options = {}): Promise<Job> {
  const { job } = await api<{ job: Job }>('POST', '/refunds/jobs', { run, kind, options })
  return job
}

const jobNow = async ({ id }: Job): Promise<Job> =>
  (await api<{ job: Job }>('GET', `/refunds/jobs/${id}`)).job

async function reaches(job: Job, isThere: (job: Job) => boolean): Promise<Job> {
  let now = job
  await expect
    .poll(async () => isThere((now = await jobNow(job))), { timeout: 120_000, interval: 100 })
    .toBe(true)
  return now
}

const ended = (job: Job): Promise<Job> => reaches(job, ({ endedAt }) => endedAt !== null)

/** A worker in a process of its own, with a folder of its own. */
async function startWorker(name: string): Promise<ChildProcess> {
  const child = spawn(
    process.execPath,
    [
      cli,
      'worker',
      `--server=${server.url}`,
      `--data=${join(scratch, name)}`,
      `--name=${name}`,
      '--json',
    ],
    { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, RETAKE_WORKER_TOKEN: token } },
  )
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGTERM')
    await once(child, 'exit')
  })
  await once(child.stdout as NodeJS.ReadableStream, 'data')
  return child
}

const AGENT = `
const { price } = await (await fetch(process.env.SHOP_URL)).json()
console.log('price', price, Math.random())
`

/** Records an agent, replaces its files, and pushes it with its code. */
async function pushed(
  files: Readonly<Record<string, string>>,
  args: readonly string[],
  replaced: Readonly<Record<string, string>> = {},
): Promise<string> {
  const shop = createServer((_, response) => response.end('{"price": 20}'))
  shop.listen(0, '127.0.0.1')
  await once(shop, 'listening')
  const { folder, retake } = await folderWith({ 'package.json': '{}', ...files })
  const env = {
    SHOP_URL: `http://127.0.0.1:${(shop.address() as AddressInfo).port}/`,
    RETAKE_SERVER: server.url,
    RETAKE_PROJECT: 'acme/refunds',
    RETAKE_API_KEY: key,
  }
  expect(await retake(['record', ...args], { env })).toMatchObject({ code: 0 })
  shop.close()
  for (const [name, text] of Object.entries(replaced)) await writeFile(join(folder, name), text)
  const push = await retake(['push', 'last', '--code', '--allow-secrets', '--json'], { env })
  expect(push).toMatchObject({ code: 0 })
  return (JSON.parse(push.stdout) as { runs: { run: string }[] }).runs[0]?.run ?? ''
}

describe('in a sandbox', { skip: !hasSandbox }, () => {
  test('two workers verify, replay, fork and export a run with its code', async () => {
    await startWorker('a')
    await startWorker('b')
    const run = await pushed({ 'agent.mjs': AGENT }, ['agent.mjs'])
    const started = [
      await start(run, 'verify'),
      await start(run, 'replay'),
      await start(run, 'fork', { at: '1', set: ['price=7'] }),
      await start(run, 'export'),
    ]
    const [verify, replay, fork, exported] = (await Promise.all(started.map(ended))) as [
      Job,
      Job,
      Job,
      Job,
    ]
    expect(verify).toMatchObject({ state: 'done', attempts: 1, result: { exitCode: 0 } })
    expect(verify.result?.summary).toMatchObject({ ok: true, replay: 'identical' })
    expect(replay.result?.summary).toMatchObject({ identical: true, contacts: {} })
    expect(new Set([verify, replay, fork, exported].map(({ worker }) => worker))).toEqual(
      new Set(['a', 'b']),
    )
    const [branch] = fork.result?.runs ?? []
    const { run: row } = await api<{ run: { parent: string; lastLine: string } }>(
      'GET',
      `/refunds/runs/${branch?.run}`,
    )
    expect(row).toMatchObject({ parent: run })
    expect(row.lastLine).toContain('price 7')
    const [file] = exported.result?.files ?? []
    const response = await fetch(
      `${server.url}/api/v1/acme/projects/refunds/jobs/${exported.id}/files/${file?.name}`,
      { headers: { authorization: `Bearer ${key}` } },
    )
    expect((await response.text()).split('\n')[0]).toContain(run)
  })

  test('the job of a killed worker is retried, and its branch exists once', async () => {
    const first = await startWorker('killed')
    const run = await pushed({ 'agent.mjs': AGENT }, ['agent.mjs'])
    const job = await start(run, 'fork', { at: '1', set: ['price=8'] })
    await reaches(job, ({ worker }) => worker === 'killed')
    first.kill('SIGKILL')
    await startWorker('second')
    const done = await ended(job)
    expect(done).toMatchObject({ state: 'done', attempts: 2, worker: 'second' })
    const { runs } = await api<{ runs: { parent: string }[] }>('GET', '/refunds/runs')
    expect(runs.filter(({ parent }) => parent === run)).toHaveLength(1)
  })

  test('hostile code sees no network, no files, no environment, and cannot flood', async () => {
    await startWorker('hostile')
    const { port } = new URL(server.url)
    const hostile = `
      echo env: $(env | cut -d= -f1 | sort | tr '\\n' ' ')
      cat /proc/1/environ /proc/*/environ 2>/dev/null | tr '\\0' '\\n' | grep -c RETAKE_WORKER_TOKEN
      ls ${scratch} ${server.data} /root /home 2>&1 | head -20
      (exec 3<>/dev/tcp/127.0.0.1/${port}) 2>&1 && echo reached the server
      echo overwritten > ${cli} && echo changed Retake
      i=0; while [ $i -lt 2000 ]; do sleep 30 & i=$((i+1)); done 2>/dev/null
      echo processes: $(ls -d /proc/[0-9]* | wc -l)
    `
    const run = await pushed({ 'agent.sh': 'echo hello' }, ['--', 'bash', 'agent.sh'], {
      'agent.sh': hostile,
    })
    const { state, result } = await ended(await start(run, 'replay', { observe: true }))
    const said = JSON.stringify(result)
    expect(state, said).toMatch(/done|failed/)
    expect(said).not.toMatch(/reached the server|changed Retake|server\.json|postgres\b/)
    expect(said).not.toContain(token)
    const [, count = '0'] = /processes: (\d+)/.exec(said) ?? []
    expect(Number(count)).toBeLessThan(600)
  })

  test('a program that never ends is stopped by a person, and the worker is free again', async () => {
    await startWorker('patient')
    const run = await pushed({ 'agent.sh': 'echo hello' }, ['--', 'sh', 'agent.sh'], {
      'agent.sh': 'while :; do :; done',
    })
    const job = await start(run, 'replay')
    await reaches(job, ({ state }) => state === 'running')
    await api('DELETE', `/refunds/jobs/${job.id}`)
    expect(await jobNow(job)).toMatchObject({ state: 'stopped' })
    expect(await ended(await start(run, 'scan'))).toMatchObject({
      state: 'done',
      worker: 'patient',
    })
  })

  test('a command that reaches its limit of time or memory is ended', async () => {
    const sandbox = await JobSandbox.find(await serverParts())
    if ('why' in sandbox) throw new Error(sandbox.why)
    const limits = { timeMs: 30_000, memoryBytes: 300 << 20, processes: 64 }
    const run = (script: string, changed = {}) =>
      sandbox.run({
        command: [process.execPath, '-e', script],
        cwd: '/',
        folders: {},
        env: {},
        limits: { ...limits, ...changed },
        signal: new AbortController().signal,
      })
    const [slow, large, files] = await Promise.all([
      run('for (;;) {}', { timeMs: 1500 }),
      run('const all = []; setInterval(() => all.push(Buffer.alloc(50 << 20, 1)), 20)'),
      run(`const fs = require('fs'); let i = 0
        setInterval(() => fs.writeFileSync('/dev/shm/' + i++, Buffer.alloc(50 << 20, 1)), 50)`),
    ])
    expect([slow.stoppedBy, large.stoppedBy, files.stoppedBy]).toEqual(['time', 'memory', 'memory'])
  })
})

const CARD = { name: 'test', version: '1', slots: 1, hasSandbox: true }

const claim = async (): Promise<ClaimedJob> => {
  const claimed = await server.jobs.claim(CARD, { waitMs: 30_000 })
  if (claimed === undefined) throw new Error('there is no job')
  return claimed
}

describe('results', () => {
  let run: string
  beforeAll(async () => {
    run = await pushed({ 'agent.mjs': 'console.log(1)' }, ['agent.mjs'])
  })

  test('only the first result counts, and none of an attempt that was given up', async () => {
    const job = await start(run, 'scan')
    const first = await claim()
    // Its worker is silent for a minute.
    await server.database.asOwner((client) =>
      client.query("update queue.job set heartbeat_on = now() - interval '1 minute'"),
    )
    const second = await claim()
    expect(await server.jobs.heartbeat(first.ticket)).toBe(false)
    expect(await server.jobs.heartbeat(second.ticket)).toBe(true)
    expect(await server.jobs.finish(first.ticket, { summary: 'late' })).toBe(false)
    expect(await server.jobs.finish(second.ticket, { summary: 'right' })).toBe(true)
    expect(await server.jobs.finish(second.ticket, { summary: 'again' })).toBe(false)
    expect(await jobNow(job)).toMatchObject({
      state: 'done',
      attempts: 2,
      result: { summary: 'right' },
    })
  })

  test('a job that was stopped ignores its result, and its ticket opens no file', async () => {
    const job = await start(run, 'scan')
    const { ticket } = await claim()
    expect(await server.jobs.files(ticket)).not.toEqual([])
    await api('DELETE', `/refunds/jobs/${job.id}`)
    expect(await server.jobs.heartbeat(ticket)).toBe(false)
    expect(await server.jobs.finish(ticket, { summary: 'late' })).toBe(false)
    await expect(server.jobs.files(ticket)).rejects.toThrow('There is no job')
    expect(await jobNow(job)).toMatchObject({ state: 'stopped', result: null })
  })

  test('the token of workers opens nothing but jobs, and a forged ticket opens none', async () => {
    const get = async (path: string, bearer: string) =>
      (await fetch(`${server.url}${path}`, { headers: { authorization: `Bearer ${bearer}` } }))
        .status
    expect(await get('/api/v1/acme/projects', token)).toBe(401)
    const { org } = await owner()
    const forged = `${org}.00000000-0000-4000-8000-000000000000.1.${'A'.repeat(43)}`
    expect(await get(`/api/v1/worker/jobs/${forged}/files`, token)).toBe(404)
    expect(await get(`/api/v1/worker/jobs/${forged}/files`, key)).toBe(401)
  })

  test('a worker without a sandbox gets jobs that read, and leaves code to others', async () => {
    const plain = { ...CARD, name: 'plain', hasSandbox: false }
    await server.jobs.claim(CARD, { waitMs: 0 })
    const replay = await start(run, 'replay')
    const scan = await start(run, 'scan')
    const claimed = await server.jobs.claim(plain, { waitMs: 5000 })
    expect(claimed).toMatchObject({ kind: 'scan' })
    expect(await server.jobs.claim(plain, { waitMs: 0 })).toBeUndefined()
    expect(await claim()).toMatchObject({ kind: 'replay' })
    for (const job of [replay, scan]) await api('DELETE', `/refunds/jobs/${job.id}`)
  })
})
