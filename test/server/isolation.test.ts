import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connectTo } from '../support/postgres.mjs'
import {
  addMember,
  createOrganization,
  type Credentials,
  pushTape,
  startTeam,
  type Team,
  writeRun,
} from './support/api-team.js'

/**
 * Two organizations on one server. Acme has everything that an attacker could want; its name for
 * it occurs in no answer to anybody else. Globex is the attacker.
 */
const SECRET = 'acmeonlyword'
const RUN = 'run-of-acme'
const MODEL = {
  provider: 'openai',
  baseUrl: 'https://models.example.com/v1',
  key: SECRET,
  models: [{ name: SECRET, input: 1, output: 1 }],
  jobUsd: 1,
  monthUsd: 1,
}

interface World {
  readonly team: Team
  readonly folder: string
  readonly acme: { readonly id: string; readonly owner: Credentials }
  readonly globex: { readonly id: string; readonly owner: Credentials }
  readonly ids: Readonly<Record<'project' | 'run' | 'key' | 'digest' | 'link' | 'comment', string>>
  readonly attackers: Readonly<Record<string, Credentials>>
}

let world: World

beforeAll(async () => {
  const team = await startTeam({ RETAKE_REQUESTS_PER_MINUTE: '1000000' })
  const folder = mkdtempSync(path.join(tmpdir(), 'retake-isolation-'))
  const [acme, globex] = [
    await createOrganization(team, 'acme'),
    await createOrganization(team, 'globex'),
  ]
  const ask = team.request
  for (const [org, owner] of [
    ['acme', acme.owner],
    ['globex', globex.owner],
  ] as const)
    for (const slug of ['refunds', 'other'])
      await ask(owner, 'POST', `/api/v1/${org}/projects`, { slug, name: slug })
  const pushed = await pushTape(
    team,
    acme.owner,
    ['acme', 'refunds'],
    writeRun(folder, RUN, SECRET),
  )
  if (pushed.status !== 201) throw new Error(pushed.text)
  await pushTape(
    team,
    globex.owner,
    ['globex', 'refunds'],
    writeRun(folder, 'run-of-globex', 'own'),
  )
  const runRoute = `/api/v1/acme/projects/refunds/runs/${RUN}`
  await ask(acme.owner, 'PATCH', runRoute, { tags: [SECRET], note: SECRET })
  const commented = await ask(acme.owner, 'POST', `${runRoute}/comments`, {
    text: SECRET,
    step: '1',
  })
  const set = await ask(acme.owner, 'PUT', '/api/v1/acme/model', MODEL)
  if (set.status !== 200) throw new Error(set.text)
  await team.server.database.inOrg({ org: acme.id, user: SECRET, role: 'owner' }, (rows) =>
    rows
      .insertInto('modelSpending')
      .values({ org: acme.id, month: '2026-11', job: SECRET, usd: 1 })
      .execute(),
  )
  const makeKey = async (
    owner: Credentials,
    org: string,
    more: object,
  ): Promise<{ key: string; id: string }> =>
    (
      await ask(owner, 'POST', `/api/v1/${org}/keys`, {
        name: SECRET,
        scopes: ['read', 'push'],
        ...more,
      })
    ).json()
  const acmeKey = await makeKey(acme.owner, 'acme', {})
  const otherProject = await makeKey(acme.owner, 'acme', { project: 'other' })
  const revoked = await makeKey(acme.owner, 'acme', {})
  await ask(acme.owner, 'DELETE', `/api/v1/acme/keys/${revoked.id}`)
  const globexKey = await makeKey(globex.owner, 'globex', {
    name: 'own',
    scopes: ['read', 'push', 'jobs', 'approve'],
  })
  const detail = (await ask(acme.owner, 'GET', runRoute)).json<{
    files: { digest: string; link: string }[]
  }>()
  const [file] = detail.files
  const gone = await addMember(team, acme, 'gone@acme.test', 'admin')
  const { rows } = await team.server.database.auth.query<{ id: string }>(
    'select id from "user" where email = $1',
    ['gone@acme.test'],
  )
  await team.server.accounts.removeMember(acme.id, rows[0]?.id ?? '', new Headers(acme.owner))
  const bearer = (key: string): Credentials => ({ authorization: `Bearer ${key}` })
  world = {
    team,
    folder,
    acme,
    globex,
    ids: {
      project: 'refunds',
      run: RUN,
      key: acmeKey.id,
      digest: file?.digest ?? '',
      link: file?.link ?? '',
      comment: commented.json<{ comment: { id: string } }>().comment.id,
    },
    attackers: {
      nobody: {},
      'the owner of another organization': globex.owner,
      'a key of another organization': bearer(globexKey.key),
      'a removed member': gone,
      'a revoked key': bearer(revoked.key),
      'a made-up key': bearer(`rtk_${acme.id}_${'A'.repeat(43)}`),
      'a key with the organization changed': bearer(globexKey.key.replace(globex.id, acme.id)),
      'a key of another project': bearer(otherProject.key),
    },
  }
})

