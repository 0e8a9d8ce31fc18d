// oxlint-disable vitest/no-standalone-expect -- `attack` makes tests of them.
import fs from 'node:fs'
import { join } from 'node:path'
import { decideApproval, type GuardOptions, pendingApprovals, type Rule } from '@retake/guard'
import { argumentLines } from '@retake/tape/present'
import { describe, expect, vi } from 'vitest'
import { attack, makeWorld, type World } from './world.js'

const withRules = (...rules: Rule[]): World =>
  makeWorld(() => ({ policy: { name: 'rules', rules } }))
const upTo100: Rule = { deny: 'refund', when: { amount: { over: 100 } } }

/** One value that a rule should catch, and one that it should not. */
const evades = (name: string, rule: Rule, bad: unknown, good: unknown): void =>
  attack(name, {
    attack: async () => {
      const { call, refunds } = withRules(rule)
      await call('refund', bad)
      expect(refunds).toEqual([])
    },
    twin: async () => {
      const { call, refunds } = withRules(rule)
      expect(await call('refund', good)).toMatchObject({ status: 'done' })
      expect(refunds).toHaveLength(1)
    },
  })

describe('amounts', () => {
  const amounts: readonly (readonly [string, unknown])[] = [
    ['as text in scientific notation', '5e3'],
    ['as text with a thousands separator', '5,000'],
    ['in Arabic digits', '٥٠٠٠'],
    ['in a list of one', [5000]],
    ['as an object with a value', { value: 5000, currency: 'EUR' }],
    ['as a bigint', 5000n],
    ['as not a number', Number.NaN],
    ['with a currency sign in front', '€5000'],
    ['with a line break behind', '5000\n'],
    ['as infinity', Number.POSITIVE_INFINITY],
  ]
  for (const [what, amount] of amounts)
    evades(`an amount ${what}`, upTo100, { amount }, { amount: 50 })
  evades('arguments as JSON text', upTo100, '{"amount":5000}', '{"amount":50}')
  evades(
    'arguments as JSON text inside JSON text',
    upTo100,
    JSON.stringify('{"amount":5000}'),
    JSON.stringify('{"amount":50}'),
  )
  evades(
    'arguments as JSON text with the name twice',
    upTo100,
    '{"amount":1,"amount":5000}',
    '{"amount":5000,"amount":1}',
  )
  evades(
    'arguments as JSON text longer than rules read',
    upTo100,
    `{"pad":"${'x'.repeat(11_000_000)}","amount":5000}`,
    `{"pad":"${'x'.repeat(1000)}","amount":50}`,
  )
  evades('arguments in a list in a list', upTo100, [[{ amount: 5000 }]], [[{ amount: 50 }]])
  evades(
    'arguments as JSON text of a million characters',
    upTo100,
    `{"pad":"${'x'.repeat(1_100_000)}","amount":5000}`,
    `{"pad":"${'x'.repeat(1_100_000)}","amount":50}`,
  )
  const eachItem: Rule = { deny: 'refund', when: { 'items.*.amount': { over: 100 } } }
  evades(
    'a batch whose items are JSON text',
    eachItem,
    { items: '[{"amount":1},{"amount":5000}]' },
    { items: '[{"amount":1}]' },
  )
  evades(
    'a batch whose items are texts with JSON',
    eachItem,
    { items: ['{"amount":1}', '{"amount":5000}'] },
    { items: ['{"amount":1}'] },
  )
  evades(
    'a batch whose items are an object with numbers as names',
    eachItem,
    { items: { 0: { amount: 1 }, 1: { amount: 5000 } } },
    { items: { 0: { amount: 1 } } },
  )
  evades(
    'a batch in groups',
    eachItem,
    { items: [[{ amount: 5000 }]] },
    { items: [[{ amount: 50 }]] },
  )
  evades(
    'a value at any depth inside JSON text',
    { deny: 'refund', when: { '**.amount': { over: 100 } } },
    { order: '{"lines":[{"amount":5000}]}' },
    { order: '{"lines":[{"amount":50}]}' },
  )
  evades(
    'more values than can be looked through',
    upTo100,
    { amount: 1, pad: Array.from({ length: 1_100_000 }, () => 0) },
    { amount: 1, pad: [0] },
  )
  evades(
    'nesting deeper than the stack',
    upTo100,
    JSON.parse(`${'['.repeat(20_000)}{"amount":5000}${']'.repeat(20_000)}`),
    { amount: 50 },
  )
})

