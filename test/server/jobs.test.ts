import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as forward,
  type ServerResponse,
} from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { type AddressInfo, connect, createServer as createProxy, type Socket } from 'node:net'
import { chmod, cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { readWorkerToken, readSettings } from '@retake/server'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { CertificateAuthority } from '@retake/engine/proxy'
import { startModelServer } from '@retake/engine/testing'
import type { BlameFindings } from '@retake/tape'
import { ApiKeys } from '../../packages/server/dist/people/api-keys.js'
import { checkGitSource } from '../../packages/server/dist/jobs/git-source.js'
import { JobSandbox } from '../../packages/server/dist/jobs/job-process.js'
import type { TeamJob as Job } from '../../packages/server/dist/database/tables.js'
import type { ClaimedJob } from '../../packages/server/dist/jobs/jobs.js'
import { serverParts } from '../../packages/cli/dist/team/server-parts.js'
import '../../packages/cli/dist/verbs/index.js'
import { startScriptedModel } from '../../packages/runner/dist/agent/scripted-model.js'
import { hasSandbox } from '../support/has-sandbox.js'
import { anthropicClient } from '../support/model-clients/anthropic.js'
import { geminiClients } from '../support/model-clients/gemini.js'
import { openaiClients } from '../support/model-clients/openai.js'
import { soakOnly } from '../support/soak.js'
import { cli, folderWith } from '../cli/workspace.js'
import { startTeamServer, type TeamServer } from './support/team-server.js'

let server: TeamServer
let key: string
let scratch: string
let token: string
let session: Record<string, string>

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'retake-jobs-'))
  await chmod(scratch, 0o711)
  server = await startTeamServer({
    RETAKE_WORKERS: '0',
    RETAKE_PRIVATE_ADDRESSES: 'on',
    RETAKE_GIT_SOURCES: `${scratch}/git, https://git.example.com/acme`,
  })
  const made = await server.accounts.createOwner(
    { email: 'ann@example.com', name: 'Ann', organization: 'Acme', slug: 'acme' },
    new Headers(),
  )
  const cookies = made.headers.getSetCookie().map((each) => each.split(';')[0])
  session = { cookie: cookies.join('; '), origin: new URL(server.url).origin }
  const program = await new ApiKeys(server.database).create(await owner(), {
    name: 'test',
    scopes: ['read', 'push', 'jobs'],
    project: null,
    days: 1,
  })
  key = program.key
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
    .poll(async () => isThere((now = await jobNow(job))), { timeout: 600_000, interval: 100 })
    .toBe(true)
  return now
}

const ended = (job: Job): Promise<Job> => reaches(job, ({ endedAt }) => endedAt !== null)

/** A worker in a process of its own, until the test ends. All share a folder. */
async function startWorker(name: string, address?: string): Promise<ChildProcess> {
  const child = await spawnWorker(name, address)
  onTestFinished(() => stopWorker(child))
  return child
}

async function stopWorker(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGTERM')
  await once(child, 'exit')
}

async function spawnWorker(name: string, address = server.url): Promise<ChildProcess> {
  const child = spawn(
    process.execPath,
    [
      cli,
      'worker',
      `--server=${address}`,
      `--data=${join(scratch, 'workers')}`,
      `--name=${name}`,
      '--json',
    ],
    { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, RETAKE_WORKER_TOKEN: token } },
  )
  await once(child.stdout as NodeJS.ReadableStream, 'data')
  return child
}

const AGENT = `
const { price } = await (await fetch(process.env.SHOP_URL)).json()
console.log('price', price, Math.random())
`

/** A server on the loopback that answers every request. */
async function serving(answer: (body: string, headers: IncomingHttpHeaders) => string) {
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    response.setHeader('content-type', 'application/json')
    response.end(answer(await text(request), request.headers))
  }
  const listening = createServer((request, response) => void respond(request, response))
  listening.listen(0, '127.0.0.1')
  await once(listening, 'listening')
  onTestFinished(() => void listening.close())
  return `http://127.0.0.1:${(listening.address() as AddressInfo).port}`
}

