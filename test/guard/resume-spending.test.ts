import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { guard, type Limits } from '@retake/guard'
import { openTape } from '@retake/tape/node'
import { expect, onTestFinished, test } from 'vitest'
import { tapesIn } from './resume-setup.js'
import {
  cutAt,
  dice,
  eventsIn,
  folder,
  LIMIT,
  RESERVE,
  SEEDS,
  shopOf,
  stepsOf,
  take,
  Wallet,
} from './spending-setup.js'
import type { Step } from './spending-setup.js'

/** One run in this folder, resumed if there is something to resume, and left without an end. */
async function runIn(dir: string, steps: readonly Step[], before: number, seed: number) {
  const known = new Set(tapesIn(dir))
  const wallet = new Wallet(before, eventsIn(dir))
  const run = shopOf({ dir, resume: true }, wallet, seed)
  const restored = run.limiter.used.spent
  const results = await take(run, steps, wallet)
  const { spent } = run.limiter.used
  run[Symbol.dispose]()
  const tape = tapesIn(dir).find((each) => !known.has(each)) ?? ''
  return { wallet, restored, spent, results, tape }
}

test.each(SEEDS)(
  'however often and wherever a run is killed, all attempts together never exceed the limit (seed %i)',
  async (seed) => {
    const steps = stepsOf(seed)
    const first = await runIn(folder(), steps, 0, seed)
    expect(first.wallet.broken).toEqual([])
    const { count } = openTape(first.tape)
    const whole = await runIn(cutAt([first.tape], first.tape, count), [], 0, seed)
    expect(whole.restored).toEqual(first.spent)
    let stoppedByEarlier = 0
    let most = 0
    const killAt = async (events: number): Promise<void> => {
      const roll = dice(seed * 1_000 + events)
      let dir = cutAt([first.tape], first.tape, events)
      let spent = first.wallet.totalAt(events)
      for (let resumed = 0; resumed < 2; resumed += 1) {
        const next = await runIn(dir, steps, spent, roll(1_000))
        expect(next.wallet.broken, `cut after ${events} events`).toEqual([])
        stoppedByEarlier += next.results.filter(({ error }) =>
          String(error).includes('earlier runs'),
        ).length
        most = Math.max(most, next.wallet.total)
        const second = roll(openTape(next.tape).count) + 1
        dir = cutAt(tapesIn(dir), next.tape, second)
        spent = next.wallet.totalAt(second)
      }
    }
    await Promise.all(Array.from({ length: count }, (_, index) => killAt(index + 1)))
    // It is not only kept but used.
    expect(most).toBeGreaterThan(LIMIT - RESERVE)
    expect(stoppedByEarlier).toBeGreaterThan(0)
  },
)

test('the first live call is stopped if earlier runs have spent the limit, and says so', async () => {
  const dir = folder()
  const open = (limits: Limits) => {
    const run = guard({ name: 'shop', dir, resume: true, limits })
    onTestFinished(() => run[Symbol.dispose]())
    for (const name of ['pay', 'send'])
      run.tool(
        name,
        (_: { n: number }, { use }) => use({ costUsd: 2.5, inputTokens: 4, outputTokens: 1 }),
        { reserve: { costUsd: 3, outputTokens: 6 } },
      )
    return run
  }
  const first = open({ costUsd: 10 })
  await first.call('pay', { n: 1 })
  await first.call('send', { n: 2 })
  first.spend({ costUsd: 3 })
  first[Symbol.dispose]()
  const rows = [
    [{ costUsd: 10 }, 'cost', 'limits/costUsd', '$2 is left', 'spent $8.'],
    [{ tokens: 15 }, 'tokens', 'limits/tokens', '5 are left', 'spent 10 tokens.'],
    [{ costUsdPerMinute: 9 }, 'cost-per-minute', 'limits/costUsdPerMinute', '$1 is', '$8 of it.'],
    [{ tools: { pay: { costUsd: 5 } } }, 'cost', 'limits/tools/pay/costUsd', '$2.5', 'spent $2.5.'],
  ] as const
  for (const [limits, reason, rule, left, spent] of rows) {
    const run = open(limits)
    const served = await run.call('pay', { n: 1 })
    expect([served.status, served.served]).toEqual(['done', true])
    const { status, exitReason, error } = await run.call('pay', { n: 3 })
    expect({ status, exitReason }).toEqual({ status: 'stopped', exitReason: reason })
    expect(error).toMatchObject({ rule })
    const { why } = error as { why: string }
    expect(why).toContain(left)
    expect(why).toContain(`earlier runs that this one continues have`)
    expect(why).toContain(spent)
    run[Symbol.dispose]()
  }
  // What they have saved is what it was.
  const last = open({ costUsd: 11 })
  await last.call('pay', { n: 1 })
  expect(last.savings()).toMatchObject({ served: 1, costUsd: { known: 2.5, unknown: 0 } })
  expect((await last.call('pay', { n: 3 })).status).toBe('done')
  last.end()
  // A run that came to its end is over: the next one is another, and has its own money.
  expect((await open({ costUsd: 3 }).call('pay', { n: 1 })).status).toBe('done')
})

