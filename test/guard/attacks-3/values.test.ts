import { guard, type GuardRun } from '@retake/guard'
import { expect, onTestFinished, test } from 'vitest'

/** Arguments that a tool could read as what a rule is about, and a rule could read otherwise. */
const RULES = [
  { deny: 'refund', when: { amount: { over: 100 } } },
  { deny: 'pay', when: { 'body.amount': { over: 100 } } },
  { deny: 'send', when: { to: 'evil@evil.test' } },
  { deny: 'share', when: { with: { in: ['evil', 'everyone'] } } },
  { allow: 'mail', when: { to: { not: 'evil@evil.test' } } },
  { deny: 'mail' },
  { allow: 'buy', when: { price: { atMost: 100 }, currency: 'EUR' } },
  { deny: 'buy' },
  { deny: 'level', when: { level: 3 } },
]

function guarded(): { run: GuardRun; done: unknown[] } {
  const run = guard({
    name: 'values',
    dir: '/tmp/retake-values-unused',
    durability: 'process',
    policy: { name: 'p', rules: RULES },
  })
  onTestFinished(() => void run.end())
  const done: unknown[] = []
  for (const name of ['refund', 'pay', 'send', 'share', 'mail', 'buy', 'level'])
    run.tool(name, (args: unknown) => void done.push(args))
  return { run, done }
}

const json = JSON.stringify
const EVIL = 'evil@evil.test'
const ATTACKS: readonly (readonly [tool: string, args: unknown])[] = [
  ...[
    500,
    '500',
    ' 500',
    '500 ',
    '+500',
    '5e2',
    '0x1F4',
    '0b111110100',
    '500.0',
    '500,00',
    '5_00',
    '５００',
    '٥٠٠',
    [500],
    [1, 500],
    { 0: 500 },
    { value: 500 },
    500n,
    Infinity,
    NaN,
    new Date(500),
    true,
    '"500"',
    '\ufeff500',
    Object(500) as object,
    new Uint16Array([500]),
    1e21,
    '1e21',
    'Infinity',
  ].map((amount) => ['refund', { amount }] as const),
  ['refund', [{ amount: 500 }]],
  ['refund', json({ amount: 500 })],
  ['refund', `\ufeff${json({ amount: 500 })}`],
  ['refund', json(json({ amount: 500 }))],
  ['refund', [[{ amount: 1 }], [{ amount: 500 }]]],
  ['refund', '{"amount":1,"amount":500}'],
  ['refund', '{"am\\u006funt":500}'],
  ...[
    { amount: 500 },
    json({ amount: 500 }),
    `\ufeff${json({ amount: 500 })}`,
    ` \n${json({ amount: 500 })}`,
    json(`\ufeff${json({ amount: 500 })}`),
    [json({ amount: 500 })],
    json([{ amount: 500 }]),
    json(json(json({ amount: 500 }))),
  ].map((body) => ['pay', { body }] as const),
  ...['send', 'mail'].flatMap((tool) =>
    [
      EVIL,
      [EVIL],
      ['a@a.test', EVIL],
      [['a@a.test', [EVIL]]],
      { address: EVIL },
      [{ address: EVIL }],
      new Set(['a', EVIL]),
      new Map([['a', EVIL]]),
      json(['a@a.test', EVIL]),
      json({ address: EVIL }),
      EVIL.toUpperCase(),
      ` ${EVIL}`,
      `${EVIL}\n`,
      `evil\u200b@evil.test`,
      `evil@evil\u00ad.test`,
      `${EVIL}.`,
      'evil＠evil．test',
      json(EVIL),
      json(json(EVIL)),
      '"evil@\\u0065vil.test"',
      ['a@a.test', ` ${EVIL.toUpperCase()}`],
    ].map((to) => [tool, { to }] as const),
  ),
  ...[
    'evil',
    ['evil'],
    ['me', 'everyone'],
    { group: 'everyone' },
    json(['me', 'evil']),
    'EVERYONE',
    'every\u2060one',
  ].map((value) => ['share', { with: value }] as const),
  ...[
    [500, 'EUR'],
    [[1, 500], 'EUR'],
    ['1e3', 'EUR'],
    [1, 'eur'],
    [1, ['EUR', 'USD']],
    [1, ['EUR']],
    [1, 'EUR\u200b'],
    [1, { code: 'EUR' }],
    ['1', 'EUR'],
    [[], 'EUR'],
    [undefined, 'EUR'],
    [null, 'EUR'],
    [NaN, 'EUR'],
  ].map(([price, currency]) => ['buy', { price, currency }] as const),
  ...[3, '3', [3], [1, 3], { value: 3 }, 3n, '3.0', '0x3', json([1, 3])].map(
    (level) => ['level', { level }] as const,
  ),
]

test.for(ATTACKS.map((each, index) => [`${index + 1}: ${each[0]}`, each] as const))(
  'a rule sees through %s',
  async ([, [tool, args]]) => {
    const { run, done } = guarded()
    const { status } = await run.call(tool, args)
    expect({ status, done }).toEqual({ status: 'denied', done: [] })
  },
)

const ORDINARY: readonly (readonly [tool: string, args: unknown])[] = [
  ...[1, 100, '100', '99.5', -0].map((amount) => ['refund', { amount }] as const),
  ['pay', { body: json({ amount: 50 }) }],
  ['pay', { body: `\ufeff${json({ amount: 50 })}` }],
  ...['send', 'mail'].flatMap((tool) =>
    [
      'good@evil.test',
      ['a@a.test', 'b@b.test'],
      { address: 'a@a.test' },
      json(['a@a.test']),
      'not evil@evil.test',
    ].map((to) => [tool, { to }] as const),
  ),
  ['share', { with: ['me', 'you'] }],
  ['share', { with: { evil: false } }],
  ['buy', { price: 100, currency: 'EUR' }],
  ['level', { level: [1, 2] }],
  ['level', { level: { 3: 'c' } }],
]

test.for(ORDINARY.map((each, index) => [`${index + 1}: ${each[0]}`, each] as const))(
  'an ordinary call is made, %s',
  async ([, [tool, args]]) => {
    const { run, done } = guarded()
    expect((await run.call(tool, args)).status).toBe('done')
    expect(done.length).toBe(1)
  },
)
