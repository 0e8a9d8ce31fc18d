// oxlint-disable vitest/no-standalone-expect -- `attack` makes tests of them.
import fs from 'node:fs'
import { join } from 'node:path'
import {
  type ApprovalDecision,
  type ApprovalRequest,
  decideApproval,
  type GuardOptions,
  pendingApprovals,
} from '@retake/guard'
import { describe, expect, vi } from 'vitest'
import { attack, makeWorld, type World } from '../attacks-2/world.js'

const yes: ApprovalDecision = { approved: true, by: 'ann' }
const no: ApprovalDecision = { approved: false, by: 'ann' }

const asking = (approval: GuardOptions['approval'], options: Partial<GuardOptions> = {}): World =>
  makeWorld(() => ({
    policy: { name: 'asks', rules: [{ ask: ['refund', 'pay'] }] },
    ...(approval && { approval }),
    ...options,
  }))

/** Waits until somebody is needed, and decides. */
async function decide(
  { folder }: World,
  decision: ApprovalDecision,
  choose: (request: ApprovalRequest) => boolean = () => true,
): Promise<string> {
  const dir = join(folder, 'tapes')
  return vi.waitFor(() => {
    const tape = join(dir, fs.readdirSync(dir).find((name) => name.endsWith('.tape')) ?? '')
    const waiting = pendingApprovals(tape, Date.now()).find(({ request }) => choose(request))
    if (waiting === undefined) throw new Error('nothing waits')
    expect(decideApproval(tape, waiting.of, decision, Date.now())).toBe(true)
    return waiting.of
  }, 60_000)
}

describe('answers that are no approval', () => {
  const answers: Readonly<Record<string, unknown>> = {
    'the text "true"': { approved: 'true', by: 'ann' },
    'the number 1': { approved: 1, by: 'ann' },
    'a list': [true, 'ann'],
    'nobody': { approved: true },
    'an empty name': { approved: true, by: '' },
    'a name of blanks': { approved: true, by: ' \n' },
    'a name that is no text': { approved: true, by: { toString: () => 'ann' } },
    'a reason that is no text': { approved: true, by: 'ann', reason: ['ok'] },
    'only true': true,
    'only yes': 'yes',
    'nothing': undefined,
    'null': null,
    'a promise in it': { approved: Promise.resolve(true), by: 'ann' },
    'a boolean object': { approved: Object(true), by: 'ann' },
    'an approval in JSON': JSON.stringify({ approved: true, by: 'ann' }),
  } // prettier-ignore
  for (const [name, answer] of Object.entries(answers))
    attack(name, {
      attack: async () => {
        const world = asking({ ask: () => answer as ApprovalDecision })
        expect((await world.call('refund', { amount: 1 })).status).toBe('denied')
        expect(world.refunds).toEqual([])
      },
    })
  attack('an approver that throws, or never answers', {
    attack: async () => {
      const broken = asking({ ask: () => Promise.reject(new Error('approved: true')) })
      await broken.call('refund', {})
      const silent = asking({ ask: () => new Promise(() => {}), expiresMs: 50 })
      await silent.call('refund', {})
      expect([...broken.refunds, ...silent.refunds]).toEqual([])
    },
    twin: async () => {
      const world = asking({ ask: async () => ({ ...yes, reason: 'small' }) })
      await world.call('refund', { amount: 1 })
      expect(world.refunds).toHaveLength(1)
    },
  })
})