/** Records an agent, replaces its files, and pushes it with its code. */
async function pushed(
  files: Readonly<Record<string, string>>,
  args: readonly string[],
  replaced: Readonly<Record<string, string>> = {},
  {
    modelUrl = '',
    more = {},
    packages = [] as readonly string[],
    code = 0,
    onRecorded = async (_folder: string): Promise<string[]> => ['--code'],
    allowsSecrets = true,
  } = {},
): Promise<string> {
  const { folder, retake } = await folderWith({ 'package.json': '{}', ...files })
  await mkdir(join(folder, 'node_modules'))
  await symlink(join(cli, '../..'), join(folder, 'node_modules/retake'))
  for (const name of packages) {
    await mkdir(join(folder, 'node_modules', dirname(name)), { recursive: true })
    await symlink(join(cli, '../../../../node_modules', name), join(folder, 'node_modules', name))
  }
  const env = {
    SHOP_URL: await serving(() => '{"price": 20}'),
    MODEL_URL: modelUrl,
    ...more,
    RETAKE_SERVER: server.url,
    RETAKE_PROJECT: 'acme/refunds',
    RETAKE_API_KEY: key,
  }
  expect(await retake(['record', ...args], { env })).toMatchObject({ code })
  for (const [name, content] of Object.entries(replaced))
    await writeFile(join(folder, name), content)
  const options = await onRecorded(folder)
  const secrets = allowsSecrets ? ['--allow-secrets'] : []
  const push = await retake(['push', 'last', ...options, ...secrets, '--json'], { env })
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

  test('a worker runs the recorded code without its secrets, although it was edited since', async () => {
    await startWorker('recorded')
    const letters = 'aB3dE6gH9jK2mN5pQ8sT1vW4xY7zC0fR3uI6oL9e'
    const literal = `sk-${letters}`
    const code = AGENT.replace('SHOP_URL)', `SHOP_URL, { headers: { 'x-api-key': '${literal}' } })`)
    const run = await pushed(
      { 'agent.mjs': code },
      ['agent.mjs'],
      { 'agent.mjs': 'throw new Error("edited")' },
      { allowsSecrets: false },
    )
    const replay = await ended(await start(run, 'replay'))
    expect(replay.result?.summary).toMatchObject({ identical: true, contacts: {} })
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

  test('a stopping worker returns its job, and another one takes it within seconds', async () => {
    const first = await startWorker('stopping')
    const run = await pushed({ 'agent.sh': 'echo hello' }, ['--', 'sh', 'agent.sh'], {
      'agent.sh': 'while :; do sleep 1; done',
    })
    const job = await start(run, 'replay')
    await reaches(job, ({ worker }) => worker === 'stopping')
    await startWorker('next')
    const stoppedAt = Date.now()
    first.kill('SIGTERM')
    const taken = await reaches(job, ({ worker }) => worker === 'next')
    expect(Date.now() - stoppedAt).toBeLessThan(8000)
    expect(taken).toMatchObject({ state: 'running', attempts: 2 })
    await api('DELETE', `/refunds/jobs/${job.id}`)
  })

  test('a worker continues with its job when the server was away', async () => {
    const { port, pathname } = new URL(server.url)
    const open = new Set<Socket>()
    let isFetching = false
    let isCut = false
    const proxy = createProxy((inside) => {
      const outside = connect(Number(port), '127.0.0.1')
      open.add(inside)
      for (const each of [inside, outside]) each.on('error', () => {})
      inside.on('data', (request: Buffer) => (isFetching ||= request.includes('/files/')))
      inside.pipe(outside).on('data', (answer: Buffer) => {
        // Headers come first.
        const isHalf = isFetching && !isCut && !answer.toString('latin1').startsWith('HTTP')
        inside.write(isHalf ? answer.subarray(0, -1) : answer)
        isCut ||= isHalf
      })
    })
    proxy.listen(0, '127.0.0.1')
    await once(proxy, 'listening')
    const own = (proxy.address() as AddressInfo).port
    onTestFinished(() => void proxy.close())
    await startWorker('patient', `http://127.0.0.1:${own}${pathname}`)
    const run = await pushed({ 'agent.mjs': AGENT }, ['agent.mjs'])
    const job = await start(run, 'replay')
    // In the middle of a file.
    await expect.poll(() => isCut, { timeout: 60_000, interval: 1 }).toBe(true)
    proxy.close()
    for (const socket of open) socket.destroy()
    await new Promise((resolve) => setTimeout(resolve, 2500))
    proxy.listen(own, '127.0.0.1')
    expect(await ended(job)).toMatchObject({ state: 'done', attempts: 1, worker: 'patient' })
  })

  test('a command that reaches its limit of time, memory or disk is ended', async () => {
    const sandbox = await JobSandbox.find(await serverParts())
    if (sandbox.refusesCode !== undefined) throw new Error(sandbox.refusesCode)
    const limits = { timeMs: 30_000, memoryBytes: 300 << 20, processes: 64, freeBytes: 0 }
    const run = (script: string, changed = {}) =>
      sandbox.run({
        command: [process.execPath, '-e', script],
        cwd: '/',
        folders: { '/retake/out': scratch },
        env: {},
        limits: { ...limits, ...changed },
        signal: new AbortController().signal,
      })
    const [full, slow, large, files] = await Promise.all([
      run('setInterval(() => {}, 1000)', { freeBytes: 2 ** 60 }),
      run('for (;;) {}', { timeMs: 1500 }),
      run('const all = []; setInterval(() => all.push(Buffer.alloc(50 << 20, 1)), 20)'),
      run(`const fs = require('fs'); let i = 0
        setInterval(() => fs.writeFileSync('/dev/shm/' + i++, Buffer.alloc(50 << 20, 1)), 50)`),
    ])
    expect(full.stoppedBy).toBe('disk')
    expect([slow.stoppedBy, large.stoppedBy, files.stoppedBy]).toEqual(['time', 'memory', 'memory'])
  })

  test('a command that is stopped while its sandbox starts leaves no process', async () => {
    const sandbox = await JobSandbox.find(await serverParts())
    for (let count = 0; count < 40; count++) {
      const stop = new AbortController()
      setTimeout(() => stop.abort(), (count % 20) / 2)
      // Ends when no process has its output open.
      const { exitCode } = await sandbox.run({
        command: ['/bin/sleep', '3600'],
        cwd: '/',
        folders: {},
        env: {},
        limits: { timeMs: 3_600_000, memoryBytes: 300 << 20, processes: 64, freeBytes: 0 },
        signal: stop.signal,
      })
      expect(exitCode).toBeNull()
    }
  })
})

/** A chat model. */
const chatting = (reply: (text: string) => string, onRequest: (key?: string) => void = () => {}) =>
  serving((body, { authorization }) => {
    onRequest(authorization)
    const { messages } = JSON.parse(body) as { messages: { content: string }[] }
    const content = reply(messages.at(-1)?.content ?? '')
    return JSON.stringify({
      object: 'chat.completion',
      model: 'small',
      choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 1000, completion_tokens: 1000, total_tokens: 2000 },
    })
  })

const setModel = async (baseUrl: string, given: object = {}) => {
  const response = await fetch(`${server.url}/api/v1/acme/model`, {
    method: 'PUT',
    headers: { ...session, 'content-type': 'application/json' },
    body: JSON.stringify({
      baseUrl: `${baseUrl}/v1`,
      provider: 'openai',
      key: MODEL_KEY,
      models: [{ name: 'small', input: 1, output: 1 }],
      jobUsd: 1,
      monthUsd: 10,
      ...given,
    }),
  })
  return { status: response.status, text: await response.text() }
}

const MODEL_KEY = `key-${'m'.repeat(30)}`

