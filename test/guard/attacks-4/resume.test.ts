// oxlint-disable vitest/no-standalone-expect -- `attack` makes tests of them.
import fs from 'node:fs'
import { join } from 'node:path'
import { type GuardOptions, presets, type Rule } from '@retake/guard'
import { describe, expect, vi } from 'vitest'
import { attack, makeWorld, type World } from '../attacks-2/world.js'

interface Shop extends World {
  readonly paid: unknown[]
}

/** The runs of one agent, each in the folder of the first. */
function shop(options: Partial<GuardOptions> = {}, { folder }: { folder?: string } = {}): Shop {
  const world = makeWorld(() => ({
    durability: 'machine',
    resume: true,
    ...(folder && { dir: join(folder, 'tapes') }),
    ...options,
  }))
  const paid: unknown[] = []
  world.run.tool(
    'pay',
    (args: unknown, { use }) => {
      paid.push(args)
      use({ costUsd: 0.4 })
    },
    { effects: ['spend'], reserve: { costUsd: 0.4 } },
  )
  return { ...world, paid }
}

const rules = (...list: Rule[]): Partial<GuardOptions> => ({ policy: { name: 'p', rules: list } })
const leave = ({ run }: World): void => run[Symbol.dispose]()

/** Makes a call of a tool that never returns, and stops the run while it is at work. */
async function crashIn(world: Shop, tool: string, args: unknown, more: object = {}): Promise<void> {
  let isStarted = false
  const work = (): Promise<never> => {
    isStarted = true
    return new Promise(() => {})
  }
  world.run.tool(tool, work, more)
  void world.call(tool, args)
  await vi.waitFor(() => expect(isStarted).toBe(true), 60_000)
  leave(world)
}

describe('a crash that makes rules forget', () => {
  type Prepare = (world: Shop) => Promise<unknown>
  const forgets = (name: string, rule: Rule, first: Prepare, second?: Prepare): void =>
    attack(name, {
      attack: async () => {
        const before = shop(rules(rule))
        await first(before)
        leave(before)
        const after = shop(rules(rule), before)
        await second?.(after)
        await after.call('pay', { n: 9 })
        expect(after.paid).toEqual([])
      },
      twin: async () => {
        const before = shop(rules(rule))
        await before.call('list', { path: '.' })
        leave(before)
        const after = shop(rules(rule), before)
        await after.call('pay', { n: 9 })
        expect(after.paid).toEqual([{ n: 9 }])
      },
    })
  const readFirst: Rule = { deny: 'pay', after: { tool: ['read', 'secret'] } }
  const verified = (happened: boolean, output?: string) => ({
    verify: () => (happened ? { happened, output } : { happened: false as const }),
  })
  forgets('a call that was read', readFirst, ({ call }) => call('read', { path: 'inside.txt' }))
  forgets('a call that failed', readFirst, ({ call }) => call('read', { path: 'missing' }))
  forgets('a call inside another one', readFirst, ({ run, call }) => {
    run.tool('outer', async () => void (await call('read', { path: 'inside.txt' })))
    return call('outer', {})
  })
  forgets('a call in doubt', readFirst, (world) => crashIn(world, 'secret', {}))
  forgets(
    'a call in doubt that its tool finds done',
    readFirst,
    (world) => crashIn(world, 'secret', {}, verified(true, 'key')),
    async ({ run, call }) => {
      run.tool('secret', () => 'key', verified(true, 'key'))
      expect(await call('secret', {})).toMatchObject({ status: 'done', output: 'key' })
    },
  )
  forgets(
    'a call in doubt that is made again',
    readFirst,
    (world) => crashIn(world, 'secret', {}, verified(false)),
    async ({ run, call }) => {
      run.tool('secret', () => 'key', verified(false))
      expect(await call('secret', {})).toMatchObject({ status: 'done', output: 'key' })
    },
  )
  forgets(
    'a call that is served',
    readFirst,
    ({ call }) => call('read', { path: 'inside.txt' }),
    async ({ call }) => {
      expect((await call('read', { path: 'inside.txt' })).served).toBe(true)
    },
  )
  forgets('the number of calls', { deny: 'pay', moreThan: 2 }, async ({ call }) => {
    await call('pay', { n: 1 })
    await call('pay', { n: 2 })
  })
  forgets('the number of calls in doubt', { deny: 'pay', moreThan: 1 }, async (world) => {
    world.run.tool('hang', () => new Promise(() => {}))
    await world.call('pay', { n: 1 })
  })
  forgets(
    'the number of calls within a window',
    { deny: 'pay', moreThan: 1, within: 5 },
    async ({ call }) => {
      await call('list', { path: '.' })
      await call('pay', { n: 1 })
    },
  )

  attack('a verified call that does not count', {
    attack: async () => {
      const rule: Rule = { deny: 'once', moreThan: 1 }
      const before = shop(rules(rule))
      await crashIn(before, 'once', { n: 1 }, verified(true, 'x'))
      const after = shop(rules(rule), before)
      let started = 0
      after.run.tool('once', () => void (started += 1), verified(true, 'x'))
      await after.call('once', { n: 1 })
      await after.call('once', { n: 2 })
      expect(started).toBe(0)
    },
    twin: async () => {
      const allow: Rule[] = [{ allow: 'pay', after: { tool: 'once' } }, { deny: 'pay' }]
      const before = shop(rules(...allow))
      await crashIn(before, 'once', { n: 1 }, verified(true, 'x'))
      const after = shop(rules(...allow), before)
      after.run.tool('once', () => 'x', verified(true, 'x'))
      await after.call('once', { n: 1 })
      await after.call('pay', { n: 1 })
      expect(after.paid).toHaveLength(1)
    },
  })
})

