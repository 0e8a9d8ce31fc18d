/**
 * Calls that are wrong in every way, each made three times: on the guard's own tape, inside
 * a recording, and in its replay. Prints what became of them as JSON.
 * Usage: `bad-input.mjs <folder>`.
 */
import { EventEmitter } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { inspect } from 'node:util'
import { record, replay } from '@retake/engine'
import { guard, presets } from '@retake/guard'
import { openTape } from '@retake/tape/node'

const [, , folder] = process.argv

const circular = () => {
  const value = { name: 'a' }
  value.self = value
  return value
}

const deep = (depth) => {
  let value = 'end'
  for (let at = 0; at < depth; at += 1) value = { value }
  return value
}

/** Lint knows that a `then` is seldom meant; here it is. */
const THEN = ['t', 'hen'].join('')
/** Throws anything, error or not. */
const raise = (anything) => {
  throw anything
}
const echo = (args) => args
const data = () => ({
  big: 12n,
  when: new Date(86_400_000),
  never: new Date(NaN),
  map: new Map([[{ a: 1 }, new Set([undefined, null])]]),
  nothing: undefined,
  not: NaN,
  minus: -0,
  bytes: Buffer.from([0, 255]),
  view: new Uint16Array([1, 2]),
  pattern: /a/gi,
  sparse: Object.assign([1], { 2: 3 }),
})

class Money {
  amount = 3
  get double() {
    return this.amount * 2
  }
}