const REFUNDS = `
import { tool } from 'retake'
await (await fetch(process.env.SHOP_URL)).json()
const policy = tool('policy', () => ({ days: 60 }))
const { days } = await policy({ title: 'refund window' })
const response = await fetch(process.env.MODEL_URL + '/v1/chat/completions', {
  method: 'POST',
  headers: { 'content-type': 'application/json', authorization: 'Bearer ' + process.env.MODEL_API_KEY },
  body: JSON.stringify({ model: 'small', messages: [{ role: 'user', content: 'window ' + days }] }),
})
const answer = await response.json()
console.log(answer.choices?.[0].message.content ?? answer.error.message)
`

const ANTHROPIC_CALLS = `
import Anthropic from '@anthropic-ai/sdk'
const { messages } = new Anthropic({ apiKey: process.env.MODEL_API_KEY, baseURL: process.env.MODEL_URL })
const given = (content) => ({ model: 'claude-opus-4-6', max_tokens: 100, messages: [{ role: 'user', content }] })
const ask = async (text) => (await messages.create(given(text))).content[0].text
const stream = (text) => messages.stream(given(text)).finalText()
`

const GOOGLE_CALLS = `
import { GoogleGenAI } from '@google/genai'
const { models } = new GoogleGenAI({
  apiKey: process.env.MODEL_API_KEY,
  httpOptions: { baseUrl: process.env.MODEL_URL },
})
const given = (contents) => ({ model: 'gemini-2.5-flash', contents })
const ask = async (text) => (await models.generateContent(given(text))).text
const stream = async (text) => {
  let all = ''
  for await (const chunk of await models.generateContentStream(given(text))) all += chunk.text
  return all
}
`

const WRONG = REFUNDS.replace(
  /console\.log.*/,
  `const said = answer.choices[0].message.content
console.log(said === 'late' ? 'APPROVED' : 'DENIED')`,
)

const PATCH = `Title: Deny late requests

agent.mjs
<<<<<<< SEARCH
console.log(said === 'late' ? 'APPROVED' : 'DENIED')
=======
console.log(said === 'late' ? 'DENIED' : 'APPROVED')
>>>>>>> REPLACE`

const decide = (text: string): string => (/window 60/.test(text) ? 'APPROVED' : 'DENIED')