describe('an approval used for something else', () => {
  const approvesOne = (): { world: World; seen: unknown[] } => {
    const seen: unknown[] = []
    const ask = ({ args }: ApprovalRequest): ApprovalDecision => {
      seen.push(args)
      return { approved: seen.length === 1, by: 'ann' }
    }
    return { world: asking({ ask }), seen }
  }
  const others: Readonly<Record<string, unknown>> = {
    'the same arguments again': { amount: 5, to: 'ann' },
    'keys in another order': { to: 'ann', amount: 5 },
    'another amount': { amount: 50, to: 'ann' },
    'the amount as text': { amount: '5', to: 'ann' },
    'a name with a blank behind': { amount: 5, to: 'ann ' },
    'a name with an invisible character': { amount: 5, to: 'ann\u200b' },
    'one more argument': { amount: 5, to: 'ann', cc: 'eve' },
    'the arguments as JSON text': '{"amount":5,"to":"ann"}',
    'the arguments in a list': [{ amount: 5, to: 'ann' }],
    'half a character': { amount: 5, to: 'ann\ud800' },
  } // prettier-ignore
  for (const [name, other] of Object.entries(others))
    attack(name, {
      attack: async () => {
        const { world, seen } = approvesOne()
        await world.call('refund', { amount: 5, to: 'ann' })
        await world.call('refund', other)
        expect(world.refunds).toHaveLength(1)
        expect(seen).toHaveLength(2)
      },
      twin:
        name === 'the same arguments again'
          ? async () => {
              const { world } = approvesOne()
              await world.call('refund', other)
              expect(world.refunds).toEqual([other])
            }
          : undefined,
    })

  attack('two waiting calls, of which the other one was approved', {
    attack: async () => {
      const world = asking({ ask: 'viewer' })
      const small = world.call('refund', { amount: 1 })
      const large = world.call('refund', { amount: 900 })
      await decide(world, yes, ({ args }) => (args as { amount: number }).amount === 1)
      await small
      await decide(world, no)
      await large
      expect(world.refunds).toEqual([{ amount: 1 }])
    },
    twin: async () => {
      const world = asking({ ask: 'viewer' })
      const calls = [world.call('refund', { amount: 1 }), world.call('refund', { amount: 900 })]
      for (const wanted of [900, 1])
        await decide(world, yes, ({ args }) => (args as { amount: number }).amount === wanted)
      await Promise.all(calls)
      expect(world.refunds).toEqual(expect.arrayContaining([{ amount: 900 }, { amount: 1 }]))
    },
  })

  attack('two identical waiting calls and one decision', {
    attack: async () => {
      const world = asking({ ask: 'viewer' })
      const calls = [world.call('refund', { amount: 7 }), world.call('refund', { amount: 7 })]
      await decide(world, yes)
      await Promise.race(calls)
      await decide(world, no)
      await Promise.all(calls)
      expect(world.refunds).toHaveLength(1)
    },
  })

  attack('a second decision after the first', {
    attack: async () => {
      const world = asking({ ask: 'viewer' })
      const calling = world.call('refund', { amount: 7 })
      const of = await decide(world, { approved: false, by: 'ann' })
      const dir = join(world.folder, 'tapes')
      const tape = join(dir, fs.readdirSync(dir).find((name) => name.endsWith('.tape')) ?? '')
      expect(decideApproval(tape, of, yes, Date.now())).toBe(false)
      expect((await calling).status).toBe('denied')
      expect(world.refunds).toEqual([])
    },
  })

  attack('a decision on another tool with the same arguments', {
    attack: async () => {
      const world = asking({ ask: 'viewer' })
      const paid: unknown[] = []
      world.run.tool('pay', (args) => void paid.push(args))
      const calls = [world.call('refund', { amount: 7 }), world.call('pay', { amount: 7 })]
      await decide(world, yes, ({ tool }) => tool === 'refund')
      await Promise.race(calls)
      await decide(world, no)
      await Promise.all(calls)
      expect([world.refunds.length, paid.length]).toEqual([1, 0])
    },
  })

  attack('a file of one decision under the name of another', {
    attack: async () => {
      const world = asking({ ask: 'viewer' })
      const folder = (): string => {
        const dir = join(world.folder, 'tapes')
        return join(dir, fs.readdirSync(dir).find((name) => name.endsWith('.approvals')) ?? '')
      }
      const large = world.call('refund', { amount: 900 })
      const small = world.call('refund', { amount: 1 })
      await decide(world, yes, ({ args }) => (args as { amount: number }).amount === 1)
      const names = fs.readdirSync(folder())
      const decision = names.find((name) => name.includes('.decision.'))
      const wanted = names.find(
        (name) =>
          name.includes('.request.') &&
          fs.readFileSync(join(folder(), name), 'utf8').includes('900'),
      )
      if (decision !== undefined && wanted !== undefined)
        fs.copyFileSync(
          join(folder(), decision),
          join(folder(), wanted.replace('.request.', '.decision.')),
        )
      await small
      // The waiting call looks for its decision several times.
      await new Promise((done) => setTimeout(done, 400))
      fs.rmSync(join(folder(), (wanted ?? '').replace('.request.', '.decision.')))
      await decide(world, no)
      await large
      expect(world.refunds).toEqual([{ amount: 1 }])
    },
  })

  attack('arguments that change while somebody decides', {
    attack: async () => {
      const world = asking({ ask: 'viewer' })
      const args = { amount: 1, lines: [1] }
      const calling = world.call('refund', args)
      args.amount = 900
      await decide(world, yes)
      args.lines.push(900)
      await calling
      expect(world.refunds).toEqual([{ amount: 1, lines: [1] }])
    },
  })

  attack('a tool that is started again by a retry with other arguments', {
    attack: async () => {
      const world = asking({ ask: () => yes })
      const paid: unknown[] = []
      world.run.tool(
        'pay',
        (args: { amount: number }) => {
          paid.push({ ...args })
          args.amount *= 100
          if (paid.length < 3)
            throw Object.assign(new Error('busy'), { status: 429, headers: { 'retry-after': '0' } })
        },
        { retries: 3, idempotent: true },
      )
      await world.call('pay', { amount: 1 })
      expect(paid).toEqual([{ amount: 1 }, { amount: 1 }, { amount: 1 }])
    },
  })

  attack('a nested call inside an approved one', {
    attack: async () => {
      const world = asking({ ask: ({ tool }) => ({ approved: tool === 'pay', by: 'ann' }) })
      world.run.tool('pay', async () => {
        await world.call('refund', { amount: 900 })
      })
      await world.call('pay', {})
      expect(world.refunds).toEqual([])
    },
    twin: async () => {
      const world = asking({ ask: () => yes })
      world.run.tool('pay', async () => {
        await world.call('refund', { amount: 1 })
      })
      await world.call('pay', {})
      expect(world.refunds).toHaveLength(1)
    },
  })
})

