import { mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openTape, readRun, record, replay } from 'retake'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findPackage } from '../../scripts/find-package.mjs'
import { hasMariadb, startMariadb } from '../support/mariadb.mjs'

/* oxlint-disable typescript/no-explicit-any -- the library is not typed here */
type Library = Record<string, any>

const found = await findPackage('mysql2', '3.24.5').catch(() => undefined)

describe.skipIf(!hasMariadb || found === undefined)('mysql2', () => {
  const require = createRequire(import.meta.url)
  let core: Library
  let pool: Library
  /** A pool that reaches nothing: a replay must not need one that does. */
  let dead: Library
  let folder: string
  let server: Awaited<ReturnType<typeof startMariadb>>

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'retake-mysql-'))
    server = await startMariadb()
    core = require(found!) as Library
    const { createPool } = require(join(found!, 'promise.js')) as Library
    const config = { user: 'root', connectionLimit: 3, multipleStatements: true }
    const first = createPool({ ...config, socketPath: server.socketPath })
    await first.query('create database test')
    await first.query(
      'create table test.items (id int auto_increment primary key, name text, data blob, at datetime(6))',
    )
    await first.end()
    pool = createPool({ ...config, socketPath: server.socketPath, database: 'test' })
    dead = createPool({ ...config, host: '127.0.0.1', port: 1 })
  })
  afterAll(async () => {
    await pool?.['end']()
    await server?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  const options = () => ({ name: 'mysql', dir: folder })

  test('queries and transactions of concurrent runs are steps, and replay without a connection', async () => {
    const agent = async (database: Library, n: number): Promise<unknown[]> => {
      const [header] = await database['query'](
        'insert into items (name, data, at) values (?, ?, now(6))',
        [`item ${n}`, Buffer.from([n, 255])],
      )
      const [rows, fields] = await database['execute'](
        'select name, data, at, uuid() as tag from items where id = ?',
        [header.insertId],
      )
      const [many] = await database['query']('select 1 as a; delete from items where id = -1')
      const connection = await database['getConnection']()
      const counts: unknown[] = []
      try {
        await connection.beginTransaction()
        await connection.execute('insert into items (name) values (?)', ['undone'])
        counts.push(await connection.query("select count(*) from items where name = 'undone'"))
        await connection.rollback()
      } finally {
        connection.release()
      }
      const both = await Promise.all([
        database['query']('select uuid() as first, sleep(0.01)'),
        database['query']('select uuid() as second'),
      ])
      const byCallback = await new Promise((resolve) => {
        database['pool'].query('select ? + 1 as sum', [n], (...seen: unknown[]) =>
          resolve(seen.slice(0, 2)),
        )
      })
      return [
        [header.constructor.name, header.affectedRows],
        rows,
        fields.map((field: Library) => [field['name'], field['table'], field['type']]),
        [many[0], many[1].constructor.name],
        counts,
        both,
        byCallback,
      ]
    }
    const runs = await Promise.all(
      Array.from({ length: 16 }, (_, n) => record(options(), async () => agent(pool, n))),
    )
    for (const [n, { output, run }] of runs.entries()) {
      expect(readRun(openTape(run.path)).notCaptured).toEqual([])
      expect((await replay(run.path, async () => agent(dead, n))).output).toEqual(output)
    }
    const [first] = runs
    expect(first?.output.slice(0, 4)).toEqual([
      ['ResultSetHeader', 1],
      [
        {
          name: 'item 0',
          data: Buffer.from([0, 255]),
          at: expect.any(Date) as Date,
          tag: expect.any(String) as string,
        },
      ],
      [
        ['name', 'items', 252],
        ['data', 'items', 252],
        ['at', 'items', 12],
        ['tag', '', expect.any(Number)],
      ],
      [[{ a: 1 }], 'ResultSetHeader'],
    ])
    expect(first?.output.at(-1)).toEqual([null, [{ sum: 1 }]])
    const titles = readRun(openTape(first!.run.path)).steps.map(({ title }) => title)
    expect(titles).toEqual(expect.arrayContaining(['mysql.query(START TRANSACTION)']))
  })

  test('an error of the database is served with its code and statement', async () => {
    const agent = async (database: Library): Promise<unknown> =>
      database['query']('select * from nothing').catch((error: Library) => [
        error instanceof Error,
        error['code'],
        error['errno'],
        error['sqlState'],
        error['sql'],
      ])
    const { output, run } = await record(options(), async () => agent(pool))
    expect(output).toEqual([true, 'ER_NO_SUCH_TABLE', 1146, '42S02', 'select * from nothing'])
    expect((await replay(run.path, async () => agent(dead))).output).toEqual(output)
  })

  test('a query stream of a shared pool is named as not captured, and refused on replay', async () => {
    const agent = async (database: Library): Promise<unknown> =>
      new Promise((resolve, reject) => {
        const query = database['pool'].query('select 1')
        query.on('error', reject)
        query.on('end', () => resolve('read'))
      })
    const { output, run } = await record(options(), async () => agent(pool))
    expect(output).toBe('read')
    const { notCaptured } = readRun(openTape(run.path))
    expect(notCaptured).toMatchObject([{ what: 'a query stream of a shared mysql2 client' }])
    await expect(replay(run.path, async () => agent(dead))).rejects.toThrow(/query stream/)
  })

  test('a connection that the run makes is recorded at its socket', async () => {
    const own = async (): Promise<unknown> => {
      const connection = core['createConnection']({ user: 'root', socketPath: server.socketPath })
      const database = connection.promise()
      const [rows] = await database.query('select uuid() as id')
      await database.end()
      return rows as unknown
    }
    const { output, run } = await record(options(), own)
    expect([...openTape(run.path).events()].map(({ type }) => type)).toContain('socket')
    expect((await replay(run.path, own)).output).toEqual(output)
  })
})