test('served calls count as calls of the run and of their tool', async () => {
  const dir = folder()
  const open = () => {
    const run = guard({
      name: 'shop',
      dir,
      resume: true,
      limits: { calls: 4, tools: { pay: { calls: 2 } } },
    })
    onTestFinished(() => run[Symbol.dispose]())
    run.tool('pay', ({ n }: { n: number }) => n)
    run.tool('look', ({ n }: { n: number }) => n)
    return run
  }
  const first = open()
  await first.call('pay', { n: 1 })
  await first.call('look', { n: 1 })
  first[Symbol.dispose]()
  const second = open()
  const rules: unknown[] = []
  for (const [tool, n] of [
    ['pay', 1],
    ['look', 1],
    ['pay', 2],
    ['pay', 3],
    ['look', 2],
    ['look', 3],
  ] as const)
    rules.push((await second.call(tool, { n })).intent.rule)
  const ok = undefined
  expect(rules).toEqual([ok, ok, ok, 'limits/tools/pay/calls', ok, 'limits/calls'])
})

test('usage that a tool reports after it timed out is counted by the resumed run', async () => {
  const dir = folder()
  let late: (() => void) | undefined
  const open = () => {
    const run = guard({ name: 'shop', dir, resume: true, limits: { costUsd: 10 } })
    onTestFinished(() => run[Symbol.dispose]())
    run.tool(
      'slow',
      (_: unknown, { use }) => {
        late = () => use({ costUsd: 7 })
        return new Promise<never>(() => {})
      },
      { reserve: { costUsd: 4 }, timeoutMs: 1 },
    )
    return run
  }
  const first = open()
  expect((await first.call('slow', {})).exitReason).toBe('timeout')
  expect(first.limiter.used.spent.costUsd).toBe(4)
  late?.()
  expect(first.limiter.used.spent.costUsd).toBe(7)
  first[Symbol.dispose]()
  expect(open().limiter.used.spent.costUsd).toBe(7)
})

test('processes killed while they pay spend no more than one of them may', () => {
  const dir = folder()
  const workflow = fileURLToPath(new URL('spending-workflow.mjs', import.meta.url))
  const start = (kill?: string) => {
    const env = { ...process.env, ...(kill !== undefined && { KILL: kill }) }
    const { signal, status, stdout, stderr } = spawnSync(process.execPath, [workflow, dir], { env })
    expect([signal, status], String(stderr)).toEqual(
      kill === undefined ? [null, 0] : ['SIGKILL', null],
    )
    return String(stdout)
  }
  const wallet = (): number =>
    readFileSync(join(dir, 'wallet'), 'utf8').trim().split('\n').length * 10
  const spent: number[] = []
  for (const kill of ['after', 'result', 'before', 'after', 'result']) {
    start(kill)
    spent.push(wallet())
  }
  // The third one was killed before it had paid. Nobody can know, so that counts as well.
  expect(spent).toEqual([10, 20, 20, 30, 40])
  const lines = start()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as object)
  const served = { status: 'done', served: true }
  const stopped = {
    status: 'stopped',
    why: 'It may cost $0.1, but only $0 is left. The earlier runs that this one continues have spent $0.5.',
  }
  expect(lines).toMatchObject([served, served, stopped])
  expect(wallet()).toBe(40)
})

test('a guard whose calls are made inside those of another counts what it spent on the tapes of that one', async () => {
  const dir = folder()
  const open = () => {
    const inner = guard({ name: 'inner', limits: { costUsd: 2 } })
    inner.tool('pay', () => 'paid', { reserve: { costUsd: 1 } })
    const outer = guard({ name: 'outer', dir, resume: true })
    onTestFinished(() => outer[Symbol.dispose]())
    outer.tool('work', async ({ n }: { n: number }) => {
      const { exitReason } = await inner.call('pay', { n })
      throw new Error(exitReason ?? 'not yet')
    })
    return outer
  }
  const errors: string[] = []
  for (const n of [1, 2, 3]) {
    const outer = open()
    errors.push(String((await outer.call('work', { n })).error))
    outer[Symbol.dispose]()
  }
  expect(errors).toEqual(['Error: not yet', 'Error: not yet', 'Error: cost'])
})