attack('calls that an earlier run denied, to block or to allow others', {
  attack: async () => {
    const rule: Rule[] = [
      { deny: 'read' },
      { allow: 'pay', after: { tool: 'read' } },
      { deny: 'pay' },
    ]
    const first = shop(rules(...rule))
    await first.call('read', { path: 'inside.txt' })
    leave(first)
    const next = shop(rules(...rule), first)
    await next.call('pay', { n: 1 })
    expect(next.paid).toEqual([])
  },
  twin: async () => {
    const rule: Rule[] = [{ deny: 'read' }, { deny: 'pay', after: { tool: 'read' } }]
    const first = shop(rules(...rule))
    await first.call('read', { path: 'inside.txt' })
    leave(first)
    const next = shop(rules(...rule), first)
    await next.call('pay', { n: 1 })
    expect(next.paid).toEqual([{ n: 1 }])
  },
})

describe('a crash that frees limits', () => {
  const limited = (name: string, limits: GuardOptions['limits'], most: number): void =>
    attack(name, {
      attack: async () => {
        const paid: unknown[] = []
        let last: Shop | undefined
        for (let round = 0; round < 4; round += 1) {
          const world = shop({ ...(limits && { limits }) }, last)
          // `shop` makes each later run in the folder of the first.
          last ??= world
          for (let n = 0; n < 3; n += 1) await world.call('pay', { round, n })
          paid.push(...world.paid)
          leave(world)
        }
        expect(paid).toHaveLength(most)
      },
      twin: async () => {
        const first = shop({ ...(limits && { limits }) })
        await first.call('pay', { n: 1 })
        leave(first)
        const next = shop({ ...(limits && { limits }) }, first)
        expect((await next.call('pay', { n: 1 })).served).toBe(true)
        await next.call('pay', { n: 2 })
        expect(next.paid).toEqual([{ n: 2 }])
      },
    })
  limited('a budget', { costUsd: 1 }, 2)
  limited('a budget of one tool', { tools: { pay: { costUsd: 1 } } }, 2)
  limited('a budget for a minute', { costUsdPerMinute: 1 }, 2)

  attack('a budget, by crashes in the middle', {
    attack: async () => {
      let started = 0
      const spends = { effects: ['spend'], reserve: { costUsd: 0.4 } } as const
      let first: Shop | undefined
      for (let round = 0; round < 5; round += 1) {
        const world = shop({ limits: { costUsd: 1 } }, first)
        first ??= world
        world.run.tool(
          'buy',
          () => {
            started += 1
            return new Promise(() => {})
          },
          spends,
        )
        const before = started
        const buying = world.call('buy', { round })
        await Promise.race([buying, vi.waitFor(() => expect(started).toBe(before + 1), 60_000)])
        leave(world)
      }
      expect(started).toBe(2)
    },
  })

  attack('a loop that is interrupted again and again', {
    attack: async () => {
      const paid: unknown[] = []
      let first: Shop | undefined
      for (let round = 0; round < 5; round += 1) {
        const world = shop({ limits: { repeats: 3 } }, first)
        first ??= world
        for (let n = 0; n < round + 2; n += 1) await world.call('pay', { n: 1 })
        paid.push(...world.paid)
        leave(world)
      }
      expect(paid.length).toBeLessThanOrEqual(3)
    },
  })
})

