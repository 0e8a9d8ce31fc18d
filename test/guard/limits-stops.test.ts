import { execFile } from 'node:child_process'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { readdirSync, statSync } from 'node:fs'
import { appendFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { openTape } from '@retake/tape/node'
import { guard, record, replay, type GuardResult } from 'retake'
import { z } from 'zod'
import { describe, expect, onTestFinished, test } from 'vitest'
import { makeWorkspace } from '../support/run-retake.mjs'
import { codeOf, guardIn, reasons, turn } from './limits-setup.js'

test('waiting calls leave the queue when their caller aborts, and never start', async () => {
  const run = await guardIn({ durability: 'process', limits: { concurrency: 1, calls: 100 } })
  let open = () => {}
  const gate = new Promise<void>((resolve) => (open = resolve))
  const started: number[] = []
  run.tool('wait', async ({ number }: { number: number }) => {
    started.push(number)
    await gate
  })
  const caller = new AbortController()
  const calls = [0, 1, 2, 3].map((number) =>
    run.call('wait', { number }, number % 2 === 1 ? { signal: caller.signal } : {}),
  )
  await turn()
  caller.abort()
  expect(await calls[1]).toMatchObject({ status: 'stopped', exitReason: 'aborted' })
  expect(await calls[3]).toMatchObject({ facts: { attempts: 0 } })
  open()
  await Promise.all(calls)
  expect(started).toEqual([0, 2])
})

test('a tool that calls another tool does not wait for its own slot', async () => {
  const run = await guardIn({ durability: 'process', limits: { concurrency: 1 } })
  const leaf = run.tool('leaf', async ({ number }: { number: number }) => {
    await turn()
    return number
  })
  run.tool('branch', async () =>
    (await Promise.all([1, 2, 3].map((number) => leaf({ number })))).join(),
  )
  const results = await Promise.all([run.call('branch', { a: 1 }), run.call('branch', { a: 2 })])
  expect(results.map(({ output }) => output)).toEqual(['1,2,3', '1,2,3'])
})

describe('a real server', () => {
  /** Answers with these, one after the other, and knows when each was asked for. */
  async function serve(answers: readonly { status: number; headers?: Record<string, string> }[]) {
    const asked: number[] = []
    const server = createServer((_request, response) => {
      const { status, headers = {} } = answers[asked.length] ?? { status: 200 }
      asked.push(performance.now())
      response.writeHead(status, headers).end(status === 200 ? 'served' : 'busy')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    return { url: `http://127.0.0.1:${port}`, asked, server }
  }

  const get = async ({ url }: { url: string }) => {
    const response = await fetch(url)
    if (!response.ok)
      throw Object.assign(new Error('not served'), { status: response.status, response })
    return response.text()
  }

  test('is retried after the time it names, as often as allowed', async () => {
    const { url, asked } = await serve([
      { status: 429, headers: { 'retry-after': '1' } },
      { status: 503, headers: { 'retry-after-ms': '300' } },
    ])
    const run = await guardIn({})
    run.tool('get', get, { retries: 3, idempotent: true })
    const { status, output, facts } = await run.call('get', { url })
    expect({ status, output, attempts: facts.attempts }).toEqual({
      status: 'done',
      output: 'served',
      attempts: 3,
    })
    const [first = 0, second = 0, third = 0] = asked
    expect(second - first).toBeGreaterThanOrEqual(999)
    expect(third - second).toBeGreaterThanOrEqual(299)
  })

  test('is not retried if the first request may have had its effect', async () => {
    const { url, asked } = await serve([{ status: 503 }])
    const run = await guardIn({})
    run.tool('post', get, { retries: 3 })
    expect(await run.call('post', { url })).toMatchObject({
      status: 'failed',
      exitReason: undefined,
    })
    expect(asked.length).toBe(1)
  })

  test('is not retried by a tool that did something else before', async () => {
    const { url, asked } = await serve([{ status: 200 }, { status: 429 }, { status: 200 }])
    const run = await guardIn({})
    const twice = async () => {
      await fetch(`${url}/order`, { method: 'POST' })
      return get({ url: `${url}/mail` })
    }
    run.tool('order', twice, { retries: 3 })
    expect(await run.call('order', {})).toMatchObject({ status: 'failed', error: { status: 429 } })
    expect(asked.length).toBe(2)
    const written = await serve([{ status: 429 }])
    const note = async () => {
      await appendFile(join(dirname(run.tapes.session().recording?.tape ?? ''), 'note'), 'x')
      return get(written)
    }
    run.tool('note', note, { retries: 3 })
    expect(await run.call('note', {})).toMatchObject({ status: 'failed' })
    expect(written.asked.length).toBe(1)
  })

  test('that refused a connection is retried by any tool, at any path', async () => {
    const { url, asked } = await serve([{ status: 429, headers: { 'retry-after': '0' } }])
    const run = await guardIn({})
    run.tool('get', get, { retries: 1 })
    const { status, facts } = await run.call('get', { url: `${url}/orders?page=2` })
    expect({ status, attempts: facts.attempts, asked: asked.length }).toEqual({
      status: 'done',
      attempts: 2,
      asked: 2,
    })
  })

  const post = (url: string) =>
    new Promise<number>((resolve, reject) =>
      request(url, { method: 'POST' }, (response) => {
        response.resume().once('end', () => resolve(response.statusCode ?? 0))
      })
        .once('error', reject)
        .end(),
    )

  test.each([
    ['elsewhere', '/charge', '/notify'],
    ['at the same place', '/rpc', '/rpc'],
  ])('is not retried after a request of node:http %s', async (_, first, second) => {
    const { url, asked } = await serve([{ status: 200 }, { status: 429 }, { status: 200 }])
    const run = await guardIn({})
    const charge = async () => {
      await post(url + first)
      throw Object.assign(new Error('busy'), { status: await post(url + second) })
    }
    run.tool('charge', charge, { retries: 3 })
    expect(await run.call('charge', {})).toMatchObject({ status: 'failed', error: { status: 429 } })
    expect(asked.length).toBe(2)
  })

  test('is not retried by a tool that called another one before', async () => {
    const run = await guardIn({})
    let paid = 0
    run.tool('pay', () => void (paid += 1))
    const order = async () => {
      await run.call('pay', {})
      throw Object.assign(new Error('busy'), { status: 429 })
    }
    run.tool('order', order, { retries: 3 })
    expect((await run.call('order', {})).status).toBe('failed')
    expect(paid).toBe(1)
  })

  test('that is missing is retried that often, and the cause is reported', async () => {
    const { url, server } = await serve([])
    server.close()
    const run = await guardIn({})
    let starts = 0
    run.tool('get', (args: { url: string }) => ((starts += 1), get(args)), { retries: 2 })
    const result = await run.call('get', { url })
    expect(result).toMatchObject({
      status: 'failed',
      exitReason: 'retries',
      facts: { attempts: 3 },
    })
    expect(codeOf(result)).toBe('RETRIES_EXHAUSTED')
    expect((result.error as Error).cause).toMatchObject({ message: 'fetch failed' })
    expect(starts).toBe(3)
  })

  test('that fails is not called until one call shows that it works again', async () => {
    const { url, asked } = await serve([{ status: 500 }, { status: 500 }])
    const run = await guardIn({ limits: { breaker: { failures: 2, cooldownMs: 1_500 } } })
    run.tool('get', get)
    const call = () => run.call('get', { url })
    await call()
    await call()
    const stopped = await Promise.all([call(), call()])
    expect(reasons(stopped)).toEqual({ 'stopped circuit-open': 2 })
    expect(stopped.map(codeOf)).toEqual(['CIRCUIT_OPEN', 'CIRCUIT_OPEN'])
    expect(asked.length).toBe(2)
    let tried: GuardResult[] = stopped
    while (tried.every(({ status }) => status === 'stopped'))
      tried = await Promise.all([call(), call(), call()])
    expect(reasons(tried)).toEqual({ done: 1, 'stopped circuit-open': 2 })
    expect(await call()).toMatchObject({ status: 'done' })
    expect(asked.length).toBe(4)
  })
})

test('calls in a loop are stopped, and others are not', async () => {
  const run = await guardIn({ limits: { repeats: 3 } })
  let pages = 0
  run.tool('look', ({ at }: { at: string }) => `nothing at ${at}`)
  run.tool('next', () => (pages += 1))
  const look = async (at: string) => codeOf(await run.call('look', { at })) ?? 'done'
  for (let round = 0; round < 3; round += 1) {
    expect(await look('a')).toBe('done')
    expect(await look('b')).toBe('done')
  }
  expect(await look('a')).toBe('LIMIT_LOOP')
  expect(await run.call('look', { at: 'a' })).toMatchObject({
    status: 'stopped',
    exitReason: 'loop',
    facts: { attempts: 0 },
  })
  // Neither does the rest of the round go on.
  for (const at of ['b', 'a', 'b']) expect(await look(at)).toBe('LIMIT_LOOP')
  expect(await look('c')).toBe('done')
  expect(await look('a')).toBe('done')
  // The same call with another result each time makes progress.
  for (let page = 0; page < 9; page += 1) expect((await run.call('next', {})).status).toBe('done')
})

test('a replay is stopped where its recording was, whatever the current limits are', async () => {
  const { folder, remove } = await makeWorkspace()
  onTestFinished(remove)
  let starts = 0
  const agent = (calls: number) => async () => {
    const run = guard({ name: 'limited', limits: { calls, concurrency: 2 } })
    run.tool('count', async ({ number }: { number: number }) => {
      starts += 1
      await turn()
      return number
    })
    const results = await Promise.all(
      [1, 2, 3, 4, 5].map((number) => run.call('count', { number })),
    )
    return results.map(({ status, output, exitReason }) => [status, output, exitReason])
  }
  const { output, run } = await record({ name: 'limited', dir: folder }, agent(3))
  expect(output.map(([status]) => status)).toEqual(['done', 'done', 'done', 'stopped', 'stopped'])
  expect(starts).toBe(3)
  expect(await replay(run.path, agent(1))).toMatchObject({ output })
  expect(await replay(run.path, agent(9))).toMatchObject({ output })
  expect(starts).toBe(3)
})

test('policy and limits come before a schema, in a recording and in its replay under other limits', async () => {
  const { folder, remove } = await makeWorkspace()
  onTestFinished(remove)
  // zod calls an asynchronous check twice.
  let checked = new Set<string>()
  const agent =
    (calls: number, rules: readonly object[] = []) =>
    async () => {
      const policy = { name: 'shop', rules: [{ deny: 'closed' }, ...rules] as never[] }
      const run = guard({
        name: 'schemas',
        limits: { calls, tools: { slow: { calls: 1 } } },
        policy,
      })
      const schema = (isSlow: boolean) =>
        z.object({ id: z.string().transform((id) => `${id}!`) }).refine((args) => {
          checked.add(args.id)
          return isSlow ? turn().then(() => true) : true
        })
      for (const name of ['quick', 'slow', 'closed'])
        run.tool(name, ({ id }) => id, { input: schema(name === 'slow') })
      const results = await Promise.all(['a', 'b', 'c'].map((id) => run.call('slow', { id })))
      for (const id of ['d', 'e', 'f']) results.push(await run.call('quick', { id }))
      results.push(await run.call('closed', { id: 'g' }))
      return results.map(({ status, output, exitReason }) => [status, output, exitReason])
    }
  const { output, run } = await record({ name: 'schemas', dir: folder }, agent(3))
  expect(output).toEqual([
    ['done', 'a!', undefined],
    ['stopped', undefined, 'calls'],
    ['stopped', undefined, 'calls'],
    ['done', 'd!', undefined],
    ['done', 'e!', undefined],
    ['stopped', undefined, 'calls'],
    ['denied', undefined, undefined],
  ])
  expect([...checked]).toEqual(['a!', 'd!', 'e!'])
  for (const again of [agent(9), agent(1), agent(9, [{ deny: 'quick' }])]) {
    checked = new Set()
    expect(await replay(run.path, again)).toMatchObject({ output })
    expect([...checked]).toEqual(['a!', 'd!', 'e!'])
  }
})

test('a result that is too large is not returned, and not on the tape', async () => {
  const run = await guardIn({ limits: { outputBytes: 1_000 } })
  run.tool('read', ({ size }: { size: number }) => 'x'.repeat(size))
  expect(await run.call('read', { size: 1_000 })).toMatchObject({ status: 'done' })
  const result = await run.call('read', { size: 5_000_000 })
  expect(result).toMatchObject({ status: 'stopped', exitReason: 'output-size', output: undefined })
  expect(codeOf(result)).toBe('LIMIT_OUTPUT_SIZE')
  // An error is data from the tool, too; one with its stack is told whatever a result may have.
  run.tool('fail', ({ size }: { size: number }) => {
    throw Object.assign(new Error('no page'), { body: 'y'.repeat(size) })
  })
  expect(await run.call('fail', { size: 1_000 })).toMatchObject({
    status: 'failed',
    error: { message: 'no page' },
  })
  const failed = await run.call('fail', { size: 5_000_000 })
  expect(failed).toMatchObject({ status: 'stopped', exitReason: 'output-size' })
  expect((failed.error as Error).message).toContain('The error of tool "fail" is not returned')
  const { path } = run.end() ?? { path: '' }
  const tape = openTape(path)
  expect(tape.verify()).toMatchObject({ ok: true })
  expect(statSync(path).size).toBeLessThan(100_000)
})

test('a tool without a reservation is not started under a budget, and what the model spends counts', async () => {
  const run = await guardIn({ limits: { costUsd: 1 } })
  let starts = 0
  run.tool('unknown', () => (starts += 1))
  run.tool('look', () => (starts += 1), { effects: ['read'] })
  run.tool('buy', () => (starts += 1), { reserve: { costUsd: 0.5 } })
  expect(await run.call('unknown', {})).toMatchObject({ status: 'stopped', exitReason: 'cost' })
  expect(await run.call('look', {})).toMatchObject({ status: 'done' })
  run.spend({ costUsd: 0.6 })
  expect(await run.call('buy', {})).toMatchObject({ status: 'stopped', exitReason: 'cost' })
  expect(starts).toBe(1)
})

test('a tool that timed out leaves no trace, whatever it tries', async () => {
  const { folder, remove } = await makeWorkspace()
  onTestFinished(remove)
  const program = fileURLToPath(new URL('../agents/guard/runaway.mjs', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [program, folder])
  const told = JSON.parse(stdout) as {
    status: string
    exitReason: string
    code: string
    tries: Record<'inTime' | 'late', Record<string, Record<string, number>>>
    before: unknown
    after: unknown
    child: { code: number | null; signal: string | null }
    connections: { opened: number; closed: number }
    tape: string
  }
  expect(told).toMatchObject({ status: 'stopped', exitReason: 'timeout', code: 'LIMIT_TIMEOUT' })
  const { inTime, late } = told.tries
  // In time every way is open, so that what follows says something.
  expect(Object.values(inTime).every(({ done }) => done === 1)).toBe(true)
  expect(Object.keys(inTime).length).toBeGreaterThanOrEqual(12)
  expect(Object.keys(late).toSorted()).toEqual(Object.keys(inTime).toSorted())
  for (const [way, came] of Object.entries(late)) expect(came, way).not.toHaveProperty('done')
  expect(told.after).toEqual(told.before)
  expect(told.child.signal).toBe('SIGKILL')
  expect(told.connections.closed).toBe(told.connections.opened)
  expect(openTape(told.tape).verify()).toMatchObject({ ok: true })
  expect(readdirSync(folder)).not.toContain('folder-true')
})