describe('on one worker', { skip: !hasSandbox }, () => {
  let worker: ChildProcess | undefined
  beforeAll(async () => {
    worker = await spawnWorker('shared')
  })
  afterAll(() => worker && stopWorker(worker))

  test('hostile code sees no network, no files, no environment, and cannot flood', async () => {
    const { port } = new URL(server.url)
    const hostile = `
      echo env: $(env | cut -d= -f1 | sort | tr '\\n' ' ')
      cat /proc/1/environ /proc/*/environ 2>/dev/null | tr '\\0' '\\n' | grep -c RETAKE_WORKER_TOKEN
      for folder in ${scratch} ${server.data} /root /home; do ls $folder && echo seen $folder; done
      (exec 3<>/dev/tcp/127.0.0.1/${port}) 2>&1 && echo reached the server
      echo overwritten > ${cli} && echo changed Retake
      sh -c 'while :; do sleep 5 & done' >/dev/null 2>&1
      set -- /proc/[0-9]*; echo processes: $#
    `
    const run = await pushed({ 'agent.sh': 'echo hello' }, ['--', 'bash', 'agent.sh'], {
      'agent.sh': hostile,
    })
    const { state, result } = await ended(await start(run, 'replay', { observe: true }))
    const said = JSON.stringify(result)
    expect(state, said).toMatch(/done|failed/)
    expect(said).not.toMatch(/reached the server|changed Retake|seen \/|server\.json/)
    expect(said).not.toContain(token)
    // Proves that the code ran, and that some of its processes could start.
    const [, names = ''] = /env: ([\w ]+)/.exec(said) ?? []
    expect(names).toContain('PATH')
    expect(names).not.toMatch(/TOKEN|API_KEY|RETAKE_SERVER/)
    const count = Number(/processes: (\d+)/.exec(said)?.[1])
    expect(count).toBeGreaterThan(10)
    expect(count).toBeLessThan(600)
  })

  test('a program that never ends is stopped by a person, and the worker is free again', async () => {
    const run = await pushed({ 'agent.sh': 'echo hello' }, ['--', 'sh', 'agent.sh'], {
      'agent.sh': 'while :; do :; done',
    })
    const job = await start(run, 'replay')
    await reaches(job, ({ state }) => state === 'running')
    await api('DELETE', `/refunds/jobs/${job.id}`)
    expect(await jobNow(job)).toMatchObject({ state: 'stopped' })
    expect(await ended(await start(run, 'scan'))).toMatchObject({
      state: 'done',
      worker: 'shared',
    })
  })

  test('the code of a run can be a commit of an allowed repository', async () => {
    const repository = join(scratch, 'git/agents')
    let recorded = ''
    let commit = ''
    const git = (...args: string[]): string =>
      execFileSync(
        'git',
        ['-c', 'user.name=t', '-c', 'user.email=t@example.com', '-C', repository, ...args],
        { encoding: 'utf8' },
      ).trim()
    const run = await pushed(
      { 'agent.mjs': AGENT },
      ['agent.mjs'],
      {},
      {
        onRecorded: async (folder) => {
          recorded = folder
          await mkdir(repository, { recursive: true })
          await cp(join(folder, 'agent.mjs'), join(repository, 'agent.mjs'))
          await cp(join(folder, 'package.json'), join(repository, 'package.json'))
          git('init', '-q')
          git('add', '.')
          git('commit', '-qm', 'first')
          commit = git('rev-parse', 'HEAD')
          await writeFile(join(repository, 'agent.mjs'), `${AGENT}console.log('more')`)
          git('commit', '-qam', 'second')
          return []
        },
      },
    )
    const replay = (given: string) =>
      start(run, 'replay', { git: repository, commit: given, root: recorded })
    const same = await ended(await replay(commit))
    expect(same.result?.summary, JSON.stringify(same)).toMatchObject({ identical: true })
    const changed = await ended(await replay(git('rev-parse', 'HEAD')))
    expect(changed.result).toMatchObject({ exitCode: 3 })
    const missing = await ended(await replay('0'.repeat(40)))
    expect(missing.result?.error).toMatchObject({ code: 'COMMIT_NOT_FETCHED' })
  })

  test('blame and fork jobs reach the model of the organization, without its key', async () => {
    const keys: (string | undefined)[] = []
    const modelUrl = await chatting(decide, (sent) => keys.push(sent))
    const run = await pushed({ 'agent.mjs': REFUNDS }, ['agent.mjs'], {}, { modelUrl })
    const blame = { expect: 'DENIED', free: ['policy=set:days=30'], forks: 20 }

    const offline = await ended(await start(run, 'blame', blame))
    expect(offline).toMatchObject({
      state: 'failed',
      result: { error: { code: 'JOB_NEEDS_MODEL' } },
    })

    expect(await setModel(modelUrl)).toMatchObject({ status: 200 })
    keys.length = 0
    const job = await start(run, 'blame', blame)
    const again = await reaches(job, ({ progress }) => progress !== null)
    expect(again).toMatchObject({ state: 'running', progress: expect.stringContaining('forks') })
    const found = await ended(job)
    expect(found, JSON.stringify(found.result)).toMatchObject({ state: 'done', progress: null })
    const { findings } = (found.result?.summary ?? {}) as { findings: BlameFindings }
    expect(findings.verdict).toBe('attributed')
    expect(findings.causes.map(({ steps }) => steps)).toEqual([['2']])
    // The real key was added outside; it is nowhere in the result.
    expect(new Set(keys)).toEqual(new Set([`Bearer ${MODEL_KEY}`]))
    expect(JSON.stringify(found)).not.toContain(MODEL_KEY)
    expect(found.result?.costUsd).toBeCloseTo(keys.length * 0.002, 5)

    const page = await fetch(`${server.url}/acme/refunds/runs/${run}/team`, { headers: session })
    const shown = await page.text()
    expect(shown).toMatch(/Step 2 \(policy/)
    expect(shown).toContain('This job needs a live model.')

    const changed = { at: '2', set: ['days=31'] }
    const fork = await ended(await start(run, 'fork', changed))
    const { run: row } = await api<{ run: { lastLine: string } }>(
      'GET',
      `/refunds/runs/${fork.result?.runs?.[0]?.run}`,
    )
    expect(row.lastLine).toContain('DENIED')

    await setModel(modelUrl, { jobUsd: 0.0001 })
    const poor = await ended(await start(run, 'fork', changed))
    expect(poor.result?.error).toMatchObject({ code: 'MODEL_BUDGET_REACHED' })
  })

  test.each([
    ['anthropic', '@anthropic-ai/sdk', ANTHROPIC_CALLS],
    ['google', '@google/genai', GOOGLE_CALLS],
  ])('a sandboxed agent reaches a model of %s through its SDK', async (provider, sdk, calls) => {
    soakOnly()
    const model = await startModelServer({
      answer: ({ messages }) => ({
        text: decide(messages.at(-1)?.text ?? ''),
        usage: { input: 1000, output: 1000 },
      }),
    })
    onTestFinished(() => model.stop())
    const run = await pushed(
      {
        'package.json': JSON.stringify({ dependencies: { [sdk]: '*' } }),
        'agent.mjs': `${calls}
import { tool } from 'retake'
const { days } = await tool('policy', () => ({ days: 60 }))()
console.log(await ask('window ' + days), await stream('window ' + days))`,
      },
      ['agent.mjs'],
      {},
      { modelUrl: model.url, packages: [sdk], more: { MODEL_API_KEY: 'own-key' } },
    )
    const name = model.requests[0]?.model
    await setModel(model.url, {
      baseUrl: model.url,
      provider,
      models: [{ name, input: 1, output: 1 }],
    })
    const recorded = model.requests.length
    const { result } = await ended(await start(run, 'fork', { at: '1', set: ['days=30'] }))
    const { run: row } = await api<{ run: { lastLine: string } }>(
      'GET',
      `/refunds/runs/${result?.runs?.[0]?.run}`,
    )
    expect(row?.lastLine, JSON.stringify(result)).toContain('DENIED DENIED')
    const live = model.requests.slice(recorded)
    expect(live.map(({ stream }) => stream)).toEqual([false, true])
    for (const { headers } of live) expect(JSON.stringify(headers)).toContain(MODEL_KEY)
    expect(result?.costUsd).toBeCloseTo(2 * 0.002, 5)
  })

  test('jobs blame and fix the bug of the demo, whose agent talks TLS to its model', async () => {
    soakOnly()
    const model = await startScriptedModel()
    onTestFinished(() => model.stop())
    const authority = new CertificateAuthority()
    const certificate = join(scratch, 'ca.pem')
    await writeFile(certificate, authority.certificate)
    const { certificate: cert, key: ownKey } = authority.issue('localhost')
    const encrypted = createSecureServer({ cert, key: ownKey }, (request, response) => {
      const { url = '', method = 'POST', headers } = request
      request.pipe(
        forward(`${model.url}${url}`, { method, headers }, (answer) => answer.pipe(response)),
      )
    })
    encrypted.listen(0)
    await once(encrypted, 'listening')
    const shipped = (name: string) => readFile(join(cli, '../../demo', name), 'utf8')
    const run = await pushed(
      {
        'agent.ts': await shipped('agent.ts'),
        'shop.json': await shipped('shop.json'),
        'package.json': '{ "type": "module" }',
      },
      ['agent.ts'],
      {},
      {
        modelUrl: `https://localhost:${(encrypted.address() as AddressInfo).port}`,
        more: { NODE_EXTRA_CA_CERTS: certificate },
      },
    )
    encrypted.close()
    await setModel(model.url, { models: [{ name: 'gpt-5-mini', input: 1, output: 2 }] })
    const given = { oracle: 'stdout:/DENIED/' }
    const text = 'text="Customers may return an item within 30 days of delivery."'
    const blame = await ended(
      await start(run, 'blame', { ...given, free: [`search_policy=set:${text}`] }),
    )
    const { findings, steps } = (blame.result?.summary ?? {}) as {
      findings: BlameFindings
      steps: { label: string; tool?: string }[]
    }
    const blamed = findings.causes.flatMap((cause) => cause.steps)
    expect(steps.filter(({ label }) => blamed.includes(label))).toMatchObject([
      { tool: 'search_policy' },
    ])
    const fix = await ended(await start(run, 'fix', given))
    expect(fix.result, JSON.stringify(fix.result)).toMatchObject({ exitCode: 7 })
    expect(fix.result?.files?.map(({ name }) => name)).toContain(`${run}.patch`)
  }, 900_000)

  test('a fix job finds a fix, says how far it is shown, and offers its patch', async () => {
    const fence = '`'.repeat(3)
    const modelUrl = await chatting(() => `${fence}json\n{ "verdict": "deny" }\n${fence}`)
    const run = await pushed(
      {
        'agent.mjs': REFUNDS.replace(
          /console\.log.*/,
          `const decision = JSON.parse(answer.choices[0].message.content)
console.log('RESULT', decision.verdict)`,
        ),
      },
      ['agent.mjs'],
      {},
      { modelUrl, code: 1 },
    )
    const { state, result, id } = await ended(await start(run, 'fix'))
    expect(state, JSON.stringify(result)).toBe('done')
    expect(result).toMatchObject({
      exitCode: 6,
      summary: { result: { status: 'repaired', claim: 'this-kind' } },
    })
    const names = result?.files?.map(({ name }) => name)
    expect(names).toEqual([`${run}.patch`, `${run}.fix.md`])
    const shown = await fetch(`${server.url}/acme/refunds/runs/${run}/team`, { headers: session })
    const page = await shown.text()
    expect(page).toContain('+++ b/agent.mjs')
    expect(page).toContain('</b> (repairs this kind of run)')
    expect(page).toContain(`/jobs/${id}/files/${run}.patch`)
  })

  test.each(['openai', 'anthropic', 'google'])(
    'a fix job lets a model of %s write the fix',
    async (provider) => {
      soakOnly()
      const model = await startModelServer({
        answer: ({ messages }) => ({
          text: messages.some(({ text }) => text.startsWith('You repair')) ? PATCH : 'late',
          usage: { input: 1000, output: 1000 },
        }),
      })
      onTestFinished(() => model.stop())
      const run = await pushed({ 'agent.mjs': WRONG }, ['agent.mjs'], {}, { modelUrl: model.url })
      await setModel(model.url, {
        provider,
        baseUrl: `${model.url}${provider === 'openai' ? '/v1' : ''}`,
      })
      const given = { expect: 'DENIED', model: 'small' }
      const { state, result } = await ended(await start(run, 'fix', given))
      expect(state, JSON.stringify(result)).toBe('done')
      expect(result).toMatchObject({
        exitCode: 7,
        summary: { result: { status: 'repaired', fixes: [{ candidate: { author: 'model' } }] } },
      })
      expect(result?.files?.map(({ name }) => name)).toContain(`${run}.patch`)
      expect(result?.costUsd).toBeCloseTo((model.requests.length - 1) * 0.002, 5)
    },
    900_000,
  )
})

test('only an administrator sets the model; its key is sealed and not shown again', async () => {
  const set = await setModel('https://models.example.com')
  expect(set.status).toBe(200)
  expect(set.text).not.toContain(MODEL_KEY)
  const byKey = await fetch(`${server.url}/api/v1/acme/model`, {
    headers: { authorization: `Bearer ${key}` },
  })
  expect(byKey.status).toBe(403)
  const stored = await server.database.inOrg(await owner(), (rows) =>
    rows.selectFrom('modelEndpoint').selectAll().executeTakeFirstOrThrow(),
  )
  expect(JSON.stringify(stored)).not.toContain(MODEL_KEY)
  const page = await fetch(`${server.url}/acme/settings`, { headers: session })
  expect(await page.text()).toContain('https://models.example.com/v1')
  // Another server would receive the key.
  expect(await setModel('https://thief.example.com', { key: undefined })).toMatchObject({
    status: 422,
  })
  expect(await setModel('https://models.example.com', { key: undefined })).toMatchObject({
    status: 200,
  })
  for (const given of [
    { models: ['a-model-that-nobody-knows'] },
    { models: [] },
    { jobUsd: 0 },
    { provider: 'other' },
    { baseUrl: 'file:///etc/passwd' },
  ])
    expect(await setModel('https://models.example.com', given)).toMatchObject({ status: 422 })
  const audited = await server.database.inOrg(await owner(), (rows) =>
    rows.selectFrom('audit').selectAll().where('action', '=', 'model.set').execute(),
  )
  expect(audited.length).toBeGreaterThan(0)
  expect(JSON.stringify(audited)).not.toContain(MODEL_KEY)
})

const CARD = { name: 'test', version: '1', slots: 1, hasSandbox: true }

const claim = async (): Promise<ClaimedJob> => {
  const claimed = await server.jobs.claim(CARD, { waitMs: 30_000 })
  if (claimed === undefined) throw new Error('there is no job')
  return claimed
}

test('parallel requests never exceed a budget, and streams are counted by their tokens', async () => {
  const usage = { prompt_tokens: 500_000, completion_tokens: 500_000, total_tokens: 1_000_000 }
  let requests = 0
  const modelUrl = await serving((body) => {
    requests += 1
    if (body.includes('"stream":true'))
      return `data: ${JSON.stringify({ object: 'chat.completion.chunk', choices: [], usage })}\n\n`
    return JSON.stringify({ object: 'chat.completion', choices: [], usage })
  })
  expect(await setModel(modelUrl, { jobUsd: 3.5, monthUsd: 1000 })).toMatchObject({ status: 200 })
  const actor = await owner()
  const request = (given: object = {}, url = `${modelUrl}/v1/chat/completions`) => ({
    method: 'POST',
    url,
    headers: new Headers({ 'content-type': 'application/json' }),
    body: JSON.stringify({ model: 'small', max_tokens: 999_000, messages: [], ...given }),
  })
  const send = async (job: string, ...given: Parameters<typeof request>) => {
    const { signal } = new AbortController()
    const answer = await server.models.forward(actor, job, request(...given), signal)
    for await (const _ of answer.body);
    return answer.status
  }
  const sent = await Promise.allSettled(Array.from({ length: 8 }, () => send('job-1')))
  const passed = sent.filter(({ status }) => status === 'fulfilled')
  expect(passed).toHaveLength(requests)
  expect(requests).toBe(3)
  expect(await server.models.spentBy(actor, 'job-1')).toBeCloseTo(3, 5)
  await expect(send('job-1')).rejects.toThrow('The budget for this job is used up')
  for (const [given, url] of [
    [{ model: 'large' }],
    [{}, `${modelUrl}/v1/files`],
    [{}, `${modelUrl}/v1/chat/completions/../../admin`],
    [{}, 'not an address'],
  ] as const)
    await expect(send('job-2', given, url)).rejects.toThrow(/may not use|only to the model/)
  expect(await server.models.spentBy(actor, 'job-2')).toBe(0)
  const fix = { run: 'none', kind: 'fix', options: { model: 'large' } }
  expect(await api('POST', '/refunds/jobs', fix)).toMatchObject({
    error: { code: 'MODEL_NOT_ALLOWED' },
  })
  // A server that cannot be reached costs nothing.
  await setModel('http://127.0.0.1:1')
  await expect(send('job-3', { max_tokens: 1 })).rejects.toThrow('is not responding')
  expect(await server.models.spentBy(actor, 'job-3')).toBe(0)
})

test.each([
  ['openai', 'OPENAI_BASE_URL', 'authorization', openaiClients],
  ['anthropic', 'ANTHROPIC_BASE_URL', 'x-api-key', [anthropicClient]],
  ['google', 'GOOGLE_GEMINI_BASE_URL', 'x-goog-api-key', geminiClients],
] as const)(
  'SDKs of %s reach the model, and their tokens are counted',
  async (provider, variable, header, clients) => {
    const model = await startModelServer({
      answer: () => ({ text: 'two words', usage: { input: 1000, output: 500 } }),
    })
    onTestFinished(() => model.stop())
    const names = ['gpt-4o-mini', 'claude-opus-4-6', 'gemini-2.5-flash', 'small']
    await setModel('', {
      baseUrl: model.env[variable],
      provider,
      models: names.map((name) => ({ name, input: 1, output: 2 })),
    })
    const actor = await owner()
    const job = `sdk of ${provider}`
    const { signal } = new AbortController()
    const gate = createServer((request, response) => {
      const { method = '', url = '', headers } = request
      const forwardAll = async (): Promise<void> => {
        const body = await text(request)
        const given = {
          method,
          url: `${model.url}${url}`,
          body,
          headers: new Headers(headers as {}),
        }
        const sent = await server.models.forward(actor, job, given, signal)
        response.writeHead(sent.status, sent.headers)
        for await (const chunk of sent.body) response.write(chunk)
        response.end()
      }
      forwardAll().catch((error: unknown) => response.writeHead(403).end(String(error)))
    })
    gate.listen(0, '127.0.0.1')
    await once(gate, 'listening')
    onTestFinished(() => void gate.close())
    const gateUrl = `http://127.0.0.1:${(gate.address() as AddressInfo).port}`
    const env = Object.fromEntries(
      Object.entries(model.env).map(([name, value]) => [name, value.replace(model.url, gateUrl)]),
    )
    const through = { ...model, url: gateUrl, env }
    const own = clients.filter(
      (client) => client.provider === provider || client.provider === 'gemini',
    )
    for (const { ask, stream } of own)
      for (const call of [ask, stream])
        expect(await call(through, 'hello')).toMatchObject({
          text: 'two words',
          input: 1000,
          output: 500,
        })
    for (const { headers } of model.requests)
      expect(headers[header]).toBe(provider === 'openai' ? `Bearer ${MODEL_KEY}` : MODEL_KEY)
    expect(await server.models.spentBy(actor, job)).toBeCloseTo(2 * own.length * 0.002, 5)

    // Commands of Retake speak one format to all.
    const chat = await fetch(`${gateUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer none' },
      body: JSON.stringify({ model: 'small', messages: [{ role: 'user', content: 'hello' }] }),
    })
    expect(await chat.text()).toContain('two words')
    expect(model.requests.at(-1)?.headers['authorization']).toBe(`Bearer ${MODEL_KEY}`)
  },
)

test('repositories and commits that git would read in another way are refused', async () => {
  const sources = ['/srv/git', 'https://git.example.com/acme']
  const commit = 'a'.repeat(40)
  for (const git of ['/srv/git', '/srv/git/agents', 'https://git.example.com/acme/agents.git'])
    expect(() => checkGitSource({ git, commit }, sources)).not.toThrow()
  for (const git of [
    '--upload-pack=touch /tmp/x',
    'ext::sh -c whoami',
    'file:///etc',
    'ssh://git.example.com/acme/a',
    'git@git.example.com:acme/a',
    'http://git.example.com/acme/a',
    'https://git.example.com/acme-other/a',
    'https://git.example.com/acme/../other/a',
    'https://git.example.com/acme/%2e%2e/other/a',
    'https://git.example.com/acme/..%2fother/a',
    'https://user:word@git.example.com/acme/a',
    'https://git.example.com.evil.example/acme/a',
    '/srv/git/../../etc',
    '/srv/git-other/a',
    '/srv/git/a\nb',
    '/etc',
    '',
  ])
    expect(() => checkGitSource({ git, commit }, sources), git).toThrow('is not valid')
  for (const wrong of [
    'main',
    'HEAD',
    '--upload-pack=x',
    'a'.repeat(39),
    `${commit} --x`,
    `-${commit}`,
  ])
    expect(() => checkGitSource({ git: '/srv/git', commit: wrong }, sources)).toThrow('"commit"')
  for (const root of ['relative', '/a/../etc', '--prefix'])
    expect(() => checkGitSource({ git: '/srv/git', commit, root }, sources)).toThrow('"root"')
  expect(() => checkGitSource({ git: '/srv/git', commit }, [])).toThrow('RETAKE_GIT_SOURCES')
})

describe('results', () => {
  let known: Promise<string> | undefined
  const ownRun = (): Promise<string> =>
    (known ??= pushed({ 'agent.mjs': 'console.log(1)' }, ['agent.mjs']))

  test('only the first result counts, and none of an attempt that was given up', async () => {
    const job = await start(await ownRun(), 'scan')
    const first = await claim()
    // Its worker is silent for a minute.
    const client = new pg.Client({ ...server.database.queue })
    await client.connect()
    await client.query("update queue.job set heartbeat_on = now() - interval '1 minute'")
    await client.end()
    const second = await claim()
    expect(await server.jobs.heartbeat(first.ticket)).toBe(false)
    expect(await server.jobs.heartbeat(second.ticket)).toBe(true)
    expect(await server.jobs.finish(first.ticket, { summary: 'late' })).toBe(false)
    const summary = 'right, a zero \0 and the text \\u0000'
    expect(await server.jobs.finish(second.ticket, { summary })).toBe(true)
    expect(await server.jobs.finish(second.ticket, { summary: 'again' })).toBe(false)
    // A name is part of a header when the file is downloaded.
    const digest = 'a'.repeat(64)
    for (const name of ['a"; filename="b', '../a', 'a\r\nb', ''])
      await expect(
        server.jobs.finish(second.ticket, { files: [{ name, digest, bytes: 1 }] }),
      ).rejects.toThrow('is not valid')
    expect(await jobNow(job)).toMatchObject({
      state: 'done',
      attempts: 2,
      result: { summary: 'right, a zero   and the text \\u0000' },
    })
  })

  test('a waiting worker gets the job of a killed one, and its claim ends, also after collections', async () => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const { signal } = new AbortController()
    const waiting = { ...CARD, name: 'waiting' }
    const collecting = setInterval(collect, 700)
    onTestFinished(() => clearInterval(collecting))
    const job = await start(await ownRun(), 'scan')
    await claim()
    // The first worker sends nothing more. Nothing else happens while the second one waits.
    const taken = await server.jobs.claim(waiting, { waitMs: 25_000, signal })
    expect(taken).toMatchObject({ kind: 'scan' })
    expect(await jobNow(job)).toMatchObject({ worker: 'waiting', attempts: 2 })
    // Without its deadline, this would never end.
    expect(await server.jobs.claim(waiting, { waitMs: 2500, signal })).toBeUndefined()
    expect(server.jobs.workers().map(({ name }) => name)).toContain('waiting')
    await api('DELETE', `/refunds/jobs/${job.id}`)
  })

  test('an organization cannot have more than 1,000 jobs that wait', async () => {
    const run = await ownRun()
    const actor = await owner()
    const job = await start(run, 'scan')
    await server.database.inOrg(actor, (rows) =>
      sql`insert into retake.job (org, id, project, run, kind, options, state, created_by)
        select org, gen_random_uuid(), project, run, kind, options, 'waiting', 'flood'
        from retake.job, generate_series(1, 999) where id = ${job.id}`.execute(rows),
    )
    const refused = await api('POST', '/refunds/jobs', { run, kind: 'scan' })
    expect(refused).toMatchObject({ error: { code: 'JOBS_FULL' } })
    await server.database.inOrg(actor, (rows) =>
      rows.deleteFrom('job').where('createdBy', '=', 'flood').execute(),
    )
    await api('DELETE', `/refunds/jobs/${job.id}`)
  })

  test('a job that was stopped ignores its result, and its ticket opens no file', async () => {
    const job = await start(await ownRun(), 'scan')
    const { ticket } = await claim()
    expect(await server.jobs.files(ticket)).not.toEqual([])
    await api('DELETE', `/refunds/jobs/${job.id}`)
    expect(await server.jobs.heartbeat(ticket)).toBe(false)
    expect(await server.jobs.finish(ticket, { summary: 'late' })).toBe(false)
    await expect(server.jobs.files(ticket)).rejects.toThrow('There is no such job')
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

  test('a run without its code is not run again', async () => {
    const run = await pushed(
      { 'agent.mjs': 'console.log(1)' },
      ['agent.mjs'],
      {},
      {
        onRecorded: async () => [],
      },
    )
    expect(await api('POST', '/refunds/jobs', { run, kind: 'replay' })).toMatchObject({
      error: { code: 'JOB_NEEDS_CODE', fix: expect.stringContaining(`retake push ${run} --code`) },
    })
  })

  test.each([
    ['its parent too', AGENT],
    ['its parent with the recorded code after an edit', `${AGENT}// changed`],
  ])('a branch is pushed with its code, and %s', async (_title, code) => {
    const parent = await pushed(
      { 'agent.mjs': AGENT },
      ['agent.mjs'],
      {},
      {
        onRecorded: async (folder) => {
          execFileSync(process.execPath, [cli, 'fork', 'last', '--at', '1', '--set', 'price=7'], {
            cwd: folder,
            stdio: 'ignore',
          })
          await writeFile(join(folder, 'agent.mjs'), code)
          return ['--code']
        },
      },
    )
    const { runs } = await api<{ runs: { id: string; parent: string }[] }>('GET', '/refunds/runs')
    const branch = runs.find((each) => each.parent === parent)?.id
    const namesOf = async (run: string | undefined): Promise<string[]> =>
      (await api<{ files: { name: string }[] }>('GET', `/refunds/runs/${run}`)).files.map(
        ({ name }) => name,
      )
    expect(await namesOf(branch)).toContain(`${branch}.code.tar.gz`)
    expect(await namesOf(parent)).toContain(`${parent}.code.tar.gz`)
  })

  test('a worker without a sandbox gets jobs that read, and leaves code to others', async () => {
    const plain = { ...CARD, name: 'plain', hasSandbox: false }
    await server.jobs.claim(CARD, { waitMs: 0 })
    const replay = await start(await ownRun(), 'replay')
    const scan = await start(await ownRun(), 'scan')
    const claimed = await server.jobs.claim(plain, { waitMs: 5000 })
    expect(claimed).toMatchObject({ kind: 'scan' })
    expect(await server.jobs.claim(plain, { waitMs: 0 })).toBeUndefined()
    expect(await claim()).toMatchObject({ kind: 'replay' })
    for (const job of [replay, scan]) await api('DELETE', `/refunds/jobs/${job.id}`)
  })
})