describe('texts', () => {
  const contains: Rule = { deny: 'refund', when: { text: { contains: 'drop table' } } }
  const good = { text: 'drop the table' }
  const texts: readonly (readonly [string, string])[] = [
    ['in capitals of another width', 'ＤＲＯＰ ＴＡＢＬＥ'],
    ['with characters nobody sees', 'dr\u200bop ta\u2060ble'],
    ['with soft hyphens and marks of direction', 'dr\u00adop \u202etable\u202c'],
    ['with variation selectors and tags', 'drop\ufe0f table\u{e0041}'],
    ['with a blank that does not break', 'drop\u00a0table'],
    ['with several blanks', 'drop   table'],
    ['with a tab', 'drop\ttable'],
    ['with a line break', 'drop\r\ntable'],
  ]
  for (const [what, text] of texts) evades(`a forbidden text ${what}`, contains, { text }, good)
  evades(
    'a forbidden text in a list of objects',
    contains,
    { text: [{ a: { b: ['x', 'drop table'] } }] },
    { text: [{ a: 'x' }] },
  )
  evades(
    'a forbidden text as a name',
    contains,
    { text: [{ 'drop table': 1 }] },
    { text: [{ x: 1 }] },
  )
  evades(
    'a forbidden text in JSON with escapes',
    contains,
    { text: '{"sql":"drop\\u0020table"}' },
    { text: '{"sql":"select 1"}' },
  )
  evades(
    'a forbidden text behind blanks, at its start',
    { deny: 'refund', when: { text: { startsWith: 'rm ' } } },
    { text: ' \n rm -rf x' },
    { text: 'farm x' },
  )
  evades(
    'a forbidden pattern behind blanks',
    { deny: 'refund', when: { text: { matches: '^rm\\b' } } },
    { text: '\trm -rf x' },
    { text: 'ls rm' },
  )
  evades(
    'a forbidden word with a blank in front',
    { deny: 'refund', when: { text: { in: ['admin', 'root'] } } },
    { text: ' admin' },
    { text: 'adm in' },
  )
  evades(
    'a forbidden word with a ligature and accents apart',
    { deny: 'refund', when: { text: { in: ['offıcé'] } } },
    { text: 'oﬀıce\u0301' },
    { text: 'office' },
  )
  evades(
    'a forbidden address with a tab inside, as browsers ignore it',
    { deny: 'refund', when: { text: { contains: 'evil.example' } } },
    { text: 'https://ev\til.example/' },
    { text: 'https://good.example/' },
  )
  evades(
    'an allowed word in another case',
    { deny: 'refund', when: { text: { not: { in: ['EUR', 'USD'] } } } },
    { text: 'eur\u200b' },
    { text: 'EUR' },
  )
  evades(
    'a missing value that a rule wants to be something',
    { deny: 'refund', when: { text: { not: 'safe' } } },
    {},
    { text: 'safe' },
  )
  evades(
    'more recipients than allowed, in a list in a list',
    { deny: 'refund', when: { text: { longerThan: 2 } } },
    { text: [['a', 'b', 'c', 'd']] },
    { text: ['a', 'b'] },
  )
  evades(
    'a text that is longer than patterns read',
    { deny: 'refund', when: { text: { matches: 'secret$' } } },
    { text: `${'x'.repeat(200_000)}secret` },
    { text: 'x' },
  )
})

/** Calls `amount` what older clients call `total`. */
const renames = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (given: unknown) => {
      const { total, ...rest } = given as { total?: number }
      return { value: { ...rest, ...(total !== undefined && { amount: total }) } }
    },
  },
} as const

