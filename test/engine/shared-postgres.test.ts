import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { openTape, readRun, record, replay } from 'retake'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { pg as untyped, startPostgres } from '../support/postgres.mjs'
import { agentPath } from '../support/run-retake.mjs'

/** As much of `pg` as is used here. */
interface Result {
  readonly rows: Record<string, unknown>[]
  readonly rowCount: number | null
  readonly command: string
  readonly fields: readonly { readonly name: string }[]
}
type Done = (error: Error | undefined, result: Result) => void
interface Queryable {
  query(config: unknown, values?: unknown[] | Done, done?: Done): Promise<Result>
  end(): Promise<void>
}
interface Client extends Queryable {
  connect(): Promise<void>
  release(error?: Error): void
}
interface Pool extends Queryable {
  readonly idleCount: number
  readonly totalCount: number
  on(event: 'error', listener: () => void): this
  connect(): Promise<Client>
  connect(done: (error: Error | undefined, client: Client, release: () => void) => void): void
}
interface Submittable {
  on(event: string, listener: (...args: unknown[]) => void): this
}
const pg = untyped as unknown as {
  readonly Client: new (options: object) => Client
  readonly Pool: new (options: object) => Pool
  readonly Query: new (text: string) => Submittable
  readonly Result: Function
  readonly DatabaseError: new (...args: never[]) => Error & Readonly<Record<string, unknown>>
}

let folder: string
let server: Awaited<ReturnType<typeof startPostgres>>
let pool: Pool
/** A pool that reaches nothing: a replay must not need one that does. */
let dead: Pool

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'retake-postgres-'))
  server = await startPostgres()
  pool = new pg.Pool({ ...server.connection, max: 2 })
  // The server may cut connections that are still closing when it stops.
  pool.on('error', () => {})
  dead = new pg.Pool({ host: '127.0.0.1', port: 1, max: 1 })
  await pool.query('create table orders (id serial primary key, item text unique, at timestamptz)')
  await pool.query("insert into orders (item) values ('lamp')")
})
afterAll(async () => {
  await pool.end()
  await dead.end()
  await server.stop()
  await rm(folder, { recursive: true, force: true })
})

const options = () => ({ name: 'orders', dir: folder })

/** Records with the real pool, replays three times with one that reaches nothing. */
async function recordAndReplay<T>(agent: (pool: Pool) => Promise<T>) {
  const { output, run } = await record(options(), () => agent(pool))
  const replays = []
  for (let time = 0; time < 3; time += 1)
    replays.push((await replay(run.path, () => agent(dead))).output)
  const { steps, notCaptured } = readRun(openTape(run.path))
  return { output, replays, steps, notCaptured, run }
}
const count = async () =>
  Number((await pool.query('select count(*) from orders')).rows[0]?.['count'])

test('each query of a shared pool is a step with its statement, values and result', async () => {
  const before = await count()
  const { output, replays, steps, notCaptured } = await recordAndReplay(async (database) => {
    const { rows, rowCount, command, fields } = await database.query(
      'insert into orders (item, at) values ($1, now()) returning id, item, at, gen_random_uuid() as tag',
      ['desk'],
    )
    return { rows, rowCount, command, names: fields.map(({ name }) => name) }
  })
  expect(output).toMatchObject({
    rows: [{ item: 'desk', at: expect.any(Date) as Date }],
    rowCount: 1,
    command: 'INSERT',
    names: ['id', 'item', 'at', 'tag'],
  })
  expect(replays).toEqual([output, output, output])
  expect(steps).toMatchObject([
    { kind: 'tool', title: expect.stringContaining('insert into orders (item, at)') as string },
  ])
  expect(notCaptured).toEqual([])
  expect(await count()).toBe(before + 1)
})

