import type { BlamedStep, BlameFindings, BlameProbe, Rate, StepRole } from '@retake/tape'

/** A rate with an interval that is wide for few forks; not the one that a search would show. */
export function rateOf(fails: number, forks: number): Rate {
  const middle = forks === 0 ? 0.5 : fails / forks
  const wide = 0.9 / Math.sqrt(forks + 1)
  return { fails, forks, low: Math.max(0, middle - wide), high: Math.min(1, middle + wide) }
}

/** One searched step by its role, as a search would describe it. */
export function stepIn(label: string, role: StepRole, more: Partial<BlamedStep> = {}): BlamedStep {
  const isCause = role === 'root' || role === 'joint'
  return {
    label,
    role,
    isNecessary: isCause,
    isSufficient: role === 'root' || role === 'echo',
    responsibility: isCause || role === 'back-up' ? 0.5 : 0,
    ...more,
  }
}

const probe = (
  purpose: BlameProbe['purpose'],
  kept: string,
  rate: Rate,
  fails?: boolean,
): BlameProbe => ({
  purpose,
  mode: 'free',
  kept,
  rate,
  undefinedForks: 0,
  ...(fails !== undefined && { fails }),
})

/**
 * Findings about a run of eleven steps, labelled 1 to 11: steps 2 and 5 together are the
 * cause, step 7 is a back-up, step 9 an echo, step 10 affected, the others are clear.
 */
export function sampleFindings(changes: Partial<BlameFindings> = {}): BlameFindings {
  const roles: readonly StepRole[] = [
    'clear',
    'joint',
    'clear',
    'clear',
    'joint',
    'clear',
    'back-up',
    'clear',
    'echo',
    'affected',
    'clear',
  ]
  const alone: Readonly<Record<number, Rate>> = {
    1: rateOf(1, 8),
    4: rateOf(0, 6),
    6: rateOf(7, 8),
    8: rateOf(6, 8),
    9: rateOf(0, 8),
  }
  return {
    version: 1,
    verdict: 'attributed',
    causes: [
      { role: 'joint', steps: [1, 4], sufficiency: rateOf(12, 12), shares: [0.5, 0.5] },
      { role: 'back-up', steps: [6], sufficiency: rateOf(7, 8), shares: [1] },
    ],
    steps: roles.map((role, place) =>
      stepIn(String(place + 1), role, {
        ...(alone[place] && { alone: alone[place] }),
        ...(place === 1 && { prior: 0.4 }),
      }),
    ),
    minimalRepair: [1, 6],
    decisionStep: 1,
    commitStep: 4,
    confidence: 0.962,
    anchors: { kept: rateOf(12, 12), free: rateOf(0, 12) },
    riskCurve: [
      { upTo: -1, rate: rateOf(0, 12) },
      { upTo: 1, rate: rateOf(3, 10) },
      { upTo: 3, rate: rateOf(3, 9) },
      { upTo: 4, rate: rateOf(11, 11) },
      { upTo: 10, rate: rateOf(12, 12) },
    ],
    mode: 'free',
    evidence: [
      probe('anchor', '0-10', rateOf(12, 12), true),
      probe('anchor', '', rateOf(0, 12), false),
      probe('prefix', '0-4', rateOf(11, 11), true),
      probe('prefix', '0-3', rateOf(3, 9), false),
      probe('cause', '1,4', rateOf(12, 12), true),
      { ...probe('minimal', '4', rateOf(0, 6), false), undefinedForks: 2 },
      probe('echo', '8', rateOf(6, 8), true),
      probe('back-up', '6', rateOf(7, 8), true),
      probe('audit', '0,2-3,6,8-10', rateOf(3, 4)),
    ],
    forks: {
      asked: 92,
      served: 12,
      undefined: 2,
      liveSteps: 431,
      tokens: 182_400,
      costUsd: 0.4213,
    },
    notes: ['Risk rises in two stairs: at step 2 and at step 5.'],
    ...changes,
  }
}

/** The file in which findings are kept about a run. */
export const findingsFile = (run: string, findings: BlameFindings = sampleFindings()): object => ({
  version: 1,
  run,
  at: Date.UTC(2026, 10, 15, 10, 12),
  oracle: 'text: Booked for tomorrow',
  question: '4f1c',
  steps: findings.steps.map(({ label }) => ({ label, kind: 'tool', title: `step ${label}` })),
  findings,
  facts: {
    newForks: 80,
    undefinedBy: { 'the agent exited before it printed anything': 2 },
    forcedAnswers: 17,
    wallMs: 48_000,
    free: ['3=neutral'],
    maxForks: 400,
    seed: 1,
  },
})
