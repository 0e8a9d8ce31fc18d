import { spawn, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { decideApproval, pendingApprovals } from '@retake/guard'
import { guard, type ApprovalOptions, type ApprovalRequest, type Limits } from 'retake'
import { expect, onTestFinished, test, vi } from 'vitest'
import { makeWorkspace } from '../support/run-retake.mjs'

const agent = fileURLToPath(new URL('../agents/guard-approval.mjs', import.meta.url))

/** A guard that asks about refunds over 100, in a folder of its own. */
async function askingGuard(approval?: ApprovalOptions, limits?: Limits) {
  const { folder, remove, retake } = await makeWorkspace()
  onTestFinished(remove)
  const run = guard({
    name: 'refunds',
    dir: join(folder, '.retake', 'runs'),
    policy: { name: 'shop', rules: [{ ask: 'refund', when: { amount: { over: 100 } } }] },
    ...(approval && { approval }),
    ...(limits && { limits }),
  })
  onTestFinished(() => void run.end())
  const started: unknown[] = []
  run.tool('refund', (args: { amount: number }) => {
    started.push(args)
    return `refunded ${args.amount}`
  })
  return { run, started, folder, retake }
}

/** The tape in a folder, once so many of its calls wait for approval. */
async function waitingTape(folder: string, calls = 1): Promise<string> {
  const runs = join(folder, '.retake', 'runs')
  return vi.waitFor(() => {
    const found = join(runs, readdirSync(runs).find((name) => name.endsWith('.tape')) ?? '')
    expect(pendingApprovals(found, Date.now())).toHaveLength(calls)
    return found
  }, 60_000)
}

test('a call that needs approval does not start if nobody can approve it', async () => {
  const { run, started } = await askingGuard()
  const { status, error } = await run.call('refund', { amount: 900 })
  expect({ status, code: (error as { code: string }).code, started }).toEqual({
    status: 'denied',
    code: 'APPROVAL_MISSING',
    started: [],
  })
  expect((await run.call('refund', { amount: 9 })).status).toBe('done')
})

test('a function decides on the exact call, and the tape names the approver', async () => {
  const asked: ApprovalRequest[] = []
  const { run, started } = await askingGuard({
    ask: (request) => {
      asked.push(request)
      return { approved: true, by: 'ann', reason: 'a good customer' }
    },
  })
  const { status, facts } = await run.call('refund', { amount: 900 })
  expect(status).toBe('done')
  expect(started).toEqual([{ amount: 900 }])
  expect(asked).toMatchObject([{ tool: 'refund', args: { amount: 900 }, rule: 'shop/1' }])
  expect(facts.approval).toMatchObject({
    by: 'ann',
    how: 'callback',
    reason: 'a good customer',
    digest: asked[0]?.digest,
  })
  await run.call('refund', { amount: 901 })
  await run.call('refund', { amount: 900 })
  expect(new Set(asked.map(({ digest }) => digest)).size).toBe(3)
})

test.each<[what: string, approval: ApprovalOptions, code: string]>([
  ['a refusal', { ask: () => ({ approved: false, by: 'bob' }) }, 'APPROVAL_REFUSED'],
  ['no answer in time', { ask: () => new Promise(() => {}), expiresMs: 20 }, 'APPROVAL_EXPIRED'],
  ['an approver that throws', { ask: () => Promise.reject(new Error('no')) }, 'APPROVAL_FAILED'],
  ['an answer that is none', { ask: (() => true) as never }, 'APPROVAL_FAILED'],
  [
    'a yes in other words',
    { ask: () => ({ approved: 'yes' as never, by: 'x' }) },
    'APPROVAL_FAILED',
  ],
  ['a yes of nobody', { ask: () => ({ approved: true, by: ' ' }) }, 'APPROVAL_FAILED'],
  [
    'a no for no reason in words',
    { ask: () => ({ approved: false, by: 'x', reason: 3 as never }) },
    'APPROVAL_FAILED',
  ],
  [
    'break-glass without a reason',
    { breakGlass: { by: 'x', reason: ' ' } },
    'BREAK_GLASS_WITHOUT_REASON',
  ],
])('%s keeps the call from starting', async (_, approval, code) => {
  const { run, started } = await askingGuard(approval)
  const { status, error } = await run.call('refund', { amount: 900 })
  expect({ status, code: (error as { code: string }).code, started }).toEqual({
    status: 'denied',
    code,
    started: [],
  })
})

test('a late decision has no effect', async () => {
  let decide: ((decision: { approved: boolean; by: string }) => void) | undefined
  const { run, started } = await askingGuard({
    ask: () => new Promise((resolve) => (decide = resolve)),
    expiresMs: 30,
  })
  const { error } = await run.call('refund', { amount: 900 })
  decide?.({ approved: true, by: 'late' })
  await new Promise((resolve) => setImmediate(resolve))
  expect((error as { code: string }).code).toBe('APPROVAL_EXPIRED')
  expect(started).toEqual([])
})

test('an approval expires if its call waits too long for others', async () => {
  const { run, started } = await askingGuard(
    { ask: () => ({ approved: true, by: 'ann' }), expiresMs: 1500 },
    { concurrency: 1 },
  )
  let finish: (() => void) | undefined
  run.tool('slow', () => new Promise<void>((resolve) => (finish = resolve)))
  const slow = run.call('slow', {})
  const asked = performance.now()
  const waiting = run.call('refund', { amount: 900 })
  await expect.poll(() => performance.now() - asked, { timeout: 10_000 }).toBeGreaterThan(1600)
  finish?.()
  expect((await slow).status).toBe('done')
  const { status, error, facts } = await waiting
  expect({ status, code: (error as { code: string }).code, started }).toEqual({
    status: 'denied',
    code: 'APPROVAL_LAPSED',
    started: [],
  })
  expect(facts.approval?.by).toBe('ann')
  // Its place is free again, and a yes that is still good lets the next one through.
  expect((await run.call('refund', { amount: 901 })).status).toBe('done')
})

test('an aborted call stops waiting for approval', async () => {
  const { run, started } = await askingGuard({ ask: () => new Promise(() => {}) })
  const waiting = new AbortController()
  const call = run.call('refund', { amount: 900 }, { signal: waiting.signal })
  waiting.abort()
  const { status, error, exitReason } = await call
  expect({ status, exitReason, code: (error as { code: string }).code, started }).toEqual({
    status: 'stopped',
    exitReason: 'aborted',
    code: 'APPROVAL_GIVEN_UP',
    started: [],
  })
})

test('break-glass allows the call and records who used it and why', async () => {
  const { run, started } = await askingGuard({
    breakGlass: { by: 'carol', reason: 'the queue is down' },
  })
  const { status, facts } = await run.call('refund', { amount: 900 })
  expect({ status, started }).toEqual({ status: 'done', started: [{ amount: 900 }] })
  expect(facts.approval).toMatchObject({
    by: 'carol',
    how: 'break-glass',
    reason: 'the queue is down',
  })
})

test('a call waits until it is approved on the command line, and an audit names the approver', async () => {
  const { run, started, retake } = await askingGuard({ ask: 'viewer' })
  const call = run.call('refund', { amount: 900 })
  const [waiting] = await vi.waitFor(async () => {
    const lines = (await retake(['guard', 'approvals', '--json'])).stdout.trim().split('\n')
    return lines.map((line) => JSON.parse(line) as { id: string; tool: string; args: unknown })
  }, 60_000)
  expect(waiting).toMatchObject({ tool: 'refund', args: { amount: 900 } })
  const { stdout: listed } = await retake(['guard', 'approvals'])
  expect(listed).toContain(`${waiting?.id.slice(0, 8)}  refund\n`)
  expect(listed).toContain('amount: 900')
  for (const nobody of ['nobody', ''])
    expect((await retake(['guard', 'approvals', 'approve', nobody])).stderr).toContain(
      'APPROVAL_NOT_PENDING',
    )
  expect(started).toEqual([])

  const id = waiting?.id.slice(0, 12) ?? ''
  expect((await retake(['guard', 'approvals', 'approve', id, '--reason', 'checked'])).code).toBe(0)
  expect((await call).facts.approval).toMatchObject({ how: 'viewer', reason: 'checked' })
  expect(started).toEqual([{ amount: 900 }])
  expect((await retake(['guard', 'approvals'])).stderr).toBe('no call waits for approval\n')
  run.end()
  expect((await retake(['guard', 'audit', 'last'])).stdout).toMatch(
    /approval by \S+ \(viewer\): checked/,
  )
})

test('a decision on any other call than the one shown has no effect', async () => {
  const { run, started, folder } = await askingGuard({ ask: 'viewer', expiresMs: 5000 })
  const call = run.call('refund', { amount: 900 })
  const runs = join(folder, '.retake', 'runs')
  const tape = await vi.waitFor(() => {
    const found = readdirSync(runs).find((name) => name.endsWith('.tape')) ?? ''
    expect(pendingApprovals(join(runs, found), Date.now())).toHaveLength(1)
    return join(runs, found)
  }, 4000)
  const [shown] = pendingApprovals(tape, Date.now())
  const yes = { approved: true, by: 'mallory' }
  expect(decideApproval(tape, 'f'.repeat(64), yes, Date.now())).toBe(false)

  // What waits is made to look harmless before somebody decides on it.
  const questions = tape.replace(/\.tape$/, '.approvals')
  const file = join(
    questions,
    readdirSync(questions).find((name) => name.includes('request')) ?? '',
  )
  writeFileSync(file, readFileSync(file, 'utf8').replace('900', '1'))
  expect(decideApproval(tape, shown?.of ?? '', yes, Date.now())).toBe(false)
  const [forged] = pendingApprovals(tape, Date.now())
  expect(forged?.request.args).toMatchObject({ amount: 1 })
  expect(decideApproval(tape, forged?.of ?? '', yes, Date.now())).toBe(true)

  const { status, error } = await call
  expect({ status, code: (error as { code: string }).code, started }).toEqual({
    status: 'denied',
    code: 'APPROVAL_EXPIRED',
    started: [],
  })
})

test('of two concurrent decisions the first one counts, and the other one is refused', async () => {
  const { run, started, folder } = await askingGuard({ ask: 'viewer', expiresMs: 600_000 })
  const call = run.call('refund', { amount: 900 })
  const tape = await waitingTape(folder)
  const [shown] = pendingApprovals(tape, Date.now())
  const decide = (approved: boolean, by: string) =>
    decideApproval(tape, shown?.of ?? '', { approved, by }, Date.now())
  expect([decide(false, 'ann'), decide(true, 'bob')]).toEqual([true, false])
  expect((await call).facts.approval).toMatchObject({ by: 'ann' })
  expect(started).toEqual([])
})

test('a call waits while its program is alive, and no longer', async () => {
  const { run, folder } = await askingGuard({ ask: 'viewer', expiresMs: 600_000 })
  const caller = new AbortController()
  const call = run.call('refund', { amount: 900 }, { signal: caller.signal })
  const tape = await waitingTape(folder)
  const [shown] = pendingApprovals(tape, Date.now())
  // As if nobody had said so for a minute.
  const later = Date.now() + 60_000
  expect(pendingApprovals(tape, later)).toEqual([])
  expect(decideApproval(tape, shown?.of ?? '', { approved: true, by: 'ann' }, later)).toBe(false)
  const questions = tape.replace(/\.tape$/, '.approvals')
  const file = join(questions, readdirSync(questions)[0] ?? '')
  utimesSync(file, 0, 0)
  expect(pendingApprovals(tape, Date.now())).toEqual([])
  await vi.waitFor(() => expect(pendingApprovals(tape, Date.now())).toHaveLength(1), 60_000)
  caller.abort()
  expect((await call).status).toBe('stopped')
})

test('the same call inside two concurrent calls waits twice and needs two decisions', async () => {
  const { run, started, folder } = await askingGuard({ ask: 'viewer', expiresMs: 120_000 })
  run.tool('outer', async () => (await run.call('refund', { amount: 900 })).status)
  const calls = [run.call('outer', { n: 1 }), run.call('outer', { n: 2 })]
  const runs = join(folder, '.retake', 'runs')
  const tape = await vi.waitFor(() => {
    const found = join(runs, readdirSync(runs).find((name) => name.endsWith('.tape')) ?? '')
    expect(pendingApprovals(found, Date.now())).toHaveLength(2)
    return found
  }, 60_000)
  const [first, second] = pendingApprovals(tape, Date.now())
  for (const [each, approved] of [
    [first, true],
    [second, false],
  ] as const)
    expect(decideApproval(tape, each?.of ?? '', { approved, by: 'ann' }, Date.now())).toBe(true)
  expect((await Promise.all(calls)).map(({ output }) => output)).toEqual(['done', 'denied'])
  expect(started).toEqual([{ amount: 900 }])
})

const hasScript = spawnSync('script', ['--version']).status === 0

test.skipIf(!hasScript).each([
  ['yes', 'done', {}],
  ['no', 'denied', { code: 'APPROVAL_REFUSED' }],
  ['', 'denied', { code: 'APPROVAL_REFUSED' }],
  ['wrong customer', 'denied', { code: 'APPROVAL_REFUSED', reason: 'wrong customer' }],
])('on a terminal, "%s" means %s', async (answer, status, told) => {
  const { folder, remove } = await makeWorkspace()
  onTestFinished(remove)
  const command = [process.execPath, agent, 'terminal'].join(' ')
  const child = spawn('script', ['-qec', command, '/dev/null'], { cwd: folder })
  let shown = ''
  child.stdout.on('data', (chunk: Buffer) => {
    const before = shown
    shown += chunk.toString()
    if (!before.includes('approve?') && shown.includes('approve?')) child.stdin.write(`${answer}\n`)
  })
  await new Promise((resolve) => child.once('close', resolve))
  expect(shown).toContain('refunds: tool "refund" waits for approval')
  expect(shown).toContain('to: "<b>Ann</b>"')
  // All that is decided on can be seen, also what JSON has no word for.
  expect(shown).toContain('"hidden in a map"')
  expect(shown).toContain('"item 60"')
  const result = JSON.parse(shown.slice(shown.lastIndexOf('{"status"'))) as Record<string, unknown>
  expect(result).toMatchObject({ status, how: 'terminal', ...told })
})

test.skipIf(!hasScript)('Ctrl-C at the prompt ends the program and decides nothing', async () => {
  const { folder, remove } = await makeWorkspace()
  onTestFinished(remove)
  const command = [process.execPath, agent, 'terminal'].join(' ')
  const child = spawn('script', ['-qec', command, '/dev/null'], { cwd: folder })
  let shown = ''
  child.stdout.on('data', (chunk: Buffer) => {
    const before = shown
    shown += chunk.toString()
    if (!before.includes('approve?') && shown.includes('approve?')) child.stdin.write('\u0003')
  })
  const code = await new Promise((resolve) => child.once('close', resolve))
  expect(shown).toContain('approve?')
  expect(shown).not.toContain('"status"')
  expect(code).toBe(130)
})

test('without a terminal, a guard that asks on the terminal starts nothing', () => {
  const { stdout } = spawnSync(process.execPath, [agent, 'terminal'], { encoding: 'utf8' })
  expect(JSON.parse(stdout)).toMatchObject({ status: 'denied', code: 'APPROVAL_NO_TERMINAL' })
})
