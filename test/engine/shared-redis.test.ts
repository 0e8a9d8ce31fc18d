import { spawnSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openTape, readRun, record, replay } from 'retake'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findPackage } from '../../scripts/find-package.mjs'
import { startRedis } from '../support/redis.mjs'
import { agentPath, makeWorkspace } from '../support/run-retake.mjs'

/* oxlint-disable typescript/no-explicit-any -- clients of four libraries, none of them typed here */
type Client = Record<string, any>
type Library = Record<string, any>

const require = createRequire(import.meta.url)
const hasRedis = spawnSync('redis-server', ['--version']).status === 0

/** Versions of the package redis that differ in how commands are sent. */
const VERSIONS = ['4.7.1', '5.12.1', '6.3.1']
const packages = new Map(
  await Promise.all(
    VERSIONS.map(async (version) => {
      const folder = await findPackage('redis', version).catch(() => undefined)
      return [version, folder === undefined ? undefined : (require(folder) as Library)] as const
    }),
  ),
)

let folder: string
let server: Awaited<ReturnType<typeof startRedis>>

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'retake-redis-'))
  if (hasRedis) server = await startRedis()
})
afterAll(async () => {
  await server?.stop()
  await rm(folder, { recursive: true, force: true })
})

const options = () => ({ name: 'redis', dir: folder })

/** Records 16 runs that share `client`, then replays each with one that reaches nothing. */
async function recordAndReplay(
  agent: (client: Client, n: number) => Promise<unknown>,
  client: Client,
  dead: Client,
) {
  const numbers = Array.from({ length: 16 }, (_, n) => n)
  const runs = await Promise.all(
    numbers.map((n) => record(options(), async () => agent(client, n))),
  )
  for (const [n, { output, run }] of runs.entries()) {
    expect(readRun(openTape(run.path)).notCaptured).toEqual([])
    expect((await replay(run.path, async () => agent(dead, n))).output).toEqual(output)
  }
  const [first] = runs
  const { steps } = readRun(openTape(first!.run.path))
  return { output: first!.output as unknown[], titles: steps.map(({ title }) => title) }
}

describe.skipIf(!hasRedis)('ioredis', () => {
  const { Redis, ReplyError } = require('ioredis') as Library
  const open = (more: object = {}): Client => new Redis(server.url, { db: 1, ...more }) as Client
  /** Commands to it would wait forever. */
  const closed = (more: object = {}): Client =>
    new Redis({ host: '127.0.0.1', port: 1, lazyConnect: true, ...more }) as Client

  test.for([false, true])(
    'commands, pipelines and transactions of concurrent runs are steps (autopipelining: %s)',
    async (enableAutoPipelining) => {
      const shared = open({ enableAutoPipelining })
      const agent = async (redis: Client, n: number): Promise<unknown[]> => {
        await redis['set'](`k${n}`, `värde ${n}`)
        const both = redis['incr']('count')
        const next = redis['incr']('count')
        await redis['hset'](`h${n}`, { a: 1, b: Buffer.from([255, 0]) })
        const failed = await redis['lpush'](`k${n}`, 1).catch((error: unknown) => error)
        const piped = await redis['pipeline']().incr('count').lpop(`k${n}`).exec()
        const multi = await redis['multi']().incr('count').getBuffer(`k${n}`).lpop(`k${n}`).exec()
        return [
          await redis['get'](`k${n}`),
          [await both, await next],
          await redis['hgetallBuffer'](`h${n}`),
          [failed instanceof ReplyError, failed.message, failed.command],
          [piped[0], piped[1][0] instanceof ReplyError],
          [multi[0], multi[1], multi[2][0] instanceof ReplyError],
          await redis['blpop'](`none${n}`, 0.01),
          await new Promise((resolve) =>
            redis['time']((_: unknown, time: unknown) => resolve(time)),
          ),
        ]
      }
      const { output, titles } = await recordAndReplay(
        agent,
        shared,
        closed({ enableAutoPipelining }),
      )
      await shared['quit']()
      expect(output.slice(2, 4)).toEqual([
        { a: Buffer.from('1'), b: Buffer.from([255, 0]) },
        [true, expect.stringContaining('WRONGTYPE'), { name: 'lpush', args: ['k0', '1'] }],
      ])
      expect(output[4]).toEqual([[null, expect.any(Number)], true])
      expect(output[5]).toEqual([[null, expect.any(Number)], [null, Buffer.from('värde 0')], true])
      expect(titles).toEqual(
        expect.arrayContaining(['redis.set(k0 värde 0)', 'redis.multi(multi incr get lpop exec)']),
      )
    },
  )

  test('a client that the run makes is recorded at its socket', async () => {
    const own = async (): Promise<unknown> => {
      const redis = open()
      const time: unknown = await redis['time']()
      await redis['quit']()
      return time
    }
    const { output, run } = await record(options(), own)
    const types = [...openTape(run.path).events()].map(({ type }) => type)
    expect(types).toContain('socket')
    expect((await replay(run.path, own)).output).toEqual(output)
  })

  test('so is the client of a whole program, whose replay reaches nothing', async () => {
    const workspace = await makeWorkspace()
    try {
      const agent = agentPath('redis-program.mjs')
      const env = { REDIS_URL: server.url }
      const recorded = await workspace.retake(['record', agent], { env })
      expect(recorded.code, recorded.stderr).toBe(0)
      const replayed = await workspace.retake(['replay', 'last'])
      expect(replayed.stderr).toContain('identical')
      expect(replayed.stdout).toBe(recorded.stdout)
    } finally {
      await workspace.remove()
    }
  })

  test('a subscription on a shared client is named as not captured, and refused on replay', async () => {
    const shared = open()
    const { run } = await record(options(), async () => shared['subscribe']('news'))
    shared['disconnect']()
    const { notCaptured } = readRun(openTape(run.path))
    expect(notCaptured).toMatchObject([{ what: 'subscriptions on a shared Redis client' }])
    const dead = closed()
    await expect(replay(run.path, async () => dead['subscribe']('news'))).rejects.toThrow(
      /subscriptions on a shared Redis client/,
    )
  })
})

