import { createHash, generateKeyPairSync, randomUUID } from 'node:crypto'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readGuards } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { guard, type GuardOptions } from '@retake/engine'
import { expect, onTestFinished, test } from 'vitest'
import { readRecords, writeRecords } from '../support/forge-tape.js'

const child = fileURLToPath(new URL('../agents/guard-resume.mjs', import.meta.url))

/** A folder of tapes, and what the tools of all guards in it have really done. */
function shop() {
  const dir = mkdtempSync(join(tmpdir(), 'retake-resume-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const done: string[] = []
  const keys: string[] = []
  const failing = new Set<string>()
  const open = (options: Partial<GuardOptions> = {}) => {
    const run = guard({ name: 'shop', dir, resume: true, ...options })
    onTestFinished(() => run[Symbol.dispose]())
    run.tool('pay', ({ to }: { to: string }, { idempotencyKey, use }) => {
      keys.push(idempotencyKey)
      if (failing.has(to)) throw new Error(`no money for ${to}`)
      use({ inputTokens: 10, outputTokens: 1, costUsd: 0.1 })
      done.push(to)
      return { paid: to }
    })
    run.tool('hang', ({ to }: { to: string }, { idempotencyKey }) => {
      keys.push(idempotencyKey)
      done.push(to)
      return hanging ? new Promise<string>(() => {}) : `hung ${to}`
    })
    run.tool('all', async ({ of }: { of: string[] }) => {
      const results = []
      for (const to of of) results.push(await run.call('pay', { to }))
      if (results.some(({ status }) => status !== 'done')) throw new Error('not all were paid')
      return results.map(({ output }) => output)
    })
    return run
  }
  let hanging = false
  return {
    dir,
    done,
    keys,
    failing,
    open,
    /** Makes a call and lets go of the run while its tool is at work, as a kill would. */
    crashIn: async (tool: string, args: unknown): Promise<void> => {
      hanging = true
      const run = open()
      const before = done.length
      void run.call(tool, args)
      while (done.length === before) await new Promise((resolve) => setImmediate(resolve))
      run[Symbol.dispose]()
      hanging = false
    },
  }
}

const codeOf = (error: unknown): string | undefined =>
  (error as { code?: string } | undefined)?.code
const tapesIn = (dir: string): string[] =>
  readdirSync(dir)
    .filter((file) => file.endsWith('.tape'))
    .map((file) => join(dir, file))

test('a repeated run serves what succeeded and continues with what failed', async () => {
  const { open, done, failing } = shop()
  failing.add('Bo')
  const first = open()
  await first.call('pay', { to: 'Al' })
  expect((await first.call('pay', { to: 'Bo' })).status).toBe('failed')
  first[Symbol.dispose]()
  failing.clear()
  const second = open()
  const results = [await second.call('pay', { to: 'Al' }), await second.call('pay', { to: 'Bo' })]
  expect(results.map(({ status, served, output }) => ({ status, served, output }))).toEqual([
    { status: 'done', served: true, output: { paid: 'Al' } },
    { status: 'done', served: false, output: { paid: 'Bo' } },
  ])
  expect(done).toEqual(['Al', 'Bo'])
  expect(second.resumes).toHaveLength(1)
})

test('identical calls are kept apart, and a changed argument is a new call', async () => {
  const { open, done } = shop()
  const first = open()
  await first.call('pay', { to: 'Al' })
  await first.call('pay', { to: 'Al' })
  first[Symbol.dispose]()
  const second = open()
  const served = []
  for (const to of ['Al', 'Al', 'Al', 'Al ']) served.push((await second.call('pay', { to })).served)
  expect(served).toEqual([true, true, false, false])
  expect(done).toEqual(['Al', 'Al', 'Al', 'Al '])
})

test('a run that came to its end is not resumed, unless it is asked for by its id or path', async () => {
  const { open, done } = shop()
  const first = open()
  await first.call('pay', { to: 'Al' })
  const { id = '', path = '' } = first.end('all paid') ?? {}
  const anew = open()
  expect((await anew.call('pay', { to: 'Al' })).served).toBe(false)
  anew.end()
  for (const resume of [id, path]) {
    const again = open({ resume })
    expect((await again.call('pay', { to: 'Al' })).served).toBe(true)
    again.end()
  }
  expect(done).toEqual(['Al', 'Al'])
})

test('a run that was ended with an error is resumed', async () => {
  const { open, done } = shop()
  const first = open()
  await first.call('pay', { to: 'Al' })
  first.end(undefined, { error: new Error('the power went out') })
  expect((await open().call('pay', { to: 'Al' })).served).toBe(true)
  expect(done).toEqual(['Al'])
})

test('a resumed run that crashes before it came to a step does not lose that step', async () => {
  const { open, done, dir } = shop()
  const first = open()
  for (const to of ['Al', 'Bo', 'Cy']) await first.call('pay', { to })
  first[Symbol.dispose]()
  for (const to of ['Al', 'Di']) {
    const crashed = open()
    await crashed.call('pay', { to })
    crashed[Symbol.dispose]()
  }
  const last = open()
  expect(last.resumes).toHaveLength(3)
  for (const to of ['Al', 'Bo', 'Cy', 'Di'])
    expect((await last.call('pay', { to })).served).toBe(true)
  last.end()
  expect(done).toEqual(['Al', 'Bo', 'Cy', 'Di'])
  // The first run, asked for by its id, knows of those that went on from it.
  const [oldest = ''] = tapesIn(dir).toSorted(
    (a, b) => openTape(a).run.startedAt - openTape(b).run.startedAt,
  )
  const again = open({ resume: openTape(oldest).run.id })
  expect((await again.call('pay', { to: 'Di' })).served).toBe(true)
})

test('results of a tape that was changed are not served', async () => {
  const { open, dir } = shop()
  const first = open()
  await first.call('pay', { to: 'Al' })
  await first.call('pay', { to: 'Bo' })
  first[Symbol.dispose]()
  const [tape = ''] = tapesIn(dir)
  const bytes = readFileSync(tape)
  const at = bytes.indexOf('"paid":"Al"')
  bytes.write('"paid":"Ed"', at)
  writeFileSync(tape, bytes)
  expect(() => open()).toThrow(expect.objectContaining({ code: 'TAPE_CORRUPT' }) as Error)
  expect(existsSync(`${tape}.lock`)).toBe(false)
})

test('a result that was forged with the right checksums is not served', async () => {
  const { open, dir, failing } = shop()
  failing.add('Al')
  const first = open()
  await first.call('pay', { to: 'Al' })
  first[Symbol.dispose]()
  const [tape = ''] = tapesIn(dir)
  const records = readRecords(tape)
  const forged = records.map((record) => {
    const event = JSON.parse(record.text) as { type: string; guard?: object; error?: object }
    if (event.type !== 'result') return record
    const { error: _, ...rest } = event
    return { ...record, text: JSON.stringify({ ...rest, guard: { status: 'done' } }) }
  })
  writeRecords(tape, forged)
  expect(readGuards(openTape(tape)).calls[0]?.state).toBe('done')
  expect(() => open()).toThrow(expect.objectContaining({ code: 'RESUME_TAPE_CORRUPT' }) as Error)
})

test('a tape that went on after it was resumed, or is gone, is noticed', async () => {
  const { open, dir } = shop()
  const first = open()
  await first.call('pay', { to: 'Al' })
  first[Symbol.dispose]()
  const [oldest = ''] = tapesIn(dir)
  const kept = readFileSync(oldest)
  const second = open()
  await second.call('pay', { to: 'Al' })
  second[Symbol.dispose]()
  writeFileSync(oldest, kept.subarray(0, kept.lastIndexOf('{"seq":')))
  expect(() => open()).toThrow(expect.objectContaining({ code: 'RESUME_TAPE_CORRUPT' }) as Error)
  rmSync(oldest)
  expect(() => open()).toThrow(expect.objectContaining({ code: 'RESUME_TAPE_MISSING' }) as Error)
})

test('a torn end, as a kill leaves it, is no damage', async () => {
  const { open, done, dir } = shop()
  const first = open()
  await first.call('pay', { to: 'Al' })
  first[Symbol.dispose]()
  appendFileSync(tapesIn(dir)[0] ?? '', '{"seq":5,"at":12,"ty')
  expect((await open().call('pay', { to: 'Al' })).served).toBe(true)
  expect(done).toEqual(['Al'])
})

test('a run that is still recorded is not resumed', async () => {
  const { open } = shop()
  const first = open()
  await first.call('pay', { to: 'Al' })
  expect(() => open()).toThrow(expect.objectContaining({ code: 'TAPE_IN_USE' }) as Error)
  first[Symbol.dispose]()
  const second = open()
  // It holds the run it resumes before it has a tape of its own.
  expect(() => open()).toThrow(expect.objectContaining({ code: 'TAPE_IN_USE' }) as Error)
  second[Symbol.dispose]()
  expect(() => open()).not.toThrow()
})

test('of several processes that resume a killed run at once exactly one does', async () => {
  const { dir } = shop()
  const killed = spawn(process.execPath, [child, dir, 'kill'], { stdio: 'ignore' })
  await once(killed, 'exit')
  const outcomes = await Promise.all(
    [1, 2, 3, 4].map(async () => {
      const other = spawn(process.execPath, [child, dir, 'hold'], {
        stdio: ['pipe', 'pipe', 'inherit'],
      })
      let said = ''
      for await (const chunk of other.stdout) {
        said += String(chunk)
        if (said.includes('\n')) break
      }
      return { other, said: said.trim() }
    }),
  )
  for (const { other } of outcomes) other.stdin.end()
  expect(outcomes.map(({ said }) => said).toSorted()).toEqual([
    'TAPE_IN_USE',
    'TAPE_IN_USE',
    'TAPE_IN_USE',
    'served',
  ])
})

test('a process that exits without an end leaves a run that can be resumed', async () => {
  const { dir } = shop()
  for (const [mode, said] of [
    ['exit', 'live'],
    ['exit', 'served'],
    ['end', 'served'],
    ['end', 'live'],
  ]) {
    const output = execFileSync(process.execPath, [child, dir, String(mode)], { encoding: 'utf8' })
    expect(output.trim()).toBe(said)
  }
})

test('a call in doubt is not made again, and says so', async () => {
  const { open, done, crashIn } = shop()
  await crashIn('hang', { to: 'Al' })
  const run = open()
  expect(run.inDoubt()).toMatchObject([{ tool: 'hang', args: { to: 'Al' }, occurrence: 1 }])
  const { status, error, output } = await run.call('hang', { to: 'Al' })
  expect({ status, code: codeOf(error), output }).toEqual({
    status: 'in doubt',
    code: 'CALL_IN_DOUBT',
    output: undefined,
  })
  await expect(run.call('hang', { to: 'Al' }, { throws: true })).resolves.toMatchObject({
    status: 'done',
  })
  expect(done).toEqual(['Al', 'Al'])
  expect(run.end()?.inDoubt).toHaveLength(1)
})

test('a call in doubt stays so in every later run, until somebody decides', async () => {
  const { open, done, crashIn } = shop()
  await crashIn('hang', { to: 'Al' })
  for (const policy of [undefined, { name: 'none', rules: [{ deny: 'hang' }] }]) {
    const run = open(policy && { policy })
    await run.call('hang', { to: 'Al' })
    run[Symbol.dispose]()
  }
  const asked: unknown[] = []
  const run = open({
    inDoubt: (call) => {
      asked.push([call.tool, call.args])
      return 'retry'
    },
  })
  expect((await run.call('hang', { to: 'Al' })).status).toBe('done')
  expect(asked).toEqual([['hang', { to: 'Al' }]])
  expect(done).toEqual(['Al', 'Al'])
  expect(run.end()?.inDoubt).toEqual([])
})

test('a call in doubt can be passed over', async () => {
  const { open, done, crashIn } = shop()
  await crashIn('hang', { to: 'Al' })
  const run = open({ inDoubt: 'skip' })
  const { status, error, output } = await run.call('hang', { to: 'Al' }, { throws: true })
  expect({ status, error, output }).toEqual({
    status: 'in doubt',
    error: undefined,
    output: undefined,
  })
  expect(done).toEqual(['Al'])
})

test('a call that is made again has the key that it had before the crash', async () => {
  const { keys, open, crashIn } = shop()
  await crashIn('hang', { to: 'Al' })
  const run = open({ inDoubt: 'retry' })
  await run.call('hang', { to: 'Al' })
  await run.call('hang', { to: 'Al' })
  const [before, again, other] = keys
  expect(again).toBe(before)
  expect(other).not.toBe(before)
})

test('a tool that is idempotent or has a key is made again by itself', async () => {
  const { dir } = shop()
  for (const options of [
    { idempotent: true },
    // A key that is never the same twice: the one on the tape counts.
    { idempotencyKey: ({ to }: { to: string }) => `to ${to} ${randomUUID()}` },
  ]) {
    const keys: string[] = []
    const open = () => {
      const run = guard({ name: `keyed ${Object.keys(options).join()}`, dir, resume: true })
      onTestFinished(() => run[Symbol.dispose]())
      run.tool(
        'send',
        (_: { to: string }, { idempotencyKey }) => {
          keys.push(idempotencyKey)
          return keys.length === 1 ? new Promise<string>(() => {}) : 'sent'
        },
        options,
      )
      return run
    }
    const first = open()
    void first.call('send', { to: 'Al' })
    while (keys.length === 0) await new Promise((resolve) => setImmediate(resolve))
    first[Symbol.dispose]()
    const second = open()
    expect((await second.call('send', { to: 'Al' })).output).toBe('sent')
    expect(keys[1]).toBe(keys[0])
    expect(second.end()?.inDoubt).toEqual([])
  }
})

test('a call in doubt that is never made again is reported at the end, and on the tape', async () => {
  const { open, crashIn } = shop()
  await crashIn('hang', { to: 'Al' })
  const run = open()
  await run.call('pay', { to: 'Bo' })
  const ended = run.end()
  expect(ended?.inDoubt).toMatchObject([{ tool: 'hang', args: { to: 'Al' } }])
  const tape = openTape(ended?.path ?? '')
  const notes = [...tape.events()].filter(
    (event) => event.type === 'note' && event.name === 'guard-left-open',
  )
  expect(notes).toHaveLength(1)
})

test('a call that waits for approval when its run is killed is not in doubt', async () => {
  const { open } = shop()
  const policy = { name: 'careful', rules: [{ ask: 'pay' }] }
  const asked: unknown[] = []
  const first = open({
    policy,
    approval: {
      ask: (request) => {
        asked.push(request)
        return new Promise(() => {})
      },
    },
  })
  void first.call('pay', { to: 'Al' })
  while (asked.length === 0) await new Promise((resolve) => setImmediate(resolve))
  first[Symbol.dispose]()
  const second = open({ policy, approval: { ask: () => ({ approved: true, by: 'me' }) } })
  expect(second.inDoubt()).toEqual([])
  expect((await second.call('pay', { to: 'Al' })).status).toBe('done')
})

test('a call that was approved and then killed is in doubt', async () => {
  const { open, done } = shop()
  const options: Partial<GuardOptions> = {
    policy: { name: 'careful', rules: [{ ask: 'stuck' }] },
    approval: { ask: () => ({ approved: true, by: 'me' }) },
  }
  const first = open(options)
  first.tool('stuck', () => {
    done.push('stuck')
    return new Promise<string>(() => {})
  })
  void first.call('stuck', {})
  while (done.length === 0) await new Promise((resolve) => setImmediate(resolve))
  first[Symbol.dispose]()
  expect(open(options).inDoubt()).toMatchObject([{ tool: 'stuck' }])
})

test("what is served is judged by today's policy", async () => {
  const { open, done } = shop()
  const first = open()
  await first.call('pay', { to: 'Al' })
  first[Symbol.dispose]()
  const second = open({ policy: { name: 'frozen', rules: [{ deny: 'pay' }] } })
  const { status, error } = await second.call('pay', { to: 'Al' })
  expect(status).toBe('denied')
  expect((error as Error).message).toContain('POLICY_CHANGED')
  second[Symbol.dispose]()
  // Being denied once does not undo what was done.
  expect((await open().call('pay', { to: 'Al' })).served).toBe(true)
  expect(done).toEqual(['Al'])
})

test('an approval holds for the same policy and is asked for again under another', async () => {
  const { open, done } = shop()
  const asked: string[] = []
  const ask = (policy: string) => () => {
    asked.push(policy)
    return { approved: true, by: 'me' }
  }
  const runs = [['one'], ['one'], ['two']]
  for (const [name = ''] of runs) {
    const run = open({
      policy: { name, rules: [{ ask: 'pay' }] },
      approval: { ask: ask(name) },
    })
    expect((await run.call('pay', { to: 'Al' })).status).toBe('done')
    run[Symbol.dispose]()
  }
  expect(asked).toEqual(['one', 'two'])
  const refused = open({
    policy: { name: 'three', rules: [{ ask: 'pay' }] },
    approval: { ask: () => ({ approved: false, by: 'me' }) },
  })
  expect((await refused.call('pay', { to: 'Al' })).status).toBe('denied')
  expect(done).toEqual(['Al'])
})

test('calls that a tool made are served when the tool itself failed', async () => {
  const { open, done, failing } = shop()
  failing.add('Bo')
  const first = open()
  expect((await first.call('all', { of: ['Al', 'Bo'] })).status).toBe('failed')
  // The same call on its own is another one than that inside.
  await first.call('pay', { to: 'Al' })
  first[Symbol.dispose]()
  failing.clear()
  const second = open()
  const { output } = await second.call('all', { of: ['Al', 'Bo'] })
  expect(output).toEqual([{ paid: 'Al' }, { paid: 'Bo' }])
  expect((await second.call('pay', { to: 'Al' })).served).toBe(true)
  expect(done).toEqual(['Al', 'Al', 'Bo'])
})

test('a call is the same whether the one before it, which made the same call inside, was served or not', async () => {
  const { open, done, failing } = shop()
  failing.add('Bo')
  const first = open()
  await first.call('all', { of: ['Al'] })
  await first.call('pay', { to: 'Al' })
  await first.call('pay', { to: 'Bo' })
  first[Symbol.dispose]()
  const second = open()
  const results = [
    await second.call('all', { of: ['Al'] }),
    await second.call('pay', { to: 'Al' }),
    await second.call('pay', { to: 'Al' }),
  ]
  expect(results.map(({ served }) => served)).toEqual([true, true, false])
  expect(done).toEqual(['Al', 'Al', 'Al'])
})

test('calls of another guard that a tool made are served, too', async () => {
  const { open, done, dir } = shop()
  let fails = true
  const openBoth = () => {
    const inner = guard({ name: 'inner', dir })
    inner.tool('note', ({ text }: { text: string }) => void done.push(text))
    const run = open()
    run.tool('outer', async () => {
      const { status } = await inner.call('note', { text: 'noted' })
      if (fails) throw new Error('not yet')
      return status
    })
    return run
  }
  const first = openBoth()
  expect((await first.call('outer', {})).status).toBe('failed')
  first[Symbol.dispose]()
  fails = false
  const second = openBoth()
  expect((await second.call('outer', {})).output).toBe('done')
  expect(done).toEqual(['noted'])
  // The calls of both are on one tape.
  const { path = '' } = second.end() ?? {}
  expect(readGuards(openTape(path)).guards.map((each) => each.guard)).toEqual(['shop', 'inner'])
})

test('policy and limits hold for calls that a tool makes', async () => {
  const { open, done } = shop()
  const denying = open({ policy: { name: 'no-pay', rules: [{ deny: 'pay' }] } })
  expect((await denying.call('all', { of: ['Al'] })).status).toBe('failed')
  denying.end()
  const limited = open({ limits: { calls: 2 } })
  const result = await limited.call('all', { of: ['Al', 'Bo'] })
  expect(result.status).toBe('failed')
  expect(done).toEqual(['Al'])
  const { path = '' } = limited.end() ?? {}
  expect(readGuards(openTape(path)).calls.map(({ tool, state }) => [tool, state])).toEqual([
    ['all', 'failed'],
    ['pay', 'done'],
    ['pay', 'stopped'],
  ])
})

test('savings are what was recorded, by step and in total', async () => {
  const { open, done } = shop()
  const first = open()
  await first.call('pay', { to: 'Al' })
  await first.call('pay', { to: 'Bo' })
  first[Symbol.dispose]()
  const second = open({ policy: { name: 'few', rules: [{ deny: 'hang' }] }, limits: { calls: 3 } })
  const took: number[] = []
  for (const to of ['Al', 'Bo', 'Cy', 'Di'])
    took.push((await second.call('pay', { to })).facts.tookMs ?? Number.NaN)
  await second.call('hang', { to: 'Al' })
  expect(done).toEqual(['Al', 'Bo', 'Cy'])
  const savings = second.savings()
  expect(savings.steps.map(({ call, tool, why, basis }) => [call, tool, why, basis])).toEqual([
    [1, 'pay', 'served', 'earlier run'],
    [2, 'pay', 'served', 'earlier run'],
    [4, 'pay', 'stopped', 'unknown'],
    [5, 'hang', 'denied', 'unknown'],
  ])
  expect(savings).toMatchObject({
    calls: 4,
    served: 2,
    stopped: 2,
    inputTokens: { known: 20, unknown: 2 },
    outputTokens: { known: 2, unknown: 2 },
    costUsd: { known: 0.2, unknown: 2 },
  })
  expect(savings.tookMs.known).toBeCloseTo((took[0] ?? 0) + (took[1] ?? 0), 6)
})

test('a run that was not kept on disk is not resumed', async () => {
  const { open } = shop()
  const first = open({ durability: 'memory' })
  await first.call('pay', { to: 'Al' })
  first[Symbol.dispose]()
  expect(() => open()).toThrow(expect.objectContaining({ code: 'RESUME_NOT_DURABLE' }) as Error)
})

test('the tape says under which policy and where it was made, and the seal is signed', async () => {
  const { open } = shop()
  const { privateKey } = generateKeyPairSync('ed25519')
  const policy = { name: 'few', rules: [{ deny: 'hang' }] }
  const run = open({ policy, signingKey: privateKey })
  await run.call('pay', { to: 'Al' })
  const tape = openTape(run.end()?.path ?? '')
  expect(tape.verify()).toMatchObject({ ok: true, signature: 'valid' })
  const [note, ...more] = readGuards(tape).guards
  expect(more).toEqual([])
  expect(note).toMatchObject({
    guard: 'shop',
    policy: { hash: readGuards(tape).calls[0]?.intent.policy, policies: [policy] },
    environment: {
      node: process.version,
      lockfile: {
        name: 'package-lock.json',
        sha256: createHash('sha256').update(readFileSync('package-lock.json')).digest('hex'),
      },
    },
  })
  expect(JSON.stringify(note)).not.toContain(String(process.env['PATH']))
})

test('a secret in a result that is served is the one of this process', async () => {
  const dir = shop().dir
  const name = 'RETAKE_TEST_API_KEY'
  const secret = ['sk', 'fake', 'a'.repeat(24)].join('-')
  process.env[name] = secret
  onTestFinished(() => void delete process.env[name])
  const open = () => {
    const run = guard({ name: 'secrets', dir, resume: true })
    onTestFinished(() => run[Symbol.dispose]())
    run.tool('reveal', () => ({ header: `Bearer ${secret}` }))
    return run
  }
  const first = open()
  await first.call('reveal', {})
  first[Symbol.dispose]()
  expect(readFileSync(tapesIn(dir)[0] ?? '', 'utf8')).not.toContain(secret)
  const { served, output } = await open().call('reveal', {})
  expect({ served, output }).toEqual({ served: true, output: { header: `Bearer ${secret}` } })
})

/** Ways in which a tool has its effect, and nobody gets its answer. */
const unheard: Readonly<Record<string, Parameters<ReturnType<typeof guard>['tool']>[2]>> = {
  'it took too long': { timeoutMs: 20 },
  'its result was too large': {},
  'its result was not what was promised': { output: { kind: 'nothing' } },
}

test.each(Object.entries(unheard))(
  'a call that was given up because %s is in doubt when it is resumed',
  async (why, options) => {
    const dir = mkdtempSync(join(tmpdir(), 'retake-resume-'))
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
    const done: string[] = []
    const open = (more: Partial<GuardOptions> = {}) => {
      const limits = why.includes('large') ? { limits: { outputBytes: 100 } } : {}
      const run = guard({ name: 'shop', dir, resume: true, ...limits, ...more })
      onTestFinished(() => run[Symbol.dispose]())
      run.tool(
        'pay',
        () => {
          done.push('paid')
          return why.includes('long') ? new Promise(() => {}) : 'x'.repeat(200)
        },
        options,
      )
      return run
    }
    const first = open()
    expect((await first.call('pay', {})).output).toBeUndefined()
    first[Symbol.dispose]()

    const second = open()
    expect(second.inDoubt()).toMatchObject([{ tool: 'pay' }])
    expect(await second.call('pay', {})).toMatchObject({
      status: 'in doubt',
      error: { code: 'CALL_IN_DOUBT' },
    })
    expect(done).toEqual(['paid'])
    second[Symbol.dispose]()

    // Who has looked may say so.
    await open({ inDoubt: 'retry' }).call('pay', {})
    expect(done).toEqual(['paid', 'paid'])
  },
)