describe('objects', () => {
  const merge = (target: Record<string, unknown>, source: Record<string, unknown>): void => {
    for (const [key, value] of Object.entries(source))
      if (typeof value === 'object' && value !== null && typeof target[key] === 'object')
        merge(target[key] as Record<string, unknown>, value as Record<string, unknown>)
      else target[key] = value
  }
  const withMerge = (): World => {
    const world = makeWorld(() => ({}))
    world.run.tool('settings', (given: string | Record<string, unknown>) => {
      const settings = { color: {} }
      merge(
        settings,
        typeof given === 'string' ? (JSON.parse(given) as Record<string, unknown>) : given,
      )
      return settings
    })
    return world
  }
  const pollutes = (name: string, args: unknown, benign: unknown): void =>
    attack(name, {
      attack: async () => {
        await withMerge().call('settings', args)
        const polluted = ({} as Record<string, unknown>)['isAdmin']
        delete (Object.prototype as Record<string, unknown>)['isAdmin']
        expect(polluted).toBe(undefined)
      },
      twin: async () => {
        expect(await withMerge().call('settings', benign)).toMatchObject({
          status: 'done',
          output: { color: { red: 1 } },
        })
      },
    })
  const evil = '{"color":{"__proto__":{"isAdmin":true}}}'
  pollutes('a prototype among the arguments', JSON.parse(evil), { color: { red: 1 } })
  pollutes('a prototype in arguments that are JSON text', evil, '{"color":{"red":1}}')
  pollutes(
    'a prototype in JSON text with escapes',
    evil.replace('__proto__', '\\u005f_pr\\u006fto__'),
    '{"color":{"red":1}}',
  )
  pollutes(
    'a prototype by way of a constructor',
    { constructor: { prototype: { isAdmin: true } } },
    { color: { red: 1 } },
  )

  attack('a schema that moves a value to where no rule looks', {
    attack: async () => {
      const world = withRules({ deny: 'pay', when: { amount: { over: 100 } } })
      const paid: unknown[] = []
      world.run.tool('pay', (args: object) => void paid.push(args), { input: renames })
      await world.call('pay', { amount: 5000 })
      await world.call('pay', { total: 5000 })
      expect(paid).toEqual([])
    },
    twin: async () => {
      const world = withRules({ deny: 'pay', when: { amount: { over: 100 } } })
      const paid: unknown[] = []
      world.run.tool('pay', (args: object) => void paid.push(args), { input: renames })
      await world.call('pay', { total: 50 })
      expect(paid).toEqual([{ amount: 50 }])
    },
  })

  attack('a tool with few effects that calls one with more', {
    attack: async () => {
      const world = makeWorld(() => ({}))
      const file = join(world.work, 'made.txt')
      world.run.tool('save', () => fs.writeFileSync(file, 'x'), { effects: ['write'] })
      world.run.tool('look', async () => void (await world.call('save', {})), { effects: ['read'] })
      await world.call('look', {})
      expect(fs.existsSync(file)).toBe(false)
    },
    twin: async () => {
      const world = makeWorld(() => ({}))
      const file = join(world.work, 'made.txt')
      world.run.tool('save', () => fs.writeFileSync(file, 'x'), { effects: ['write'] })
      world.run.tool('look', async () => void (await world.call('save', {})), {
        effects: ['read', 'write'],
      })
      await world.call('look', {})
      expect(fs.existsSync(file)).toBe(true)
    },
  })

  attack('names of tools that are not tools', {
    attack: async () => {
      const { call, refunds } = makeWorld(() => ({
        policy: { name: 'x', default: 'deny', rules: [{ allow: 'refun*' }] },
      }))
      for (const name of [
        'refund ',
        'refund\u200b',
        'refund\0',
        'Refund',
        'rеfund',
        '__proto__',
        'constructor',
        'toString',
        '',
      ])
        expect((await call(name, { amount: 1 })).status).toBe('denied')
      expect(refunds).toEqual([])
    },
    twin: async () => {
      const { call, refunds } = makeWorld(() => ({
        policy: { name: 'x', default: 'deny', rules: [{ allow: 'refun*' }] },
      }))
      await call('refund', { amount: 1 })
      expect(refunds).toHaveLength(1)
    },
  })

  attack('arguments in the form that tapes give to other values', {
    attack: async () => {
      const { call, refunds } = withRules(upTo100)
      const forms = ['bigint', 'number', 'undefined', 'date', 'map', 'Infinity'].flatMap((type) => [
        { $: type, value: '5000' },
        { $type: type, value: '5000' },
        { [`$${type}`]: '5000' },
        { '@@retake': type, value: '5000' },
      ])
      for (const amount of forms) await call('refund', { amount })
      expect(refunds).toEqual([])
    },
    twin: async () => {
      const { call, refunds } = withRules()
      const note = { $: 'bigint', value: '5000', $type: 'date', '@@retake': 'map' }
      await call('refund', { note })
      expect(refunds).toEqual([{ note }])
    },
  })

  attack('half a character, so that what is judged is not what is run', {
    attack: async () => {
      const { call, refunds } = withRules({
        deny: 'refund',
        when: { text: { contains: '\ufffd' } },
      })
      await call('refund', '{"text":"\ud800"}')
      for (const each of refunds) expect(JSON.parse(String(each))).not.toEqual({ text: '\ufffd' })
    },
    twin: async () => {
      const { call, refunds } = withRules()
      await call('refund', { text: 'a\ud83d\ude00' })
      expect(refunds).toEqual([{ text: 'a😀' }])
    },
  })
})

