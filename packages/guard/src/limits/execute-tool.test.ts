import { describe, expect, it } from 'vitest'
import type { Session } from '@retake/engine/hook'
import { settled, TestClock } from '../../../../test/support/test-clock.js'
import { currentBounds } from '../bounds/current-bounds.js'
import { CallBounds } from '../bounds/call-bounds.js'
import { GuardError } from '../denials/guard-error.js'
import type { GuardedToolOptions, ToolContext } from '../contract/guarded-tool.js'
import { circuitOutcome, executeTool, type ExecuteOptions } from './execute-tool.js'
import { limitErrors } from './limit-errors.js'

const start = (
  run: (args: never, context: ToolContext) => unknown,
  options: GuardedToolOptions<unknown> = {},
  more: Partial<ExecuteOptions> = {},
) => {
  const clock = new TestClock()
  const bounds = new CallBounds('work', [])
  const executing = Promise.resolve(
    executeTool({
      tool: { name: 'work', run: run as never, options },
      args: () => ({ list: [1] }),
      session: { note: () => {} } as unknown as Session,
      bounds,
      idempotencyKey: 'key',
      timeoutMs: 1_000,
      signal: undefined,
      clock,
      ...more,
    }),
  )
  return { clock, bounds, executing }
}
const errorOf = async (executing: ReturnType<typeof start>['executing']) => {
  const { outcome } = await executing
  return 'error' in outcome ? (outcome.error as GuardError) : undefined
}
const refused = () => Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })
const bug = (): Error & { code?: string } => new Error('bug')
const unavailable = (headers = {}): Error & { code?: string } =>
  Object.assign(new Error('503'), { status: 503, headers })
const never = new Promise<never>(() => {})

describe('time', () => {
  it('needs no timer and no signal for a synchronous tool', async () => {
    for (const run of [() => 1, async () => 1]) {
      const { clock, executing } = start(run)
      expect((await executing).outcome).toMatchObject({ value: 1, as: 'json' })
      expect(clock.asked).toEqual([])
    }
    const { clock, executing } = start(() => settled())
    await executing
    expect(clock.asked).toEqual([1_000])
    expect(clock.pending).toBe(0)
  })

  it('gives up a slow tool: signal aborted, bounds ended, immediate answer', async () => {
    let signal: AbortSignal | undefined
    const { clock, bounds, executing } = start((_, context) => {
      ;({ signal } = context)
      return never
    })
    await clock.pass(999)
    expect(signal?.aborted).toBe(false)
    await clock.pass(1)
    expect(await executing).toMatchObject({
      facts: { status: 'stopped', exitReason: 'timeout', tookMs: 1_000 },
      isGivenUp: true,
    })
    expect(await errorOf(executing)).toMatchObject({ code: 'LIMIT_TIMEOUT' })
    expect(signal?.aborted).toBe(true)
    expect(signal?.reason).toMatchObject({ code: 'LIMIT_TIMEOUT' })
    expect(() => bounds.file('write', '/tmp/x')).toThrow(
      expect.objectContaining({ code: 'GUARD_CALL_OVER' }),
    )
  })

  it('counts the time that the program is busy before the timer starts', async () => {
    const { clock, bounds, executing } = start(() => never)
    // Synchronous work of the caller, before any microtask.
    clock.advance(1_000)
    expect(await executing).toMatchObject({ facts: { exitReason: 'timeout', tookMs: 1_000 } })
    expect(clock.asked).toEqual([])
    expect(bounds.isOver).toBe(true)
  })

  it('runs listeners of the signal within the bounds of the tool, and ends what they start', async () => {
    let seen: readonly CallBounds[] = []
    let isReleased = false
    const { clock, bounds, executing } = start((_, { signal }) => {
      signal.addEventListener('abort', () => {
        seen = currentBounds()
        seen[0]?.onEnd(() => (isReleased = true))
      })
      return never
    })
    await clock.pass(1_000)
    await executing
    expect(seen).toContain(bounds)
    expect(isReleased).toBe(true)
  })

  it('ignores later work of a tool that timed out, and aborts a signal that it reads then', async () => {
    let fail: (error: Error) => void = () => {}
    let context: ToolContext | undefined
    const late: unknown[] = []
    const { clock, executing } = start(
      (_, given) => {
        context = given
        return new Promise((_resolve, reject) => (fail = reject))
      },
      {},
      { late: (usage) => void late.push(usage) },
    )
    await clock.pass(1_000)
    const { facts } = await executing
    fail(new Error('late'))
    context?.use({ inputTokens: 3 })
    await settled()
    expect(context?.signal.aborted).toBe(true)
    expect(facts.usage).toBeUndefined()
    expect(late).toEqual([{ inputTokens: 3 }])
  })

  it('ends with the signal of the caller, before and after the start', async () => {
    const caller = new AbortController()
    let starts = 0
    const { executing } = start(() => ((starts += 1), never), {}, { signal: caller.signal })
    await settled()
    caller.abort()
    expect(await executing).toMatchObject({ facts: { exitReason: 'aborted', status: 'stopped' } })
    const second = start(() => (starts += 1), {}, { signal: caller.signal })
    expect(await second.executing).toMatchObject({ facts: { exitReason: 'aborted', attempts: 0 } })
    expect(starts).toBe(1)
  })

  it('treats any object with `then` as a promise', async () => {
    const query = {}
    Reflect.set(query, 'then', (resolve: (value: unknown) => void) => resolve('later'))
    expect((await start(() => query).executing).outcome).toMatchObject({ value: 'later' })
  })
})

