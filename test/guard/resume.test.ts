import { readFileSync } from 'node:fs'
import { readGuards } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { guard } from '@retake/guard'
import { expect, onTestFinished, test } from 'vitest'
import { shop, tapesIn } from './resume-setup.js'

test('a repeated run serves what succeeded and continues with what failed', async () => {
  const { open, done, failing } = shop()
  failing.add('Bo')
  const first = open()
  await first.call('pay', { to: 'Al' })
  expect((await first.call('pay', { to: 'Bo' })).status).toBe('failed')
  first[Symbol.dispose]()
  failing.clear()
  const second = open()
  const results = [await second.call('pay', { to: 'Al' }), await second.call('pay', { to: 'Bo' })]
  expect(results.map(({ status, served, output }) => ({ status, served, output }))).toEqual([
    { status: 'done', served: true, output: { paid: 'Al' } },
    { status: 'done', served: false, output: { paid: 'Bo' } },
  ])
  expect(done).toEqual(['Al', 'Bo'])
  expect(second.resumes).toHaveLength(1)
})

test('identical calls are distinguished, and a changed argument is a new call', async () => {
  const { open, done } = shop()
  const first = open()
  await first.call('pay', { to: 'Al' })
  await first.call('pay', { to: 'Al' })
  first[Symbol.dispose]()
  const second = open()
  const served = []
  for (const to of ['Al', 'Al', 'Al', 'Al ']) served.push((await second.call('pay', { to })).served)
  expect(served).toEqual([true, true, false, false])
  expect(done).toEqual(['Al', 'Al', 'Al', 'Al '])
})

test('a complete run is not resumed unless named by its id or path', async () => {
  const { open, done } = shop()
  const first = open()
  await first.call('pay', { to: 'Al' })
  const { id = '', path = '' } = first.end('all paid') ?? {}
  const anew = open()
  expect((await anew.call('pay', { to: 'Al' })).served).toBe(false)
  anew.end()
  for (const resume of [id, path]) {
    const again = open({ resume })
    expect((await again.call('pay', { to: 'Al' })).served).toBe(true)
    again.end()
  }
  expect(done).toEqual(['Al', 'Al'])
})

test('a run that was ended with an error is resumed', async () => {
  const { open, done } = shop()
  const first = open()
  await first.call('pay', { to: 'Al' })
  first.end(undefined, { error: new Error('the power went out') })
  expect((await open().call('pay', { to: 'Al' })).served).toBe(true)
  expect(done).toEqual(['Al'])
})

test('a resumed run that crashes before a step does not lose that step', async () => {
  const { open, done, dir } = shop()
  const first = open()
  for (const to of ['Al', 'Bo', 'Cy']) await first.call('pay', { to })
  first[Symbol.dispose]()
  for (const to of ['Al', 'Di']) {
    const crashed = open()
    await crashed.call('pay', { to })
    crashed[Symbol.dispose]()
  }
  const last = open()
  expect(last.resumes).toHaveLength(3)
  for (const to of ['Al', 'Bo', 'Cy', 'Di'])
    expect((await last.call('pay', { to })).served).toBe(true)
  last.end()
  expect(done).toEqual(['Al', 'Bo', 'Cy', 'Di'])
  // The first run, asked for by its id, knows of those that went on from it.
  const [oldest = ''] = tapesIn(dir).toSorted(
    (a, b) => openTape(a).run.startedAt - openTape(b).run.startedAt,
  )
  const again = open({ resume: openTape(oldest).run.id })
  expect((await again.call('pay', { to: 'Di' })).served).toBe(true)
})

test('served calls are judged by the current policy', async () => {
  const { open, done } = shop()
  const first = open()
  await first.call('pay', { to: 'Al' })
  first[Symbol.dispose]()
  const second = open({ policy: { name: 'frozen', rules: [{ deny: 'pay' }] } })
  const { status, error } = await second.call('pay', { to: 'Al' })
  expect(status).toBe('denied')
  expect((error as Error).message).toContain('POLICY_CHANGED')
  second[Symbol.dispose]()
  // Being denied once does not undo what was done.
  expect((await open().call('pay', { to: 'Al' })).served).toBe(true)
  expect(done).toEqual(['Al'])
})

