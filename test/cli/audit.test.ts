import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { guard, presets, record, type GuardRun } from 'retake'
import { expect, test } from 'vitest'
import { folderWith } from './workspace.js'

const policy = {
  name: 'shop',
  rules: [
    { id: 'no-delete', deny: 'delete_*', because: 'nothing is deleted here' },
    { id: 'large', ask: 'refund', when: { amount: { over: 100 } } },
  ],
}

function shop(dir: string): GuardRun {
  const run = guard({
    name: 'shop',
    dir,
    policy,
    approval: { ask: () => ({ approved: true, by: 'ann', reason: 'known customer' }) },
  })
  run.tool('refund', ({ amount }: { amount: number }) => `refunded ${amount}`)
  run.tool('delete_order', () => 'deleted')
  run.tool('fail', () => {
    throw new Error('<script>alert(1)</script> \u001B[2J is down')
  })
  return run
}

/** A tape with a call of every kind. */
async function auditedTape(dir: string): Promise<string> {
  const run = shop(dir)
  await run.call('refund', { amount: 20 })
  await run.call('refund', { amount: 900 })
  await run.call('delete_order', { id: '<img src=x onerror=alert(1)>' })
  await run.call('fail', {})
  return run.end()?.path ?? ''
}

test('an audit verifies the tape, then lists each call with its rule and approver', async () => {
  const { folder, retake } = await folderWith({})
  await auditedTape(join(folder, '.retake', 'runs'))
  const { stdout, code } = await retake(['guard', 'audit', 'last'])
  expect(code).toBe(0)
  const lines = stdout.split('\n')
  expect(lines[1]).toMatch(/^verified +\d+ events, digest [\da-f]{16}…, sealed, not signed$/)
  expect(stdout).toMatch(/^policy +shop {2}[\da-f]{16}$/m)
  expect(stdout).toMatch(/^1 .* done +default +refund\(\{"amount":20\}\)$/m)
  expect(stdout).toMatch(
    /^2 .* done +shop\/large +refund\(\{"amount":900\}\)\n +approval by ann \(callback\): known customer$/m,
  )
  expect(stdout).toMatch(/^3 .* denied +shop\/no-delete +delete_order/m)
  expect(stdout).toMatch(/POLICY_DENIED: [^\n]*nothing is deleted here/)
  expect(stdout).toMatch(/^4 .* failed +default +fail/m)
  expect(stdout).not.toContain('\u001B')
  expect(stdout).toContain('4 calls, 2 done, 1 denied, 1 failed')
})

test('an audit as JSON has everything, and names the code and the machine without its variables', async () => {
  const { folder, retake } = await folderWith({})
  await auditedTape(join(folder, '.retake', 'runs'))
  const { stdout } = await retake(['guard', 'audit', 'last', '--json'])
  const audit = JSON.parse(stdout) as {
    guards: { environment: object; policy: object }[]
    calls: object[]
  }
  expect(audit).toMatchObject({
    tape: { ok: true, seal: 'sealed', signature: 'none' },
    guards: [{ guard: 'shop', environment: { node: process.version } }],
    calls: [
      { tool: 'refund', state: 'done', rule: 'default', step: '1', occurrence: 1 },
      { tool: 'refund', state: 'done', rule: 'shop/large', facts: { approval: { by: 'ann' } } },
      { tool: 'delete_order', state: 'denied', rule: 'shop/no-delete', code: 'POLICY_DENIED' },
      { tool: 'fail', state: 'failed' },
    ],
  })
  // It was let through: the rule's code is that of a denial.
  expect(audit.calls[1]).not.toHaveProperty('code')
  expect(JSON.stringify(audit.guards[0]?.policy)).toContain('nothing is deleted here')
  expect(Object.keys(audit.guards[0]?.environment ?? {})).not.toContain('env')
})

test('an audit as a page shows content of tapes as text only', async () => {
  const { folder, retake } = await folderWith({})
  await auditedTape(join(folder, '.retake', 'runs'))
  const { stdout, stderr, code } = await retake(['guard', 'audit', 'last', '--html', 'audit.html'])
  expect([stdout, code]).toEqual(['', 0])
  expect(stderr).toBe('written to audit.html\n')
  const page = readFileSync(join(folder, 'audit.html'), 'utf8')
  expect(page).toContain("default-src 'none'; style-src 'sha256-")
  expect(page).not.toMatch(/<script|<img|onerror=alert\(1\)>/)
  expect(page).toContain('&#60;img src=x onerror=alert(1)&#62;')
  expect(page).toContain('approval by ann (callback): known customer')
})

