import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { once } from 'node:events'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { backUp, Log, readSettings, restore, startServer } from '@retake/server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { serverParts } from '../../packages/cli/dist/team/server-parts.js'
import '../../packages/cli/dist/verbs/index.js'
import { writeTape } from '../web/support/write-tape.js'
import { Postgres } from '../../packages/server/dist/database/postgres.js'
import {
  createOrganization,
  type Credentials,
  newDataFolder,
  pushTape,
  startTeam,
  type Team,
  writeRun,
} from './support/api-team.js'

const cli = fileURLToPath(new URL('../../packages/cli/bin/retake.mjs', import.meta.url))

interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs `retake server …`. */
const retakeServer = (
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Ended> =>
  promisify(execFile)(process.execPath, [cli, 'server', ...args], {
    env: { ...process.env, ...env },
  }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (error: unknown) => error as { code: number; stdout: string; stderr: string },
  )

const restoreInto = (data: string, backup: string) =>
  restore(readSettings({ data }, {}), new Log('text'), backup)

let team: Team
let owner: Credentials
/** A key for programs: sessions are not part of a backup. */
let program: Credentials
/** Beside the data folder. */
const beside = (name: string): string => path.join(path.dirname(team.data), name)
const runsOf = async (from: Team): Promise<string> =>
  (await from.request(program, 'GET', '/api/v1/acme/projects/refunds/runs')).text

beforeAll(async () => {
  team = await startTeam({ RETAKE_LOG: 'json' })
  owner = (await createOrganization(team, 'acme')).owner
  await team.request(owner, 'POST', '/api/v1/acme/projects', { slug: 'refunds' })
  const made = await team.request(owner, 'POST', '/api/v1/acme/keys', { name: 'program' })
  program = { authorization: `Bearer ${made.json<{ key: string }>().key}` }
  const tapes = beside('tapes')
  mkdirSync(tapes)
  for (const id of ['one', 'two']) {
    const pushed = await pushTape(team, owner, ['acme', 'refunds'], writeRun(tapes, id, id))
    if (pushed.status !== 201) throw new Error(pushed.text)
  }
  const filter = '/api/v1/acme/projects/refunds/filters/Wrong'
  await team.request(owner, 'PUT', filter, { query: 'status:failed price' })
  const run = '/api/v1/acme/projects/refunds/runs/one'
  await team.request(owner, 'PATCH', run, { tags: ['checked'], note: 'seen' })
  await team.request(owner, 'POST', `${run}/comments`, { text: 'Why this tool?' })
})
afterAll(() => team.close())

describe('figures', () => {
  test('Prometheus reads requests, durations, runs, storage, lag and connections', async () => {
    await team.request({}, 'GET', '/api/v1')
    const { status, text } = await team.request({}, 'GET', '/metrics')
    expect(status).toBe(200)
    expect(text).toMatch(/retake_requests_total\{method="GET",route="\/api\/v1",status="200"\} \d/)
    expect(text).toContain('retake_runs 2\n')
    expect(text).toMatch(/retake_storage_bytes [1-9]/)
    expect(text).toMatch(/retake_request_seconds_bucket\{route="[^"]+",le="\+Inf"\} \d/)
    expect(text).toMatch(/retake_event_loop_lag_seconds\{quantile="0.99"\} \d/)
    expect(text).toMatch(/retake_database_connections\{state="idle"\} \d/)
    expect(text, 'names of organizations and runs').not.toMatch(/acme|refunds/)
  })

  test('they show workers, the oldest waiting job, failed deliveries and the disk', async () => {
    const [organization] = await team.server.database.organizations()
    const actor = { org: organization?.id ?? '', user: 'server', role: 'owner' } as const
    const card = { name: 'w', version: '1', slots: 1, hasSandbox: false }
    await team.server.jobs.claim(card, { waitMs: 0 })
    const started = await team.request(owner, 'POST', '/api/v1/acme/projects/refunds/jobs', {
      run: 'one',
      kind: 'scan',
    })
    const { job } = started.json<{ job: { id: string } }>()
    await team.server.database.inOrg(actor, async (rows) => {
      const hourAgo = new Date(Date.now() - 3600_000).toISOString()
      await rows.updateTable('job').set({ createdAt: hourAgo }).where('id', '=', job.id).execute()
      const notice = { event: 'fix', project: 'refunds', run: 'one', title: '', text: '', path: '' }
      await rows
        .insertInto('notice')
        .values({ ...notice, event: 'fix', org: actor.org, id: 'n1' })
        .execute()
      const delivery = { org: actor.org, notice: 'n1', target: 'x', dueAt: '2100-01-01T00:00:00Z' }
      await rows
        .insertInto('delivery')
        .values([
          { ...delivery, id: 'd1', channel: 'mail', state: 'failed', error: 'gone' },
          { ...delivery, id: 'd2', channel: 'webhook', state: 'waiting', error: 'status 500' },
        ])
        .execute()
    })
    const shown = async (): Promise<string> => (await team.request({}, 'GET', '/metrics')).text
    // Counts of rows are cached for 15 seconds.
    await expect.poll(shown, { interval: 1000 }).toMatch(/^retake_job_waiting_seconds 36\d\d/m)
    const text = await shown()
    for (const line of [
      'retake_workers{sandbox="no"} 1',
      'retake_workers{sandbox="yes"} 0',
      'retake_deliveries{channel="mail",state="failed"} 1',
      'retake_deliveries{channel="mail",state="retrying"} 0',
      'retake_deliveries{channel="webhook",state="retrying"} 1',
    ])
      expect(text.split('\n')).toContain(line)
    expect(text).toMatch(/^retake_disk_free_bytes \d{7,}$/m)
    await team.request(owner, 'DELETE', `/api/v1/acme/projects/refunds/jobs/${job.id}`)
  })

  test('nobody reads them through a proxy', async () => {
    const answer = await team.request({ 'x-forwarded-for': '203.0.113.9' }, 'GET', '/metrics')
    expect(answer.status).toBe(404)
  })

  test('each answer has the id of its request, and a wrong id is replaced', async () => {
    const given = await team.request({ 'x-request-id': 'abc-1' }, 'GET', '/healthz')
    expect(given.headers.get('x-request-id')).toBe('abc-1')
    const forged = await team.request({ 'x-request-id': 'a b"c' }, 'GET', '/healthz')
    expect(forged.headers.get('x-request-id')).toMatch(/^[0-9a-f]{12}$/)
  })
})

describe('backup', () => {
  test('a backup of the running server gives the same answers on an empty machine', async () => {
    const made = await retakeServer(['backup', beside('backup'), '--data', team.data])
    expect(made.code, made.stderr).toBe(0)
    expect(statSync(path.join(beside('backup'), 'server.json')).mode & 0o777).toBe(0o600)
    const before = await runsOf(team)
    const restored = await retakeServer(['restore', beside('backup'), '--data', beside('second')])
    expect(restored.code, restored.stderr).toBe(0)
    const second = await startTeam({}, beside('second'))
    try {
      expect(await runsOf(second)).toBe(before)
      expect((await second.request(owner, 'GET', '/api/v1/me')).status, 'a session').toBe(401)
      const run = await second.request(program, 'GET', '/api/v1/acme/projects/refunds/runs/one')
      const { comments, files } = run.json<{
        comments: { text: string }[]
        files: { link: string; digest: string }[]
      }>()
      expect(comments.map(({ text }) => text)).toEqual(['Why this tool?'])
      const content = await fetch(`${second.server.url}/api/v1/${files[0]?.link}`)
      const bytes = Buffer.from(await content.arrayBuffer())
      expect(createHash('sha256').update(bytes).digest('hex')).toBe(files[0]?.digest)
      // Numbers continue after those of the backup.
      const made2 = await second.request(program, 'POST', '/api/v1/acme/projects', {
        slug: 'next',
      })
      expect(made2.status, made2.text).toBe(201)
      // The index is lost, with the saved filters in it.
      await second.server.database.asOwner((client) => client.query('delete from retake.project'))
    } finally {
      await second.server.close()
    }
    const indexed = await retakeServer(['reindex', '--data', beside('second')])
    expect(indexed.stdout).toContain('acme: 2 runs')
    const third = await startTeam({}, beside('second'))
    expect(await runsOf(third)).toBe(before)
    const saved = await third.request(program, 'GET', '/api/v1/acme/projects/refunds/filters')
    expect(saved.json()).toMatchObject({
      filters: [{ name: 'Wrong', query: 'status:failed price', author: 'owner@acme.test' }],
    })
    await third.server.close()
  })

  test.each([
    ['a changed database', (at: string) => writeFileSync(path.join(at, 'database.jsonl.gz'), 'x')],
    [
      'a changed file',
      (at: string) => {
        const [name = ''] = readFileSync(path.join(at, 'blobs.sha256'), 'utf8')
          .slice(66)
          .split('\n')
        writeFileSync(path.join(at, name), 'x')
      },
    ],
    [
      'a newer schema',
      (at: string) => {
        const file = path.join(at, 'backup.json')
        const manifest = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>
        writeFileSync(file, JSON.stringify({ ...manifest, schema: 99 }))
      },
    ],
    ['no description', (at: string) => writeFileSync(path.join(at, 'backup.json'), '')],
  ])('%s is refused, and nothing is left behind', async (what, change) => {
    const copy = beside(`backup ${what}`)
    cpSync(beside('backup'), copy, { recursive: true })
    change(copy)
    const target = beside(`restored ${what}`)
    await expect(restoreInto(target, copy)).rejects.toMatchObject({
      code: what === 'a newer schema' ? 'DATABASE_NEWER' : 'BACKUP_DAMAGED',
    })
    expect(existsSync(target) || existsSync(`${target}.restoring`)).toBe(false)
  })

  test('it is never restored over data, nor written over a backup', async () => {
    await expect(restoreInto(team.data, beside('backup'))).rejects.toMatchObject({
      code: 'DATA_FOLDER_NOT_EMPTY',
    })
    const settings = readSettings({ data: team.data }, {})
    const again = backUp(settings, await serverParts(), new Log('text'), beside('backup'))
    await expect(again).rejects.toMatchObject({ code: 'BACKUP_EXISTS' })
    expect(await runsOf(team)).toContain('"one"')
  })
})

test('a long tape is read while the server answers other requests', async () => {
  const tape = writeTape(beside('tapes'), { id: 'long' }, (script) => {
    for (let step = 0; step < 400; step++)
      script.chat([{ role: 'user', content: `question ${step} `.repeat(200) }], 'answer')
  })
  expect((await pushTape(team, owner, ['acme', 'refunds'], tape)).status).toBe(201)
  // The server has the file, and only reads it again.
  await team.request(owner, 'POST', '/api/v1/acme/projects', { slug: 'second' })
  const pushing = pushTape(team, owner, ['acme', 'second'], tape)
  const pushed = new AbortController()
  void pushing.finally(() => pushed.abort())
  const delays: number[] = []
  while (!pushed.signal.aborted) {
    const started = performance.now()
    await team.request({}, 'GET', '/healthz')
    delays.push(performance.now() - started)
  }
  expect((await pushing).status).toBe(201)
  const total = delays.reduce((sum, each) => sum + each, 0)
  expect(Math.max(...delays)).toBeLessThan(total / 3)
  for (const project of ['refunds', 'second'])
    await team.request(owner, 'DELETE', `/api/v1/acme/projects/${project}/runs/long`)
})

test('files that jobs made count for the quota', async () => {
  const [organization] = await team.server.database.organizations()
  const actor = { org: organization?.id ?? '', user: 'owner@acme.test', role: 'owner' } as const
  const project = await team.server.runs.project(actor, 'refunds')
  const before = await team.server.runs.storageUsed(actor)
  const made = { name: 'one.html', digest: '1'.repeat(64), bytes: 1000 }
  const job = (id: string, result: object) => ({
    org: actor.org,
    id,
    project: project.id,
    run: 'one',
    kind: 'export' as const,
    options: {},
    state: 'done' as const,
    createdBy: actor.user,
    result,
  })
  await team.server.database.inOrg(actor, (rows) =>
    rows
      .insertInto('job')
      .values([
        job('j1', { files: [made] }),
        job('j2', { files: [made] }),
        job('j3', { files: [{ name: 'odd', bytes: 'many' }] }),
        job('j4', { files: 'none' }),
      ])
      .execute(),
  )
  expect(await team.server.runs.storageUsed(actor)).toBe(before + 1000)
})

describe('starting and stopping', () => {
  test('a second server on one data folder refuses to start', async () => {
    const second = startServer(
      readSettings({ data: team.data, port: '0' }, {}),
      await serverParts(),
    )
    await expect(second).rejects.toMatchObject({ code: 'DATA_FOLDER_IN_USE' })
  })

  test('a server with another secret leaves a database alone, and the first one keeps working', async () => {
    const { host } = Postgres.connectionOf(team.data)
    const DATABASE_URL = `postgres://retake@localhost/postgres?host=${encodeURIComponent(host)}`
    const start = async (data: string) =>
      startServer(readSettings({ data, port: '0' }, { DATABASE_URL }), await serverParts())
    const stored = () =>
      team.server.database.asOwner(async (client) => {
        const { rows } = await client.query(
          'select rolname, rolpassword, secret from pg_authid, retake.gate order by rolname',
        )
        return rows as unknown[]
      })
    const before = await stored()
    const runs = await runsOf(team)
    const answers: Promise<string>[] = []
    const asking = setInterval(() => answers.push(runsOf(team)), 20)
    const lost = newDataFolder()
    await expect(start(lost)).rejects.toMatchObject({
      code: 'DATABASE_OTHER_SECRET',
      why: expect.stringContaining('is missing'),
    })
    // The wrong secret is not left behind, so that the right one can be copied there.
    expect(existsSync(path.join(lost, 'server.json'))).toBe(false)
    const foreign = newDataFolder()
    mkdirSync(foreign, { recursive: true })
    const secret = createHash('sha256').update('another').digest('base64')
    writeFileSync(path.join(foreign, 'server.json'), JSON.stringify({ version: 1, secret }))
    await expect(start(foreign)).rejects.toMatchObject({
      code: 'DATABASE_OTHER_SECRET',
      why: expect.stringContaining('contains a different secret'),
    })
    expect(existsSync(path.join(foreign, 'server.json'))).toBe(true)
    clearInterval(asking)
    expect(new Set(await Promise.all(answers))).toEqual(new Set([runs]))
    expect(await stored()).toEqual(before)
    // With the secret of the database, a second folder may use it.
    cpSync(path.join(team.data, 'server.json'), path.join(lost, 'server.json'))
    await (await start(lost)).close()
    expect(await runsOf(team)).toBe(runs)
  })

  test('SIGTERM to npx ends the server, too', async () => {
    const data = newDataFolder()
    const project = path.join(path.dirname(data), 'project')
    mkdirSync(path.join(project, 'node_modules/.bin'), { recursive: true })
    writeFileSync(path.join(project, 'package.json'), '{"private": true}')
    symlinkSync(path.join(cli, '../..'), path.join(project, 'node_modules/retake'))
    symlinkSync('../retake/bin/retake.mjs', path.join(project, 'node_modules/.bin/retake'))
    const npx = spawn('npx', ['--no-install', 'retake', 'server', '--data', data, '--port=0'], {
      cwd: project,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    await once(npx.stdout, 'data')
    const lock = path.join(data, 'server.lock')
    const { pid } = JSON.parse(readlinkSync(lock)) as { pid: number }
    expect(pid).not.toBe(npx.pid)
    npx.kill('SIGTERM')
    await expect
      .poll(() => lstatSync(lock, { throwIfNoEntry: false }), { timeout: 30_000 })
      .toBeUndefined()
    await expect.poll(() => existsSync(`/proc/${pid}`)).toBe(false)
  })

  test('the doctor names problems in one line each, and the settings are readable', async () => {
    const fine = await retakeServer(['doctor', '--data', team.data])
    const env = {
      RETAKE_SMTP_URL: 'smtp://127.0.0.1:1',
      RETAKE_S3_URL: 'http://127.0.0.1:1/bucket',
      RETAKE_URL: 'http://retake.test',
      RETAKE_S3_KEY_ID: 'id',
      RETAKE_S3_SECRET: 'not a secret',
    }
    const ended = await retakeServer(['doctor', '--data', team.data], env)
    expect(ended.code).toBe(3)
    const lines = ended.stdout.trim().split('\n')
    for (const part of ['mail', 'storage', 'address', 'proxy'])
      expect(lines.filter((line) => line.startsWith(`${part}: `)).length, part).toBeGreaterThan(0)
    expect(fine.stdout).not.toMatch(/^(?:database|folder|disk|storage|address): /m)
    const config = await retakeServer(['config'], env)
    expect(config.stdout).toContain('RETAKE_URL=http://retake.test\n')
    expect(config.stdout).toContain('# RETAKE_PORT=4700\n')
    expect(config.stdout).not.toContain('not a secret')
  })
})

describe('with a PostgreSQL of its own address', () => {
  test('a database that is gone gives 503, and requests work again when it is back', async () => {
    const data = newDataFolder()
    let postgres = await Postgres.start(data, () => {})
    const { host } = Postgres.connectionOf(data)
    const DATABASE_URL = `postgres://retake@localhost/postgres?host=${encodeURIComponent(host)}`
    const other = await startTeam({ DATABASE_URL })
    const { owner: person } = await createOrganization(other, 'beta')
    const list = () => other.request(person, 'GET', '/api/v1/beta/projects')
    expect((await list()).status).toBe(200)
    await postgres.stop()
    const gone = await list()
    expect(gone.status, gone.text).toBe(503)
    expect(gone.text).toContain('DATABASE_UNREACHABLE')
    // The reason is in the log: it has paths of the server.
    expect(gone.text).not.toMatch(/ENOENT|ECONN|socket|data\//)
    expect(gone.text).toContain(`request ${gone.headers.get('x-request-id')}`)
    expect((await other.request({}, 'GET', '/readyz')).status).toBe(503)
    expect((await other.request({}, 'GET', '/healthz')).status).toBe(200)
    expect((await other.request({}, 'GET', '/metrics')).text).toContain('retake_database_up 0')
    postgres = await Postgres.start(data, () => {})
    expect((await list()).status).toBe(200)
    const started = performance.now()
    await other.close()
    expect(performance.now() - started).toBeLessThan(2000)
    await postgres.stop()
  })
})
