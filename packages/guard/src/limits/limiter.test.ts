import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CallBounds } from '../bounds/call-bounds.js'
import type { Limits } from './limits.js'
import type { Limiter } from './limiter.js'
import type { Reservation } from './meter.js'
import { admitted, codeOf, limiterOf, tool } from '../../../../test/support/limiter-setup.js'
import { settled } from '../../../../test/support/test-clock.js'

const bounds = (around: CallBounds[] = []) => new CallBounds('pay', [], around)

describe('calls', () => {
  it('allows exactly the limit, and returns calls that never started', () => {
    const { limiter } = limiterOf({ calls: 2 })
    admitted(limiter.admit(tool(), 'a', {}))
    const second = admitted(limiter.admit(tool(), 'b', {}))
    expect(codeOf(limiter.admit(tool(), 'c', {}))).toBe('LIMIT_CALLS')
    second.release()
    second.release()
    admitted(limiter.admit(tool(), 'c', {}))
    expect(codeOf(limiter.admit(tool(), 'd', {}))).toBe('LIMIT_CALLS')
  })

  it('applies the smallest of several limits, and those of single tools, too', () => {
    const { limiter } = limiterOf({ calls: 3 }, { calls: 9, tools: { pay: { calls: 1 } } })
    admitted(limiter.admit(tool(), 'a', {}))
    const refused = limiter.admit(tool(), 'b', {})
    expect(refused).toMatchObject({ code: 'LIMIT_CALLS', rule: 'limits/tools/pay/calls' })
    admitted(limiter.admit(tool({}, 'look'), 'c', {}))
    admitted(limiter.admit(tool({}, 'look'), 'd', {}))
    const last = limiter.admit(tool({}, 'look'), 'e', {})
    expect(last).toMatchObject({ code: 'LIMIT_CALLS', rule: 'limits/calls', exitReason: 'calls' })
  })

  it('takes no name of Object.prototype for a tool with limits', () => {
    const { limiter } = limiterOf({ tools: {} })
    for (const name of ['constructor', '__proto__'])
      expect(limiter.admit(tool({}, name), 'a', {})).not.toHaveProperty('code')
  })

  it('refuses impossible limits', () => {
    for (const limits of [{ calls: NaN }, { costUsd: -1 }, { cost: 5 }, { concurrency: 0 }])
      expect(() => limiterOf(limits as Limits)).toThrow(
        expect.objectContaining({ code: 'LIMITS_INVALID' }),
      )
    expect(() => limiterOf({ tools: { pay: { tokens: '9' as never } } })).toThrow(
      /tools\.pay\.tokens/,
    )
  })
})