describe('order and number of calls', () => {
  const twoOnly: Rule = { deny: 'refund', moreThan: 2 }
  attack('many small calls at the same time', {
    attack: async () => {
      const { call, refunds } = withRules(twoOnly)
      await Promise.all(Array.from({ length: 30 }, (_, n) => call('refund', { amount: n })))
      expect(refunds).toHaveLength(2)
    },
    twin: async () => {
      const { call, refunds } = withRules(twoOnly)
      await Promise.all([call('refund', { amount: 1 }), call('refund', { amount: 2 })])
      expect(refunds).toHaveLength(2)
    },
  })

  attack('a batch tool that calls the limited tool for each of its items', {
    attack: async () => {
      const world = withRules(twoOnly)
      world.run.tool('batch', async ({ amounts }: { amounts: number[] }) => {
        await Promise.all(amounts.map((amount) => world.call('refund', { amount })))
      })
      await world.call('batch', { amounts: [1, 2, 3, 4, 5, 6] })
      await world.call('batch', { amounts: [7, 8] })
      expect(world.refunds).toHaveLength(2)
    },
    twin: async () => {
      const world = withRules(twoOnly)
      world.run.tool('batch', async ({ amounts }: { amounts: number[] }) => {
        for (const amount of amounts) await world.call('refund', { amount })
      })
      await world.call('batch', { amounts: [1, 2] })
      expect(world.refunds).toHaveLength(2)
    },
  })

  attack('denied and failing calls between that push others out of the window', {
    attack: async () => {
      const world = withRules({ deny: 'refund', after: { tool: 'read' }, within: 3 })
      await world.call('read', { path: 'inside.txt' })
      for (let n = 0; n < 20; n += 1) await world.call('nothing', {})
      await world.call('refund', { amount: 1 })
      expect(world.refunds).toEqual([])
    },
    twin: async () => {
      const world = withRules({ deny: 'refund', after: { tool: 'read' }, within: 3 })
      await world.call('refund', { amount: 1 })
      expect(world.refunds).toHaveLength(1)
    },
  })

  attack('a call that starts while the forbidden one before it still runs', {
    attack: async () => {
      const world = withRules({ deny: 'refund', after: { tool: 'slow' } })
      world.run.tool('slow', () => new Promise((done) => setTimeout(done, 30)))
      await Promise.all([world.call('slow', {}), world.call('refund', { amount: 1 })])
      expect(world.refunds).toEqual([])
    },
    twin: async () => {
      const world = withRules({ deny: 'refund', after: { tool: 'slow' } })
      world.run.tool('slow', () => new Promise((done) => setTimeout(done, 30)))
      await Promise.all([world.call('refund', { amount: 1 }), world.call('slow', {})])
      expect(world.refunds).toHaveLength(1)
    },
  })

  attack('a crash that makes the run forget what was read', {
    attack: async () => {
      const rules: Rule[] = [{ deny: 'refund', after: { tool: 'read' } }]
      const first = makeWorld(() => ({
        durability: 'machine',
        resume: true,
        policy: { name: 'rules', rules },
      }))
      await first.call('read', { path: 'inside.txt' })
      first.run[Symbol.dispose]()
      const next = makeWorld(() => ({
        durability: 'machine',
        dir: join(first.folder, 'tapes'),
        resume: true,
        policy: { name: 'rules', rules },
      }))
      await next.call('refund', { amount: 1 })
      expect(next.refunds).toEqual([])
    },
    twin: async () => {
      const rules: Rule[] = [{ deny: 'refund', after: { tool: 'read' } }]
      const first = makeWorld(() => ({
        durability: 'machine',
        resume: true,
        policy: { name: 'rules', rules },
      }))
      await first.call('list', { path: '.' })
      first.run[Symbol.dispose]()
      const next = makeWorld(() => ({
        durability: 'machine',
        dir: join(first.folder, 'tapes'),
        resume: true,
        policy: { name: 'rules', rules },
      }))
      await next.call('refund', { amount: 1 })
      expect(next.refunds).toHaveLength(1)
    },
  })

  attack('the same call with its keys in another order, to avoid the count of repetitions', {
    attack: async () => {
      const { call, refunds } = makeWorld(() => ({ limits: { repeats: 3 } }))
      for (let n = 0; n < 20; n += 1) await call('refund', n % 2 ? { a: 1, b: 2 } : { b: 2, a: 1 })
      expect(refunds.length).toBeLessThan(6)
    },
    twin: async () => {
      const { call, refunds } = makeWorld(() => ({ limits: { repeats: 3 } }))
      for (let n = 0; n < 10; n += 1) await call('refund', { a: n })
      expect(refunds).toHaveLength(10)
    },
  })
})

