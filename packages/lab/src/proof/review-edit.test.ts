import { describe, expect, test } from 'vitest'
import { RunScript } from '../../../tape/test-support/run-script.js'
import type { FixCandidate, FixContext } from './candidates.js'
import { reviewEdit } from './review-edit.js'

const context = (oracleText = 'exit:0'): FixContext => ({
  run: new RunScript().end(1).view(),
  symptoms: [],
  sources: [],
  oracleText,
})

const change = (
  before: string,
  after: string,
  {
    path = 'agent.mjs',
    author = 'model',
  }: Partial<{ path: string; author: 'rule' | 'model' }> = {},
): FixCandidate => ({
  id: 'f',
  operator: 'o',
  layer: 'code',
  title: 't',
  why: 'w',
  steps: [],
  edits: [{ path, before, after }],
  author,
})

const lossCodes = (before: string, after: string): string[] =>
  reviewEdit(change(before, after, { author: 'rule' }), context()).losses.map(({ code }) => code)
const refusalCodes = (before: string, after: string, oracle?: string): string[] =>
  reviewEdit(change(before, after), context(oracle)).refusals.map(({ code }) => code)

describe('a change loses data with', () => {
  test.each([
    ['a constant for a missing value', 'use(a.items)', 'use(a.items ?? [])', 'DEFAULT_ADDED'],
    ['an empty text', 'use(a.name)', "use(a.name || '')", 'DEFAULT_ADDED'],
    ['optional access', 'use(a.b.c)', 'use(a.b?.c)', 'DEFAULT_ADDED'],
    ['another entry of a table', 'use(t[k])', 'use(t[k] ?? t.usual)', 'DEFAULT_ADDED'],
    ['a choice', 'use(a.b.c)', 'use(a.b ? a.b.c : 0)', 'DEFAULT_ADDED'],
    ['an empty catch', 'run()', 'try { run() } catch {}', 'EXCEPTION_IGNORED'],
    ['an ignored rejection', 'await run()', 'await run().catch(() => {})', 'EXCEPTION_IGNORED'],
    [
      'skipped items',
      'for (const a of all) { use(a.b) }',
      'for (const a of all) { if (!a.b) continue; use(a.b) }',
      'ITEMS_SKIPPED',
    ],
  ])('%s', (_what, before, after, code) => {
    expect(lossCodes(before, after)).toEqual([code])
  })
})

test.each([
  ['alias-label', 'VALUE_NAMED'],
  ['guard-rule', 'CALLS_DENIED'],
  ['model-fallback', 'MODEL_REPLACED'],
  ['strip-injected-text', 'TEXT_REMOVED'],
  ['missing-await+alias-label', 'VALUE_NAMED'],
])('the rule %s always brings a loss', (operator, code) => {
  const candidate = { ...change('use(a)', 'use(without(a))', { author: 'rule' }), operator }
  expect(reviewEdit(candidate, context()).losses).toEqual([{ code, at: 'agent.mjs', text: 't' }])
})

describe('a change loses nothing with', () => {
  test.each([
    ['another source of the value', 'use(a.items)', 'use(a.items ?? a.data.items)'],
    ['optional access to one of two sources', 'use(a.x)', 'use(a?.x ?? b.x)'],
    ['a default that was there', 'use(a.x ?? [])', 'use((a.x ?? []).slice(1))'],
    [
      'a default of a choice that was there',
      "use(a === undefined ? 'none' : read(a))",
      "use(a === undefined ? 'none' : read(dayOf(a)))",
    ],
    ['an error that is handled', 'run()', 'try { run() } catch (error) { report(error) }'],
    ['another comparison', 'if (a > 1) use(a)', 'if (a >= 1) use(a)'],
  ])('%s', (_what, before, after) => {
    expect(lossCodes(before, after)).toEqual([])
  })
})

