import { join } from 'node:path'
import { fork, outsideRuns, record, replay, resume } from '@retake/engine'
import { guard, type GuardResult } from '@retake/guard'
import { readGuards } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { expect, test } from 'vitest'
import { cutTape } from '../support/cut-tape.js'
import { tapesIn } from './resume-setup.js'
import {
  dice,
  eventsIn,
  folder,
  LIMIT,
  LIMITS,
  RESERVE,
  SEEDS,
  shopOf,
  stepsOf,
  take,
  Wallet,
} from './spending-setup.js'

const eventsOn = (tape: string) => (): number => outsideRuns(() => openTape(tape).count)

test.each(SEEDS)(
  'however often and wherever a recording is killed, its guard never exceeds the limit (seed %i)',
  async (seed) => {
    // What the agent itself says it spent, it says again.
    const steps = stepsOf(seed).filter((step) => step !== 'spend')
    const agentOf = (wallet: Wallet, random: number) => async () => {
      const run = shopOf({}, wallet, random)
      await take(run, steps, wallet)
    }
    const dir = folder()
    const wallet = new Wallet(0, eventsIn(dir))
    const { run } = await record({ name: 'shop', dir }, agentOf(wallet, seed))
    expect(wallet.broken).toEqual([])
    let most = 0
    // Behind the last of them stand its end and its seal.
    const count = openTape(run.path).count - 2
    const killAt = async (events: number): Promise<void> => {
      const roll = dice(seed * 1_000 + events)
      const home = folder()
      let tape = cutTape(run.path, events, join(home, 'cut'))
      let before = wallet.totalAt(events)
      let last = events
      for (let resumed = 0; resumed < 2; resumed += 1) {
        const next = new Wallet(before, eventsOn(tape))
        await resume(tape, agentOf(next, roll(1_000)), { inDoubt: 'retry' })
        expect(next.broken, `cut after ${events} events`).toEqual([])
        most = Math.max(most, next.total)
        const left = openTape(tape).count - 2 - last
        last += roll(left + 1)
        before = next.totalAt(last)
        tape = cutTape(tape, last, join(home, `cut ${resumed}`))
      }
    }
    await Promise.all(Array.from({ length: count }, (_, index) => killAt(index + 1)))
    expect(most).toBeGreaterThan(LIMIT - RESERVE)
  },
)

/** A tool that spends all that it reserves, and one that calls it. */
function payingAgent(steps: readonly string[], paid: string[], failing = new Set<string>()) {
  return async () => {
    const run = guard({ name: 'shop', limits: LIMITS })
    run.tool(
      'pay',
      ({ to }: { to: string }) => {
        paid.push(to)
        if (failing.has(to)) throw new Error(`no money for ${to}`)
        return to
      },
      { reserve: { costUsd: RESERVE / 100, outputTokens: RESERVE } },
    )
    run.tool(
      'twice',
      async ({ to }: { to: string }) => {
        for (const part of [1, 2]) await run.call('pay', { to: `${to}${part}` })
      },
      { effects: ['read'], reserve: {} },
    )
    const results: GuardResult[] = []
    for (const step of steps) {
      const [tool = '', to = ''] = step.split(' ')
      if (tool === 'spend') run.spend({ costUsd: Number(to) / 100, inputTokens: Number(to) })
      else results.push(await run.call(tool, { to }))
      const { status, error } = results.at(-1) ?? {}
      if (status !== 'failed') continue
      // What is done about it costs something, too.
      await run.call('pay', { to: 'lawyer' })
      throw error
    }
    return results.map(({ status, error }) =>
      status === 'done' ? status : `${status} ${(error as Error).message}`,
    )
  }
}