afterAll(async () => {
  await world.team.close()
  rmSync(world.folder, { recursive: true, force: true })
})

/** Every route that names something of an organization. */
const routes: [method: string, route: string, body?: unknown][] = [
  ['GET', '/api/v1/acme/projects'],
  ['POST', '/api/v1/acme/projects', { slug: 'planted', name: 'planted' }],
  ['GET', '/api/v1/acme/projects/refunds/runs'],
  ['GET', '/api/v1/acme/projects/refunds/runs?q=acmeonlyword'],
  ['GET', '/api/v1/acme/projects/refunds/clusters'],
  [
    'POST',
    '/api/v1/acme/projects/refunds/uploads',
    { files: [{ name: `${RUN}.tape`, digest: 'DIGEST', bytes: 1 }] },
  ],
  ['PATCH', '/api/v1/acme/projects/refunds/uploads/DIGEST?offset=0&size=1', new Uint8Array(1)],
  [
    'POST',
    '/api/v1/acme/projects/refunds/runs',
    { run: 'planted', files: [{ name: 'planted.tape', digest: 'DIGEST', bytes: 1 }] },
  ],
  ['GET', `/api/v1/acme/projects/refunds/runs/${RUN}`],
  ['PATCH', `/api/v1/acme/projects/refunds/runs/${RUN}`, { tags: ['planted'] }],
  ['DELETE', `/api/v1/acme/projects/refunds/runs/${RUN}`],
  ['POST', `/api/v1/acme/projects/refunds/runs/${RUN}/comments`, { text: 'planted' }],
  ['GET', '/api/v1/acme/projects/refunds/filters'],
  ['PUT', '/api/v1/acme/projects/refunds/filters/planted', { query: 'planted' }],
  ['DELETE', '/api/v1/acme/projects/refunds/filters/own'],
  ['GET', '/api/v1/acme/projects/refunds/approvals'],
  ['POST', '/api/v1/acme/projects/refunds/approvals', { run: RUN, call: { tool: 'planted' } }],
  ['GET', '/api/v1/acme/projects/refunds/approvals/any'],
  ['POST', '/api/v1/acme/projects/refunds/approvals/any', { approved: true }],
  ['GET', '/api/v1/acme/projects/refunds/jobs'],
  ['POST', '/api/v1/acme/projects/refunds/jobs', { run: RUN, kind: 'scan' }],
  ['GET', '/api/v1/acme/projects/refunds/jobs/any'],
  ['GET', '/api/v1/acme/projects/refunds/jobs/any/events'],
  ['GET', '/api/v1/acme/projects/refunds/jobs/any/files/any.patch'],
  ['DELETE', '/api/v1/acme/projects/refunds/jobs/any'],
  ['PATCH', '/api/v1/acme/projects/refunds/live/planted?offset=0', new Uint8Array(1)],
  ['GET', '/api/v1/acme/keys'],
  ['POST', '/api/v1/acme/keys', { name: 'planted' }],
  ['DELETE', '/api/v1/acme/keys/KEY'],
  ['GET', '/api/v1/acme/model'],
  ['PUT', '/api/v1/acme/model', MODEL],
  ['DELETE', '/api/v1/acme/model'],
]

const attackerNames = [
  'nobody',
  'the owner of another organization',
  'a key of another organization',
  'a removed member',
  'a revoked key',
  'a made-up key',
  'a key with the organization changed',
  'a key of another project',
]

/** Fills in the ids of Acme, which the attacker is assumed to know. */
const filled = <T>(value: T): T =>
  value instanceof Uint8Array || value === undefined
    ? value
    : (JSON.parse(
        JSON.stringify(value)
          .replaceAll('DIGEST', world.ids.digest)
          .replaceAll('KEY', world.ids.key),
      ) as T)

