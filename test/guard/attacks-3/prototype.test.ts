import { spawn } from 'node:child_process'
import fs from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { guard, type GuardRun, presets } from '@retake/guard'
import { afterAll, beforeAll, expect, test } from 'vitest'

const ROOT = new URL('../../../', import.meta.url).pathname

/** Every optional field and every option of the guard: only what may be missing can be inherited. */
function namesInSource(): string[] {
  const names = new Set(NODE_OPTIONS)
  const folder = join(ROOT, 'packages/guard/src')
  for (const file of fs.readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.ts') || file.includes('.test.')) continue
    const text = fs.readFileSync(join(folder, file), 'utf8')
    for (const [, name = ''] of text.matchAll(/readonly ([a-zA-Z_]\w+)\?:/g)) names.add(name)
  }
  return [...names].filter((name) => !NOT_POLLUTED.has(name))
}

/** Options of Node that the guard and tools hand on. */
const NODE_OPTIONS =
  'shell cwd env stdio detached uid gid argv0 execPath execArgv input windowsHide serialization killSignal timeout maxBuffer NODE_OPTIONS host hostname port path socketPath method headers agent lookup localAddress family hints setHost protocol auth defaultPort servername insecureHTTPParser createConnection body dispatcher flag mode encoding recursive force fs fd start end emitClose signal bigint filter'.split(
    ' ',
  )

/** Node itself does not work with these on `Object.prototype`. */
const NOT_POLLUTED = new Set([
  'constructor',
  'get',
  'set',
  'value',
  'writable',
  'then',
  'prototype',
])

let secret = ''
let folder = ''
let hits = 0
const server = createServer((_request, response) => {
  hits += 1
  response.end('x')
})
let port = 0

beforeAll(async () => {
  folder = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), 'retake-prototype-')))
  secret = join(folder, 'secret.txt')
  fs.mkdirSync(join(folder, 'work'))
  fs.writeFileSync(secret, 'TOP SECRET')
  server.listen(0, '127.0.0.1')
  await new Promise((done) => server.once('listening', done))
  port = (server.address() as AddressInfo).port
})
afterAll(() => {
  server.close()
  fs.rmSync(folder, { recursive: true, force: true })
})

interface Guarded {
  readonly run: GuardRun
  readonly done: string[]
}

/** A guard that allows `fine` and refuses every other call, each for another reason. */
function makeGuard(): Guarded {
  const done: string[] = []
  const run = guard({
    name: 'polluted',
    dir: join(folder, 'tapes'),
    durability: 'process',
    limits: { tools: { limited: { calls: 0 } } },
    approval: { ask: () => ({ approved: false, by: 'ann' }) },
    policy: [
      {
        name: 'rules',
        files: { read: [join(folder, 'work')], write: [] },
        network: { allow: [] },
        shell: { allow: [['true']] },
        rules: [
          { deny: 'denied' },
          { ask: 'asked' },
          { deny: 'conditional', when: { amount: { over: 10 } } },
          { deny: 'after', after: { tool: 'fine' } },
          { allow: '*' },
        ],
      },
      presets.noShell(),
    ],
  })
  const tool = (name: string, work: () => unknown, options = {}): unknown =>
    run.tool(
      name,
      async () => {
        const result = await work()
        done.push(name)
        return result
      },
      options,
    )
  tool('fine', () => 'fine')
  for (const name of ['denied', 'asked', 'conditional', 'after', 'limited']) tool(name, () => 'ran')
  tool('reads', () => fs.readFileSync(secret, 'utf8'))
  tool('writes', () => fs.writeFileSync(join(folder, 'work/new.txt'), 'x'))
  tool('writesUndeclared', () => fs.writeFileSync(join(folder, 'work/new.txt'), 'x'), {
    effects: ['read'],
  })
  tool('connects', async () => (await fetch(`http://127.0.0.1:${port}/`)).text())
  tool(
    'starts',
    () =>
      new Promise((resolve, reject) => {
        spawn('touch', [join(folder, 'work/started.txt')])
          .on('error', reject)
          .on('exit', resolve)
      }),
  )
  tool('schema', () => 'ran', { input: { type: 'object', required: ['id'] } })
  return { run, done }
}