test('an invented tool name cannot forge or reverse a line of an audit', async () => {
  const { folder, retake } = await folderWith({})
  const forged = '9  12:00:00  done  default  refund'
  const run = guard({ name: `agent\n${forged}`, dir: join(folder, '.retake', 'runs') })
  await run.call(`look\n${forged}`, { note: '\u202eyadot' })
  await run.call('look\u202e\u2066pu', {})
  run.end()
  for (const verb of ['guard audit', 'show']) {
    const { stdout, code } = await retake([...verb.split(' '), 'last'])
    expect([code, stdout]).toEqual([0, expect.stringContaining('look\\n9')])
    expect(stdout).not.toMatch(/^9 |[\u202e\u2066]/m)
  }
  await retake(['guard', 'audit', 'last', '--html', 'audit.html'])
  const page = readFileSync(join(folder, 'audit.html'), 'utf8')
  expect(page).toContain('look\\u{202e}\\u{2066}pu')
  expect(page).not.toMatch(/[\u202e\u2066]/)
})

test('an audit says what a resumed run was served and what that saved', async () => {
  const { folder, retake } = await folderWith({})
  const dir = join(folder, '.retake', 'runs')
  for (const fails of [true, false]) {
    const run = guard({ name: 'paid', dir, resume: true })
    run.tool('pay', (_: object, { use }) => {
      use({ inputTokens: 100, outputTokens: 20, costUsd: 0.25 })
      return 'paid'
    })
    run.tool('send', () => {
      if (fails) throw new Error('down')
    })
    await run.call('pay', {})
    await run.call('send', {})
    if (fails) run[Symbol.dispose]()
    else run.end()
  }
  const { stdout } = await retake(['guard', 'audit', 'last'])
  expect(stdout).toMatch(/^1 .* served +default +pay/m)
  expect(stdout).toContain('2 calls, 2 done, 1 of them served')
  expect(stdout).toMatch(/^saved 1 call \(1 served\) · 120 tokens · [\d.]+ ms · \$0\.25$/m)
  const { savings } = JSON.parse((await retake(['guard', 'audit', 'last', '--json'])).stdout) as {
    savings: object
  }
  expect(savings).toMatchObject({
    calls: 1,
    costUsd: { known: 0.25, unknown: 0 },
    steps: [{ tool: 'pay', why: 'served', basis: 'earlier run' }],
  })
})

test('a changed tape is not audited', async () => {
  const { folder, retake } = await folderWith({})
  const tape = await auditedTape(join(folder, '.retake', 'runs'))
  const bytes = readFileSync(tape, 'latin1')
  writeFileSync(tape, bytes.replace('"status":"denied"', '"status":"failed"'), 'latin1')
  const { stdout, stderr, code } = await retake(['guard', 'audit', 'last'])
  expect(code).not.toBe(0)
  expect(stdout + stderr).toMatch(/NOT VERIFIED|TAPE_CORRUPT/)
  expect(stdout).not.toContain('delete_order')
})

test('guarded calls inside a recording are audited by their agent, and a run without guards says so', async () => {
  const { folder, retake } = await folderWith({})
  const dir = join(folder, '.retake', 'runs')
  await record({ name: 'agent', dir }, async () => {
    const run = shop(dir)
    await run.call('refund', { amount: 5 })
  })
  expect((await retake(['guard', 'audit', 'last'])).stdout).toContain('1 call, 1 done')
  await record({ name: 'plain', dir }, () => Promise.resolve(1))
  expect((await retake(['guard', 'audit', 'last'])).stdout).toContain(
    'No guarded call is on this tape.',
  )
})