/** Runs SQL as the superuser of the database, who sees everything. */
async function asOwner(statement: string, values: readonly string[] = []) {
  const client = await connectTo({ ...connection(), user: 'retake' })
  try {
    return await client.query(statement, [...values])
  } finally {
    await client.end()
  }
}

const connection = () => ({
  host: path.join(world.team.data, 'postgres', 'socket'),
  port: 5432,
  database: 'postgres',
})

/** Every row of Acme. */
async function acmeNow(): Promise<string> {
  const { acme } = world
  const tables = ['project', 'run', 'run_file', 'comment', 'api_key', 'audit']
  const selects = tables.map(
    (table) =>
      `(select json_agg(to_jsonb(t) - 'used_at' order by t::text) from retake.${table} t where org = $1)`,
  )
  const { rows } = await asOwner(`select ${selects.join(', ')}`, [acme.id])
  return JSON.stringify(rows)
}

describe.each(attackerNames)('%s', (attacker) => {
  test.each(routes)('gets nothing by %s %s', async (method, route, body) => {
    const { team, attackers } = world
    const before = await acmeNow()
    const answer = await team.request(
      attackers[attacker] ?? {},
      method,
      filled(route),
      filled(body),
    )
    expect([401, 403, 404]).toContain(answer.status)
    expect(answer.text).not.toContain(SECRET)
    expect(await acmeNow()).toBe(before)
  })
})

describe('the owner of another organization', () => {
  const own = ['globex', 'refunds'] as const
  test.each([
    [`runs/${RUN}`, 'GET'],
    [`runs/${RUN}`, 'DELETE'],
    [`runs/..%2F..%2F${RUN}`, 'GET'],
    [`runs/%2e%2e%2frefunds%2f${RUN}`, 'GET'],
    ["runs/' or '1'='1", 'GET'],
    [`runs/${RUN}' --`, 'GET'],
    ['runs/%00', 'GET'],
  ])('does not reach a run of Acme in its own project by %s (%s)', async (route, method) => {
    const { team, globex } = world
    const answer = await team.request(
      globex.owner,
      method,
      `/api/v1/${own.join('/projects/')}/${route}`,
    )
    expect(answer.status).toBeGreaterThanOrEqual(400)
    expect(answer.status).toBeLessThan(500)
    expect(answer.text).not.toContain(SECRET)
  })

  test.each([
    SECRET,
    `name:${SECRET}`,
    `tag:${SECRET}`,
    `parent:${RUN}`,
    "' or 1=1 --",
    "status:done' or '1'='1",
    'a:* | b',
    '!nothing',
    "tag:x'] or true --",
    '\0',
    '%',
    `model:gpt-4o-mini ${SECRET}`,
  ])('finds nothing of Acme by searching %j', async (query) => {
    const { team, globex } = world
    const answer = await team.request(
      globex.owner,
      'GET',
      `/api/v1/globex/projects/refunds/runs?q=${encodeURIComponent(query)}`,
    )
    expect(answer.text).not.toContain(SECRET)
    expect(answer.status).toBeLessThan(500)
  })

  test('sees the same answer for what is foreign and for what does not exist', async () => {
    const { team, globex } = world
    const ask = async (route: string) => {
      const { status, text } = await team.request(globex.owner, 'GET', route)
      return { status, text }
    }
    expect(await ask('/api/v1/acme/projects')).toEqual(await ask('/api/v1/nosuchorg/projects'))
    expect(await ask(`/api/v1/acme/projects/refunds/runs/${RUN}`)).toEqual(
      await ask('/api/v1/nosuchorg/projects/refunds/runs/x'),
    )
    expect(await ask(`/api/v1/globex/projects/refunds/runs/${RUN}`)).toEqual(
      await ask('/api/v1/globex/projects/refunds/runs/nosuchrun'),
    )
  })

  test('needs the content to have a file that Acme has: digests prove nothing', async () => {
    const { team, globex, ids } = world
    const files = [{ name: 'stolen.tape', digest: ids.digest, bytes: 1000 }]
    const route = '/api/v1/globex/projects/refunds'
    const missing = await team.request(globex.owner, 'POST', `${route}/uploads`, { files })
    expect(missing.json()).toEqual({ missing: [{ digest: ids.digest, received: 0 }] })
    const claimed = await team.request(globex.owner, 'POST', `${route}/runs`, {
      run: 'stolen',
      files,
    })
    expect(claimed.status).toBe(422)
    const wrong = await team.request(
      globex.owner,
      'PATCH',
      `${route}/uploads/${ids.digest}?offset=0&size=3`,
      new Uint8Array(3),
    )
    expect(wrong.json<{ error: { code: string } }>().error.code).toBe('UPLOAD_DAMAGED')
  })

  test.each([
    ['../../x.tape'],
    ['stolen.tape/../../../x'],
    ['/etc/passwd'],
    ['stolen.children/../../x'],
    ['.hidden'],
    ['stolen.tape\0'],
    ['a/b/c'],
    ['other.tape'],
  ])('cannot name a file %j', async (name) => {
    const { team, globex } = world
    const answer = await team.request(
      globex.owner,
      'POST',
      '/api/v1/globex/projects/refunds/runs',
      {
        run: 'stolen',
        files: [
          { name: 'stolen.tape', digest: 'a'.repeat(64), bytes: 1 },
          { name, digest: 'b'.repeat(64), bytes: 1 },
        ],
      },
    )
    expect(answer.status).toBe(422)
  })
})

