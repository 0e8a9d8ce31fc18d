// oxlint-disable unicorn/no-thenable -- what is then done is a text.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { baselineFrom, driftScore, guard, openTape, record, tool } from 'retake'
import type { Baseline, GuardOptions } from 'retake'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

let dir: string
let tapes: ReturnType<typeof openTape>[]
let baseline: Baseline

/** Twelve good refunds and some bad ones, guarded; and five mails of a plain `tool()`. */
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'retake-baseline-'))
  const run = guard({
    name: 'shop',
    dir,
    policy: { name: 'shop', rules: [{ deny: 'refund', when: { amount: { over: 1000 } } }] },
  })
  run.tool('refund', ({ amount }: { amount: number }) => {
    if (amount < 0) throw new Error('no')
    return 'paid'
  })
  for (let index = 0; index < 12; index += 1)
    await run.call('refund', {
      amount: 10 + index * 10,
      currency: index % 2 === 0 ? 'EUR' : 'USD',
      express: false,
      note: 'customer asked for it',
      hook: `https://shop.example.com/paid/${index}`,
      items: Array.from({ length: 1 + (index % 3) }, () => ({ sku: 'a' + index, count: 2 })),
      requestId: `r-${index}`,
    })
  await run.call('refund', { amount: 5_000_000, hook: 'https://evil.test/' })
  await run.call('refund', { amount: -7 })
  const guarded = run.end()
  const mail = tool('mail', async (to: string, body: string) => `${to}: ${body.length}`)
  const plain = await record({ name: 'mails', dir }, async () => {
    for (let index = 0; index < 5; index += 1) await mail(`ann${index}@example.com`, 'hello')
  })
  tapes = [guarded?.path ?? '', plain.run.path].map((path) => openTape(path))
  baseline = baselineFrom(tapes)
})
afterAll(() => rmSync(dir, { recursive: true, force: true }))

const usual = {
  amount: 50,
  currency: 'EUR',
  express: false,
  note: 'customer asked for it',
  hook: 'https://shop.example.com/other',
  items: [{ sku: 'x', count: 2 }],
  requestId: 'never seen',
}

describe('a baseline', () => {
  test('knows calls that succeeded, by tool and path', () => {
    expect(Object.keys(baseline.tools)).toEqual(['mail', 'refund'])
    const { calls, arguments: known } = baseline.tools['refund'] ?? {}
    expect(calls).toBe(12)
    expect(known).toMatchObject({
      amount: { calls: 12, types: { number: 12 }, numbers: { min: 10, median: 65, max: 120 } },
      currency: { values: ['EUR', 'USD'] },
      express: { values: [false] },
      hook: { hosts: ['shop.example.com'] },
      'items[].count': { calls: 12, numbers: { min: 2, max: 2 } },
    })
    expect(known).not.toHaveProperty('requestId')
    expect(baseline.tools['mail']?.arguments).toHaveProperty(['[0]', 'hosts'], ['example.com'])
  })

  test('is plain data, the same each time', () => {
    expect(JSON.parse(JSON.stringify(baseline))).toEqual(baseline)
    expect(JSON.stringify(baselineFrom(tapes))).toBe(JSON.stringify(baseline))
  })

  test('leaves out excluded fields', () => {
    const { tools, ignore } = baselineFrom(tapes, { ignore: ['note', 'items[].sku'] })
    expect(ignore).toEqual(['note', 'items[].sku'])
    const known = Object.keys(tools['refund']?.arguments ?? {})
    expect(known).not.toContain('note')
    expect(known).not.toContain('items[].sku')
    expect(known).toContain('items[].count')
  })
})