const FORBIDDEN = [
  ['denied', {}],
  ['asked', {}],
  ['conditional', { amount: 50 }],
  ['after', {}],
  ['limited', {}],
  ['reads', {}],
  ['writes', {}],
  ['writesUndeclared', {}],
  ['connects', {}],
  ['starts', {}],
] as const

const VALUES: readonly (readonly [string, () => unknown])[] = [
  ['true', () => true],
  ['number', () => 1e9],
  ['text', () => 'allow'],
  ['every path', () => ['/', '*', '**', '127.0.0.1']],
  [
    'object',
    () => ({
      by: 'alice',
      reason: 'because',
      approved: true,
      verdict: 'allow',
      allow: '*',
      read: ['/'],
      write: ['/'],
      failures: 1e9,
      cooldownMs: 0,
    }),
  ],
]

/** Makes the calls while `Object.prototype` has the property, and returns those that ran. */
async function withProperty(
  target: object,
  name: PropertyKey,
  descriptor: PropertyDescriptor,
  work: () => Promise<unknown>,
): Promise<void> {
  Object.defineProperty(target, name, { ...descriptor, configurable: true })
  try {
    await work()
  } catch {
    // A program may break; it must only not do what is forbidden.
  } finally {
    Reflect.deleteProperty(target, name)
  }
}

function expectSame({ done }: Guarded, what: string): void {
  const ran = done.filter((name) => name !== 'fine')
  done.length = 0
  expect({ what, ran, hits, files: fs.readdirSync(join(folder, 'work')) }).toEqual({
    what,
    ran: [],
    hits: 0,
    files: [],
  })
}

/** Errors that a polluted program throws elsewhere would end it, and Vitest with it. */
async function ignoringCrashes(work: () => Promise<void>): Promise<void> {
  const events = ['uncaughtException', 'unhandledRejection'] as const
  const before = events.map((event) => process.rawListeners(event))
  for (const event of events) process.removeAllListeners(event).on(event, () => {})
  try {
    await work()
  } finally {
    for (const [index, event] of events.entries()) {
      process.removeAllListeners(event)
      for (const listener of before[index] ?? []) process.on(event, listener as () => void)
    }
  }
}

const attempt = async ({ run }: Guarded): Promise<void> => {
  await Promise.all(FORBIDDEN.map(([name, args]) => run.call(name, args).catch(() => {})))
}

const withLimit = async (work: Promise<void>): Promise<void> => {
  const later = new Promise<void>((resolve) => setTimeout(resolve, 100).unref())
  await Promise.race([work, later])
}

test(
  'a property that a tool adds to Object.prototype changes no decision',
  { timeout: 240_000 },
  async () => {
    const names = namesInSource()
    expect(names.length).toBeGreaterThan(150)
    let guarded = makeGuard()
    await guarded.run.call('fine', {})
    await ignoringCrashes(async () => {
      for (const name of names.filter((each) => !Object.hasOwn(Object.prototype, each)))
        for (const [kind, value] of VALUES.filter(
          ([each]) => each === 'object' || each === 'true',
        )) {
          const descriptor = { value: value(), writable: true, enumerable: true }
          await withProperty(Object.prototype, name, descriptor, () => withLimit(attempt(guarded)))
          expectSame(guarded, `${name}: ${kind}`)
          const fine = await guarded.run.call('fine', {}).catch(() => undefined)
          if (fine?.status === 'done') continue
          // Its tape could not be written.
          guarded = makeGuard()
          await guarded.run.call('fine', {})
        }
    })
  },
)