describe('links to files', () => {
  const used = async (link: string): Promise<number> =>
    (await world.team.request({}, 'GET', `/api/v1/${link}`)).status

  test('work for their file, without signing in', async () => {
    expect(await used(world.ids.link)).toBe(200)
  })

  test.each<[what: string, change: (parts: string[]) => string[]]>([
    ['another organization', ([, ...rest]) => [`blobs/${world.globex.id}`, ...rest]],
    ['another file', ([org = '', , ...rest]) => [org, 'a'.repeat(64), ...rest]],
    [
      'another time',
      ([org = '', digest = '', , sign = '']) => [org, digest, '9999999999999', sign],
    ],
    ['no signature', (parts) => [...parts.slice(0, 3), '']],
    ['the signature cut', (parts) => [...parts.slice(0, 3), (parts[3] ?? '').slice(0, -1)]],
    ['more parts', (parts) => [...parts, 'x']],
  ])('do not work with %s', async (_, change) => {
    expect(await used(change(world.ids.link.split('.')).join('.'))).toBe(403)
  })
})

describe('a viewer', () => {
  let viewer: Credentials
  beforeAll(async () => {
    viewer = await addMember(world.team, world.acme, 'viewer@acme.test', 'viewer')
  })
  test('reads runs', async () => {
    const answer = await world.team.request(viewer, 'GET', '/api/v1/acme/projects/refunds/runs')
    expect(answer.text).toContain(SECRET)
  })
  const changes = routes.filter(([method, route]) => method !== 'GET' || /keys|model/.test(route))
  test.each(changes)('may not %s %s', async (method, route, body) => {
    const before = await acmeNow()
    const answer = await world.team.request(viewer, method, filled(route), filled(body))
    expect(answer.status).toBe(403)
    expect(await acmeNow()).toBe(before)
  })
})

test('a page of another origin cannot use a session', async () => {
  const { team, acme } = world
  for (const origin of ['https://evil.test', 'null'])
    for (const [method, route, body] of routes.filter(([each]) => each !== 'GET')) {
      const answer = await team.request(
        { ...acme.owner, origin },
        method,
        filled(route),
        filled(body),
      )
      expect(answer.status, `${method} ${route}`).toBe(403)
    }
})

/** Everything in a value; PostgreSQL returns counts as big integers. */
const shown = (value: unknown): string =>
  JSON.stringify(value, (_, each: unknown) => (typeof each === 'bigint' ? String(each) : each))

/** Runs statements in the transaction of Globex; returns everything that they read or say. */
async function inject(statements: string, role: 'member' | 'viewer' = 'member'): Promise<string> {
  const { team, globex } = world
  const outcomes: unknown[] = []
  await team.server.database
    .inOrg({ org: globex.id, user: 'attacker', role }, async (rows) => {
      for (const statement of statements.split('; '))
        outcomes.push(await sql.raw(statement).execute(rows))
    })
    .catch((error: unknown) => outcomes.push((error as Error).message))
  return shown(outcomes)
}