describe('limits', () => {
  const limited = (limits: GuardOptions['limits']): World =>
    makeWorld(() => ({ ...(limits && { limits }) }))

  attack('more calls than allowed at the same time, from inside a tool as well', {
    attack: async () => {
      const world = limited({ calls: 5 })
      world.run.tool('batch', () =>
        Promise.all(Array.from({ length: 9 }, (_, n) => world.call('refund', { n }))).then(() => 1),
      )
      await Promise.all([
        world.call('batch', {}),
        ...Array.from({ length: 9 }, (_, n) => world.call('refund', { m: n })),
      ])
      expect(world.refunds.length).toBeLessThanOrEqual(5)
    },
    twin: async () => {
      const world = limited({ calls: 5 })
      for (let n = 0; n < 5; n += 1) await world.call('refund', { n })
      expect(world.refunds).toHaveLength(5)
    },
  })

  const spending = (said: readonly unknown[]) => async (): Promise<number> => {
    const world = limited({ costUsd: 1 })
    let spent = 0
    world.run.tool(
      'buy',
      ({ cost }: { cost: unknown }, { use }) => {
        spent += 0.4
        use({ costUsd: cost as number })
      },
      { reserve: { costUsd: 0.4 }, effects: ['spend'] },
    )
    for (const cost of said) await world.call('buy', { cost })
    return spent
  }
  attack('usage below zero, to have more left', {
    attack: async () => expect(await spending([-5, -5, -5, -5, -5, -5])()).toBeLessThan(1),
    twin: async () => expect(await spending([0.1, 0.1, 0.1, 0.1])()).toBeCloseTo(1.6),
  })
  attack('usage that is not a number', {
    attack: async () =>
      expect(await spending([Number.NaN, Number.NaN, Number.NaN, Number.NaN])()).toBeLessThan(1),
    twin: async () => expect(await spending([0, 0, 0, 0])()).toBeCloseTo(1.6),
  })
  attack('usage as text, or as an object', {
    attack: async () =>
      expect(await spending(['0', '0', { valueOf: 0 }, [0], '0'])()).toBeLessThan(1),
    twin: async () => expect(await spending([0.4, 0.4])()).toBeCloseTo(0.8),
  })

  attack('aborted calls that seem to have cost nothing', {
    attack: async () => {
      const world = limited({ costUsd: 1 })
      let started = 0
      let stop = new AbortController()
      world.run.tool(
        'buy',
        () => {
          started += 1
          setTimeout(() => stop.abort(), 5)
          return new Promise((done) => setTimeout(done, 200))
        },
        { reserve: { costUsd: 0.4 }, effects: ['spend'] },
      )
      for (let n = 0; n < 6; n += 1) {
        stop = new AbortController()
        await world.run.call('buy', { n }, { signal: stop.signal })
      }
      expect(started).toBe(2)
    },
    twin: async () => {
      const world = limited({ costUsd: 1 })
      let started = 0
      world.run.tool(
        'buy',
        (_: object, { use }) => {
          started += 1
          use({ costUsd: 0.1 })
        },
        { reserve: { costUsd: 0.4 }, effects: ['spend'] },
      )
      for (let n = 0; n < 5; n += 1) await world.call('buy', { n })
      expect(started).toBe(5)
    },
  })

  attack('failing calls that are retried past the budget', {
    attack: async () => {
      const world = limited({ costUsd: 1 })
      let started = 0
      world.run.tool(
        'buy',
        () => {
          started += 1
          throw Object.assign(new Error('busy'), { status: 429, headers: { 'retry-after': '0' } })
        },
        { reserve: { costUsd: 0.4 }, effects: ['spend'], retries: 9, idempotent: true },
      )
      await Promise.all([world.call('buy', { n: 1 }), world.call('buy', { n: 2 })])
      expect(started).toBeLessThanOrEqual(2)
    },
    twin: async () => {
      const world = limited({ costUsd: 1 })
      let started = 0
      world.run.tool(
        'buy',
        (_: object, { use }) => {
          use({ costUsd: 0.1 })
          started += 1
          if (started < 3)
            throw Object.assign(new Error('busy'), { status: 429, headers: { 'retry-after': '0' } })
        },
        { reserve: { costUsd: 0.1 }, effects: ['spend'], retries: 3, idempotent: true },
      )
      expect((await world.call('buy', {})).status).toBe('done')
    },
  })

  attack('work that continues after its timeout, and writes then', {
    attack: async () => {
      const world = limited({ timeoutMs: 40 })
      const late = join(world.work, 'late.txt')
      world.run.tool('slow', async () => {
        await new Promise((done) => setTimeout(done, 120))
        await fs.promises.writeFile(late, 'x')
      })
      expect((await world.call('slow', {})).status).toBe('stopped')
      await new Promise((done) => setTimeout(done, 200))
      expect(fs.existsSync(late)).toBe(false)
    },
    twin: async () => {
      const world = limited({ timeoutMs: 60_000 })
      const late = join(world.work, 'late.txt')
      world.run.tool('slow', async () => {
        await new Promise((done) => setTimeout(done, 20))
        await fs.promises.writeFile(late, 'x')
      })
      await world.call('slow', {})
      expect(fs.existsSync(late)).toBe(true)
    },
  })
})