export const cases = {
  'an unknown tool': { call: 'nobody', args: {} },
  'no name': { call: '', args: {} },
  'a name that is no text': { call: 12, args: {} },
  'arguments of the wrong type': {
    toolOptions: {
      input: {
        '~standard': {
          version: 1,
          vendor: 'test',
          validate: (value) =>
            typeof value?.a === 'number'
              ? { value }
              : { issues: [{ message: 'must be a number', path: ['a'] }] },
        },
      },
    },
    args: { a: 'six' },
    tool: echo,
  },
  'a schema that throws': {
    toolOptions: {
      input: {
        '~standard': {
          version: 1,
          vendor: 'test',
          validate: () => {
            throw new TypeError('schema is broken')
          },
        },
      },
    },
    args: {},
    tool: echo,
  },
  'circular arguments': { args: circular(), tool: echo },
  'arguments too deep': { args: deep(600), tool: echo },
  'arguments that are deep': { args: deep(400), tool: () => 'fine' },
  'an endless list': { args: Object.assign([], { length: 4_294_967_295 }), tool: echo },
  'too many values': { args: Array.from({ length: 1_000_001 }, () => 0), tool: echo },
  'too much text': { args: 'x'.repeat((64 << 20) + 1), tool: (text) => text.length },
  'a function among arguments': { args: { a: [() => {}] }, tool: echo },
  'a function as arguments': { args: () => {}, tool: echo },
  'a symbol among arguments': { args: { a: Symbol('x') }, tool: echo },
  'a property named by a symbol': { args: { [Symbol('x')]: 1 }, tool: echo },
  'an object of a class': { args: new Money(), tool: echo },
  'a promise as arguments': { args: Promise.resolve(1), tool: echo },
  'a weak map': { args: { a: new WeakMap() }, tool: echo },
  'an emitter': { args: { a: new EventEmitter() }, tool: echo },
  'arguments that throw when read': {
    args: {
      get a() {
        throw new Error('no')
      },
    },
    tool: echo,
  },
  'no arguments': { args: undefined, tool: echo },
  'null as arguments': { args: null, tool: echo },
  'half a character': { args: { a: '\ud800' }, tool: echo },
  'data of every kind': { args: data(), tool: echo },
  'bytes as arguments and result': { args: Buffer.from([1, 2, 255]), tool: echo },
  'bytes that are no buffer': { args: { a: 1 }, tool: () => new Uint8Array([1, 2, 3]) },

  'a tool that throws undefined': {
    tool: () => {
      raise(undefined)
    },
  },
  'a tool that throws null': {
    tool: () => {
      raise(null)
    },
  },
  'a tool that throws a text': {
    tool: () => {
      raise('no luck')
    },
  },
  'a tool that throws an object with a getter that throws': {
    tool: () => {
      raise({
        get message() {
          throw new Error('inner')
        },
      })
    },
  },
  'a tool that throws a function': {
    tool: () => {
      raise(() => {})
    },
  },
  'a tool that throws an error with itself as cause': {
    tool: () => {
      const error = new RangeError('round and round')
      error.cause = error
      throw error
    },
  },
  'a tool that rejects with nothing': { tool: () => Promise.reject() },

  'a promise that never settles': {
    limits: { timeoutMs: 30 },
    tool: (_args, { signal }) =>
      new Promise(() => {
        signal.addEventListener('abort', () => (aborted += 1))
      }),
  },
  'a thenable that never settles': {
    limits: { timeoutMs: 30 },
    tool: () => ({ [THEN]: () => {} }),
  },
  'a thenable that throws': {
    tool: () => ({
      [THEN]: () => {
        throw new Error('from then')
      },
    }),
  },
  'a thenable that settles twice': {
    tool: () => ({
      [THEN]: (resolve, reject) => {
        resolve('first')
        reject(new Error('second'))
        resolve('third')
      },
    }),
  },
  'an asynchronous iterator': {
    tool: async function* () {
      yield 1
    },
  },
  'an iterator': {
    tool: function* () {
      yield 1
    },
  },
  'a stream': { tool: () => Readable.from(['a']) },
  'a web stream': { tool: () => new ReadableStream() },
  'a response': { tool: () => new Response('text') },
  'a function as a result': { tool: () => echo },
  'a symbol as a result': { tool: () => Symbol('x') },
  'a weak map as a result': { tool: () => new WeakMap() },
  'a result that cannot be read': {
    tool: () =>
      new Proxy(
        {},
        {
          ownKeys: () => {
            throw new Error('closed')
          },
        },
      ),
  },
  'a result with a getter that throws': {
    tool: () => ({
      a: 1,
      get b() {
        throw new Error('closed')
      },
    }),
  },
  'a circular result': { tool: circular },
  'a result with a function': { tool: () => ({ a: 1, f: echo }) },
  'an object of a class as a result': { tool: () => new Money() },
  'a result larger than the limit': {
    limits: { outputBytes: 1000 },
    tool: () => 'x'.repeat(1001),
  },
  'an endless list as a result': { tool: () => Object.assign([], { length: 4_294_967_295 }) },

  'a tool that ends the process': { tool: () => process.exit(9) },
  'a tool that ends the process later': {
    tool: () => {
      setTimeout(() => process.exit(9), 1)
      return 'soon'
    },
  },
  'a tool that fails later, where nobody waits': {
    policy: { name: 'nothing', files: { read: [], write: [] } },
    tool: async () => {
      const { readFile } = await import('node:fs/promises')
      void readFile('/etc/hostname')
      return 'done'
    },
  },
  'a tool that changes its arguments': {
    args: { list: [1] },
    tool: (args) => {
      args.list.push(2)
      args.more = true
      return args.list.length
    },
  },
  'a tool that changes its result after returning it': {
    tool: () => {
      const result = { list: [1] }
      queueMicrotask(() => result.list.push(2))
      setTimeout(() => result.list.push(3), 0)
      return result
    },
  },
  'a tool that freezes what it is given': {
    args: { list: [1] },
    tool: (args) => Object.isFrozen(Object.freeze(args)),
  },
}

let aborted = 0
let started = 0
const loud = []
/** What was refused to code that nobody waits for is expected here, and must not end the process. */
const REFUSED = new Set(['PROCESS_EXIT', 'GUARD_CALL_OVER', 'READ_NOT_ALLOWED'])
process.on('uncaughtExceptionMonitor', (error) => {
  if (!REFUSED.has(error?.code)) loud.push(inspect(error))
})

const summary = ({ status, output, error, exitReason, facts }) => ({
  status,
  code: error?.code,
  error: error === undefined ? undefined : (error?.name ?? typeof error),
  message: error?.message,
  cause: error?.name === 'GuardError' ? inspect(error.cause).split('\n')[0] : undefined,
  output: inspect(output, { depth: 5, maxStringLength: 100 }),
  exitReason,
  blocked: facts.blocked?.length,
})