/** SQL that somebody has managed to inject into the transaction of Globex. */
describe('injected SQL', () => {
  const tables = [
    'project',
    'run',
    'run_file',
    'comment',
    'saved_filter',
    'api_key',
    'audit',
    'job',
    'model_endpoint',
    'modelSpending',
    'webhook',
    'notification_choice',
    'waiting_approval',
    'storage_used',
  ]

  test('reads its own rows: the attack would work otherwise', async () => {
    expect(await inject('select * from retake.run')).toContain('run-of-globex')
  })

  test.each(tables)('reads no row of Acme in %s', async (table) => {
    const read = await inject(`select * from retake.${table}`)
    expect(read).not.toContain(world.acme.id)
    expect(read).not.toContain(SECRET)
  })

  test.each([
    [
      'choosing the organization',
      (acme: string) =>
        `select set_config('retake.org', '${acme}', true); select * from retake.run`,
    ],
    [
      'choosing it for the session',
      (acme: string) => `set retake.org = '${acme}'; select * from retake.run`,
    ],
    [
      'an empty proof',
      (acme: string) =>
        `select set_config('retake.org', '${acme}', true), set_config('retake.proof', '', true); select * from retake.run`,
    ],
    ['the role of the database owner', () => 'reset role; select * from retake.run'],
    ['another role', () => 'set role retake; select * from retake.run'],
    ['the role of accounts', () => 'set role postgres_auth; select * from auth.session'],
    ['another user', () => 'set session authorization retake; select * from retake.run'],
    ['policies off', () => 'set row_security = off; select * from retake.run'],
    [
      'a table without policies',
      () => 'alter table retake.run disable row level security; select * from retake.run',
    ],
    ['the secret of the gate', () => 'select * from retake.gate'],
    ['sessions', () => 'select * from auth.session'],
    ['accounts', () => 'select * from auth."user"'],
    ['the job queue', () => 'select * from queue.job'],
    ['a join', () => 'select * from retake.run a left join retake.run b on true'],
    ['a subquery', () => "select (select string_agg(name, ',') from retake.run)"],
    [
      'a function of its own',
      () =>
        "create function retake.f() returns setof retake.run language sql security definer as 'select * from retake.run'; select * from retake.f()",
    ],
    [
      'a view of its own',
      () => 'create view retake.v as select * from retake.run; select * from retake.v',
    ],
    ['a temporary table', () => 'create temporary table t as select 1'],
    ['statistics', () => "select * from pg_stats where schemaname = 'retake'"],
    ['a copy to a file', () => "copy retake.run to '/tmp/stolen'"],
    ['a program', () => "copy (select 1) to program 'id'"],
    ['a file of the server', () => "select pg_read_file('/etc/passwd')"],
    ['large objects', () => "select lo_import('/etc/passwd')"],
    [
      'an error that shows a row',
      () =>
        'select 1 / (select count(*) - count(*) from retake.run where cast(name as integer) = 1)',
    ],
    [
      'a function that leaks what policies hide',
      () => 'select * from retake.run where (name || pg_sleep(0)::text) is not null',
    ],
    ['a truncated table', () => 'truncate retake.run'],
    ['the audit log changed', () => "update retake.audit set action = 'nothing'"],
    ['the audit log emptied', () => 'delete from retake.audit'],
    ['a new right', () => 'grant all on retake.run to public'],
    ['a prepared plan', () => 'prepare p as select * from retake.run; execute p'],
    ['a cursor', () => 'declare c cursor for select * from retake.run; fetch all from c'],
    ['returned rows of a change', () => 'update retake.run set note = note returning *'],
    ['removed rows', () => 'delete from retake.comment returning *'],
    ['a lock on foreign rows', () => 'select * from retake.run for update'],
    [
      'an insert into Acme',
      (acme: string) =>
        `insert into retake.project (org, id, slug, name, badge_token) values ('${acme}', 'planted', 'planted', 'planted', 'x')`,
    ],
    [
      'a row moved to Acme',
      (acme: string) => `update retake.project set org = '${acme}' returning *`,
    ],
  ])('reaches nothing of Acme by %s', async (_, statements) => {
    const before = await acmeNow()
    const read = await inject(statements(world.acme.id))
    expect(read).not.toContain(SECRET)
    expect(read).not.toContain('owner@acme.test')
    expect(read).not.toMatch(/root:|uid=/)
    expect(await acmeNow()).toBe(before)
  })

  test.each(['run', 'project', 'comment', 'api_key'])(
    'of a viewer changes nothing in %s',
    async (table) => {
      const outcome = await inject(`update retake.${table} set org = org`, 'viewer')
      expect(outcome).toContain('"numAffectedRows":"0"')
    },
  )

  test('of a viewer cannot become that of a member', async () => {
    const read = await inject(
      "select set_config('retake.role', 'owner', true); select * from retake.run",
      'viewer',
    )
    expect(read).not.toContain('run-of-globex')
  })
})

