import { factsOf } from '@retake/tape/guards'
import { openTape } from '@retake/tape/node'
import type { GuardResult } from 'retake'
import { describe, expect, test } from 'vitest'
import { guardIn, reasons, turn, type Run } from './limits-setup.js'

/** Numbers that look random and are the same each time. */
function dice(seed: number): (sides: number) => number {
  let state = seed
  return (sides) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * sides)
  }
}

const CALLS = 2_000
/** What a call reserves. It uses half of it, a quarter, or all. */
const RESERVE = { outputTokens: 8, costUsd: 0.08 }

/** Makes 2,000 calls whose tool counts for itself, whatever the guard says. */
async function makeCalls(run: Run, seed: number) {
  const roll = dice(seed)
  const most = { running: 0, tokens: 0, cents: 0 }
  const now = { running: 0, tokens: 0, cents: 0 }
  let started = 0
  run.tool(
    'spend',
    async ({ share, turns }: { share: number; turns: number }, { use }) => {
      started += 1
      // Until it ends a call may use all that it reserved.
      now.running += 1
      now.tokens += 8
      now.cents += 8
      for (const name of ['running', 'tokens', 'cents'] as const)
        most[name] = Math.max(most[name], now[name])
      for (let done = 0; done < turns; done += 1) await turn()
      use({ outputTokens: 8 / share, costUsd: 0.08 / share })
      now.running -= 1
      now.tokens -= 8 - 8 / share
      now.cents -= 8 - 8 / share
      return 'spent'
    },
    { reserve: RESERVE },
  )
  const results: Promise<GuardResult>[] = []
  for (let call = 0; call < CALLS; call += 1) {
    results.push(run.call('spend', { call, share: 2 ** roll(3), turns: roll(4) }))
    if (roll(40) === 0) await turn()
  }
  return { results: await Promise.all(results), most, now, started }
}

/** The tape says of every call what its caller was told. */
function compareTape(run: Run, results: readonly GuardResult[]): void {
  const { path } = run.end() ?? { path: '' }
  const tape = openTape(path)
  expect(tape.verify()).toMatchObject({ ok: true })
  const told = new Map<number, string>()
  for (let seq = 0; seq < tape.count; seq += 1) {
    const event = tape.event(seq)
    const facts = event.type === 'result' ? factsOf(event) : undefined
    if (facts !== undefined && 'op' in event)
      told.set(event.op, `${facts.status} ${facts.exitReason}`)
  }
  expect(results.map(({ step }) => told.get(step.event))).toEqual(
    results.map(({ status, exitReason }) => `${status} ${exitReason}`),
  )
}

const WIDE = { calls: 5_000, tokens: 1e6, costUsd: 1e4, costUsdPerMinute: 1e4, concurrency: 16 }

describe('2,000 concurrent calls', () => {
  test.each([
    ['calls', 'machine', { calls: 300 }],
    ['cost', 'machine', { costUsd: 15 }],
    ['calls', 'process', { calls: 300 }],
    ['tokens', 'process', { tokens: 1_500 }],
    ['cost', 'process', { costUsd: 15 }],
    ['cost-per-minute', 'process', { costUsdPerMinute: 15 }],
  ] as const)('never pass the limit of %s, durability %s', async (reason, durability, narrow) => {
    const limits = { ...WIDE, ...narrow }
    const run = await guardIn({ durability, limits })
    const { results, most, now, started } = await makeCalls(run, 7)
    expect(most.running).toBeLessThanOrEqual(16)
    expect(most.tokens).toBeLessThanOrEqual(limits.tokens)
    expect(most.cents).toBeLessThanOrEqual(limits.costUsd * 100)
    expect(most.cents).toBeLessThanOrEqual(limits.costUsdPerMinute * 100)
    expect(started).toBeLessThanOrEqual(limits.calls)
    const counts = reasons(results)
    expect(counts).toEqual({ done: started, [`stopped ${reason}`]: CALLS - started })
    // The limit is not only kept but used: what is left is less than a call may need.
    const { used } = run.limiter
    const left = {
      calls: limits.calls - used.calls,
      tokens: (limits.tokens - used.spent.tokens) / 8,
      cost: (limits.costUsd - used.spent.costUsd) / 0.08,
      'cost-per-minute': (limits.costUsdPerMinute - used.spent.costUsd) / 0.08,
    }
    expect(left[reason]).toBeLessThan(1)
    expect(used).toMatchObject({
      running: 0,
      calls: started,
      spent: { tokens: now.tokens },
      reserved: { tokens: 0, costUsd: 0 },
    })
    expect(used.spent.costUsd).toBeCloseTo(now.cents / 100, 6)
    compareTape(run, results)
  })
})

test('two guards in one process count separately', async () => {
  const limits = { ...WIDE, concurrency: 4 }
  const [first, second] = [
    await guardIn({ durability: 'process', limits: { ...limits, calls: 900 } }),
    await guardIn({ durability: 'process', limits: { ...limits, costUsd: 20 } }),
  ]
  const [one, other] = await Promise.all([makeCalls(first, 1), makeCalls(second, 2)])
  expect(one.most.running).toBe(4)
  expect(other.most.running).toBe(4)
  expect(reasons(one.results)).toEqual({ done: 900, 'stopped calls': CALLS - 900 })
  expect(other.most.cents).toBeLessThanOrEqual(2_000)
  expect(reasons(other.results)).toEqual({
    done: other.started,
    'stopped cost': CALLS - other.started,
  })
  compareTape(first, one.results)
  compareTape(second, other.results)
})
