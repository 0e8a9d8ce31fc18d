import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { JudgedFix } from '../proof/prove-fixes.js'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { provenFix } from '../../../../test/support/fix-outcome.js'
import { AppliedFixes, mayAutoApply } from './apply-fix.js'

let folder: string
let fixes: AppliedFixes

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'retake-apply-'))
  writeFileSync(path.join(folder, 'agent.mjs'), 'a\n')
  fixes = new AppliedFixes(path.join(folder, '.retake', 'runs'))
})

afterEach(() => rmSync(folder, { recursive: true }))

const fixOf = (id: string, before = 'a\n', after = 'b\n') => ({
  id,
  title: 'A fix',
  operator: 'o',
  layer: 'code',
  run: 'r',
  folder,
  edits: [{ path: 'agent.mjs', before, after }],
})

const USER = { by: 'user', force: false } as const
const source = (): string => readFileSync(path.join(folder, 'agent.mjs'), 'utf8')
const codeOf = (work: () => unknown): unknown => {
  try {
    work()
    return undefined
  } catch (error) {
    return (error as { code?: string }).code
  }
}

/** Puts lines into the audit, each so many minutes ago. */
function audited(...lines: readonly [fix: string, minutes: number][]): void {
  mkdirSync(path.dirname(fixes.auditFile), { recursive: true })
  const text = lines.map(([fix, minutes]) =>
    JSON.stringify({
      at: new Date(Date.now() - minutes * 60_000),
      action: 'apply',
      fix,
      files: [],
    }),
  )
  writeFileSync(fixes.auditFile, `${text.join('\n')}\n`)
}

describe('the circuit breaker', () => {
  test('opens when the same fix was applied twice in a day', () => {
    audited(['f1', 23 * 60], ['f1', 1])
    expect(codeOf(() => fixes.apply(fixOf('f1'), USER))).toBe('FIX_CIRCUIT_OPEN')
    expect(source()).toBe('a\n')
    expect(fixes.audit().at(-1)).toMatchObject({ action: 'refused', by: 'policy' })
    fixes.apply(fixOf('f1'), { by: 'user', force: true })
    expect(source()).toBe('b\n')
  })

  test('opens after five fixes in an hour, and closes again', () => {
    audited(['f1', 59], ['f2', 50], ['f3', 40], ['f4', 30], ['f5', 1])
    expect(codeOf(() => fixes.apply(fixOf('f6'), USER))).toBe('FIX_CIRCUIT_OPEN')
    audited(['f1', 61], ['f2', 50], ['f3', 40], ['f4', 30], ['f5', 1])
    fixes.apply(fixOf('f6'), USER)
    expect(source()).toBe('b\n')
  })
})

describe('undo', () => {
  test('undoes the last fix, or the named one', () => {
    writeFileSync(path.join(folder, 'other.mjs'), 'x\n')
    fixes.apply(fixOf('f1'), USER)
    const other = { path: 'other.mjs', before: 'x\n', after: 'y\n' }
    fixes.apply({ ...fixOf('f2'), edits: [other] }, USER)
    expect(fixes.undo({ id: 'f1', force: false }).id).toBe('f1')
    expect(source()).toBe('a\n')
    expect(fixes.undo({ force: false }).id).toBe('f2')
    expect(codeOf(() => fixes.undo({ force: false }))).toBe('FIX_NOTHING_TO_UNDO')
  })

  test('of a fix below another one is refused, because its file has changed', () => {
    fixes.apply(fixOf('f1'), USER)
    fixes.apply(fixOf('f2', 'b\n', 'c\n'), USER)
    expect(codeOf(() => fixes.undo({ id: 'f1', force: false }))).toBe('FIX_FILE_CHANGED')
    expect(source()).toBe('c\n')
  })
})

describe('a fix applies itself', () => {
  const fix = provenFix('f1', ['a\n', 'b\n'])
  const corpus = (identical: number, same = 0, breaks = 0): JudgedFix => ({
    ...fix,
    evidence: { ...fix.evidence, corpus: { identical, same, breaks, notChecked: 0 } },
  })
  const candidate = (changes: Partial<JudgedFix['candidate']>): JudgedFix => ({
    ...fix,
    candidate: { ...fix.candidate, ...changes },
  })

  test.each<[what: string, fix: JudgedFix, may: boolean]>([
    ['of the transport with 59 identical runs', corpus(59), true],
    ['of the policy', candidate({ layer: 'policy' }), true],
    ['with 58 identical runs', corpus(58), false],
    ['that changes one of 60 runs', corpus(59, 1), false],
    ['that breaks one of 60 runs', corpus(59, 0, 1), false],
    ['of the code', candidate({ layer: 'code' }), false],
    ['of a model', candidate({ author: 'model' }), false],
    ['that was rejected', { ...fix, verdict: { status: 'rejected', reason: '' } }, false],
  ])('%s', (_what, each, may) => {
    expect(mayAutoApply(each)).toBe(may)
  })
})
