import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { backUp, Log, readSettings, restore } from '@retake/server'
import { expect, test } from 'vitest'
import { serverParts } from '../../packages/cli/dist/team/server-parts.js'
import '../../packages/cli/dist/verbs/index.js'
import { Database, ownerAccess } from '../../packages/server/dist/database/database.js'
import { Postgres } from '../../packages/server/dist/database/postgres.js'
import { migrations } from '../../packages/server/dist/database/schema.js'
import { backUpBeforeChange } from '../../packages/server/dist/operate/backup.js'
import { ServerKeys } from '../../packages/server/dist/storage/server-keys.js'
import {
  createOrganization,
  newDataFolder,
  pushTape,
  startTeam,
  type Team,
  writeRun,
} from './support/api-team.js'

/** Rows of a server of every schema so far, as they are in a backup. Files of released ones never change. */
const golden = new URL('golden/', import.meta.url)
const fileOf = (schema: number): URL => new URL(`schema-${schema}.jsonl`, golden)

/** Writes the rows of today's schema: `RETAKE_WRITE_GOLDEN=1 npx vitest run … upgrade.test.ts`. */
async function writeGolden(): Promise<void> {
  const team = await startTeam()
  const { owner } = await createOrganization(team, 'acme')
  const project = '/api/v1/acme/projects/refunds'
  await team.request(owner, 'POST', '/api/v1/acme/projects', { slug: 'refunds' })
  const outer = path.dirname(team.data)
  for (const id of ['one', 'two'])
    await pushTape(team, owner, ['acme', 'refunds'], writeRun(outer, id, id))
  await team.request(owner, 'PATCH', `${project}/runs/one`, { tags: ['checked'], note: 'seen' })
  await team.request(owner, 'POST', `${project}/runs/one/comments`, { text: 'Why this tool?' })
  await team.request(owner, 'PUT', `${project}/filters/Wrong`, { query: 'status:failed' })
  await team.request(owner, 'POST', '/api/v1/acme/keys', { name: 'program' })
  const backup = path.join(outer, 'backup')
  const settings = readSettings({ data: team.data }, {})
  await backUp(settings, await serverParts(), new Log('text'), backup)
  const rows = gunzipSync(readFileSync(path.join(backup, 'database.jsonl.gz')))
  writeFileSync(fileOf(migrations.length), rows)
  await team.close()
}

/** A data folder with the rows of a schema, restored by today's version. Tapes are not part of it. */
async function restoreGolden(schema: number): Promise<string> {
  const data = newDataFolder()
  const folder = path.join(path.dirname(data), 'backup')
  mkdirSync(folder)
  ServerKeys.open(folder)
  const rows = readFileSync(fileOf(schema))
  const packed = gzipSync(rows)
  writeFileSync(path.join(folder, 'database.jsonl.gz'), packed)
  const manifest = {
    version: 1,
    retake: '0',
    createdAt: new Date().toISOString(),
    schema,
    rows: rows
      .toString()
      .trim()
      .split('\n')
      .filter((line) => !line.startsWith('# ')).length,
    database: { sha256: createHash('sha256').update(packed).digest('hex') },
    blobs: 'not included',
  }
  writeFileSync(path.join(folder, 'backup.json'), JSON.stringify(manifest))
  await restore(readSettings({ data }, {}), new Log('text'), folder)
  return data
}

/** Answers that every schema must give. */
async function checkAnswers({ server }: Team): Promise<void> {
  const [organization] = await server.database.organizations()
  const actor = { org: organization?.id ?? '', user: 'owner@acme.test', role: 'owner' } as const
  const project = await server.runs.project(actor, 'refunds')
  const { runs } = await server.runs.list(actor, project, { query: 'status:failed answer' })
  expect(runs.map(({ id }) => id).toSorted()).toEqual(['one', 'two'])
  expect(await server.runs.run(actor, project, 'one')).toMatchObject({
    tags: ['checked'],
    note: 'seen',
    tools: ['refund'],
  })
  const [comment] = await server.runs.comments(actor, project, 'one')
  expect(comment).toMatchObject({ text: 'Why this tool?', author: 'owner@acme.test' })
  expect(await server.runs.savedFilters(actor, project)).toMatchObject([{ name: 'Wrong' }])
  expect(await server.accounts.members(actor.org)).toMatchObject([
    { email: 'owner@acme.test', role: 'owner' },
  ])
}

test('rows of every schema are stored', async () => {
  if (process.env['RETAKE_WRITE_GOLDEN'] === '1') await writeGolden()
  for (const index of migrations.keys())
    expect(existsSync(fileOf(index + 1)), 'write them with RETAKE_WRITE_GOLDEN=1').toBe(true)
})

test.each(migrations.map((_, index) => index + 1))(
  'data of schema %s is upgraded, also after upgrades that failed or were interrupted',
  async (schema) => {
    const data = await restoreGolden(schema)
    const before = await startTeam({}, data)
    await checkAnswers(before)
    await before.server.close()

    const postgres = await Postgres.start(data, () => {})
    const address = Postgres.connectionOf(data)
    const keys = ServerKeys.open(data)
    const owner = ownerAccess(address)
    const backups: string[] = []
    const beforeChange = async (): Promise<void> => {
      backups.push(await backUpBeforeChange({ data, database: owner, version: '0' }))
    }
    const upgrade = (sql: string) =>
      Database.open(address, keys, {
        migrations: [...migrations, { name: 'next', sql: () => sql }],
        beforeChange,
      })
    const change = `alter table run add column next text not null default 'x'`
    await expect(upgrade(`${change}; select 1/0`)).rejects.toThrow('division by zero')
    const sleeping = upgrade(`${change}; select pg_sleep(60)`)
    const ended = sleeping.then(
      () => 'done',
      (error: unknown) => String(error),
    )
    const isSleeping = async (): Promise<boolean> => {
      const { rowCount } = await owner.asOwner((client) =>
        client.query(`select from pg_stat_activity where wait_event = 'PgSleep'`),
      )
      return rowCount === 1
    }
    await expect.poll(isSleeping, { timeout: 20_000 }).toBe(true)
    process.kill(postgres.pid, 'SIGKILL')
    expect(await ended).toMatch(/terminat|connection|shut|closed|ECONN/i)
    await postgres.stop()

    // The version of before still works.
    const same = await startTeam({}, data)
    await checkAnswers(same)
    for (let count = 0; count < 5; count++) await beforeChange()
    expect(backups.length).toBe(7)
    expect(readdirSync(path.join(data, 'backups')).length, 'the last 5').toBe(5)
    const upgraded = await upgrade(change)
    await upgraded.close()
    await checkAnswers(same)
    // That version refuses to start with data of the next one.
    await expect(Database.open(address, keys)).rejects.toMatchObject({ code: 'DATABASE_NEWER' })
    await same.close()
  },
)
