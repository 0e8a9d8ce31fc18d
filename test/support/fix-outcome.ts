import type { FixEvidence, JudgedFix } from '@retake/lab/proof'

const none = { trials: 0, passed: 0 }

const evidence: FixEvidence = {
  control: { trials: 5, passed: 0 },
  fixed: { trials: 2, passed: 2, low: 1 },
  ablated: { trials: 1, passed: 0 },
  siblings: { trials: 1, passed: 1 },
  probes: none,
  renamed: 0,
  isOracleGiven: true,
  losses: [],
  attempts: [],
  literals: [],
  output: { stdout: 'RESULT deny for ann@example.com\n', end: 'exit code 0' },
  opposites: none,
  corpus: { identical: 59, same: 0, breaks: 0, notChecked: 0 },
  causeSetsHit: { hit: 0, all: 0 },
  pinnedToChanged: 0,
  costUsd: 0,
  forks: 9,
  ms: 4100,
  isExact: true,
  pValue: 0,
}

/** A fix of one file, proven unless `changes` say otherwise. */
export function provenFix(
  id: string,
  [before, after]: readonly [before: string, after: string],
  changes: Partial<JudgedFix> = {},
): JudgedFix {
  return {
    candidate: {
      id,
      operator: 'repair-json',
      layer: 'transport',
      title: `Strip the code fence in agent.mjs:2 (${id})`,
      why: 'The answer is JSON inside a code fence.',
      steps: ['2'],
      edits: [{ path: 'agent.mjs', before, after }],
      author: 'rule',
    },
    evidence,
    verdict: { status: 'repairs', claim: 'proven', reason: 'passes 2 of 2' },
    score: 1,
    scoreReason: '',
    ...changes,
  }
}

/** A change with which the run passes although it drops data. */
export const workaround = (id: string, texts: readonly [string, string]): JudgedFix =>
  provenFix(id, texts, {
    evidence: {
      ...evidence,
      siblings: none,
      losses: [
        { code: 'DEFAULT_ADDED', at: 'agent.mjs:2', text: "JSON.parse((await ask()) ?? '{}')" },
        { code: 'EMPTY_PRINTED', value: 'undefined', line: 'RESULT undefined' },
      ],
    },
    verdict: { status: 'workaround', claim: 'this-run', reason: 'passes 2 of 2' },
  })

/** A result as `retake fix` stores it beside the runs. */
export const fixOutcome = (run: string, fixes: readonly JudgedFix[]) => ({
  version: 1,
  at: Date.UTC(2026, 10, 17, 9),
  run,
  oracle: 'exit:0',
  reason: 'exit code 1',
  result: {
    status: 'repaired',
    claim: 'proven',
    reason: '',
    failedOutput: { stdout: 'reading\n', end: 'SyntaxError: Unexpected token' },
    reproduced: { trials: 5, failed: 5 },
    symptoms: [
      {
        class: 'malformed-json',
        step: '2',
        evidence: 'The answer for ann@example.com is not JSON.',
        confidence: 'certain',
        facts: {},
      },
    ],
    fixes,
    tried: fixes.length,
    costUsd: 0,
    forks: 9,
    ms: 4100,
  },
  corpus: 59,
  siblings: [],
  opposites: [],
  confined: true,
  newTrials: 9,
  notes: [],
})
