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
  pinned: string,
  rate: Rate,
  fails?: boolean,
): BlameProbe => ({
  purpose,
  mode: 'free',
  pinned,
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
    version: 2,
    verdict: 'attributed',
    causes: [
      { role: 'joint', steps: ['2', '5'], sufficiency: rateOf(12, 12), shares: [0.5, 0.5] },
      { role: 'back-up', steps: ['7'], sufficiency: rateOf(7, 8), shares: [1] },
    ],
    steps: roles.map((role, place) =>
      stepIn(String(place + 1), role, {
        ...(alone[place] && { alone: alone[place] }),
        ...(place === 1 && { prior: 0.4 }),
      }),
    ),
    ambient: [],
    repair: {
      steps: ['2', '7'],
      pinned: '1, 3–6, 8–11',
      rate: { passes: 8, forks: 8, low: 0.56, high: 1 },
    },
    decisionStep: '2',
    commitStep: '5',
    confidence: 0.962,
    anchors: { pinned: rateOf(12, 12), free: rateOf(0, 12) },
    riskCurve: [
      { rate: rateOf(0, 12) },
      { upTo: '2', rate: rateOf(3, 10) },
      { upTo: '4', rate: rateOf(3, 9) },
      { upTo: '5', rate: rateOf(11, 11) },
      { upTo: '11', rate: rateOf(12, 12) },
    ],
    mode: 'free',
    evidence: [
      probe('anchor', '1–11', rateOf(12, 12), true),
      probe('anchor', '', rateOf(0, 12), false),
      probe('prefix', '1–5', rateOf(11, 11), true),
      probe('prefix', '1–4', rateOf(3, 9), false),
      probe('cause', '2, 5', rateOf(12, 12), true),
      { ...probe('minimal', '5', rateOf(0, 6), false), undefinedForks: 2 },
      probe('echo', '9', rateOf(6, 8), true),
      probe('back-up', '7', rateOf(7, 8), true),
      probe('audit', '1, 3–4, 7, 9–11', rateOf(3, 4)),
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
