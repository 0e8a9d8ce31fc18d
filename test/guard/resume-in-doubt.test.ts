import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openTape } from '@retake/tape/node'
import { guard, type GuardOptions, presets } from '@retake/guard'
import { expect, onTestFinished, test, vi } from 'vitest'
import { shop, codeOf } from './resume-setup.js'

test('a call in doubt is not repeated, and says so', async () => {
  const { open, done, crashIn } = shop()
  await crashIn('hang', { to: 'Al' })
  const run = open()
  expect(run.inDoubt()).toMatchObject([{ tool: 'hang', args: { to: 'Al' }, occurrence: 1 }])
  const { status, error, output } = await run.call('hang', { to: 'Al' })
  expect({ status, code: codeOf(error), output }).toEqual({
    status: 'in doubt',
    code: 'CALL_IN_DOUBT',
    output: undefined,
  })
  await expect(run.call('hang', { to: 'Al' }, { throws: true })).resolves.toMatchObject({
    status: 'done',
  })
  expect(done).toEqual(['Al', 'Al'])
  expect(run.end()?.inDoubt).toHaveLength(1)
})

test('a call in doubt stays so in every later run, until somebody decides', async () => {
  const { open, done, crashIn } = shop()
  await crashIn('hang', { to: 'Al' })
  for (const policy of [undefined, { name: 'none', rules: [{ deny: 'hang' }] }]) {
    const run = open(policy && { policy })
    await run.call('hang', { to: 'Al' })
    run[Symbol.dispose]()
  }
  const asked: unknown[] = []
  const run = open({
    inDoubt: (call) => {
      asked.push([call.tool, call.args])
      return 'retry'
    },
  })
  expect((await run.call('hang', { to: 'Al' })).status).toBe('done')
  expect(asked).toEqual([['hang', { to: 'Al' }]])
  expect(done).toEqual(['Al', 'Al'])
  expect(run.end()?.inDoubt).toEqual([])
})

test('a call in doubt can be skipped', async () => {
  const { open, done, crashIn } = shop()
  await crashIn('hang', { to: 'Al' })
  const run = open({ inDoubt: 'skip' })
  const { status, error, output } = await run.call('hang', { to: 'Al' }, { throws: true })
  expect({ status, error, output }).toEqual({
    status: 'in doubt',
    error: undefined,
    output: undefined,
  })
  expect(done).toEqual(['Al'])
})

test('a repeated call has the same key as before the crash', async () => {
  const { keys, open, crashIn } = shop()
  await crashIn('hang', { to: 'Al' })
  const run = open({ inDoubt: 'retry' })
  await run.call('hang', { to: 'Al' })
  await run.call('hang', { to: 'Al' })
  const [before, again, other] = keys
  expect(again).toBe(before)
  expect(other).not.toBe(before)
})

test('a call of a tool that is idempotent or has a key is repeated automatically', async () => {
  const { dir } = shop()
  for (const options of [
    { idempotent: true },
    // A key that is never the same twice: the one on the tape counts.
    { idempotencyKey: ({ to }: { to: string }) => `to ${to} ${randomUUID()}` },
  ]) {
    const keys: string[] = []
    const open = () => {
      const run = guard({ name: `keyed ${Object.keys(options).join()}`, dir, resume: true })
      onTestFinished(() => run[Symbol.dispose]())
      run.tool(
        'send',
        (_: { to: string }, { idempotencyKey }) => {
          keys.push(idempotencyKey)
          return keys.length === 1 ? new Promise<string>(() => {}) : 'sent'
        },
        options,
      )
      return run
    }
    const first = open()
    void first.call('send', { to: 'Al' })
    while (keys.length === 0) await new Promise((resolve) => setImmediate(resolve))
    first[Symbol.dispose]()
    const second = open()
    expect((await second.call('send', { to: 'Al' })).output).toBe('sent')
    expect(keys[1]).toBe(keys[0])
    expect(second.end()?.inDoubt).toEqual([])
  }
})

test('a call in doubt that is never repeated is reported at the end and on the tape', async () => {
  const { open, crashIn } = shop()
  await crashIn('hang', { to: 'Al' })
  const run = open()
  await run.call('pay', { to: 'Bo' })
  const ended = run.end()
  expect(ended?.inDoubt).toMatchObject([{ tool: 'hang', args: { to: 'Al' } }])
  const tape = openTape(ended?.path ?? '')
  const notes = [...tape.events()].filter(
    (event) => event.type === 'note' && event.name === 'guard-left-open',
  )
  expect(notes).toHaveLength(1)
})

test('a call under way when its run ends is in doubt, and a finished one is not', async () => {
  const { open, done } = shop()
  const run = open()
  run.tool('wait', ({ to }: { to: string }) => {
    done.push(to)
    return new Promise<string>(() => {})
  })
  await run.call('pay', { to: 'Bo' })
  void run.call('wait', { to: 'Al' })
  while (!done.includes('Al')) await new Promise((resolve) => setImmediate(resolve))
  const ended = run.end()
  expect(ended?.inDoubt).toMatchObject([
    { tool: 'wait', args: { to: 'Al' }, occurrence: 1, from: { run: ended?.id } },
  ])
  expect(run.end()?.inDoubt).toEqual(ended?.inDoubt)
})

test('a call that waits for approval when its run is killed is not in doubt', async () => {
  const { open } = shop()
  const policy = { name: 'careful', rules: [{ ask: 'pay' }] }
  const asked: unknown[] = []
  const first = open({
    policy,
    approval: {
      ask: (request) => {
        asked.push(request)
        return new Promise(() => {})
      },
    },
  })
  void first.call('pay', { to: 'Al' })
  while (asked.length === 0) await new Promise((resolve) => setImmediate(resolve))
  first[Symbol.dispose]()
  const second = open({ policy, approval: { ask: () => ({ approved: true, by: 'me' }) } })
  expect(second.inDoubt()).toEqual([])
  expect((await second.call('pay', { to: 'Al' })).status).toBe('done')
})