describe('money and tokens', () => {
  it('counts dimes as whole numbers: ten of them are a dollar', () => {
    const { limiter } = limiterOf({ costUsd: 1 })
    const dime = tool({ reserve: { costUsd: 0.1 } })
    for (let call = 0; call < 10; call += 1)
      admitted(limiter.admit(dime, `${call}`, {})).settle({ costUsd: 0.1 }, 'success')
    expect(limiter.admit(dime, 'x', {})).toMatchObject({ code: 'LIMIT_COST', exitReason: 'cost' })
    expect(limiter.used.spent.costUsd).toBe(1)
  })

  it('returns unused reservations, and counts missing reports as fully used', () => {
    const { limiter } = limiterOf({ tokens: 100 })
    const ask = tool({ reserve: { inputTokens: 30, outputTokens: 30 } })
    const first = admitted(limiter.admit(ask, 'a', {}))
    expect(codeOf(limiter.admit(ask, 'b', {}))).toBe('LIMIT_TOKENS')
    first.settle({ inputTokens: 5, outputTokens: 5 }, 'success')
    admitted(limiter.admit(ask, 'b', {})).settle(undefined, 'success')
    expect(limiter.used.spent.tokens).toBe(70)
    expect(codeOf(limiter.admit(ask, 'c', {}))).toBe('LIMIT_TOKENS')
  })

  it('does not start a tool that may spend and does not say how much', () => {
    const { limiter } = limiterOf({ costUsd: 1 })
    expect(limiter.admit(tool(), 'a', {})).toMatchObject({ code: 'RESERVE_COST_MISSING' })
    expect(codeOf(limiter.admit(tool({ effects: ['spend'] }), 'a', {}))).toBe(
      'RESERVE_COST_MISSING',
    )
    expect(codeOf(limiter.admit(tool({ reserve: { inputTokens: 1 } }), 'a', {}))).toBe(
      'RESERVE_COST_MISSING',
    )
    admitted(limiter.admit(tool({ effects: ['read'] }), 'a', {}))
    const { limiter: kinder } = limiterOf({ costUsd: 1, reserve: { costUsd: 0.6 } })
    admitted(kinder.admit(tool(), 'a', {}))
    expect(codeOf(kinder.admit(tool(), 'b', {}))).toBe('LIMIT_COST')
  })

  it('does not start a tool with an invalid reservation', () => {
    const { limiter } = limiterOf({ costUsd: 1 })
    for (const costUsd of [NaN, -1, Infinity, '1' as never])
      expect(codeOf(limiter.admit(tool({ reserve: { costUsd } }), 'a', {}))).toBe(
        'LIMIT_RESERVE_INVALID',
      )
    const broken = () => {
      throw new Error('no idea')
    }
    expect(limiter.admit(tool({ reserve: broken }), 'a', {})).toMatchObject({
      code: 'LIMIT_RESERVE_INVALID',
    })
    const twice = tool({ reserve: (args) => ({ costUsd: (args as { n: number }).n }) })
    expect(codeOf(limiter.admit(twice, 'a', { n: 2 }))).toBe('LIMIT_COST')
    expect(admitted(limiter.admit(twice, 'a', { n: 1 })).reserved).toEqual({ costUsd: 1 })
  })

  it('requires a reservation under every limit that is set, even one that is never reached', () => {
    const { limiter } = limiterOf({ costUsd: Infinity })
    expect(codeOf(limiter.admit(tool(), 'a', {}))).toBe('RESERVE_COST_MISSING')
    const { limiter: tokens } = limiterOf({ tokens: Infinity })
    expect(codeOf(tokens.admit(tool(), 'a', {}))).toBe('RESERVE_TOKENS_MISSING')
  })

  it('reports usage beyond the reservation, reserves that much afterwards, and stops above the limit', () => {
    const { limiter } = limiterOf({ costUsd: 10 })
    const liar = tool({ reserve: { costUsd: 1 } })
    const waiting = admitted(limiter.admit(liar, 'w', {}))
    expect(admitted(limiter.admit(liar, 'a', {})).settle({ costUsd: 4 }, 'success')).toEqual({
      costUsd: 3,
    })
    const second = admitted(limiter.admit(liar, 'b', {}))
    expect(second.reserved).toEqual({ costUsd: 4 })
    expect(codeOf(limiter.admit(liar, 'c', {}))).toBe('LIMIT_COST')
    second.settle({ costUsd: 7 }, 'success')
    expect(codeOf(limiter.admit(tool({ effects: ['read'] }), 'd', {}))).toBe('LIMIT_COST')
    expect(waiting.ready(bounds())).toMatchObject({ code: 'LIMIT_COST' })
  })

  it('keeps the reservation of a tool that timed out, and counts its late report', () => {
    const { limiter } = limiterOf({ tokens: 100 })
    const call = admitted(limiter.admit(tool({ reserve: { outputTokens: 40 } }), 'a', {}))
    call.settle({ outputTokens: 10 }, 'failure', true)
    expect(limiter.used.spent.tokens).toBe(40)
    call.late({ outputTokens: 20 })
    expect(limiter.used.spent.tokens).toBe(40)
    call.late({ outputTokens: 20 })
    expect(limiter.used.spent.tokens).toBe(50)
  })

  it('counts a report during a timeout once', () => {
    const { limiter } = limiterOf({ tokens: 100 })
    const call = admitted(limiter.admit(tool({ reserve: { outputTokens: 40 } }), 'a', {}))
    expect(call.late({ outputTokens: 60 })).toEqual({ tokens: 0, nanoUsd: 0 })
    call.settle({ outputTokens: 10 }, 'failure', true)
    expect(limiter.used.spent.tokens).toBe(70)
    expect(call.counted).toMatchObject({ tokens: 70 })
  })

  it('has room for another attempt only when there is room for all of it', () => {
    const { limiter } = limiterOf({ costUsd: 1 })
    const call = admitted(limiter.admit(tool({ reserve: { costUsd: 0.4 } }), 'a', {}))
    expect(call.again(undefined)).toBeUndefined()
    expect(call.again({ costUsd: 0.3 })).toMatchObject({ code: 'LIMIT_COST' })
    expect(limiter.used).toMatchObject({ running: 0, spent: { costUsd: 0.7 } })
    expect(limiter.used.reserved.costUsd).toBe(0)
  })

  it('counts spending outside tools', () => {
    const { limiter } = limiterOf({ costUsd: 1 })
    limiter.spend({ costUsd: 0.95 })
    expect(codeOf(limiter.admit(tool({ reserve: { costUsd: 0.1 } }), 'a', {}))).toBe('LIMIT_COST')
  })

  it('frees the budget of a minute when the minute has passed, and says when', async () => {
    const { limiter, clock } = limiterOf({ costUsdPerMinute: 1 })
    const pay = tool({ reserve: { costUsd: 0.5 } })
    const slow = admitted(limiter.admit(pay, 'a', {}))
    admitted(limiter.admit(pay, 'b', {})).settle(undefined, 'success')
    await clock.pass(30_000)
    expect(limiter.admit(pay, 'c', {})).toMatchObject({
      code: 'LIMIT_COST_PER_MINUTE',
      exitReason: 'cost-per-minute',
      allowed: expect.stringContaining('30 s') as unknown,
    })
    await clock.pass(30_000)
    // The slow one is still under way: it is part of every minute until it ends.
    const third = admitted(limiter.admit(pay, 'c', {}))
    slow.settle(undefined, 'success')
    third.settle(undefined, 'success')
    await clock.pass(59_999)
    expect(codeOf(limiter.admit(pay, 'd', {}))).toBe('LIMIT_COST_PER_MINUTE')
    await clock.pass(1)
    admitted(limiter.admit(pay, 'd', {}))
  })

  it('never passes a limit in any order of admitting, ending and giving back', async () => {
    const step = fc.record({
      act: fc.constantFrom('admit', 'settle', 'release', 'again', 'pass', 'give up'),
      which: fc.nat(20),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
      cost: fc.integer({ min: 0, max: 40 }),
      ms: fc.integer({ min: 0, max: 50_000 }),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 120, size: 'max' }), async (steps) => {
        const caps = { calls: 40, tokens: 200, costUsd: 2, costUsdPerMinute: 0.7 }
        const { limiter, clock } = limiterOf(caps)
        const open: Reservation[] = []
        const spendings: { at: number; costUsd: number }[] = []
        let started = 0
        for (const { act, which, share, cost, ms } of steps) {
          if (act === 'pass') await clock.pass(ms)
          const reserve = { outputTokens: cost, costUsd: cost / 100 }
          if (act === 'admit') {
            const given = limiter.admit(tool({ reserve }), 'x', {})
            if ('settle' in given) open.push(given)
          }
          const [call] =
            act === 'admit' || act === 'pass' ? [] : open.splice(which % (open.length || 1), 1)
          if (call !== undefined) {
            const most = call.reserved ?? {}
            const used = {
              outputTokens: Math.floor((most.outputTokens ?? 0) * share),
              costUsd: (most.costUsd ?? 0) * share,
            }
            if (act === 'release') call.release()
            else spendings.push({ at: clock.now(), costUsd: used.costUsd })
            if (act === 'settle') call.settle(used, 'success')
            if (act === 'give up') call.settle(used, 'failure', true)
            if (act === 'again' && call.again(used) === undefined) open.push(call)
            if (act === 'settle' || act === 'give up') started += 1
          }
          const { spent, reserved, calls } = limiter.used
          expect(calls).toBeLessThanOrEqual(caps.calls)
          expect(started).toBeLessThanOrEqual(caps.calls)
          expect(spent.tokens + reserved.tokens).toBeLessThanOrEqual(caps.tokens)
          expect(spent.costUsd + reserved.costUsd).toBeLessThanOrEqual(caps.costUsd + 1e-9)
          const minute = spendings.filter(({ at }) => at > clock.now() - 60_000)
          const inMinute = minute.reduce((sum, { costUsd }) => sum + costUsd, 0)
          expect(inMinute).toBeLessThanOrEqual(caps.costUsdPerMinute + 1e-9)
        }
        // Nothing is lost: when all are over, nothing is reserved.
        for (const call of open) call.release()
        expect(limiter.used).toMatchObject({ running: 0, reserved: { tokens: 0, costUsd: 0 } })
      }),
      { numRuns: 150 },
    )
  })

  it('never passes the money of a minute, wherever in a call it is spent and the minute is laid', async () => {
    const step = fc.record({
      act: fc.constantFrom('admit', 'admit', 'spend', 'settle', 'pass'),
      which: fc.nat(20),
      ms: fc.constantFrom(1, 1_000, 20_000, 59_999, 60_000),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 150, size: 'max' }), async (steps) => {
        const { limiter, clock } = limiterOf({ costUsdPerMinute: 1 })
        const open: { readonly call: Reservation; spent: boolean }[] = []
        const spentAt: number[] = []
        for (const { act, which, ms } of steps) {
          if (act === 'pass') await clock.pass(ms)
          if (act === 'admit') {
            const given = limiter.admit(tool({ reserve: { costUsd: 0.25 } }), 'x', {})
            if ('settle' in given) open.push({ call: given, spent: false })
          }
          const one = open[which % (open.length || 1)]
          if (one === undefined) continue
          if (act === 'spend' && !one.spent) {
            one.spent = true
            spentAt.push(clock.now())
          }
          if (act === 'settle') {
            open.splice(open.indexOf(one), 1)
            one.call.settle({ costUsd: one.spent ? 0.25 : 0 }, 'success')
          }
        }
        for (const from of spentAt) {
          const inMinute = spentAt.filter((at) => at >= from && at < from + 60_000)
          expect(inMinute.length).toBeLessThanOrEqual(4)
        }
      }),
      { numRuns: 150 },
    )
  })
})