test('the audit and the steps show the results of approvals and the calls that a limit stopped', async () => {
  const { folder, retake } = await folderWith({})
  const dir = join(folder, '.retake', 'runs')
  const run = guard({
    name: 'asked',
    dir,
    policy,
    approval: { ask: () => ({ approved: false, by: 'ann', reason: 'not him' }) },
    limits: { calls: 1 },
  })
  run.tool('refund', () => 1)
  await run.call('refund', { amount: 900 })
  await run.call('refund', { amount: 1 })
  await run.call('refund', { amount: 2 })
  run.end()
  const { stdout } = await retake(['guard', 'audit', 'last'])
  expect(stdout).toMatch(/denied +shop\/large[^\n]*\n[^]*APPROVAL_REFUSED: /)
  expect(stdout).toContain('refused by ann (callback): not him')
  expect(stdout).not.toContain('POLICY_DENIED')
  expect((await retake(['show', 'last', '--step', '1'])).stdout).toContain('not him. Do something')
  expect((await retake(['show', 'last'])).stdout).toMatch(/stopped: refund\(\{"amount":2\}\)/)
})

test('a call that a scope denied names the scope and what was touched, not the default', async () => {
  const { folder, retake } = await folderWith({})
  const run = guard({
    name: 'scoped',
    dir: join(folder, '.retake', 'runs'),
    policy: presets.sandbox({ root: join(folder, 'work') }),
  })
  const secret = join(folder, 'secret.txt')
  run.tool('peek', () => readFileSync(secret, 'utf8'))
  run.tool('read', ({ path }: { path: string }) => readFileSync(path, 'utf8'))
  run.tool('fetch', () => fetch('http://127.0.0.1:9/'))
  run.tool('save', () => writeFileSync(join(folder, 'work'), ''), { effects: ['read'] })
  for (const [tool, path] of [['peek'], ['read', secret], ['fetch'], ['save']] as const)
    await run.call(tool, { ...(path && { path }) })
  run.end()
  const { stdout } = await retake(['guard', 'audit', 'last'])
  expect(stdout).toMatch(
    /^1 .* denied +sandbox\/files +peek[^]*denied by scope sandbox\/files: The tool tried to read\s+\S+secret\.txt/m,
  )
  expect(stdout).toMatch(/^2 .* denied +sandbox\/files +read\(/m)
  expect(stdout).toMatch(
    /^3 .* denied +sandbox\/network +fetch[^]*denied by scope sandbox\/network: /m,
  )
  expect(stdout).toMatch(
    /^4 .* denied +tool\/effects +save[^]*denied by scope tool\/effects: The tool tried to write/m,
  )
  expect(stdout).not.toMatch(/denied +default/)
  const { calls } = JSON.parse((await retake(['guard', 'audit', 'last', '--json'])).stdout) as {
    calls: object[]
  }
  expect(calls).toMatchObject([
    { verdict: 'deny', rule: 'sandbox/files', code: 'PATH_OUTSIDE_ROOT' },
    { verdict: 'deny', rule: 'sandbox/files', code: 'PATH_OUTSIDE_ROOT' },
    { verdict: 'deny', rule: 'sandbox/network', scope: { name: 'sandbox/network' } },
    { verdict: 'deny', rule: 'tool/effects', code: 'EFFECT_NOT_DECLARED' },
  ])
})

test('a call that waited for approval when its run was stopped is listed as such', async () => {
  const { folder, retake } = await folderWith({})
  const dir = join(folder, '.retake', 'runs')
  await new Promise<void>((asked) => {
    const run = guard({
      name: 'left',
      dir,
      policy,
      resume: true,
      approval: {
        ask: () => {
          run[Symbol.dispose]()
          asked()
          return new Promise(() => {})
        },
      },
    })
    run.tool('refund', () => 1)
    void run.call('refund', { amount: 900 })
  })
  const { stdout } = await retake(['guard', 'audit', 'last'])
  expect(stdout).toMatch(
    /stopped +shop\/large[^\n]*\n +the run was stopped while it waited for approval\n/,
  )
  expect(stdout).not.toContain('POLICY_DENIED')
  expect((await retake(['chaos', 'last'])).stderr).toContain('NOT_A_PROCESS_RUN')
  const { stderr } = await retake(['resume', 'last'])
  expect(stderr).toMatch(
    /recorded inside a program, by `record\(\)` or a guard\.[^]*`resume: true`/,
  )
})