test('each time a failed recording is resumed, what it spent stays spent, also after the failure', async () => {
  const dir = folder()
  const paid: string[] = []
  const agent = payingAgent(['pay Al', 'pay Bo', 'pay Cy'], paid, new Set(['Bo']))
  await expect(record({ name: 'shop', dir }, agent)).rejects.toThrow('no money')
  const latest = (): string => tapesIn(dir).toSorted((a, b) => startOf(b) - startOf(a))[0] ?? ''
  for (let again = 0; again < 4; again += 1)
    await expect(resume(latest(), agent)).rejects.toThrow('no money')
  // 48 cents are six payments.
  expect(paid).toEqual(['Al', 'Bo', 'lawyer', 'Bo', 'lawyer', 'Bo'])
  const { state, intent } = readGuards(openTape(latest())).calls.at(-1) ?? {}
  expect([state, intent?.exitReason]).toEqual(['stopped', 'tokens'])
  expect(intent?.why).toMatch(/earlier runs .* have spent 48 tokens\.$/)
})

const startOf = (tape: string): number => openTape(tape).run.startedAt

test('a fork has spent what it was served, nested calls included, and nothing of other branches', async () => {
  const paid: string[] = []
  const steps = ['twice A', 'spend 8', 'pay B', 'pay C', 'pay D', 'pay E']
  const { run, output } = await record({ name: 'shop', dir: folder() }, payingAgent(steps, paid))
  expect(paid).toEqual(['A1', 'A2', 'B', 'C', 'D'])
  expect(output.slice(0, 4)).toEqual(['done', 'done', 'done', 'done'])
  for (const [at, live] of [
    ['2', ['B', 'C', 'D']],
    ['3', ['C', 'D']],
  ] as const) {
    paid.length = 0
    const forked = await fork(run.path, payingAgent(steps, paid), { at })
    expect(paid).toEqual(live)
    expect(forked.output.at(-1)).toMatch(/^stopped .* 0 are left/)
    const replayed = await replay(forked.run.path, payingAgent(steps, paid))
    expect(replayed.output).toEqual(forked.output)
    expect(paid).toEqual(live)
  }
})

test('spending reported by the agent is counted once by a resumed recording', async () => {
  const dir = folder()
  const paid: string[] = []
  const steps = ['spend 32', 'pay A', 'pay B', 'pay C']
  const { run } = await record({ name: 'shop', dir }, payingAgent(steps, paid))
  const { calls, spent } = readGuards(openTape(run.path))
  expect(spent).toMatchObject([{ usage: { costUsd: 0.32, inputTokens: 32 }, isSaidAgain: true }])
  const cut = cutTape(run.path, (calls[0]?.resultSeq ?? 0) + 1, join(dir, 'cut'))
  paid.length = 0
  const { output } = await resume(cut, payingAgent(steps, paid))
  expect(paid).toEqual(['B'])
  expect(output).toEqual(['done', 'done', expect.stringMatching(/^stopped .* 0 are left/)])
})

test('a skipped call in doubt counts once with its reservation', async () => {
  const dir = folder()
  const paid: number[] = []
  const agent = async () => {
    const run = guard({ name: 'shop', limits: LIMITS })
    const reserve = { costUsd: RESERVE / 100, outputTokens: RESERVE }
    run.tool('pay', ({ n }: { n: number }) => paid.push(n), { reserve })
    await Promise.all([run.call('pay', { n: 1 }), run.call('pay', { n: 2 })])
    for (const n of [3, 4, 5, 6, 7]) await run.call('pay', { n })
  }
  const { run } = await record({ name: 'shop', dir }, agent)
  const { callSeq = 0 } = readGuards(openTape(run.path)).calls[1] ?? {}
  for (const [again, live] of [
    [{}, [3, 4, 5, 6]],
    // Made again it costs twice, and the other one is answered only after that.
    [{ [callSeq]: 'retry' }, [2, 3, 4, 5]],
  ] as const) {
    const cut = cutTape(run.path, callSeq + 1, join(dir, String(live[0])))
    paid.length = 0
    await resume(cut, agent, { inDoubt: 'skip', decisions: again })
    expect(paid).toEqual(live)
  }
})