describe('places', () => {
  it('queues calls in order, with their reservations', async () => {
    const { limiter } = limiterOf({ concurrency: 1, calls: 3 })
    const [first, second, third] = ['a', 'b', 'c'].map((name) =>
      admitted(limiter.admit(tool(), name, {})),
    )
    expect(codeOf(limiter.admit(tool(), 'd', {}))).toBe('LIMIT_CALLS')
    const order: string[] = []
    expect(first?.ready(bounds())).toBeUndefined()
    void Promise.resolve(second?.ready(bounds())).then(() => order.push('second'))
    void Promise.resolve(third?.ready(bounds())).then(() => order.push('third'))
    await settled()
    expect(order).toEqual([])
    first?.settle(undefined, 'success')
    await settled()
    expect(order).toEqual(['second'])
    second?.settle(undefined, 'success')
    await settled()
    expect(order).toEqual(['second', 'third'])
  })

  it('stops waiting when the caller aborts, and leaves its slot to the next', async () => {
    const { limiter } = limiterOf({ concurrency: 1, calls: 9 })
    const [first, second, third] = ['a', 'b', 'c'].map((name) =>
      admitted(limiter.admit(tool(), name, {})),
    )
    const caller = new AbortController()
    void first?.ready(bounds())
    const waiting = second?.ready(bounds(), caller.signal)
    const behind = third?.ready(bounds())
    caller.abort()
    expect(await waiting).toMatchObject({ code: 'CALL_ABORTED', exitReason: 'aborted' })
    first?.settle(undefined, 'success')
    expect(await behind).toBeUndefined()
    expect(limiter.used).toMatchObject({ calls: 2, running: 1 })
  })

  it('turns calls away when too many wait', () => {
    const { limiter } = limiterOf({ concurrency: 1, queue: 1 })
    const first = admitted(limiter.admit(tool(), 'a', {}))
    admitted(limiter.admit(tool(), 'b', {}))
    expect(limiter.admit(tool(), 'c', {})).toMatchObject({
      code: 'LIMIT_CONCURRENCY',
      exitReason: 'concurrency',
    })
    first.settle(undefined, 'success')
    admitted(limiter.admit(tool(), 'c', {}))
  })

  it('runs a nested call in the slot of its tool, one at a time', async () => {
    const { limiter } = limiterOf({ concurrency: 1 })
    const outer = bounds()
    const parent = admitted(limiter.admit(tool(), 'a', {}))
    expect(parent.ready(outer)).toBeUndefined()
    const stranger = admitted(limiter.admit(tool(), 'x', {})).ready(bounds())
    const inner = bounds([outer])
    const child = admitted(limiter.admit(tool(), 'b', {}))
    expect(child.ready(inner)).toBeUndefined()
    const grandchild = admitted(limiter.admit(tool(), 'c', {}))
    expect(grandchild.ready(bounds([outer, inner]))).toBeUndefined()
    const sibling = admitted(limiter.admit(tool(), 'd', {}))
    const waiting = Promise.resolve(sibling.ready(bounds([outer])))
    const seen: string[] = []
    void waiting.then(() => seen.push('sibling'))
    void Promise.resolve(stranger).then(() => seen.push('stranger'))
    grandchild.settle(undefined, 'success')
    await settled()
    expect(seen).toEqual([])
    child.settle(undefined, 'success')
    await settled()
    expect(seen).toEqual(['sibling'])
    // The tool ends before the call that it made, which keeps the permit.
    parent.settle(undefined, 'success')
    await settled()
    expect(seen).toEqual(['sibling'])
    sibling.settle(undefined, 'success')
    await settled()
    expect(seen).toEqual(['sibling', 'stranger'])
  })

  it('delays no tool because another has no slot', async () => {
    const { limiter } = limiterOf({ concurrency: 2, tools: { pay: { concurrency: 1 } } })
    const [first, second] = ['a', 'b'].map((name) => admitted(limiter.admit(tool(), name, {})))
    expect(first?.ready(bounds())).toBeUndefined()
    const waiting = second?.ready(bounds())
    const look = admitted(limiter.admit(tool({}, 'look'), 'c', {}))
    expect(look.ready(bounds())).toBeUndefined()
    look.settle(undefined, 'success')
    first?.settle(undefined, 'success')
    expect(await waiting).toBeUndefined()
  })
})