describe('approvals', () => {
  const asking = (approval: GuardOptions['approval'], dir?: (work: string) => string): World =>
    makeWorld(({ work }) => ({
      ...(dir && { dir: dir(work) }),
      policy: {
        name: 'asks',
        files: { read: [work], write: [work] },
        rules: [{ ask: 'refund' }],
        shell: { allow: [['sh', '-c', '*']] },
      },
      ...(approval && { approval }),
    }))
  const waitingIn = (folder: string): Promise<{ tape: string; of: string }> =>
    vi.waitFor(() => {
      const tape = join(folder, fs.readdirSync(folder).find((name) => name.endsWith('.tape')) ?? '')
      const [waiting] = pendingApprovals(tape, Date.now())
      if (waiting === undefined) throw new Error('nothing waits')
      return { tape, of: waiting.of }
    }, 60_000)
  const approveIn = async (folder: string): Promise<string> => {
    const { tape, of } = await waitingIn(folder)
    decideApproval(tape, of, { approved: true, by: 'ann' }, Date.now())
    return of
  }

  attack('one approval for two identical calls', {
    attack: async () => {
      let prompts = 0
      const world = asking({ ask: () => ({ approved: (prompts += 1) === 1, by: 'ann' }) })
      await Promise.all([world.call('refund', { amount: 1 }), world.call('refund', { amount: 1 })])
      await world.call('refund', { amount: 1 })
      expect([world.refunds.length, prompts]).toEqual([1, 3])
    },
    twin: async () => {
      const world = asking({ ask: () => ({ approved: true, by: 'ann' }) })
      await Promise.all([world.call('refund', { amount: 1 }), world.call('refund', { amount: 1 })])
      expect(world.refunds).toHaveLength(2)
    },
  })

  const inWork = (work: string): string => work
  const forges = (
    name: string,
    forge: (world: World, of: string, tape: string) => Promise<unknown>,
    inSandbox = false,
  ): void =>
    attack(name, {
      inSandbox,
      attack: async () => {
        const world = asking({ ask: 'viewer', expiresMs: 2000 }, inWork)
        const refunding = world.call('refund', { amount: 900 })
        const { tape, of } = await waitingIn(world.work)
        await forge(world, of, tape)
        expect((await refunding).status).toBe('denied')
        expect(world.refunds).toEqual([])
      },
      twin: async () => {
        const world = asking({ ask: 'viewer' }, inWork)
        const refunding = world.call('refund', { amount: 900 })
        await approveIn(world.work)
        expect((await refunding).status).toBe('done')
      },
    })
  const decision = (of: string): string =>
    JSON.stringify({ approved: true, by: 'ann', of, signature: 'AAAA' })
  const fileOf = (tape: string): string => {
    const folder = tape.replace(/\.tape$/, '.approvals')
    return join(folder, (fs.readdirSync(folder)[0] ?? '').replace('.request.', '.decision.'))
  }
  forges('writes the decision beside the tape with a tool', (world, of, tape) =>
    world.call('write', { path: fileOf(tape), text: decision(of) }),
  )
  forges('unpacks the decision beside the tape through a link', async (world, of, tape) => {
    const { name, folder } = {
      name: fileOf(tape).split('/').at(-1),
      folder: tape.replace(/\.tape$/, '.approvals'),
    }
    await world.call('unpack', {
      entries: [
        { name: 'notes', link: folder },
        { name: `notes/${name}`, text: decision(of) },
      ],
    })
  })
  forges('moves a prepared folder of decisions over the real one', async (world, of, tape) => {
    const folder = tape.replace(/\.tape$/, '.approvals')
    await world.call('folder', { path: 'prepared' })
    await world.call('write', {
      path: `prepared/${fileOf(tape).split('/').at(-1)}`,
      text: decision(of),
    })
    await world.call('move', { path: folder, to: 'old' })
    await world.call('move', { path: 'prepared', to: folder })
  })
  forges(
    'writes the decision with a program that finds it',
    (world, of) =>
      world.call('sh', {
        text: `for f in *.appro*/*.req*; do printf '%s' '${decision(of)}' > "$(echo $f | sed s/request/decision/)"; done; true`,
      }),
    true,
  )

  attack('a program that started earlier writes into the folder of approvals', {
    inSandbox: true,
    notPromised: 'a program sees what appears later in a shared folder; it can sign nothing',
    attack: async () => {
      const world = asking({ ask: 'viewer', expiresMs: 10_000 }, inWork)
      await world.call('list', { path: '.' })
      const writing = world.call('sh', {
        text: 'touch started; until [ -e asked ]; do sleep 0.05; done; for f in *.appro*/*.req*; do echo evil > "$f"; echo "read $f"; done; true',
      })
      await vi.waitFor(() => expect(fs.readdirSync(world.work)).toContain('started'), 60_000)
      const refunding = world.call('refund', { amount: 900 })
      const { tape } = await waitingIn(world.work)
      fs.writeFileSync(join(world.work, 'asked'), '')
      expect(String((await writing).output)).not.toMatch(/read .*request/)
      const [waiting] = pendingApprovals(tape, Date.now())
      expect(waiting?.request.args).toEqual({ amount: 900 })
      await refunding
      expect(world.refunds).toEqual([])
    },
    twin: async () => {
      const world = asking({ ask: 'viewer' }, inWork)
      expect(await world.sh('echo new > made.txt; cat made.txt')).toBe('new\n')
    },
  })

  attack('an old decision for a new call with the same arguments', {
    attack: async () => {
      const world = asking({ ask: 'viewer', expiresMs: 2000 }, inWork)
      const first = world.call('refund', { amount: 900 })
      const { tape, of } = await waitingIn(world.work)
      const file = fileOf(tape)
      decideApproval(tape, of, { approved: true, by: 'ann' }, Date.now())
      const signed = fs.readFileSync(file)
      await first
      const second = world.call('refund', { amount: 900 })
      await waitingIn(world.work)
      // Even somebody who can write there has only a decision on another call.
      fs.writeFileSync(fileOf(tape), signed)
      fs.writeFileSync(file, signed)
      expect((await second).status).toBe('denied')
      expect(world.refunds).toHaveLength(1)
    },
    twin: async () => {
      const world = asking({ ask: 'viewer' }, inWork)
      const first = world.call('refund', { amount: 900 })
      await approveIn(world.work)
      await first
      const second = world.call('refund', { amount: 900 })
      await approveIn(world.work)
      expect((await second).status).toBe('done')
    },
  })

  attack('other arguments behind the approver’s back', {
    attack: async () => {
      const args = { amount: 5, lines: [{ to: 'ann' }] }
      const world = asking({
        ask: (request) => {
          args.amount = 5000
          args.lines[0] = { to: 'eve' }
          ;(request.args as { amount: number }).amount = 7000
          return { approved: true, by: 'ann' }
        },
      })
      const calling = world.call('refund', args)
      args.amount = 6000
      await calling
      expect(world.refunds).toEqual([{ amount: 5, lines: [{ to: 'ann' }] }])
    },
    twin: async () => {
      const world = asking({
        ask: ({ args }) => ({ approved: (args as { amount: number }).amount === 5, by: 'ann' }),
      })
      await world.call('refund', { amount: 5 })
      expect(world.refunds).toEqual([{ amount: 5 }])
    },
  })

  /** Lines that somebody reads before approving. */
  const shows = (name: string, args: object, check: (lines: string) => void): void =>
    attack(`a screen with ${name}`, {
      attack: () => check(argumentLines(args, undefined).join('\n')),
      twin: () =>
        expect(argumentLines({ amount: 5, to: 'Zoë' }, undefined).join('\n')).toMatch(/5[^]*Zoë/),
    })
  shows(
    'codes that move the cursor and clear lines',
    { note: '\u001b[2K\u001b[1Aamount: 1\u009b2J\r' },
    (text) => expect(text).not.toMatch(/[^\P{Cc}\n]/u),
  )
  shows('text from right to left', { to: '\u202emoc.live\u202c@ann', from: '\u2067x' }, (text) =>
    expect(text).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/),
  )
  shows(
    'lines that look like other arguments',
    { note: 'x\namount: 1\u2028amount: 2\u0085amount: 3', amount: 5000 },
    (text) => {
      expect(
        text.split(/[\n\u2028\u0085]/).filter((line) => /^\s*amount: [123]$/.test(line)),
      ).toEqual([])
      expect(text).toContain('5000')
    },
  )
  shows(
    'names of arguments that look like others',
    { amount: 5000, 'am\u200bount': 1, 'amount\u202e': 2 },
    (text) => expect(text).not.toMatch(/\u200b|\u202e/),
  )
  shows(
    'an amount far behind blanks',
    { note: `${' '.repeat(5000)}pay 9000`, other: `${'\n'.repeat(500)}pay 8000` },
    (text) => {
      expect(text).not.toMatch(/ {200}/)
      expect(text.split('\n').length).toBeLessThan(100)
      expect(text).toMatch(/pay 9000/)
    },
  )
  shows(
    'links of the terminal',
    { note: '\u001b]8;;https://evil.example\u0007click\u001b]8;;\u0007' },
    (text) => expect(text).not.toMatch(/[^\P{Cc}\n]/u),
  )
})