/** The layers below: each case names what fails if the layer is missing. */
describe('a connection of the server', () => {
  test.each([
    ['select * from retake.run'],
    ['select * from retake.gate'],
    ['select retake.current_org()'],
    ['select * from auth.session'],
    ['set role retake; select 1'],
  ])('without a request may not: %s', async (sql) => {
    const client = await connectTo({ ...connection(), user: 'postgres_app' })
    try {
      await expect(client.query(sql)).rejects.toThrow(/permission denied/)
    } finally {
      await client.end()
    }
  })

  test('without a proof sees no row', async () => {
    const client = await connectTo({ ...connection(), user: 'postgres_app' })
    try {
      await client.query('begin; set local role postgres_member')
      await client.query("select set_config('retake.org', $1, true)", [world.acme.id])
      expect((await client.query('select * from retake.run')).rows).toEqual([])
    } finally {
      await client.end()
    }
  })

  test.each(['retake.run', 'retake.api_key'])('for accounts may not read %s', async (table) => {
    const client = await connectTo({ ...connection(), user: 'postgres_auth' })
    try {
      await expect(client.query(`select * from ${table}`)).rejects.toThrow(/permission denied/)
    } finally {
      await client.end()
    }
  })
})

describe('without one layer', () => {
  test('row-level security: reading a table leaks', async () => {
    await asOwner('alter table retake.run disable row level security')
    try {
      expect(await inject('select * from retake.run')).toContain(SECRET)
    } finally {
      await asOwner('alter table retake.run enable row level security')
    }
    expect(await inject('select * from retake.run')).not.toContain(SECRET)
  })

  test('security_invoker: a view leaks', async () => {
    await asOwner('alter view retake.storage_used set (security_invoker = false)')
    try {
      expect(await inject('select * from retake.storage_used')).toContain(world.acme.id)
    } finally {
      await asOwner('alter view retake.storage_used set (security_invoker = true)')
    }
    expect(await inject('select * from retake.storage_used')).not.toContain(world.acme.id)
  })

  test('the signed settings: choosing the organization leaks', async () => {
    // The last test: it removes the layer for good.
    await asOwner(
      "create or replace function retake.current_org() returns text language sql stable as 'select current_setting(''retake.org'', true)'",
    )
    const attack = `set local retake.org = '${world.acme.id}'; select name from retake.run`
    expect(await inject(attack)).toContain(SECRET)
  })
})

describe('stored files', () => {
  const blobs = (): string => path.join(world.team.data, 'blobs')
  const files = (org: string): string[] =>
    readdirSync(path.join(blobs(), org), { recursive: true, withFileTypes: true })
      .filter((each) => each.isFile())
      .map((each) => path.join(each.parentPath, each.name))

  test('contain no text of a run', () => {
    for (const file of [...files(world.acme.id), ...files(world.globex.id)])
      expect(readFileSync(file).includes(SECRET), file).toBe(false)
  })

  test('of Acme cannot be read in the place of a file of Globex', async () => {
    const { team, globex, acme } = world
    const theirs = files(acme.id).find((file) => file.includes('/files/')) ?? ''
    const own = files(globex.id).find((file) => file.includes('/files/')) ?? ''
    const before = readFileSync(own)
    writeFileSync(own, readFileSync(theirs))
    rmSync(path.join(team.data, 'cache'), { recursive: true, force: true })
    const detail = await team.request(
      globex.owner,
      'GET',
      '/api/v1/globex/projects/refunds/runs/run-of-globex',
    )
    const [file] = detail.json<{ files: { link: string }[] }>().files
    const answer = await team
      .request({}, 'GET', `/api/v1/${file?.link}`)
      .catch((error: unknown) => ({ text: (error as Error).message }))
    expect(answer.text).not.toContain(SECRET)
    writeFileSync(own, before)
  })
})