test('a call that was approved and then killed is in doubt', async () => {
  const { open, done } = shop()
  const options: Partial<GuardOptions> = {
    policy: { name: 'careful', rules: [{ ask: 'stuck' }] },
    approval: { ask: () => ({ approved: true, by: 'me' }) },
  }
  const first = open(options)
  first.tool('stuck', () => {
    done.push('stuck')
    return new Promise<string>(() => {})
  })
  void first.call('stuck', {})
  while (done.length === 0) await new Promise((resolve) => setImmediate(resolve))
  first[Symbol.dispose]()
  expect(open(options).inDoubt()).toMatchObject([{ tool: 'stuck' }])
})

/** Ways in which a tool has its effect, and nobody gets its answer. */
const unheard: Readonly<Record<string, Parameters<ReturnType<typeof guard>['tool']>[2]>> = {
  'it took too long': { timeoutMs: 20 },
  'its result was too large': {},
  'its result was not what was promised': { output: { kind: 'nothing' } },
}

test.each(Object.entries(unheard))(
  'a call that was given up because %s is in doubt when it is resumed',
  async (why, options) => {
    const dir = mkdtempSync(join(tmpdir(), 'retake-resume-'))
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
    const done: string[] = []
    const open = (more: Partial<GuardOptions> = {}) => {
      const limits = why.includes('large') ? { limits: { outputBytes: 100 } } : {}
      const run = guard({ name: 'shop', dir, resume: true, ...limits, ...more })
      onTestFinished(() => run[Symbol.dispose]())
      run.tool(
        'pay',
        () => {
          done.push('paid')
          return why.includes('long') ? new Promise(() => {}) : 'x'.repeat(200)
        },
        options,
      )
      return run
    }
    const first = open()
    expect((await first.call('pay', {})).output).toBeUndefined()
    first[Symbol.dispose]()

    const second = open()
    expect(second.inDoubt()).toMatchObject([{ tool: 'pay' }])
    expect(await second.call('pay', {})).toMatchObject({
      status: 'in doubt',
      error: { code: 'CALL_IN_DOUBT' },
    })
    expect(done).toEqual(['paid'])
    second[Symbol.dispose]()

    // Who has looked may say so.
    await open({ inDoubt: 'retry' }).call('pay', {})
    expect(done).toEqual(['paid', 'paid'])
  },
)

test.each([
  [
    'is served if it happened',
    { happened: true, output: { paid: 'found' } },
    'done',
    { paid: 'found' },
    1,
  ],
  ['is made again if it did not happen', { happened: false }, 'done', 'hung Al', 2],
  ['is decided by `inDoubt` if nobody knows', 'unknown', 'in doubt', undefined, 1],
] as const)(
  'a call in doubt that its tool can verify %s',
  async (_, verified, status, output, times) => {
    const { dir, crashIn, done } = shop()
    await crashIn('hang', { to: 'Al' })
    const run = guard({ name: 'shop', dir, resume: true })
    onTestFinished(() => run[Symbol.dispose]())
    const verify = vi.fn<() => Promise<typeof verified>>(() => Promise.resolve(verified))
    run.tool(
      'hang',
      ({ to }: { to: string }) => {
        done.push(to)
        return `hung ${to}`
      },
      { verify },
    )
    const result = await run.call('hang', { to: 'Al' })
    expect({ status: result.status, output: result.output }).toEqual({ status, output })
    expect(verify).toHaveBeenCalledOnce()
    expect(done).toHaveLength(times)
  },
)

/** Tools that do something allowed, then something forbidden. */
async function refusedTools() {
  const dir = mkdtempSync(join(tmpdir(), 'retake-refused-'))
  let requests = 0
  const server = createServer((_, response) => response.end(String(++requests))).listen(
    0,
    '127.0.0.1',
  )
  onTestFinished(() => {
    server.close()
    rmSync(dir, { recursive: true, force: true })
  })
  await new Promise((resolve) => server.once('listening', resolve))
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const leave = () => writeFileSync(join(dir, '..', 'outside'), '')
  const open = () => {
    const policy = presets.sandbox({ root: join(dir, 'work'), hosts: [host], addresses: [host] })
    const run = guard({ name: 'refused', dir: join(dir, 'tapes'), resume: true, policy })
    run.tool('post', async () => {
      await fetch(`http://${host}/`, { method: 'POST' })
      leave()
    })
    run.tool('leave', leave)
    return run
  }
  return { open, requests: () => requests }
}

test('a call that was refused after it had sent a request is in doubt', async () => {
  const { open, requests } = await refusedTools()
  const first = open()
  expect(await first.call('post', {})).toMatchObject({ status: 'denied' })
  expect(requests()).toBe(1)
  first[Symbol.dispose]()
  const second = open()
  expect(second.inDoubt()).toMatchObject([{ tool: 'post' }])
  expect(await second.call('post', {})).toMatchObject({ status: 'in doubt' })
  expect(requests()).toBe(1)
  second[Symbol.dispose]()
})

test('a call that was refused before it had done anything is refused again', async () => {
  const { open } = await refusedTools()
  for (const run of [open(), open()]) {
    expect(run.inDoubt()).toEqual([])
    expect(await run.call('leave', {})).toMatchObject({ status: 'denied' })
    run[Symbol.dispose]()
  }
})