describe('results that are served to another call', () => {
  const others: readonly (readonly [string, string, unknown])[] = [
    ['another amount', 'pay', { n: 2 }],
    ['the amount as text', 'pay', { n: '1' }],
    ['a list around it', 'pay', [{ n: 1 }]],
    ['JSON text', 'pay', '{"n":1}'],
    ['a second time', 'pay', { n: 1 }],
    ['one more argument', 'pay', { n: 1, note: null }],
    ['an invisible character', 'pay', { 'n\u200b': 1 }],
    ['a number beyond', 'pay', { n: 1.000_000_000_000_000_2 }],
    ['minus zero', 'pay', { n: -0 }],
  ]
  for (const [name, tool, args] of others)
    attack(name, {
      attack: async () => {
        const first = shop()
        await first.call('pay', { n: 1 })
        await first.call('pay', { n: 0 })
        leave(first)
        const next = shop({}, first)
        if (name === 'a second time') await next.call('pay', { n: 1 })
        expect((await next.call(tool, args)).served).toBe(false)
        expect(next.paid).toEqual([args])
      },
      twin:
        name === 'another amount'
          ? async () => {
              const first = shop()
              await first.call('pay', { a: 1, b: 2 })
              leave(first)
              const next = shop({}, first)
              expect((await next.call('pay', { b: 2, a: 1 })).served).toBe(true)
              expect(next.paid).toEqual([])
            }
          : undefined,
    })

  attack('another guard with the same tools', {
    attack: async () => {
      const first = shop()
      await first.call('pay', { n: 1 })
      leave(first)
      const next = shop({ name: 'others' }, first)
      await next.call('pay', { n: 1 })
      expect(next.paid).toHaveLength(1)
    },
  })

  attack('a policy that now denies the call, its order or its number', {
    attack: async () => {
      const first = shop()
      await first.call('read', { path: 'inside.txt' })
      await first.call('pay', { n: 1 })
      leave(first)
      for (const rule of [
        { deny: 'pay' },
        { deny: 'pay', when: { n: 1 } },
        { deny: 'pay', after: { tool: 'read' } },
      ]) {
        const next = shop(rules(rule), first)
        expect((await next.call('pay', { n: 1 })).status).toBe('denied')
        expect(next.paid).toEqual([])
        leave(next)
      }
    },
    twin: async () => {
      const first = shop()
      await first.call('pay', { n: 1 })
      leave(first)
      const next = shop(rules({ deny: 'pay', when: { n: 2 } }), first)
      expect((await next.call('pay', { n: 1 })).served).toBe(true)
    },
  })
})

describe('tapes that a tool plants', () => {
  /** The folder of tapes is inside the folder that tools may write. */
  const inWork = (): { world: Shop; reopen: () => Shop } => {
    let dir = ''
    const options =
      (at?: string) =>
      ({ work }: { work: string }) => {
        dir = at ?? join(work, 'runs')
        return {
          dir,
          durability: 'machine' as const,
          resume: true,
          policy: presets.sandbox({
            root: [work, ...(at ? [join(at, '..')] : [])],
            programs: [['sh', '-c', '*']],
          }),
        }
      }
    const open = (at?: string): Shop => {
      const world = makeWorld(options(at))
      const paid: unknown[] = []
      world.run.tool('pay', (args: unknown) => void paid.push(args))
      return { ...world, paid }
    }
    const world = open()
    return { world, reopen: () => open(join(world.work, 'runs')) }
  }
  const plants = (name: string, plant: (world: Shop, tape: string) => Promise<unknown>): void =>
    attack(name, {
      inSandbox: /program/.test(name),
      attack: async () => {
        const { world, reopen } = inWork()
        await world.call('pay', { n: 1 })
        const runs = join(world.work, 'runs')
        const tape = fs.readdirSync(runs).find((file) => file.endsWith('.tape')) ?? ''
        await plant(world, tape)
        leave(world)
        const files = fs.readdirSync(runs).filter((file) => file.endsWith('.tape'))
        expect(files).toEqual([tape])
        expect(fs.lstatSync(runs).isDirectory()).toBe(true)
        const next = reopen()
        expect((await next.call('pay', { n: 1 })).served).toBe(true)
        await next.call('pay', { n: 2 })
        expect(next.paid).toEqual([{ n: 2 }])
      },
    })
  const later = '29991231-235959-aaaa.tape'
  plants('a copy with a later name', ({ call }, tape) =>
    call('copy', { path: `runs/${tape}`, to: `runs/${later}` }),
  )
  plants('a new file with a later name', ({ call }) =>
    call('write', { path: `runs/${later}`, text: '{"name":"attacks"}' }),
  )
  plants('a link with a later name', ({ call }) =>
    call('link', { path: `runs/${later}`, to: 'inside.txt' }),
  )
  plants('a hard link with a later name', ({ call }, tape) =>
    call('hard_link', { path: `runs/${later}`, to: `runs/${tape}` }),
  )
  plants('a folder with a later name', ({ call }) => call('folder', { path: `runs/${later}` }))
  plants('the tape under another name', ({ call }, tape) =>
    call('move', { path: `runs/${tape}`, to: 'gone' }),
  )
  plants('the folder under another name', ({ call }) => call('move', { path: 'runs', to: 'gone' }))
  plants('an archive with a link to the folder', ({ call }) =>
    call('unpack', {
      entries: [
        { name: 'l', link: 'runs' },
        { name: `l/${later}`, text: 'x' },
      ],
    }),
  )
  plants('the removal of all', ({ call }) => call('remove', { path: 'runs' }))
  plants('another folder in its place', async ({ call }) => {
    await call('folder', { path: 'mine' })
    await call('write', { path: `mine/${later}`, text: 'x' })
    await call('move', { path: 'mine', to: 'runs' })
  })
  plants('a program that writes a later name', ({ call }) =>
    call('sh', { text: `cd runs; echo x > ${later}; for f in *; do cp "$f" ${later}; done; true` }),
  )
  plants('a program that moves the folder', ({ call }) =>
    call('sh', { text: 'mv runs gone; rm -rf runs; true' }),
  )
  plants('a program that cuts the tape', ({ call }) =>
    call('sh', { text: 'for f in runs/*; do : > "$f"; done; true' }),
  )
})