describe('loops', () => {
  const play = (limiter: Limiter, calls: string) => {
    for (const [fingerprint = '', answer = ''] of calls.split(' '))
      limiter.answered(fingerprint, () => answer)
  }

  it('stops the same call with the same result, and nothing else', () => {
    const { limiter } = limiterOf({ repeats: 3 })
    play(limiter, 'a1 a1')
    admitted(limiter.admit(tool(), 'a', {}))
    play(limiter, 'a1')
    expect(limiter.admit(tool(), 'a', {})).toMatchObject({ code: 'LIMIT_LOOP', exitReason: 'loop' })
    admitted(limiter.admit(tool(), 'b', {}))
    play(limiter, 'a2')
    admitted(limiter.admit(tool(), 'a', {}))
  })

  it('stops a round of calls that makes no progress', () => {
    const { limiter } = limiterOf({ repeats: 2 })
    play(limiter, 'a1 b1 c1 a1 b1')
    admitted(limiter.admit(tool(), 'c', {}))
    play(limiter, 'c1')
    expect(limiter.admit(tool(), 'a', {})).toMatchObject({
      code: 'LIMIT_LOOP',
      why: expect.stringContaining('3 calls') as unknown,
    })
    admitted(limiter.admit(tool(), 'd', {}))
    play(limiter, 'a1 b2 c1')
    admitted(limiter.admit(tool(), 'a', {}))
  })

  it('detects exactly the loops that a naive search finds', () => {
    const history = fc.array(fc.constantFrom('a1', 'a2', 'b1', 'c1'), {
      maxLength: 40,
      size: 'max',
    })
    fc.assert(
      fc.property(history, fc.integer({ min: 1, max: 4 }), (calls, repeats) => {
        for (const next of ['a', 'b', 'c']) {
          const { limiter } = limiterOf({ repeats })
          if (calls.length > 0) play(limiter, calls.join(' '))
          const isLoop = Array.from({ length: 16 }, (_, at) => at + 1).some((round) => {
            const times = round === 1 ? repeats : Math.max(2, repeats)
            const tail = calls.slice(-round * times)
            return (
              tail.length === round * times &&
              tail.every((call, at) => call === tail[at % round]) &&
              tail[0]?.[0] === next
            )
          })
          expect(codeOf(limiter.admit(tool(), next, {})) === 'LIMIT_LOOP').toBe(isLoop)
        }
      }),
    )
  })
})