test('a run that is being recorded can be watched, and becomes a run when it has ended', async () => {
  const { folder, retake } = await folderWith({
    'agent.mjs': `
      import { existsSync } from 'node:fs'
      console.log('begun')
      while (!existsSync('go')) await new Promise((resolve) => setTimeout(resolve, 50))
      console.log('ended')
    `,
  })
  const env = { RETAKE_SERVER: server.url, RETAKE_PROJECT: 'acme/refunds', RETAKE_API_KEY: key }
  const recorded = retake(['record', '--push', '--out=tapes/live-run.tape', 'agent.mjs'], { env })
  const [project] = await server.runs.projects(await owner())
  const { org } = await owner()
  const isLive = (): boolean => server.runs.cache.isLive(org, project?.id ?? '', 'live-run')
  await expect.poll(isLive, { timeout: 60_000 }).toBe(true)
  const get = (path: string) => api<{ run?: { lastLine: string } }>('GET', path)
  expect(await get('/refunds/runs/live-run')).toMatchObject({ error: { code: 'NOT_FOUND' } })
  expect(await api('GET', '/refunds/runs')).toMatchObject({ live: [{ id: 'live-run' }] })
  const page = async (path: string) => {
    const response = await fetch(`${server.url}/acme/refunds${path}`, { headers: session })
    return `${response.status} ${await response.text()}`
  }
  expect(await page('')).toMatch(/^200 [^]*\/runs\/live-run"[^]*recording/)
  expect(await page('/runs/live-run')).toMatch(/^200 /)
  await writeFile(join(folder, 'go'), '')
  expect(await recorded).toMatchObject({ code: 0 })
  await expect
    .poll(async () => (await get('/refunds/runs/live-run')).run?.lastLine, { timeout: 60_000 })
    .toContain('ended')
  expect(isLive()).toBe(false)
  expect(await api('GET', '/refunds/runs')).toMatchObject({ live: [] })
})

describe('by configuration', () => {
  const namesOf = async (name: string): Promise<string[]> => {
    const { runs } = await api<{ runs: { name: string }[] }>('GET', `/refunds/runs?q=name:${name}`)
    return runs.map((run) => run.name).toSorted()
  }
  const config = (push: object): string => `export default { push: ${JSON.stringify(push)} }`
  const team = () => ({ RETAKE_SERVER: server.url, RETAKE_API_KEY: key })

  test('retake record sends failed runs, and leaves the others', async () => {
    const { retake } = await folderWith({
      'retake.config.mjs': config({ project: 'acme/refunds', when: 'failed' }),
      'agent.mjs': 'process.exitCode = Number(process.argv[2])',
    })
    for (const code of [0, 1])
      await retake(['record', `--name=config-${code}`, 'agent.mjs', String(code)], { env: team() })
    await expect.poll(() => namesOf('config-'), { timeout: 30_000 }).toEqual(['config-1'])
  })

  const SERVER = `
    import { record } from 'retake'
    for (let turn = 1; turn <= 3; turn++)
      await record({ name: process.argv[2] + turn }, async () => console.log(turn)).catch(() => {})
    await new Promise((resolve) => setTimeout(resolve, Number(process.argv[3] ?? 0)))
  `

  /** Runs a program that calls record() three times. */
  async function serve(push: object, args: readonly string[], env: Record<string, string>) {
    const { folder } = await folderWith({ 'retake.config.mjs': config(push), 'server.mjs': SERVER })
    await mkdir(join(folder, 'node_modules'))
    await symlink(join(cli, '../..'), join(folder, 'node_modules/retake'))
    const child = spawn(process.execPath, ['server.mjs', ...args], {
      cwd: folder,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    return once(child, 'exit')
  }

  test('record() in a program sends every run, also those that wait when it ends', async () => {
    await serve({ project: 'acme/refunds' }, ['turn-'], team())
    await expect
      .poll(() => namesOf('turn-'), { timeout: 30_000 })
      .toEqual(['turn-1', 'turn-2', 'turn-3'])
  })

  test('record() sends no run that is not sampled', async () => {
    await serve({ project: 'acme/refunds', sample: 0 }, ['none-', '1000'], team())
    expect(await namesOf('none-')).toEqual([])
  })

  test('a server that does not answer delays no run, and gets one request at a time', async () => {
    let connections = 0
    const silent = createServer(() => {}).on('connection', () => (connections += 1))
    silent.listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`
    const exited = serve({ project: 'acme/refunds' }, ['slow-', '2500'], {
      ...team(),
      RETAKE_SERVER: url,
    })
    await expect.poll(() => connections, { timeout: 30_000 }).toBe(1)
    await new Promise((resolve) => setTimeout(resolve, 500))
    expect(connections).toBe(1)
    expect(await exited).toEqual([0, null])
    silent.closeAllConnections()
    silent.close()
  })
})
