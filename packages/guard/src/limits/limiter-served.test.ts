import { describe, expect, it } from 'vitest'
import { admitted, codeOf, limiterOf, tool } from '../../../../test/support/limiter-setup.js'

describe('calls that a tape has answered', () => {
  const intent = { guard: 'g', call: 1, fingerprint: 'a', occurrence: 1, policy: 'p' } as const

  it('counts calls of this run in full, and served ones as calls that cost nothing', () => {
    const { limiter } = limiterOf({ calls: 9, costUsd: 9 })
    const reserved = { costUsd: 2 }
    limiter.absorb('pay', { ...intent, verdict: 'allow', reserved }, { status: 'done' })
    limiter.absorb(
      'pay',
      { ...intent, verdict: 'allow', reserved },
      { status: 'failed', usage: { costUsd: 0.5, inputTokens: 3 } },
    )
    expect(limiter.used).toMatchObject({ calls: 2, spent: { costUsd: 2.5, tokens: 3 } })
    const served = { run: 'r', seq: 1 }
    limiter.absorb(
      'pay',
      { ...intent, verdict: 'allow', served },
      { status: 'done', attempts: 0, served, usage: { costUsd: 4 } },
    )
    expect(limiter.used).toMatchObject({ calls: 3, spent: { costUsd: 2.5 } })
    limiter.absorb('pay', { ...intent, verdict: 'deny' }, { status: 'denied', attempts: 0 })
    limiter.absorb('pay', { ...intent, verdict: 'allow' }, { status: 'stopped', attempts: 0 })
    expect(limiter.used.calls).toBe(3)
  })

  it('remembers of a call that a tape has answered that it used more than it reserved', () => {
    const { limiter } = limiterOf({ costUsd: 10 })
    limiter.absorb(
      'pay',
      { ...intent, verdict: 'allow', reserved: { costUsd: 1 } },
      { status: 'done', usage: { costUsd: 4 }, overused: { costUsd: 3 } },
    )
    const next = admitted(limiter.admit(tool({ reserve: { costUsd: 1 } }), 'a', {}))
    expect(next.reserved).toEqual({ costUsd: 4 })
  })
})

describe('spending of earlier runs', () => {
  const usd = (costUsd: number) => ({ tokens: 0, nanoUsd: costUsd * 1e9 })
  const pay = tool({ reserve: { costUsd: 1 } })

  it('counts for the run and for the tool, and the denial says how much it was', () => {
    const { limiter } = limiterOf({ costUsd: 10, tools: { pay: { costUsd: 4 } } })
    limiter.restore([
      { tool: 'pay', amount: usd(3.5), at: undefined },
      { tool: 'send', amount: usd(5), at: undefined },
      { tool: undefined, amount: usd(1), at: undefined },
    ])
    expect(limiter.used).toMatchObject({ calls: 0, spent: { costUsd: 9.5 } })
    expect(limiter.admit(pay, 'a', {})).toMatchObject({
      code: 'LIMIT_COST',
      exitReason: 'cost',
      why: 'It may cost $1, but only $0.5 is left. The earlier runs that this one continues have spent $9.5.',
    })
    limiter.restore([{ tool: 'send', amount: usd(0), at: undefined }])
    admitted(limiter.admit(tool({ reserve: { costUsd: 0.5 } }), 'a', {}))
    expect(limiter.admit(tool({ reserve: { costUsd: 0.25 } }), 'a', {})).toMatchObject({
      rule: 'limits/costUsd',
    })
  })

  it('counts for the minute in which it was spent, by the clock on the wall', async () => {
    const { limiter, clock } = limiterOf({ costUsdPerMinute: 3 })
    const ago = (ms: number) => clock.date() - ms
    limiter.restore([
      { tool: 'pay', amount: usd(1), at: ago(30_000) },
      { tool: 'pay', amount: usd(50), at: ago(60_000) },
      { tool: undefined, amount: usd(1), at: ago(50_000) },
      // Nobody knows when, or the clock was set back: as if it were now.
      { tool: 'pay', amount: usd(0.5), at: undefined },
      { tool: 'pay', amount: usd(0.5), at: ago(-5_000) },
    ])
    expect(limiter.admit(pay, 'a', {})).toMatchObject({
      code: 'LIMIT_COST_PER_MINUTE',
      why: 'It may cost $1, but only $0 is left for this minute. The earlier runs that this one continues have spent $3 of it.',
      allowed: 'Call it again in 10 s, or raise the limit "costUsdPerMinute".',
    })
    await clock.pass(10_000)
    admitted(limiter.admit(pay, 'a', {})).settle(undefined, 'success')
    expect(limiter.admit(pay, 'b', {})).toMatchObject({
      why: expect.stringContaining('have spent $2 of it') as string,
      allowed: expect.stringContaining('in 20 s') as string,
    })
    await clock.pass(50_000)
    expect(limiter.admit(tool({ reserve: { costUsd: 2.5 } }), 'b', {})).toMatchObject({
      why: 'It may cost $2.5, but only $2 is left for this minute.',
    })
  })

  it('takes a tool that used more than it reserved to do so again', () => {
    const { limiter } = limiterOf({ costUsd: 10 })
    limiter.restore([{ tool: 'pay', amount: usd(6), at: undefined, most: usd(6) }])
    expect(codeOf(limiter.admit(pay, 'a', {}))).toBe('LIMIT_COST')
    admitted(limiter.admit(tool({ reserve: { costUsd: 1 } }, 'send'), 'a', {}))
  })
})