async function make(each, options = {}) {
  const { policy, limits, tool = echo, toolOptions, args, call = 'tool' } = each
  const run = guard({
    name: 'bad',
    ...(policy && { policy }),
    ...(limits && { limits }),
    ...options,
  })
  const counted = (...given) => {
    started += 1
    return tool(...given)
  }
  run.tool('tool', counted, toolOptions)
  const before = inspect(args, { depth: 3, maxArrayLength: 5, maxStringLength: 50 })
  const result = await run.call(call, args)
  const isKept = inspect(args, { depth: 3, maxArrayLength: 5, maxStringLength: 50 }) === before
  return { run, result, seen: { ...summary(result), isKept } }
}

const intact = (path) => {
  const tape = openTape(path)
  const calls = [...tape.events()].filter(({ type, kind }) => type === 'call' && kind === 'tool')
  return { ...tape.verify(), calls: calls.length }
}

const seen = {}
for (const [name, each] of Object.entries(cases)) {
  try {
    started = 0
    const { run, seen: own } = await make(each, { dir: join(folder, 'own') })
    const tape = intact(run.end().path)
    const ownStarts = started
    const agent = async () => (await make(each)).seen
    const recorded = await record({ name: 'bad', dir: join(folder, 'recorded') }, agent)
    const starts = started
    const replayed = await replay(recorded.run.path, agent)
    seen[name] = {
      own,
      starts: ownStarts,
      startsOnReplay: started - starts,
      tape,
      recordedTape: intact(recorded.run.path),
      recorded: recorded.output,
      replayed: replayed.output,
      divergences: replayed.divergences.length,
    }
  } catch (error) {
    seen[name] = { thrown: inspect(error) }
  }
}