describe.for(VERSIONS)('redis %s', (version) => {
  const library = packages.get(version)

  test.skipIf(!hasRedis || library?.['createClientPool'] === undefined)(
    'a shared pool is named as not captured, and refused on replay',
    async () => {
      const shared = library!['createClientPool']({ url: server.url }) as Client
      await shared['connect']()
      const { output, run } = await record(options(), async () => shared['echo']('hi'))
      await shared['close']()
      expect(output).toBe('hi')
      const what = 'a Redis pool or cluster of the package redis'
      expect(readRun(openTape(run.path)).notCaptured).toMatchObject([{ what }])
      await expect(replay(run.path, async () => shared['echo']('hi'))).rejects.toThrow(what)
    },
  )

  test.skipIf(!hasRedis || library === undefined)(
    'commands, pipelines and transactions of concurrent runs are steps',
    async () => {
      const { createClient, ErrorReply } = library!
      const open = (url: string): Client =>
        (createClient({ url, database: 2 }) as Client)['on']('error', () => {})
      const shared = open(server.url)
      await shared['connect']()
      const agent = async (redis: Client, n: number): Promise<unknown[]> => {
        if (!redis['isOpen']) throw new Error('closed')
        await redis['set'](`k${n}`, `värde ${n}`)
        await redis['hSet'](`h${n}`, { a: '1' })
        const failed = await redis['lPush'](`k${n}`, '1').catch((error: unknown) => error)
        const multi = await redis['multi']()
          .incr('count')
          .lPush(`k${n}`, '1')
          .exec()
          .catch((error: unknown) => error)
        const hash = await redis['hGetAll'](`h${n}`)
        const time = await redis['time']()
        return [
          await redis['get'](`k${n}`),
          await Promise.all([redis['incr']('count'), redis['sendCommand'](['ECHO', 'hi'])]),
          [failed instanceof ErrorReply, failed.message],
          [multi instanceof Error, multi.replies?.map(String)],
          await redis['multi']().incr('count').hGetAll(`h${n}`).execAsPipeline(),
          [hash, 'toString' in hash],
          [time, time.microseconds],
        ]
      }
      const { output, titles } = await recordAndReplay(agent, shared, open('redis://127.0.0.1:1'))
      await shared['disconnect']()
      expect(output[0]).toBe('värde 0')
      expect(output[2]).toEqual([true, expect.stringContaining('WRONGTYPE')])
      expect(output[5]).toEqual([{ a: '1' }, version.startsWith('6')])
      expect(titles).toEqual(
        expect.arrayContaining(['redis.set(k0 värde 0)', 'redis.multi(incr lpush)']),
      )
    },
  )
})
