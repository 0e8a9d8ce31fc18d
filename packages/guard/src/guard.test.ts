import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { replay } from '@retake/engine'
import { expect, onTestFinished, test, vi } from 'vitest'
import { guard } from './guard.js'

test('the tape of a guard that was ended without an output replays with the output of the function', async () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'retake-record-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const agent = async () => {
    const run = guard({ name: 'sum', dir })
    run.tool('add', ({ a, b }: { a: number; b: number }) => a + b)
    const { output } = await run.call('add', { a: 1, b: 2 })
    return { total: output, path: run.end()?.path ?? '' }
  }
  const { total, path: tape } = await agent()
  const replayed = await replay(tape, async () => ({ total: (await agent()).total }))
  expect(replayed.output).toEqual({ total })
})

test('with a list of tools, a rule about another one is an error before the first call', async () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'retake-record-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const rules = [
    { deny: 'pay', after: { tool: 'read_secret' } },
    { allow: 'search' },
    { ask: 'w*' },
  ]
  const open = (tools: readonly string[]) =>
    guard({ name: 'shop', dir, tools, policy: { name: 'rules', rules } })
  expect(() => open(['pay', 'read_secrets'])).toThrow(
    expect.objectContaining({
      code: 'RULE_TOOL_UNKNOWN',
      why: expect.stringContaining('"read_secrets"'),
    }),
  )
  const run = open(['pay', 'read_secret'])
  run.tool('pay', () => 'paid')
  expect(() => run.tool('search', () => [])).toThrow(
    expect.objectContaining({ code: 'GUARD_TOOL_NOT_LISTED' }),
  )
  const passed = { name: 'write', run: () => 'written', options: {} }
  expect(await run.call(passed, {})).toMatchObject({
    status: 'denied',
    error: { code: 'GUARD_TOOL_NOT_LISTED' },
  })
  expect(await run.call('pay', {})).toMatchObject({ status: 'done' })
  expect(run.end()?.unknownTools).toEqual([])
})

test('a rule that restricts a tool which the run never had is reported when the run ends', async () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'retake-record-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const warn = vi.spyOn(process, 'emitWarning').mockReturnValue()
  onTestFinished(() => warn.mockRestore())
  const rules = [{ deny: ['send_invoice', 'web_*', 'pay'] }, { ask: 'refund' }, { allow: 'search' }]
  const run = guard({ name: 'shop', dir, policy: { name: 'rules', rules } })
  run.tool('pay', () => 'paid')
  await run.call({ name: 'refund', run: () => 'refunded', options: {} }, {})
  expect(run.end()?.unknownTools).toEqual([
    { name: 'send_invoice', policy: 'rules', allows: false },
  ])
  run.end()
  expect(warn.mock.calls.map(([text]) => text)).toEqual([
    expect.stringContaining(
      '"rules" has a rule or a limit for "send_invoice", but there is no such tool.',
    ),
  ])
})
