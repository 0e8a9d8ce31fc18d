// oxlint-disable vitest/no-standalone-expect -- `attack` makes tests of them.
import { type GuardOptions, guard, type Limits } from '@retake/guard'
import { describe, expect } from 'vitest'
import { attack, makeWorld, type World } from '../attacks-2/world.js'

const limited = (limits: Limits, options: Partial<GuardOptions> = {}): World =>
  makeWorld(() => ({ limits, ...options }))
const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms))
const busy = (retryAfter = '0'): Error =>
  Object.assign(new Error('busy'), { status: 429, headers: { 'retry-after': retryAfter } })

/** What tools spend under a budget of one dollar, 0.3 at a time. */
function buying(limits: Limits = { costUsd: 1 }): World & { spent: () => number } {
  const world = limited(limits)
  let spent = 0
  world.run.tool(
    'buy',
    async (
      { fails, ms = 0, used }: { fails?: number; ms?: number; used?: unknown },
      { use, attempt },
    ) => {
      spent += 0.3
      if (used !== undefined) use(used as object)
      if (ms > 0) await pause(ms)
      if (attempt <= (fails ?? 0)) throw busy()
    },
    { effects: ['spend'], reserve: { costUsd: 0.3 }, retries: 8, idempotent: true },
  )
  return { ...world, spent: () => Math.round(spent * 10) / 10 }
}

describe('a budget', () => {
  const spends = (name: string, calls: (world: World) => unknown, most = 0.9): void =>
    attack(name, {
      attack: async () => {
        const world = buying()
        await calls(world)
        for (let n = 0; n < 6; n += 1) await world.call('buy', { n })
        expect(world.spent()).toBeLessThanOrEqual(most)
      },
    })
  spends('many calls at the same time', ({ call }) =>
    Promise.all(Array.from({ length: 30 }, (_, n) => call('buy', { m: n, ms: 5 }))),
  )
  spends('calls that fail and are repeated', ({ call }) => call('buy', { fails: 8 }))
  spends('two calls that are repeated in turn', ({ call }) =>
    Promise.all([call('buy', { fails: 8, ms: 2 }), call('buy', { fails: 7, ms: 3 })]),
  )
  spends('calls that are given up', async ({ run }) => {
    for (let n = 0; n < 4; n += 1) {
      const leaving = new AbortController()
      setTimeout(() => leaving.abort(), 5)
      await run.call('buy', { n, ms: 50, x: 1 }, { signal: leaving.signal })
    }
  })
  spends('calls that are given up while they wait', async ({ run, call }) => {
    const leaving = new AbortController()
    const calls = [1, 2, 3].map((n) =>
      run.call('buy', { n, ms: 30, y: 1 }, { signal: leaving.signal }),
    )
    leaving.abort()
    await Promise.all([...calls, call('buy', { z: 1 })])
  })
  spends('calls inside calls', async ({ run, call }) => {
    run.tool('outer', () => Promise.all([1, 2, 3, 4, 5].map((n) => call('buy', { n, w: 1 }))), {
      effects: ['spend'],
      reserve: { costUsd: 0 },
    })
    await Promise.all([call('outer', { a: 1 }), call('outer', { a: 2 })])
  })
  const usages: Readonly<Record<string, unknown>> = {
    'less than nothing': { costUsd: -9 },
    'minus infinity': { costUsd: -Infinity },
    'infinity': { costUsd: Infinity },
    'not a number': { costUsd: Number.NaN },
    'a text': { costUsd: '-9' },
    'a bigint': { costUsd: -9n },
    'an object': { costUsd: { valueOf: () => -9 } },
    'null': { costUsd: null },
    'negative tokens beside it': { costUsd: 0.3, inputTokens: -1e9 },
    'more tokens than there are numbers': { costUsd: 0.3, inputTokens: 1e308, outputTokens: 1e308 },
    'a list': [-9],
    'a number': -9,
    'other names': { cost: -9, usd: -9 },
  } // prettier-ignore
  for (const [name, used] of Object.entries(usages))
    attack(`a reported usage that is ${name}`, {
      attack: async () => {
        const world = limited({ costUsd: 1, tokens: 1e9 })
        let spent = 0
        world.run.tool(
          'buy',
          (_: object, { use }) => {
            spent += 1
            use(used as object)
          },
          { effects: ['spend'], reserve: { costUsd: 0.3, inputTokens: 1 } },
        )
        for (let n = 0; n < 8; n += 1) await world.call('buy', { n })
        expect(spent).toBeLessThanOrEqual(3)
      },
    })
  for (const [name, used] of Object.entries(usages))
    attack(`a reservation that is ${name}`, {
      attack: async () => {
        const world = limited({ costUsd: 1, tokens: 1e9 })
        let spent = 0
        world.run.tool('buy', () => void (spent += 1), {
          effects: ['spend'],
          reserve: ({ used: given }: { used: object }) => given,
        })
        for (let n = 0; n < 8; n += 1) await world.call('buy', { n, used })
        expect(spent).toBeLessThanOrEqual(3)
        // Nothing of it is left behind: the rest of the budget is still there.
        let small = 0
        world.run.tool('small', () => void (small += 1), {
          effects: ['spend'],
          reserve: { costUsd: 0.05, inputTokens: 1 },
        })
        for (let n = 0; n < 4; n += 1) await world.call('small', { n })
        expect(spent * 0.3 + small * 0.05).toBeLessThanOrEqual(1)
      },
    })
  attack('a budget for one tool, by a reservation without end', {
    attack: async () => {
      const world = limited({ tools: { other: { costUsd: 1 } } })
      let spent = 0
      world.run.tool('buy', () => 1, {
        effects: ['spend'],
        reserve: ({ costUsd }: { costUsd: number }) => ({ costUsd }),
      })
      world.run.tool('other', () => void (spent += 1), {
        effects: ['spend'],
        reserve: { costUsd: 0.4 },
      })
      for (const costUsd of [1e300, 1e308, 1.7e308]) await world.call('buy', { costUsd })
      for (let n = 0; n < 5; n += 1) await world.call('other', { n })
      // Neither more than the budget, nor nothing at all.
      expect(spent).toBe(2)
    },
    twin: async () => {
      const world = buying()
      for (let n = 0; n < 5; n += 1) await world.call('buy', { n, used: { costUsd: 0.2 } })
      expect(world.spent()).toBe(1.2)
    },
  })
  attack('usage that is reported after the call', {
    attack: async () => {
      const world = limited({ costUsd: 1 })
      let started = 0
      world.run.tool(
        'buy',
        (_: object, { use }) => {
          started += 1
          use({ costUsd: 0 })
          setTimeout(() => use({ costUsd: 0.9 }), 5)
        },
        { effects: ['spend'], reserve: { costUsd: 0.5 } },
      )
      for (let n = 0; n < 6; n += 1) {
        await world.call('buy', { n })
        await pause(20)
      }
      expect(started).toBeLessThanOrEqual(2)
    },
  })
})

