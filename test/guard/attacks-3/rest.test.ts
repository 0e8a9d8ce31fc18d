// oxlint-disable vitest/no-standalone-expect -- `attack` makes tests of them.
import { spawn, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { guard, type GuardRun, type Policy, presets } from '@retake/guard'
import { attack, expectUntouched, makeWorld, SECRET } from '../attacks-2/world.js'

function withRule(when: Policy['rules'], effects?: 'network'): GuardRun {
  const run = guard({
    name: 'rest',
    dir: '/tmp/retake-rest-unused',
    durability: 'process',
    policy: { name: 'p', rules: when ?? [] },
  })
  onTestFinished(() => void run.end())
  run.tool('send', () => 'sent', effects ? { effects: [effects] } : {})
  return run
}

const escaped = (text: string): string =>
  `"${text
    .split('')
    .map((char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')}"`

const conditions = {
  contains: { contains: 'evil.com' },
  equals: { equals: 'bob@evil.com' },
  in: { in: ['bob@evil.com'] },
  matches: { matches: 'evil\\.com$' },
  startsWith: { startsWith: 'bob@evil' },
  endsWith: { endsWith: '@evil.com' },
} as const

for (const [name, when] of Object.entries(conditions))
  attack(`a JSON text of one escaped string, under ${name}`, {
    attack: async () => {
      const run = withRule([{ deny: 'send', when: { to: when } }])
      for (const to of [escaped('bob@evil.com'), JSON.stringify(escaped('bob@evil.com'))])
        expect((await run.call('send', { to })).status).toBe('denied')
    },
    twin: async () => {
      const run = withRule([{ deny: 'send', when: { to: when } }])
      for (const to of ['bob@good.com', escaped('bob@good.com'), '"quoted"', '"', 'say "hi"'])
        expect((await run.call('send', { to })).status).toBe('done')
    },
  })

const SPELLINGS = [
  'http://evil.com/x',
  'http://EVIL.com./x',
  'http://evil\u3002com/x',
  'http://evil\uff0ecom/x',
  'http://evil\uff61com/x',
  'http://\uff45vil.com/x',
  'http://%65vil.com/x',
  'http://%65%76%69%6c%2ecom/x',
  'http://ev\u00adil.com/x',
  'http://user:pass@%65vil.com:80/x',
  'evil\u3002com',
  '%65vil.com',
]

attack('other spellings of a host that a rule names', {
  attack: async () => {
    for (const condition of [{ contains: 'evil.com' }, { matches: 'evil\\.com' }]) {
      const run = withRule([{ deny: 'send', when: { url: condition } }])
      for (const url of SPELLINGS)
        expect([url, (await run.call('send', { url })).status]).toEqual([url, 'denied'])
    }
  },
  twin: async () => {
    const run = withRule([{ deny: 'send', when: { url: { contains: 'evil.com' } } }])
    for (const url of [
      'http://good.com/x?q=%65',
      'http://good\u3002com/',
      '100%',
      'ev il.com',
      '50%65',
    ])
      expect([url, (await run.call('send', { url })).status]).toEqual([url, 'done'])
  },
})

attack('other spellings of an address that a rule names', {
  attack: async () => {
    const run = withRule([{ deny: 'send', when: { url: { contains: '127.0.0.1' } } }])
    for (const host of ['0x7f.1', '2130706433', '0177.0.0.1', '127.1', '１２７.0.0.1'])
      expect([host, (await run.call('send', { url: `http://${host}:80/` })).status]).toEqual([
        host,
        'denied',
      ])
  },
})

test('an allow rule does not take another host for its own', async () => {
  const run = withRule([
    { allow: 'send', when: { url: { startsWith: 'http://good.com/' } } },
    { deny: '*' },
  ])
  expect((await run.call('send', { url: 'http://good.com/a' })).status).toBe('done')
  for (const url of ['http://good.com%2eevil.com/', 'http://evil.com/', '"http://good.com/"'])
    expect((await run.call('send', { url })).status).toBe('denied')
})

attack('a program that gets a descriptor of the program', {
  attack: async () => {
    const world = makeWorld()
    const secret = fs.openSync(world.secret, 'r+')
    onTestFinished(() => fs.closeSync(secret))
    world.run.tool('start', async ({ fd }: { fd: number }) => {
      const child = spawn('sh', ['-c', 'cat <&3; echo broken >&3'], {
        stdio: ['ignore', 'pipe', 'pipe', fd],
      })
      let text = ''
      for await (const chunk of child.stdout ?? []) text += String(chunk)
      return text
    })
    world.run.tool('startNow', ({ fd }: { fd: number }) =>
      String(spawnSync('sh', ['-c', 'cat'], { stdio: [fd, 'pipe', 'pipe'] }).stdout),
    )
    const results = [
      await world.call('start', { fd: secret }),
      await world.call('startNow', { fd: secret }),
    ]
    for (const { status, output } of results)
      expect([status, String(output).includes(SECRET)]).toEqual(['denied', false])
    // Every other descriptor of this process, such as the tape of the guard.
    for (let fd = 3; fd < 40; fd += 1) await world.call('start', { fd })
    expectUntouched(world)
  },
  twin: async () => {
    const world = makeWorld()
    world.run.tool('start', async ({ path }: { path: string }) => {
      const fd = fs.openSync(join(world.work, path), 'r')
      try {
        const child = spawn('sh', ['-c', 'cat <&3'], { stdio: ['inherit', 'pipe', 'inherit', fd] })
        let text = ''
        for await (const chunk of child.stdout ?? []) text += String(chunk)
        return text
      } finally {
        fs.closeSync(fd)
      }
    })
    expect(await world.call('start', { path: 'inside.txt' })).toMatchObject({ output: 'inside' })
  },
})

test('a program may start in the working directory of this process, as without the option', async () => {
  const world = makeWorld(({ work }) => ({
    policy: presets.sandbox({ root: work, programs: [['echo', '*']] }),
  }))
  const start = (options: object): Promise<string> =>
    new Promise((resolve, reject) => {
      const child = spawn('echo', ['hi'], options)
      child.on('error', reject)
      child.stdout.on('data', (text: Buffer) => resolve(text.toString()))
    })
  world.run.tool('plain', () => start({}))
  world.run.tool('named', () => start({ cwd: process.cwd() }))
  world.run.tool('other', () => start({ cwd: world.folder }))
  const outputs = [await world.call('plain', {}), await world.call('named', {})]
  expect(outputs.map(({ output }) => output)).toEqual(['hi\n', 'hi\n'])
  expect(await world.call('other', {})).toMatchObject({ status: 'denied' })
})