describe('a score', () => {
  const scoreOf = (change: object) => driftScore(baseline, 'refund', { ...usual, ...change })

  test('is 0 for usual calls', () => {
    expect(scoreOf({})).toEqual({ score: 0, reasons: [], calls: 12 })
  })

  test.each([
    ['a new host', { hook: 'https://evil.test/paid' }, 'hook', 15],
    ['another type', { amount: '50' }, 'amount', 10],
    ['a number far beyond', { amount: 5000 }, 'amount', 10],
    ['a number beyond', { amount: 300 }, 'amount', 5],
    ['a number below zero', { amount: -20 }, 'amount', 5],
    ['a number a little outside', { amount: 130 }, 'amount', 1],
    ['another shape', { note: '../../etc/passwd' }, 'note', 5 + 3],
    ['a new argument', { force: 1 }, 'force', 5],
    ['a new argument that leads out', { copy: 'eve@evil.test' }, 'copy', 5 + 15],
    ['a missing argument', { currency: undefined }, 'currency', 3],
    ['another choice', { express: true }, 'express', 3],
    ['a much longer text', { note: 'x'.repeat(500) }, 'note', 5 + 3],
    [
      'a member of a list',
      {
        items: [
          { sku: 'x', count: 2 },
          { sku: 'y', count: 900 },
        ],
      },
      'items[].count',
      10,
    ],
  ])('counts %s', (_, change, path, score) => {
    const drift = scoreOf(change)
    expect(drift.score).toBe(score)
    expect(new Set(drift.reasons.map((reason) => reason.path))).toEqual(new Set([path]))
    for (const { what } of drift.reasons) expect(what).toMatch(/\w/)
  })

  test('is computed quickly for adversarial texts', () => {
    for (const note of [
      'a('.repeat(300_000),
      `a@${'.'.repeat(300_000)} `,
      `[${']'.repeat(300_000)}x`,
    ])
      expect(scoreOf({ note }).score).toBeGreaterThan(0)
  })

  test('is the sum of all parts, the largest first', () => {
    const { score, reasons } = scoreOf({ hook: 'https://evil.test/', amount: 300, express: true })
    expect(score).toBe(15 + 5 + 3)
    expect(reasons.map(({ weight }) => weight)).toEqual([15, 5, 3])
  })

  test('is 0 for a tool with few known calls', () => {
    expect(driftScore(baseline, 'wipe', { all: true })).toEqual({ score: 0, reasons: [], calls: 0 })
    expect(driftScore(baseline, 'toString', {})).toMatchObject({ score: 0 })
  })
})

describe('a guard with a baseline', () => {
  const call = async (options: Partial<GuardOptions>, change: object) => {
    const run = guard({ name: 'shop', dir, durability: 'process', baseline, ...options })
    let started = 0
    run.tool('refund', () => (started += 1))
    const result = await run.call('refund', { ...usual, ...change })
    run.end()
    return { ...result, started }
  }

  test('writes the score to the tape and allows the call', async () => {
    const { status, intent, started } = await call({}, { amount: 5000 })
    expect({ status, started }).toEqual({ status: 'done', started: 1 })
    expect(intent.argumentDrift).toMatchObject({ score: 10, reasons: [{ path: 'amount' }] })
    expect((await call({}, {})).intent).not.toHaveProperty('argumentDrift')
  })

  test('denies over the limit, and says what is unusual', async () => {
    const deny = { onArgumentDrift: { over: 9, then: 'deny' } } as const
    const far = await call(deny, { amount: 5000 })
    expect(far).toMatchObject({ status: 'denied', started: 0, error: { code: 'ARGUMENT_DRIFT' } })
    expect((far.error as Error).message).toMatch(
      /amount \(10\): it is 5000, and was between 10 and 120/,
    )
    expect(await call(deny, { amount: 300 })).toMatchObject({ status: 'done', started: 1 })
  })

  test('asks over the limit, and only then', async () => {
    const asked: string[] = []
    const ask: Partial<GuardOptions> = {
      onArgumentDrift: { over: 9, then: 'ask' },
      approval: {
        ask: ({ why }) => {
          asked.push(why)
          return { approved: false, by: 'tester' }
        },
      },
    }
    expect(await call(ask, {})).toMatchObject({ status: 'done', started: 1 })
    expect(await call(ask, { amount: 5000 })).toMatchObject({
      status: 'denied',
      started: 0,
      intent: { verdict: 'ask', code: 'ARGUMENT_DRIFT' },
    })
  })

  test('reads it from a file, and refuses an invalid file', async () => {
    const kept = JSON.stringify(baseline)
    const deny = { onArgumentDrift: { over: 9, then: 'deny' } } as const
    expect(await call({ ...deny, baseline: kept }, { amount: 5000 })).toMatchObject({ started: 0 })
    const broken = ['{', '{}', '[]', '{"version":2,"tools":{}}', '{"version":1,"tools":{"a":{}}}']
    for (const text of broken)
      expect(() => guard({ name: 'x', dir, baseline: text })).toThrow(
        expect.objectContaining({ code: 'BASELINE_INVALID' }),
      )
  })
})