describe('numbers of calls', () => {
  const counts = (
    name: string,
    limits: Limits,
    calls: (world: World) => unknown,
    most: number,
  ): void =>
    attack(name, {
      attack: async () => {
        const world = limited(limits)
        await calls(world)
        for (let n = 0; n < 9; n += 1) await world.call('refund', { n })
        expect(world.refunds.length).toBeLessThanOrEqual(most)
      },
      twin: async () => {
        const world = limited(limits)
        await world.call('refund', { n: 1 })
        expect(world.refunds).toHaveLength(1)
      },
    })
  counts(
    'calls of tools that do not exist',
    { calls: 3 },
    async ({ call }) => {
      for (const name of ['refunds', 'Refund', ' refund', '__proto__']) await call(name, {})
    },
    3,
  )
  counts(
    'aborted calls',
    { calls: 3 },
    async ({ run }) => {
      for (let n = 0; n < 5; n += 1)
        await run.call('refund', { n }, { signal: AbortSignal.abort() })
    },
    3,
  )
  counts(
    'invalid arguments',
    { calls: 3 },
    async ({ call }) => {
      for (let n = 0; n < 5; n += 1) await call('refund', { n, f: () => {} })
    },
    3,
  )
  counts(
    'a limit of one tool, by other names',
    { tools: { refund: { calls: 2 } } },
    async ({ call }) => {
      for (const name of ['refund ', 'REFUND', 'refund\0', 'refu\u200bnd']) await call(name, {})
    },
    2,
  )
  counts(
    'a limit of one tool, by a tool that calls it',
    { tools: { refund: { calls: 2 } } },
    async ({ run, call }) => {
      run.tool('outer', () =>
        Promise.all([1, 2, 3, 4].map((n) => call('refund', { m: n }))).then(() => 1),
      )
      await call('outer', {})
    },
    2,
  )
  counts(
    'options of a call',
    { calls: 2 },
    async ({ run }) => {
      for (let n = 0; n < 4; n += 1)
        await run.call('refund', { n }, { limits: { calls: 99 }, throws: false } as object)
    },
    2,
  )

  attack('two guards of one name for one budget', {
    attack: async () => {
      const { folder, run } = limited({ calls: 2 })
      expect(() => guard({ name: run.name, dir: folder, limits: { cals: 99 } as Limits })).toThrow(
        /cals/,
      )
    },
  })

  attack('more calls at a time, by giving up and coming back', {
    attack: async () => {
      const world = limited({ concurrency: 2 })
      let now = 0
      let most = 0
      world.run.tool('work', async () => {
        now += 1
        most = Math.max(most, now)
        await pause(8)
        now -= 1
      })
      const calls = Array.from({ length: 24 }, async (_, n) => {
        const leaving = new AbortController()
        if (n % 3 === 0) setTimeout(() => leaving.abort(), 4)
        await world.run.call('work', { n }, { signal: leaving.signal })
      })
      await Promise.all(calls)
      // A call that was given up may still be at work when the next one starts.
      expect(world.run.limiter.used.running).toBe(0)
      expect(most).toBeLessThanOrEqual(10)
      most = 0
      await Promise.all(Array.from({ length: 9 }, (_, n) => world.call('work', { m: n })))
      expect(most).toBeLessThanOrEqual(2)
    },
    twin: async () => {
      const world = limited({ concurrency: 2 })
      const results = await Promise.all([1, 2, 3, 4].map((n) => world.call('refund', { n })))
      expect(results.map(({ status }) => status)).toEqual(['done', 'done', 'done', 'done'])
    },
  })

  attack('more calls at a time, from inside a call', {
    attack: async () => {
      const world = limited({ tools: { inner: { concurrency: 1 } } })
      let now = 0
      let most = 0
      world.run.tool('inner', async () => {
        now += 1
        most = Math.max(most, now)
        await pause(3)
        now -= 1
      })
      world.run.tool('outer', async () => {
        await Promise.all([1, 2, 3, 4].map((n) => world.call('inner', { n })))
      })
      await Promise.all([
        world.call('outer', {}),
        world.call('inner', {}),
        world.call('outer', { b: 1 }),
      ])
      expect(most).toBe(1)
    },
  })

  attack('an open circuit, by many trials at the same time', {
    attack: async () => {
      const world = limited({ breaker: { failures: 2, cooldownMs: 30 } })
      let started = 0
      world.run.tool('flaky', async () => {
        started += 1
        await pause(5)
        throw new Error('down')
      })
      for (let n = 0; n < 4; n += 1) await world.call('flaky', { n })
      expect(started).toBe(2)
      await pause(50)
      await Promise.all(Array.from({ length: 20 }, (_, n) => world.call('flaky', { m: n })))
      expect(started).toBe(3)
    },
    twin: async () => {
      const world = limited({ breaker: { failures: 2, cooldownMs: 1 } })
      let fails = true
      world.run.tool('flaky', () => {
        if (fails) throw new Error('down')
        return 'up'
      })
      for (let n = 0; n < 3; n += 1) await world.call('flaky', { n })
      fails = false
      await pause(20)
      expect(await world.call('flaky', { n: 9 })).toMatchObject({ output: 'up' })
    },
  })

  attack('a pause that a server requests for ever', {
    attack: async () => {
      const world = limited({ deadlineMs: 400 })
      let started = 0
      world.run.tool(
        'slow',
        () => {
          started += 1
          throw busy(['9999999', '1e9', '-5', 'Infinity', 'NaN'][started - 1] ?? '0')
        },
        { retries: 50, idempotent: true },
      )
      const began = performance.now()
      for (let n = 0; n < 5; n += 1) await world.call('slow', { n })
      expect(performance.now() - began).toBeLessThan(20_000)
    },
  })
})