test('an approval is valid for the same policy and requested again under another', async () => {
  const { open, done } = shop()
  const asked: string[] = []
  const ask = (policy: string) => () => {
    asked.push(policy)
    return { approved: true, by: 'me' }
  }
  const runs = [['one'], ['one'], ['two']]
  for (const [name = ''] of runs) {
    const run = open({
      policy: { name, rules: [{ ask: 'pay' }] },
      approval: { ask: ask(name) },
    })
    expect((await run.call('pay', { to: 'Al' })).status).toBe('done')
    run[Symbol.dispose]()
  }
  expect(asked).toEqual(['one', 'two'])
  const refused = open({
    policy: { name: 'three', rules: [{ ask: 'pay' }] },
    approval: { ask: () => ({ approved: false, by: 'me' }) },
  })
  expect((await refused.call('pay', { to: 'Al' })).status).toBe('denied')
  expect(done).toEqual(['Al'])
})

test('calls that a tool made are served when the tool itself failed', async () => {
  const { open, done, failing } = shop()
  failing.add('Bo')
  const first = open()
  expect((await first.call('all', { of: ['Al', 'Bo'] })).status).toBe('failed')
  // The same call on its own is another one than that inside.
  await first.call('pay', { to: 'Al' })
  first[Symbol.dispose]()
  failing.clear()
  const second = open()
  const { output } = await second.call('all', { of: ['Al', 'Bo'] })
  expect(output).toEqual([{ paid: 'Al' }, { paid: 'Bo' }])
  expect((await second.call('pay', { to: 'Al' })).served).toBe(true)
  expect(done).toEqual(['Al', 'Al', 'Bo'])
})

test('a call is the same whether the one before it, which made the same call inside, was served or not', async () => {
  const { open, done, failing } = shop()
  failing.add('Bo')
  const first = open()
  await first.call('all', { of: ['Al'] })
  await first.call('pay', { to: 'Al' })
  await first.call('pay', { to: 'Bo' })
  first[Symbol.dispose]()
  const second = open()
  const results = [
    await second.call('all', { of: ['Al'] }),
    await second.call('pay', { to: 'Al' }),
    await second.call('pay', { to: 'Al' }),
  ]
  expect(results.map(({ served }) => served)).toEqual([true, true, false])
  expect(done).toEqual(['Al', 'Al', 'Al'])
})

test('calls of another guard that a tool made are served, too', async () => {
  const { open, done, dir } = shop()
  let fails = true
  const openBoth = () => {
    const inner = guard({ name: 'inner', dir })
    inner.tool('note', ({ text }: { text: string }) => void done.push(text))
    const run = open()
    run.tool('outer', async () => {
      const { status } = await inner.call('note', { text: 'noted' })
      if (fails) throw new Error('not yet')
      return status
    })
    return run
  }
  const first = openBoth()
  expect((await first.call('outer', {})).status).toBe('failed')
  first[Symbol.dispose]()
  fails = false
  const second = openBoth()
  expect((await second.call('outer', {})).output).toBe('done')
  expect(done).toEqual(['noted'])
  // The calls of both are on one tape.
  const { path = '' } = second.end() ?? {}
  expect(readGuards(openTape(path)).guards.map((each) => each.guard)).toEqual(['shop', 'inner'])
})

test('policy and limits apply to calls that a tool makes', async () => {
  const { open, done } = shop()
  const denying = open({ policy: { name: 'no-pay', rules: [{ deny: 'pay' }] } })
  expect((await denying.call('all', { of: ['Al'] })).status).toBe('failed')
  denying.end()
  const limited = open({ limits: { calls: 2 } })
  const result = await limited.call('all', { of: ['Al', 'Bo'] })
  expect(result.status).toBe('failed')
  expect(done).toEqual(['Al'])
  const { path = '' } = limited.end() ?? {}
  expect(readGuards(openTape(path)).calls.map(({ tool, state }) => [tool, state])).toEqual([
    ['all', 'failed'],
    ['pay', 'done'],
    ['pay', 'stopped'],
  ])
})