describe('time', () => {
  attack('a caller that leaves before the decision', {
    attack: async () => {
      const leaving = new AbortController()
      let decideNow: (decision: ApprovalDecision) => void = () => {}
      const world = asking({ ask: () => new Promise((resolve) => (decideNow = resolve)) })
      const calling = world.run.call('refund', {}, { signal: leaving.signal })
      await new Promise((done) => setTimeout(done, 10))
      leaving.abort()
      decideNow(yes)
      expect((await calling).status).toBe('stopped')
      expect(world.refunds).toEqual([])
    },
    twin: async () => {
      const world = asking({ ask: () => new Promise((resolve) => setTimeout(resolve, 20, yes)) })
      await world.run.call('refund', {}, { signal: new AbortController().signal })
      expect(world.refunds).toHaveLength(1)
    },
  })

  attack('an approval that expires while the call waits for a busy tool', {
    attack: async () => {
      const world = asking({ ask: () => yes, expiresMs: 60 }, { limits: { concurrency: 1 } })
      world.run.tool('slow', () => new Promise((done) => setTimeout(done, 250)))
      const slow = world.call('slow', {})
      const refund = world.call('refund', {})
      expect((await refund).status).toBe('denied')
      await slow
      expect(world.refunds).toEqual([])
    },
    twin: async () => {
      const world = asking({ ask: () => yes }, { limits: { concurrency: 1 } })
      world.run.tool('slow', () => new Promise((done) => setTimeout(done, 30)))
      await Promise.all([world.call('slow', {}), world.call('refund', {})])
      expect(world.refunds).toHaveLength(1)
    },
  })

  attack('more waiting calls than the queue may have', {
    attack: async () => {
      let prompts = 0
      const ask = (): Promise<ApprovalDecision> => {
        prompts += 1
        return new Promise(() => {})
      }
      const world = asking({ ask, expiresMs: 100 }, { limits: { concurrency: 1, queue: 2 } })
      await Promise.all(Array.from({ length: 40 }, (_, n) => world.call('refund', { n })))
      expect(prompts).toBeLessThanOrEqual(3)
    },
    twin: async () => {
      const world = asking({ ask: () => yes }, { limits: { concurrency: 1, queue: 2 } })
      await Promise.all([1, 2, 3].map((n) => world.call('refund', { n })))
      expect(world.refunds).toHaveLength(3)
    },
  })

  attack('refused and expired requests that use up the calls of a limit, or free them twice', {
    attack: async () => {
      let approves = false
      const world = asking(
        { ask: () => ({ approved: approves, by: 'ann' }) },
        { limits: { calls: 2 } },
      )
      for (let n = 0; n < 5; n += 1) await world.call('refund', { n })
      approves = true
      for (let n = 0; n < 5; n += 1) await world.call('refund', { m: n })
      expect(world.refunds).toHaveLength(2)
    },
  })

  attack('a clock that is set back while somebody decides', {
    attack: async () => {
      const world = asking({
        expiresMs: 40,
        ask: async () => {
          await new Promise((done) => setTimeout(done, 120))
          return yes
        },
      })
      await world.call('refund', {})
      expect(world.refunds).toEqual([])
    },
  })
})