describe('limits that limit nothing', () => {
  const wrong: Readonly<Record<string, unknown>> = {
    'a negative number': { calls: -1 },
    'a text': { calls: '5' },
    'not a number': { costUsd: Number.NaN },
    'null': { calls: null },
    'another name': { call: 5 },
    'another case': { costUSD: 5 },
    'a list': [{ calls: 5 }],
    'no concurrency': { concurrency: 0 },
    'half a concurrency': { concurrency: 0.5 },
    'a text for a tool': { tools: { refund: { calls: '1' } } },
    'a number for a tool': { tools: { refund: 1 } },
    'a pattern of tools': { tools: { 'refund*': { calls: 1 } } },
    'every tool': { tools: { '*': { calls: 1 } } },
    'an invisible character in a tool': { tools: { 'refund\u200b': { calls: 1 } } },
    'a look-alike letter in a tool': { tools: { 'r\u0435fund': { calls: 1 } } },
    'a breaker without a pause': { breaker: { failures: 1 } },
    'repeats below one': { repeats: 0 },
  } // prettier-ignore
  for (const [name, limits] of Object.entries(wrong))
    attack(`limits with ${name}`, {
      attack: async () => {
        let world: World | undefined
        try {
          world = limited(limits as Limits)
        } catch (error) {
          expect((error as { code: string }).code).toMatch(/LIMITS_INVALID|POLICY_INVALID/)
        }
        for (let n = 0; n < 3; n += 1) await world?.call('refund', { n })
        expect(world?.refunds ?? []).toEqual([])
      },
    })
  attack('limits of a tool that does not exist', {
    attack: async () => {
      const limits = { tools: { refnud: { calls: 1 } } }
      expect(() => limited(limits, { tools: ['refund'] })).toThrow(/refnud/)
      expect(() => makeWorld(() => ({ policy: { name: 'p', limits }, tools: ['refund'] }))).toThrow(
        /refnud/,
      )
      const world = limited(limits)
      for (let n = 0; n < 3; n += 1) await world.call('refund', { n })
      expect(world.refunds).toEqual([])
    },
    twin: async () => {
      const world = limited({
        tools: { refund: { calls: 1 }, пошук: { calls: 1 }, 'a/b.c-d': { calls: 1 } },
      })
      await world.call('refund', { n: 1 })
      await world.call('refund', { n: 2 })
      expect(world.refunds).toHaveLength(1)
    },
  })
})