test('transactions on a client of the pool and every form of a query are captured', async () => {
  const before = await count()
  const { output, replays } = await recordAndReplay(async (database) => {
    const client = await database.connect()
    const seen: unknown[] = [client instanceof pg.Client]
    try {
      await client.query('begin')
      await client.query({ text: 'insert into orders (item) values ($1)', values: ['chair'] })
      seen.push(
        (
          await client.query({
            name: 'all',
            text: "select item from orders where item <> 'desk'",
            rowMode: 'array',
          })
        ).rows,
        (await client.query('select clock_timestamp() as now')).rows,
      )
      await client.query('rollback')
      const many = (await client.query('select 1 as a; select 2 as b')) as unknown as Awaited<
        ReturnType<Pool['query']>
      >[]
      seen.push(many.map(({ rows }) => rows as unknown))
    } finally {
      client.release()
    }
    seen.push(
      await new Promise((resolve, reject) => {
        void database.query('select item from orders where id = $1', [1], (error, result) =>
          error ? reject(error) : resolve([result.rows, result instanceof pg.Result]),
        )
      }),
    )
    seen.push(
      await new Promise((resolve) => {
        database.connect((error, lent, release) => {
          void lent.query('select 7 as seven', (_, result) => {
            release()
            resolve([error, result.rows])
          })
        })
      }),
    )
    return seen
  })
  expect(output[1]).toEqual([['lamp'], ['chair']])
  expect(output.slice(3)).toEqual([
    [[{ a: 1 }], [{ b: 2 }]],
    [[{ item: 'lamp' }], true],
    [undefined, [{ seven: 7 }]],
  ])
  expect(replays).toEqual([output, output, output])
  expect(await count()).toBe(before)
  expect(pool.idleCount).toBe(pool.totalCount)
})

test('an error of the database is served with its class, code and details', async () => {
  const { output, replays } = await recordAndReplay(async (database) => {
    try {
      await database.query('insert into orders (item) values ($1)', ['lamp'])
      return 'inserted'
    } catch (error) {
      const { code, detail, constraint } = error as InstanceType<typeof pg.DatabaseError>
      return [error instanceof pg.DatabaseError, code, detail, constraint]
    }
  })
  expect(output).toEqual([true, '23505', 'Key (item)=(lamp) already exists.', 'orders_item_key'])
  expect(replays).toEqual([output, output, output])
})

test('concurrent runs on one pool each have their own queries', async () => {
  const agent = async (database: Pool, name: string) => {
    const sleep = 'select $1 as name, gen_random_uuid() as id from pg_sleep(0.01)'
    const answers = await Promise.all([
      database.query(sleep, [name]),
      database.query(sleep, [name]),
    ])
    return answers.map(({ rows }) => rows as unknown)
  }
  const names = ['a', 'b', 'c', 'd', 'e']
  const runs = await Promise.all(names.map((name) => record(options(), () => agent(pool, name))))
  for (const [index, { output, run }] of runs.entries()) {
    const replayed = await replay(run.path, () => agent(dead, names[index] ?? ''))
    expect(replayed.output).toEqual(output)
  }
})

test('a shared client is captured too, and one that the run makes is recorded at its socket', async () => {
  const shared = new pg.Client(server.connection)
  const unconnected = new pg.Client({ host: '127.0.0.1', port: 1 })
  const agent = async (client: Client) => {
    await client.connect()
    return (await client.query('select gen_random_uuid() as id')).rows as unknown
  }
  const { output, run } = await record(options(), () => agent(shared))
  await shared.end()
  expect((await replay(run.path, () => agent(unconnected))).output).toEqual(output)

  const own = async () => {
    const client = new pg.Client(server.connection)
    const rows = await agent(client)
    await client.end()
    return rows
  }
  const recorded = await record(options(), own)
  const types = [...openTape(recorded.run.path).events()].map(({ type }) => type)
  expect(types).toContain('socket')
  expect((await replay(recorded.run.path, own)).output).toEqual(recorded.output)
})

test('a cursor on a shared client is named as not captured, and refused on replay', async () => {
  class Cursor extends pg.Query {}
  const agent = async (client: Client) =>
    new Promise((resolve, reject) => {
      const cursor = new Cursor('select 1 as one')
      cursor.on('end', () => resolve('read'))
      cursor.on('error', reject)
      void client.query(cursor)
    })
  const shared = new pg.Client(server.connection)
  await shared.connect()
  const { output, run } = await record(options(), () => agent(shared))
  expect(output).toBe('read')
  const { notCaptured } = readRun(openTape(run.path))
  expect(notCaptured).toMatchObject([{ what: 'a cursor or query stream of a shared pg client' }])
  await expect(replay(run.path, () => agent(shared))).rejects.toThrow(/cursor or query stream/)
  await shared.end()
})

test('pg that was required before Retake is captured', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    agentPath('library/postgres-first.cjs'),
    JSON.stringify({ connection: server.connection, dir: folder }),
  ])
  expect(JSON.parse(stdout)).toEqual({ isSame: true, steps: 1 })
})