test('savings are the recorded costs, by step and in total', async () => {
  const { open, done } = shop()
  const first = open()
  await first.call('pay', { to: 'Al' })
  await first.call('pay', { to: 'Bo' })
  first[Symbol.dispose]()
  const second = open({ policy: { name: 'few', rules: [{ deny: 'hang' }] }, limits: { calls: 3 } })
  const took: number[] = []
  for (const to of ['Al', 'Bo', 'Cy', 'Di'])
    took.push((await second.call('pay', { to })).facts.tookMs ?? Number.NaN)
  await second.call('hang', { to: 'Al' })
  expect(done).toEqual(['Al', 'Bo', 'Cy'])
  const savings = second.savings()
  expect(savings.steps.map(({ call, tool, why, basis }) => [call, tool, why, basis])).toEqual([
    [1, 'pay', 'served', 'earlier run'],
    [2, 'pay', 'served', 'earlier run'],
    [4, 'pay', 'stopped', 'unknown'],
    [5, 'hang', 'denied', 'unknown'],
  ])
  expect(savings).toMatchObject({
    calls: 4,
    served: 2,
    stopped: 2,
    inputTokens: { known: 20, unknown: 2 },
    outputTokens: { known: 2, unknown: 2 },
    costUsd: { known: 0.2, unknown: 2 },
  })
  expect(savings.tookMs.known).toBeCloseTo((took[0] ?? 0) + (took[1] ?? 0), 6)
})

test('a secret in a served result is that of this process', async () => {
  const dir = shop().dir
  const name = 'RETAKE_TEST_API_KEY'
  const secret = ['sk', 'fake', 'a'.repeat(24)].join('-')
  process.env[name] = secret
  onTestFinished(() => void delete process.env[name])
  const open = () => {
    const run = guard({ name: 'secrets', dir, resume: true })
    onTestFinished(() => run[Symbol.dispose]())
    run.tool('reveal', () => ({ header: `Bearer ${secret}` }))
    return run
  }
  const first = open()
  await first.call('reveal', {})
  first[Symbol.dispose]()
  expect(readFileSync(tapesIn(dir)[0] ?? '', 'utf8')).not.toContain(secret)
  const { served, output } = await open().call('reveal', {})
  expect({ served, output }).toEqual({ served: true, output: { header: `Bearer ${secret}` } })
})

test('rules that look back remember the calls of the resumed runs', async () => {
  const { open, done } = shop()
  const policy = {
    name: 'shop',
    rules: [
      { deny: 'pay', moreThan: 1 },
      { deny: 'hang', after: { tool: 'pay' } },
    ],
  }
  const first = open({ policy })
  expect((await first.call('pay', { to: 'Al' })).status).toBe('done')
  first[Symbol.dispose]()
  const second = open({ policy })
  expect((await second.call('pay', { to: 'Bo' })).status).toBe('denied')
  expect((await second.call('hang', { to: 'Cy' })).status).toBe('denied')
  expect(await second.call('pay', { to: 'Al' })).toMatchObject({ status: 'done', served: true })
  second[Symbol.dispose]()
  expect((await open({ policy }).call('pay', { to: 'Di' })).status).toBe('denied')
  expect(done).toEqual(['Al'])
})

test('a call in doubt counts for such rules until it is made again', async () => {
  const { open, crashIn, done } = shop()
  await crashIn('hang', { to: 'Al' })
  const policy = { name: 'shop', rules: [{ deny: ['hang', 'pay'], moreThan: 1 }] }
  const run = open({ policy, inDoubt: 'retry' })
  expect((await run.call('pay', { to: 'Bo' })).status).toBe('denied')
  expect((await run.call('hang', { to: 'Al' })).status).toBe('done')
  expect((await run.call('pay', { to: 'Bo' })).status).toBe('denied')
  expect(done).toEqual(['Al', 'Al'])
})

test('loop detection and circuit breakers continue across a resume', async () => {
  const { open, failing } = shop()
  const limits = { repeats: 2, breaker: { failures: 2, cooldownMs: 60_000 } }
  failing.add('Al')
  const first = open({ limits })
  await first.call('pay', { to: 'Al' })
  await first.call('pay', { to: 'Al' })
  first[Symbol.dispose]()
  const stopped = await open({ limits }).call('pay', { to: 'Bo' })
  expect(stopped).toMatchObject({ status: 'stopped', exitReason: 'circuit-open' })
})

test.each([
  [false, 1],
  [true, 2],
])('with keyOrderMatters %s, keys in another order make %i calls', async (matters, times) => {
  const { dir } = shop()
  let made = 0
  for (const args of [
    { a: 1, b: 2 },
    { b: 2, a: 1 },
  ]) {
    const run = guard({ name: 'order', dir, resume: true })
    run.tool('run', () => ++made, { keyOrderMatters: matters })
    await run.call('run', args)
    run[Symbol.dispose]()
  }
  expect(made).toBe(times)
})