/** Stories of more than one call; each gives what it saw. */
export const stories = {
  async 'a tool that calls itself without end'() {
    const run = guard({ name: 'deep', dir: join(folder, 'deep'), durability: 'process' })
    let deepest = 0
    run.tool('again', async ({ depth }) => {
      deepest = depth
      const inner = await run.call('again', { depth: depth + 1 })
      return inner.status === 'done' ? inner.output : inner.error.code
    })
    const { status, output } = await run.call('again', { depth: 1 })
    const { path } = run.end()
    return { status, output, deepest, ok: openTape(path).verify().ok }
  },
  async 'two thousand calls, each made when the one before is over'() {
    const run = guard({ name: 'long', dir: join(folder, 'long'), durability: 'process' })
    const { promise, resolve } = Promise.withResolvers?.() ?? withResolvers()
    let left = 2_000
    run.tool('next', () => {
      left -= 1
    })
    const next = async () => {
      await run.call('next', { left })
      if (left === 0) resolve()
      else void next()
    }
    void next()
    await promise
    return { left, ok: openTape(run.end().path).verify().ok }
  },
  async 'two tools that call each other, and themselves'() {
    const run = guard({ name: 'both', dir: join(folder, 'both'), durability: 'process' })
    const other = { ping: 'pong', pong: 'ping' }
    for (const name of ['ping', 'pong']) {
      run.tool(name, async ({ left }) => {
        if (left === 0) return [name]
        const { output } = await run.call(left % 3 === 0 ? name : other[name], { left: left - 1 })
        return [name, ...output]
      })
    }
    const { status, output } = await run.call('ping', { left: 40 })
    return { status, length: output.length, ok: openTape(run.end().path).verify().ok }
  },
  async 'a call inside a call, in a recording and its replay'() {
    let starts = 0
    const agent = async () => {
      const run = guard({ name: 'nested' })
      run.tool('inner', ({ n }) => {
        starts += 1
        return n + 1
      })
      run.tool('outer', async ({ n }) => {
        starts += 1
        return (await run.call('inner', { n })).output * 2
      })
      return [
        (await run.call('outer', { n: 1 })).output,
        (await run.call('outer', { n: 2 })).output,
      ]
    }
    const recorded = await record({ name: 'nested', dir: join(folder, 'nested') }, agent)
    const startsOfRecording = starts
    const replayed = await replay(recorded.run.path, agent)
    return {
      recorded: recorded.output,
      replayed: replayed.output,
      divergences: replayed.divergences.length,
      starts: [startsOfRecording, starts - startsOfRecording],
      ok: openTape(recorded.run.path).verify().ok,
    }
  },
  async 'a tool that is registered twice'() {
    const run = guard({ name: 'twice', dir: join(folder, 'twice') })
    run.tool('a', () => 'first')
    let code
    try {
      run.tool('a', () => 'second')
    } catch (error) {
      code = [error.name, error.code]
    }
    const { output } = await run.call('a', {})
    run.end()
    return { code, output }
  },
  async 'a tool that is no function'() {
    const run = guard({ name: 'no-function', dir: join(folder, 'none') })
    try {
      run.tool('a', { execute: () => 1 })
    } catch (error) {
      return [error.name, error.code]
    }
  },
  async 'a call after the end'() {
    const run = guard({ name: 'ended', dir: join(folder, 'ended') })
    let starts = 0
    run.tool('a', () => (starts += 1))
    await run.call('a', {})
    const { path } = run.end('over')
    const { status, error, step } = await run.call('a', {})
    const thrown = await run.call('a', {}, { throws: true }).catch((each) => each.code)
    const { count } = openTape(path).verify()
    run.end()
    return {
      status,
      code: error.code,
      event: step.event,
      thrown,
      starts,
      count,
      again: openTape(path).verify().count,
    }
  },
  async 'a call after the end of a guard that was never used'() {
    const run = guard({ name: 'unused', dir: join(folder, 'unused') })
    let starts = 0
    run.tool('a', () => (starts += 1))
    run.end()
    const { status, error } = await run.call('a', {})
    return { status, code: error.code, starts }
  },
  async 'errors that are thrown where asked'() {
    const run = guard({ name: 'throws', dir: join(folder, 'throws') })
    const fail = run.tool('fail', () => {
      raise(undefined)
    })
    const codeOf = (promise) =>
      promise.then(
        () => 'none',
        (error) => error?.code,
      )
    const codes = [
      await codeOf(fail({})),
      await codeOf(run.call('fail', {}, { throws: true })),
      await codeOf(run.call('nobody', {}, { throws: true })),
      await codeOf(run.call('fail', { f: () => {} }, { throws: true })),
    ]
    run.end()
    return codes
  },
  async 'an inner guard is bound by the outer one'() {
    const outer = guard({
      name: 'outer',
      policy: presets.sandbox({ root: folder }),
      dir: join(folder, 'o'),
    })
    const inner = guard({ name: 'inner', dir: join(folder, 'i') })
    inner.tool('read', ({ path }) => readFileSync(path, 'utf8').length > 0)
    outer.tool('ask', async ({ parts }) => {
      const { status, error, output } = await inner.call('read', { path: parts.join('/') })
      return { status, code: error?.code, output }
    })
    writeFileSync(join(folder, 'mine'), 'x')
    const bad = await outer.call('ask', { parts: ['', 'etc', 'hostname'] })
    const good = await outer.call('ask', { parts: [...folder.split('/'), 'mine'] })
    outer.end()
    inner.end()
    return { bad: bad.output, good: good.output, blocked: bad.facts.blocked?.length }
  },
  async 'a thousand bad calls at once'() {
    const run = guard({ name: 'many', dir: join(folder, 'many'), durability: 'process' })
    run.tool('a', ({ n }) => {
      if (n % 3 === 0) throw n
      return n % 3 === 1 ? n : process.exit(n)
    })
    const results = await Promise.all(
      Array.from({ length: 1000 }, (_, n) =>
        run.call('a', n % 7 === 0 ? { n, f: () => {} } : { n }),
      ),
    )
    const counts = {}
    for (const { status, error } of results) {
      const key = [status, error?.code].join(' ').trim()
      counts[key] = (counts[key] ?? 0) + 1
    }
    return { counts, ok: openTape(run.end().path).verify().ok }
  },
}

function withResolvers() {
  let resolve
  const promise = new Promise((settle) => (resolve = settle))
  return { promise, resolve }
}

const told = {}
for (const [name, story] of Object.entries(stories)) {
  try {
    told[name] = await story()
  } catch (error) {
    told[name] = { thrown: inspect(error) }
  }
}
// What was left behind has had its turn.
await new Promise((resolve) => setTimeout(resolve, 50))
console.log(JSON.stringify({ seen, told, aborted, loud }))
