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

describe('a change loses nothing with', () => {
  test.each([
    ['another source of the value', 'use(a.items)', 'use(a.items ?? a.data.items)'],
    ['optional access to one of two sources', 'use(a.x)', 'use(a?.x ?? b.x)'],
    ['a default that was there', 'use(a.x ?? [])', 'use((a.x ?? []).slice(1))'],
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
    '.env',
  ])('a change of %s', (path) => {
    const { refusals } = reviewEdit(change('a', 'b', { path }), context())
    expect(refusals).toMatchObject([{ code: 'PROTECTED_FILE', at: path }])
  })
})

test('a moved or changed throw is not a removed check', () => {
  expect(refusalCodes("if (a) throw new Error('x')", "if (b) throw new Error('y')")).toEqual([])
})