describe('results', () => {
  it.each([
    ['text', 'x'.repeat(101)],
    ['bytes', Buffer.alloc(101)],
    ['text of few letters and many bytes', '☃'.repeat(50)],
    ['an object', { deep: [{ text: 'x'.repeat(101) }] }],
    ['a map', new Map([['key', 'x'.repeat(101)]])],
    ['a typed array', { bytes: new Uint8Array(101) }],
  ])('are not passed on if they are too large: %s', async (_, value) => {
    const { executing } = start(() => value, {}, { outputBytes: 100 })
    expect(await executing).toMatchObject({
      facts: { status: 'stopped', exitReason: 'output-size' },
    })
    expect(await errorOf(executing)).toMatchObject({ code: 'LIMIT_OUTPUT_SIZE' })
  })

  it('are not written out when the same data is in them a billion times', async () => {
    let laughs: unknown = 'ha'
    for (let level = 0; level < 40; level += 1) laughs = [laughs, laughs]
    const { executing } = start(() => laughs, {}, { outputBytes: 100_000 })
    expect(await errorOf(executing)).toMatchObject({ code: 'LIMIT_OUTPUT_SIZE' })
  })

  it('of exactly the maximum size are passed on, also if they contain themselves', async () => {
    expect(
      (await start(() => 'x'.repeat(100), {}, { outputBytes: 100 }).executing).outcome,
    ).toHaveProperty('value')
    const round: Record<string, unknown> = { a: 1 }
    round['self'] = round
    expect((await start(() => round, {}, { outputBytes: 100 }).executing).outcome).toHaveProperty(
      'value',
    )
  })

  it('do not change any more once they are there', async () => {
    const bytes = Buffer.from('abc')
    const { outcome } = await start(() => bytes).executing
    bytes.fill(0)
    expect('body' in outcome && Buffer.from(outcome.body).toString()).toBe('abc')
  })

  it('are read within the bounds of the tool', async () => {
    const seen: (readonly CallBounds[])[] = []
    const lurking = () => ({
      get innocent() {
        seen.push(currentBounds())
        return 1
      },
    })
    const { bounds, executing } = start(lurking)
    await executing
    const second = start(async () => lurking(), { output: { kind: 'json' } })
    await second.executing
    expect(seen.length).toBeGreaterThan(1)
    expect(seen.every((each) => each.includes(bounds) || each.includes(second.bounds))).toBe(true)
  })
})