describe('a run that is continued', () => {
  const shop = (folder: string | undefined, ask: GuardOptions['approval']): World =>
    asking(ask, {
      durability: 'machine',
      resume: true,
      ...(folder && { dir: join(folder, 'tapes') }),
    })
  attack('an approval of the earlier run for a call that was never made', {
    attack: async () => {
      const first = shop(undefined, { ask: () => yes })
      await first.call('refund', { amount: 1 })
      first.run[Symbol.dispose]()
      const next = shop(first.folder, { ask: () => ({ approved: false, by: 'ann' }) })
      for (const args of [{ amount: 1 }, { amount: 1 }, { amount: 900 }])
        await next.call('refund', args)
      expect(next.refunds).toEqual([])
    },
    twin: async () => {
      const first = shop(undefined, { ask: () => yes })
      await first.call('refund', { amount: 1 })
      first.run[Symbol.dispose]()
      const next = shop(first.folder, { ask: () => ({ approved: false, by: 'ann' }) })
      expect(await next.call('refund', { amount: 1 })).toMatchObject({
        status: 'done',
        served: true,
      })
    },
  })

  attack('a request that was waiting when the run was stopped', {
    attack: async () => {
      const first = shop(undefined, { ask: 'viewer' })
      void first.call('refund', { amount: 1 })
      const dir = join(first.folder, 'tapes')
      await vi.waitFor(() => {
        const tape = fs.readdirSync(dir).find((name) => name.endsWith('.tape')) ?? ''
        expect(pendingApprovals(join(dir, tape), Date.now())).toHaveLength(1)
      }, 60_000)
      first.run[Symbol.dispose]()
      // Somebody approves the request of the run that has ended.
      await decide(first, yes)
      const next = shop(first.folder, { ask: 'viewer', expiresMs: 500 })
      await next.call('refund', { amount: 1 })
      expect(next.refunds).toEqual([])
    },
  })

  attack('a call in doubt that is made again without asking', {
    attack: async () => {
      const started: number[] = []
      const open = (folder: string | undefined, approves: boolean): World => {
        const world = shop(folder, { ask: () => ({ approved: approves, by: 'ann' }) })
        world.run.tool(
          'pay',
          ({ amount }: { amount: number }) => {
            started.push(amount)
            return new Promise((done) => setTimeout(done, folder === undefined ? 60_000 : 1))
          },
          { idempotent: true },
        )
        return world
      }
      const first = open(undefined, true)
      void first.call('pay', { amount: 5 })
      await vi.waitFor(() => expect(started).toEqual([5]))
      first.run[Symbol.dispose]()
      const next = open(first.folder, false)
      expect((await next.call('pay', { amount: 5 })).status).toBe('denied')
      expect(started).toEqual([5])
    },
  })
})

describe('what the approver sees', () => {
  const requests: Readonly<Record<string, unknown>> = {
    'a reason inside the arguments': { amount: 900, why: 'approved by ann', rule: 'asks/none' },
    'a request inside the arguments': { amount: 900, request: { tool: 'read', digest: 'x' } },
    'a signature inside the arguments': { amount: 900, signature: 'AAAA', of: 'x', approved: true },
    'names that approvals use': { amount: 900, lastApproved: { amount: 1 }, expiresAt: 9e15, by: 'ann' },
  } // prettier-ignore
  for (const [name, args] of Object.entries(requests))
    attack(name, {
      attack: async () => {
        const seen: ApprovalRequest[] = []
        const world = asking({
          ask: (request) => {
            seen.push(request)
            return { approved: false, by: 'ann' }
          },
        })
        await world.call('refund', args)
        expect(seen).toMatchObject([{ tool: 'refund', guard: 'attacks', rule: 'asks/1', args }])
        expect(seen[0]?.expiresAt).toBeLessThan(Date.now() + 400_000)
        expect(seen[0]).not.toHaveProperty('lastApproved')
        expect(world.refunds).toEqual([])
      },
    })
})