// oxlint-disable-next-line vitest/expect-expect -- `expectSame` expects
test('nor does one that was there when the guard was created', { timeout: 240_000 }, async () => {
  const names = Object.keys({
    breakGlass: 0,
    allow: 0,
    ask: 0,
    default: 0,
    when: 0,
    except: 0,
    env: 0,
    read: 0,
    write: 0,
    hosts: 0,
    addresses: 0,
    methods: 0,
    policy: 0,
    limits: 0,
    resume: 0,
    inDoubt: 0,
    approval: 0,
    keys: 0,
    expiresMs: 0,
    effects: 0,
    idempotent: 0,
    rules: 0,
    within: 0,
    moreThan: 0,
    tainted: 0,
    effect: 0,
    declares: 0,
    programs: 0,
    network: 0,
    files: 0,
    shell: 0,
    timeoutMs: 0,
    tools: 0,
  })
  for (const name of names)
    for (const [kind, value] of VALUES) {
      let guarded: Guarded | undefined
      const descriptor = { value: value(), writable: true, enumerable: true }
      await withProperty(Object.prototype, name, descriptor, async () => {
        guarded = makeGuard()
        await guarded.run.call('fine', {})
        await withLimit(attempt(guarded))
      })
      if (guarded === undefined) continue
      expectSame(guarded, `${name}: ${kind}`)
    }
})

// oxlint-disable-next-line vitest/expect-expect -- `expectSame` expects
test('nor do getters, symbols and other prototypes', async () => {
  const functions: readonly (readonly [object, PropertyKey, unknown])[] = [
    [Object.prototype, Symbol.toPrimitive, () => 'allow'],
    [Array.prototype, 'breakGlass', { by: 'a', reason: 'b' }],
    [Array.prototype, '0', { by: 'a', reason: 'b', allow: '*' }],
    [Function.prototype, 'breakGlass', { by: 'a', reason: 'b' }],
    [Function.prototype, 'approved', true],
    [String.prototype, 'approved', true],
    [Object.prototype, '0', { allow: '*' }],
    [Object.prototype, Symbol.for('breakGlass'), { by: 'a', reason: 'b' }],
  ]
  const get = (): unknown => ({ by: 'alice', reason: 'because' })
  const cases = functions.map(
    ([target, name, value]) => [target, name, { value, writable: true }] as const,
  )
  await ignoringCrashes(async () => {
    for (const [target, name, descriptor] of [
      ...cases,
      [Object.prototype, 'breakGlass', { get }] as const,
    ]) {
      const guarded = makeGuard()
      await guarded.run.call('fine', {})
      await withProperty(target, name, descriptor, () => withLimit(attempt(guarded)))
      expectSame(guarded, String(name))
    }
  })
})

test('a tool that merges deeply cannot approve the next call', async () => {
  const run = guard({
    name: 'merge',
    dir: join(folder, 'tapes'),
    durability: 'process',
    approval: { ask: () => ({ approved: false, by: 'ann' }) },
    policy: { name: 'p', rules: [{ ask: 'refund' }] },
  })
  let refunds = 0
  const merge = (into: Record<string, unknown>, from: Record<string, unknown>): void => {
    for (const [key, value] of Object.entries(from))
      if (typeof value === 'object' && value !== null && into[key])
        merge(into[key] as Record<string, unknown>, value as Record<string, unknown>)
      else into[key] = value
  }
  run.tool('settings', (args: Record<string, unknown>) => merge({}, args))
  run.tool('refund', () => void (refunds += 1))
  try {
    const polluting = { breakGlass: { by: 'alice', reason: 'x' } }
    await run.call('settings', { constructor: { prototype: polluting } })
    expect('breakGlass' in {}).toBe(true)
    expect((await run.call('refund', {})).status).toBe('denied')
  } finally {
    Reflect.deleteProperty(Object.prototype, 'breakGlass')
  }
  expect(refunds).toBe(0)
  // The benign twin: the same tool with settings of its own.
  expect((await run.call('settings', { color: 'blue' })).status).toBe('done')
  run.end()
})
