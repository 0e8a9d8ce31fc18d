import { describe, expect, test } from 'vitest'
import type { Claim } from '../proof/claims.js'
import type { FixEvidence, JudgedFix } from '../proof/prove-fixes.js'
import { fixLines } from './fix-card.js'
import type { FixOutcome } from './fix-run.js'
import { provenFix, workaround } from '../../../../test/support/fix-outcome.js'

const look = { width: 100, paint: (_style: unknown, text: string) => text }

const outcome = (search: FixOutcome['search']): FixOutcome => ({
  version: 1,
  at: 0,
  run: 'r',
  oracle: 'exit:0',
  reason: 'exit code 1',
  result: {
    status: 'not-fixed',
    reason: '',
    reproduced: { trials: 2, failed: 2 },
    symptoms: [],
    fixes: [],
    tried: 2,
    costUsd: 0.001,
    forks: 9,
    ms: 1000,
  },
  corpus: 0,
  siblings: [],
  opposites: [],
  confined: true,
  newTrials: 9,
  notes: [],
  ...(search && { search }),
})

test.each([
  [undefined, '9 trials · $0.00100 · 1.0 s'],
  [{ forks: 83, costUsd: 0.008 }, '9 trials · 83 forks to locate the cause · $0.00900 · 1.0 s'],
  [{ forks: 1 }, '9 trials · 1 fork to locate the cause · cost unknown · 1.0 s'],
  [{ forks: 0, costUsd: 0 }, '9 trials · $0.00100 · 1.0 s'],
])('what was spent includes the search for the cause: %j', (search, spent) => {
  expect(fixLines(outcome(search), look as never)).toContain(`  spent    ${spent}`)
})

describe('the card of a change', () => {
  const texts = ['a\n', 'b\n'] as const
  const linesOf = (fix: JudgedFix, corpus = 59): string => {
    const { result, ...rest } = outcome(undefined)
    const { status, claim } = fix.verdict
    return fixLines(
      {
        ...rest,
        corpus,
        siblings: ['s'],
        result: {
          ...result,
          status: status === 'workaround' ? 'workaround' : 'repaired',
          ...(claim && { claim }),
          failedOutput: { stdout: '', end: 'exit code 1' },
          fixes: [fix],
        },
      },
      look as never,
    ).join('\n')
  }
  const proven = provenFix('f', texts)
  const withClaim = (claim: Claim, evidence: Partial<FixEvidence> = {}): JudgedFix => ({
    ...proven,
    verdict: { ...proven.verdict, claim },
    evidence: { ...proven.evidence, ...evidence },
  })

  test('that is proven leaves nothing open, and shows what was printed', () => {
    const lines = linesOf(proven)
    expect(lines).toMatch(/^proven · Strip the code fence/)
    expect(lines).toContain('59 of 59 passing runs make the same requests and print the same')
    expect(lines).toContain(
      '  printed before and now:\n  -(ended with exit code 1)\n  +RESULT deny for ann@example.com\n  +(ended with exit code 0)\n',
    )
    expect(lines).not.toMatch(/^ {2}open/m)
  })

  test('that loses something is called a change, not a fix, and names everything in one line', () => {
    const lines = linesOf(workaround('w', texts))
    expect(lines).toMatch(/^workaround · /)
    expect(lines).toContain('  fails    5 of 5 trials without the change')
    expect(lines.match(/^ {2}loses/gm)).toHaveLength(1)
    expect(lines.replaceAll(/\s+/g, ' ')).toContain(
      "at agent.mjs:2: JSON.parse((await ask()) ?? '{}'); it prints undefined: “RESULT undefined”",
    )
    expect(lines).not.toMatch(/^ {2}open/m)
  })

  test('that is fitted to the run says where, and does not repeat the value', () => {
    const change = workaround('w', texts)
    const losses = [{ code: 'VALUE_NAMED', at: 'agent.mjs:2', text: 'c9' }] as const
    const literals = [{ at: 'agent.mjs:2', value: 'c9' }]
    const lines = linesOf({ ...change, evidence: { ...change.evidence, losses, literals } })
    expect(lines).toContain('  fitted   it names a value of this run at agent.mjs:2: c9')
    expect(lines).not.toMatch(/^ {2}(?:loses|literal)/m)
  })

  test.each<[open: string, fix: JudgedFix]>([
    ['No passing run was judged by an oracle.', withClaim('this-kind')],
    [
      'Whether it repairs other runs was not shown.',
      withClaim('this-run', { siblings: { trials: 0, passed: 0 } }),
    ],
    [
      '2 of 3 other failed runs still fail.',
      withClaim('this-run', { siblings: { trials: 3, passed: 1 } }),
    ],
    [
      'The comparison may be the only reason why this run passes.',
      withClaim('this-run', { literals: [{ at: 'agent.mjs:2', value: 'c9' }] }),
    ],
  ])('says what is open: %s', (open, fix) => {
    expect(linesOf(fix)).toContain(`  open     ${open}`)
  })

  test('says of a passing run that prints something else what it prints', () => {
    const corpus = {
      identical: 58,
      same: 1,
      breaks: 0,
      notChecked: 0,
      changedOutput: { tape: 't', before: 'bolt', after: 'bearing' },
    }
    expect(linesOf(withClaim('proven', { corpus })).replaceAll(/\s+/g, ' ')).toContain(
      '58 of 59 passing runs make the same requests and print the same · 1 still passes, one prints “bearing” instead of “bolt”',
    )
  })
})

test.each([
  [{ forks: 0, isStopped: true }, 'not searched: a limit stopped the search before the first fork'],
  [{ forks: 12, isStopped: true }, 'not found: a limit stopped the search after 12 forks'],
  [{ forks: 12 }, 'no step was found that explains the failure'],
])('a search that a limit stopped is not said to have found nothing: %j', (search, text) => {
  const lines = fixLines({ ...outcome(search), causes: [] }, look as never)
  expect(lines).toContain(`  cause    ${text} (retake blame r)`)
})

test('a refused key gets advice about the key, and not about --model', () => {
  const evidence = 'POST http://127.0.0.1:4000/v1/chat refused the credentials with 401.'
  const { result, ...rest } = outcome(undefined)
  const symptoms = [{ class: 'authentication', confidence: 'certain', evidence, data: {} }] as never
  const text = fixLines({ ...rest, result: { ...result, tried: 0, symptoms } }, look as never).join(
    ' ',
  )
  expect(text).toContain('check the key that the run uses')
  expect(text).not.toContain('--model')
})