describe('attempts', () => {
  it('are made again with fresh arguments after errors that prove that nothing happened', async () => {
    const seen: unknown[] = []
    const { clock, executing } = start(
      (args: { list: number[] }, { attempt, idempotencyKey }) => {
        seen.push([args.list.length, attempt, idempotencyKey])
        args.list.push(2)
        if (attempt < 3) throw refused()
        return 'done'
      },
      { retries: 5 },
    )
    await clock.pass(10_000)
    expect(await executing).toMatchObject({ facts: { status: 'done', attempts: 3 } })
    expect(seen).toEqual([
      [1, 1, 'key'],
      [1, 2, 'key'],
      [1, 3, 'key'],
    ])
    // Half of the bound, as the dice say, which doubles.
    expect(clock.asked).toEqual([125, 250])
  })

  it.each([
    ['without retries', refused, {}, 1],
    ['after an error that may have had its effect', unavailable, { retries: 2 }, 1],
    ['after it, when the tool may run twice', unavailable, { retries: 2, idempotent: true }, 3],
    ['after it, with a key', unavailable, { retries: 2, idempotencyKey: () => 'k' }, 3],
    ['after an error of the tool', bug, { retries: 2, idempotent: true }, 1],
    [
      'after a denial',
      () => new GuardError(limitErrors.LIMIT_CALLS('t', '', 1)),
      { retries: 2, idempotent: true },
      1,
    ],
  ])('%s', async (_, error, options, attempts) => {
    let starts = 0
    const { clock, executing } = start(async () => {
      starts += 1
      throw error()
    }, options)
    await clock.pass(100_000)
    const { facts } = await executing
    expect(starts).toBe(attempts)
    expect(facts.attempts ?? 1).toBe(attempts)
    expect(facts.status).toBe('failed')
    expect(facts.exitReason).toBe(attempts > 1 ? 'retries' : undefined)
    const thrown = await errorOf(executing)
    expect(thrown?.code).toBe(attempts > 1 ? 'RETRIES_EXHAUSTED' : error().code)
    expect(thrown?.cause).toEqual(attempts > 1 ? error() : undefined)
  })

  it('are not retried after a refusal, whatever the tool did with it', async () => {
    let starts = 0
    const { clock, executing } = start(
      () => {
        starts += 1
        currentBounds()[0]?.end()
        try {
          currentBounds()[0]?.file('write', '/x')
        } catch {
          throw refused()
        }
      },
      { retries: 3, idempotent: true },
    )
    await clock.pass(10_000)
    await executing
    expect(starts).toBe(1)
  })

  it('wait as long as the server requests, unless that is too long', async () => {
    const options = { retries: 1, idempotent: true }
    const fail = (headers: object) => () => {
      throw unavailable(headers)
    }
    const { clock, executing } = start(fail({ 'retry-after': '7' }), options)
    await clock.pass(100_000)
    await executing
    expect(clock.asked).toEqual([7_125])
    const long = start(fail({ 'retry-after': '3600' }), options)
    expect(await errorOf(long.executing)).toMatchObject({
      code: 'RETRIES_EXHAUSTED',
      why: expect.stringContaining('3600 s') as unknown,
    })
    expect(long.clock.asked).toEqual([])
  })

  it('end with the deadline of the call, waiting or running', async () => {
    const options = { retries: 9, idempotent: true }
    const failing = start(() => Promise.reject(refused()), options, { deadlineMs: 1_000 })
    await failing.clock.pass(10_000)
    expect(await failing.executing).toMatchObject({ facts: { exitReason: 'retries', attempts: 4 } })
    const hanging = start(
      (_, { attempt }) => (attempt === 1 ? Promise.reject(refused()) : never),
      options,
      { deadlineMs: 500 },
    )
    await hanging.clock.pass(500)
    expect(await hanging.executing).toMatchObject({
      facts: { exitReason: 'timeout', attempts: 2, tookMs: 500 },
    })
    expect(await errorOf(hanging.executing)).toMatchObject({ rule: 'limits/deadlineMs' })
  })

  it('are not endless if the number of retries is invalid', async () => {
    const { executing } = start(() => Promise.reject(refused()), { retries: NaN })
    expect((await executing).facts.attempts).toBeUndefined()
  })

  it('end when the caller aborts in the pause', async () => {
    const caller = new AbortController()
    const { clock, executing } = start(
      () => Promise.reject(refused()),
      { retries: 9 },
      { signal: caller.signal },
    )
    await clock.pass(1)
    caller.abort()
    expect(await executing).toMatchObject({
      facts: { exitReason: 'aborted' },
      isGivenUp: false,
    })
    expect(clock.pending).toBe(0)
  })

  it('need room in the budget each', async () => {
    const settledWith: unknown[] = []
    const { clock, executing } = start(
      (_, { use }) => {
        use({ costUsd: 0.25 })
        use({ costUsd: 0.25 })
        throw refused()
      },
      { retries: 9 },
      {
        again: (usage) => {
          settledWith.push(usage)
          return settledWith.length === 2
            ? limitErrors.LIMIT_COST('work', '', 1, { left: 0, earlier: 0 })
            : undefined
        },
      },
    )
    await clock.pass(100_000)
    expect(await executing).toMatchObject({
      facts: { status: 'stopped', exitReason: 'cost', attempts: 2, usage: { costUsd: 1 } },
      lastUsage: { costUsd: 0.5 },
    })
    expect(settledWith).toEqual([{ costUsd: 0.5 }, { costUsd: 0.5 }])
  })

  it('count for the circuit when they fail, not when somebody stopped them', async () => {
    const of = async (run: () => unknown, signal?: AbortSignal) =>
      circuitOutcome(await start(run, {}, { signal }).executing)
    const bad = () => {
      throw new Error('bad')
    }
    expect(await of(() => 1)).toBe('success')
    expect(await of(bad)).toBe('failure')
    expect(await of(bad, AbortSignal.abort())).toBe('none')
  })

  it('fail if the tool reports negative usage', async () => {
    const { executing } = start((_, { use }) => use({ costUsd: -1 }))
    expect(await errorOf(executing)).toMatchObject({ code: 'LIMIT_USAGE_INVALID' })
  })
})