describe('circuits', () => {
  const breaker = { failures: 2, cooldownMs: 1_000 }

  it('opens after failures in a row, and then lets exactly one through', async () => {
    const { limiter, clock } = limiterOf({ breaker })
    const call = () => limiter.admit(tool(), 'a', {})
    admitted(call()).settle(undefined, 'failure')
    admitted(call()).settle(undefined, 'success')
    admitted(call()).settle(undefined, 'failure')
    const underWay = admitted(call())
    admitted(call()).settle(undefined, 'failure')
    expect(call()).toMatchObject({ code: 'CIRCUIT_OPEN', exitReason: 'circuit-open' })
    admitted(limiter.admit(tool({}, 'other'), 'a', {}))
    underWay.settle(undefined, 'success')
    expect(codeOf(call())).toBe('CIRCUIT_OPEN')
    await clock.pass(1_000)
    const attempt = admitted(call())
    expect(codeOf(call())).toBe('CIRCUIT_HALF_OPEN')
    attempt.settle(undefined, 'failure')
    await clock.pass(999)
    expect(codeOf(call())).toBe('CIRCUIT_OPEN')
    await clock.pass(1)
    admitted(call()).release()
    admitted(call()).settle(undefined, 'success')
    admitted(call())
    admitted(call())
  })

  it('keeps those from starting that waited while it opened', async () => {
    const { limiter } = limiterOf({ breaker: { failures: 1, cooldownMs: 1 }, concurrency: 1 })
    const [first, second] = ['a', 'b'].map((name) => admitted(limiter.admit(tool(), name, {})))
    void first?.ready(bounds())
    const waiting = second?.ready(bounds())
    first?.settle(undefined, 'failure')
    expect(await waiting).toMatchObject({ code: 'CIRCUIT_OPEN' })
    expect(limiter.used).toMatchObject({ running: 0, calls: 1 })
  })
})