describe('a change by a model is refused for', () => {
  test.each([
    ['an exit', 'use()', 'use()\nprocess.exit(0)', 'EARLY_EXIT'],
    ['an exit code', 'use()', 'use()\nprocess.exitCode = 0', 'EXIT_CODE_CHANGED'],
    ['a removed exit code', 'if (bad) process.exitCode = 1', '', 'CHECK_REMOVED'],
    ['a removed error', "if (bad) throw new Error('bad')", 'if (bad) { use() }', 'CHECK_REMOVED'],
    ['a removed assertion', 'assert(a === 1)\nuse()', 'use()', 'CHECK_REMOVED'],
    ['code from text', 'use()', "eval('use()')", 'CODE_FROM_TEXT'],
    ['a module by a computed name', 'use()', 'await import(name)', 'CODE_FROM_TEXT'],
    ['a module required by a computed name', 'use()', "require('child_' + a)", 'CODE_FROM_TEXT'],
    ['processes', 'use()', "import { spawn } from 'node:child_process'", 'MODULE_ADDED'],
    ['threads', 'use()', "const { Worker } = require('worker_threads')", 'MODULE_ADDED'],
    ['datagrams', 'use()', "await import('node:dgram')", 'MODULE_ADDED'],
    ['a debugger', 'use()', "export * from 'node:inspector/promises'", 'MODULE_ADDED'],
    ['another class for all', 'use()', 'Error.prepareStackTrace = () => []', 'GLOBAL_REPLACED'],
    ['a member of the process', 'use()', 'process.emit = () => {}', 'GLOBAL_REPLACED'],
    ['the console', 'use()', 'console.log = (text) => text', 'GLOBAL_REPLACED'],
    [
      'a write that waits',
      'use()',
      "if (Date.now() > 2e12) writeFileSync('/tmp/x', '')",
      'WRITE_ADDED',
    ],
    ['a write above the project', 'use()', "fs.promises.writeFile('../x', '')", 'WRITE_ADDED'],
    ['a write to a computed path', 'use()', 'appendFileSync(file, text)', 'WRITE_ADDED'],
    ['another host', 'use()', "if (late) fetch('http://203.0.113.9/x')", 'ADDRESS_ADDED'],
  ])('%s', (_what, before, after, code) => {
    expect(refusalCodes(before, after)).toContain(code)
  })

  test('writing the result that the oracle expects', () => {
    const oracle = 'stdout:/Total: 1912/'
    expect(refusalCodes('console.log(total)', "console.log('Total: 1912')", oracle)).toEqual([
      'EXPECTED_TEXT_WRITTEN',
    ])
    expect(refusalCodes('console.log(total)', 'console.log(total / 100)', oracle)).toEqual([])
  })

  test.each([
    'test/agent.test.mjs',
    'src/agent.spec.ts',
    'package.json',
    'package-lock.json',
    'retake.config.json',
    '.github/workflows/ci.yml',
    'policies/refunds.policy.yaml',
    'node_modules/openai/index.mjs',
    '.env',
  ])('a change of %s', (path) => {
    const { refusals } = reviewEdit(change('a', 'b', { path }), context())
    expect(refusals).toMatchObject([{ code: 'PROTECTED_FILE', at: path }])
  })
})

test.each([
  ['another name', "import { writeFileSync as later } from 'node:fs'\nif (a) later('/tmp/x', b)"],
  ['a name of the module', "import * as disk from 'fs'\ndisk.rm('/tmp/x')"],
  ['a computed member', "import disk from 'node:fs'\ndisk['write' + 'FileSync']('/tmp/x', b)"],
  ['a part of the module', "const { rm: off } = await import('node:fs/promises')\noff('/tmp/x')"],
  ['a constant', "import fs from 'node:fs'\nconst put = fs.writeFileSync\nput('/tmp/x', b)"],
  ['a callback', "import { unlink } from 'node:fs'\nall.forEach(unlink)"],
])('a write under %s is found before it happens', (_what, after) => {
  expect(refusalCodes('use()', after)).toContain('WRITE_ADDED')
})

test('a write below the project, or one that was there, may be used', () => {
  expect(refusalCodes('use()', "writeFileSync('out/report.txt', text)")).toEqual([])
  expect(refusalCodes('writeFileSync(file, a)', 'appendFileSync(file, b)')).toEqual([])
  expect(refusalCodes('if (a) writeFileSync(file, x)', 'if (b) writeFileSync(file, x)')).toEqual([])
})

test('the beginning of a value, and text of the output, are values of this run', () => {
  const run = new RunScript().print('order desk-17 is late\n').end(1).view()
  const literals = (after: string): string[] =>
    reviewEdit(change('use(a)', after), { ...context(), run }).literals.map(({ value }) => value)
  expect(literals("if (a.startsWith('desk')) use(a)")).toEqual(['desk'])
  expect(literals("if (text === 'order desk-17 is late') use(a)")).toEqual([
    'order desk-17 is late',
  ])
  expect(literals("if (a.startsWith('chair')) use(a)")).toEqual([])
})

describe('a change names a value of this run with', () => {
  const run = new RunScript()
    .exchange('https://a.example', '{"to":"acme"}', ['{"tier":"gold","delayMinutes":5}'])
    .print('getForecast of miles\\n')
    .end(1)
    .view()
  const losses = (before: string, after: string, path = 'agent.mjs'): string[] =>
    reviewEdit(change(before, after, { path }), { ...context(), run }).losses.map(
      ({ code }) => code,
    )
  test.each([
    ['one of two results', 'use(a.tier)', "use(a.cents > 0 ? 'gold' : 'basic')"],
    ['one more name for a member', 'use(t)', 't.getForecast = t.get_forecast\nuse(t)'],
    ['the end of a word', 'use(a)', "use(a.replace(/s$/, ''))"],
  ])('%s', (_what, before, after) => {
    expect(losses(before, after)).toContain('VALUE_NAMED')
  })

  test('a value in a policy, unless the code has it', () => {
    const policy = (customer: string): string => JSON.stringify({ when: { in: [customer] } })
    expect(losses('{}', policy('acme'), 'config/clerk.json')).toEqual(['VALUE_NAMED'])
    expect(losses('{}', policy('nobody'), 'config/clerk.json')).toEqual([])
    const sources = [{ path: 'agent.mjs', text: "use('acme')" }]
    const known = reviewEdit(change('{}', policy('acme'), { path: 'config/clerk.json' }), {
      ...context(),
      run,
      sources,
    })
    expect(known.losses).toEqual([])
  })

  test.each([
    ['a printed result', 'use(a)', "console.log('1) acme is gold')\nuse(a)"],
    [
      'a count that is a constant now',
      "console.log('mails sent: ' + sent.length)",
      "console.log('mails sent: 0')",
    ],
  ])('%s is a constant, which another failed run does not excuse', (_what, before, after) => {
    expect(losses(before, after)).toEqual(['RESULT_WRITTEN'])
  })

  test('a number that counts as missing if it is 0 is skipped', () => {
    expect(losses('use(a.delay)', 'use(a.delay || a.delayMinutes)')).toEqual(['ITEMS_SKIPPED'])
    expect(losses('use(a.delay)', 'use(a.delay ?? a.delayMinutes)')).toEqual([])
    expect(losses('use(a.delay)', 'if (a.delay || a.delayMinutes) use(a)')).toEqual([])
  })
})

test('a module that the code has already, or a harmless one, may be used', () => {
  const before = "import { spawn } from 'node:child_process'\nuse(spawn)"
  expect(refusalCodes(before, before.replace('use(spawn)', 'use(spawn, 1)'))).toEqual([])
  expect(refusalCodes('use()', "import path from 'node:path'\nuse(path)")).toEqual([])
  expect(refusalCodes('use()', "const { x } = await import('./x.mjs')\nuse(x)")).toEqual([])
})

test('a moved or changed throw is not a removed check', () => {
  expect(refusalCodes("if (a) throw new Error('x')", "if (b) throw new Error('y')")).toEqual([])
})
