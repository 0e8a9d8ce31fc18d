import type {
  BlamedStep,
  BlameFindings,
  CauseSet,
  ForkCounts,
  Probe,
  Rate,
  RiskPoint,
} from '@retake/tape'
import type { RunBlame, SearchFactsView } from './run-blame.js'
import { Reading } from './value-reading.js'

const VERDICTS = [
  'attributed',
  'no attributable step',
  'flaky',
  'inconclusive',
  'stopped',
] as const satisfies readonly BlameFindings['verdict'][]
const MODES = ['free', 'frozen'] as const
const CAUSES = ['root', 'joint', 'back-up'] as const
/** Worst first: where steps share a place on the screen, the first of these is seen. */
export const ROLES = [
  'root',
  'joint',
  'back-up',
  'echo',
  'affected',
  'unknown',
  'clear',
] as const satisfies readonly BlamedStep['role'][]
const PURPOSES = [
  'anchor',
  'prefix',
  'cause',
  'minimal',
  'repair',
  'echo',
  'back-up',
  'audit',
  'confirm',
  'one out',
  'risk',
] as const satisfies readonly Probe['purpose'][]

/**
 * Reads what a home keeps about the causes of a run's failure. It may have been changed by
 * hand or cut off: throws an error that says in words what is wrong with it. What is not
 * known here is left out.
 */
export function readRunBlame(value: unknown, run: string): RunBlame {
  const file = new Reading(value, 'It')
  const version = file.at('version').number()
  if (version > 1) throw new Error(`It was written by a newer version of Retake (form ${version})`)
  if (version !== 1) throw new Error('It has no form that is known')
  if (file.at('run').text() !== run) throw new Error('It belongs to another run')
  return {
    at: file.at('at').number(),
    oracle: file.at('oracle').text(),
    findings: findingsIn(file.at('findings')),
    facts: file.at('facts').optional(factsIn) ?? { undefinedBy: [], free: [] },
  }
}

function findingsIn(all: Reading): BlameFindings {
  const version = all.at('version').number()
  if (version > 1) throw new Error(`Its findings are of a newer version of Retake (${version})`)
  const steps = all.at('steps').list(blamedStep)
  const place = (each: Reading): number => each.place(steps.length)
  const one = (name: string) => all.at(name).optional(place)
  const [why, decisionStep, commitStep] = [
    all.at('why').optional((each) => each.text()),
    one('decisionStep'),
    one('commitStep'),
  ]
  const anchors = all.at('anchors')
  return {
    version: 1,
    verdict: all.at('verdict').oneOf(VERDICTS),
    ...(why !== undefined && { why }),
    causes: all.at('causes').list((each) => causeSet(each, steps.length)),
    steps,
    minimalRepair: all.at('minimalRepair').list(place),
    ...(decisionStep !== undefined && { decisionStep }),
    ...(commitStep !== undefined && { commitStep }),
    confidence: all.at('confidence').number(),
    anchors: { kept: rate(anchors.at('kept')), free: rate(anchors.at('free')) },
    riskCurve: all.at('riskCurve').list((each): RiskPoint => {
      const upTo = each.at('upTo').number()
      return {
        upTo: upTo === -1 ? -1 : each.at('upTo').place(steps.length),
        rate: rate(each.at('rate')),
      }
    }),
    mode: all.at('mode').oneOf(MODES),
    evidence: all.at('evidence').list(probe),
    forks: forkCounts(all.at('forks')),
    notes: all.at('notes').list((each) => each.text()),
  }
}

const rate = (each: Reading): Rate => ({
  fails: each.at('fails').number(),
  forks: each.at('forks').number(),
  low: each.at('low').number(),
  high: each.at('high').number(),
})

const causeSet = (each: Reading, steps: number): CauseSet => ({
  role: each.at('role').oneOf(CAUSES),
  steps: each.at('steps').list((step) => step.place(steps)),
  sufficiency: rate(each.at('sufficiency')),
  shares: each.at('shares').list((share) => share.number()),
})

function blamedStep(each: Reading): BlamedStep {
  const alone = each.at('alone').optional(rate)
  const prior = each.at('prior').optional((value) => value.number())
  return {
    label: each.at('label').text(),
    role: each.at('role').oneOf(ROLES),
    isNecessary: each.at('isNecessary').yesOrNo(),
    isSufficient: each.at('isSufficient').yesOrNo(),
    responsibility: each.at('responsibility').number(),
    ...(alone && { alone }),
    ...(prior !== undefined && { prior }),
  }
}

function probe(each: Reading): Probe {
  const fails = each.at('fails').optional((value) => value.yesOrNo())
  return {
    purpose: each.at('purpose').oneOf(PURPOSES),
    mode: each.at('mode').oneOf(MODES),
    kept: each.at('kept').text(),
    rate: rate(each.at('rate')),
    undefinedForks: each.at('undefinedForks').number(),
    ...(fails !== undefined && { fails }),
  }
}

function forkCounts(each: Reading): ForkCounts {
  const tokens = each.at('tokens').optional((value) => value.number())
  const costUsd = each.at('costUsd').optional((value) => value.number())
  return {
    asked: each.at('asked').number(),
    served: each.at('served').number(),
    undefined: each.at('undefined').number(),
    liveSteps: each.at('liveSteps').number(),
    ...(tokens !== undefined && { tokens }),
    ...(costUsd !== undefined && { costUsd }),
  }
}

function factsIn(each: Reading): SearchFactsView {
  const known = (name: string) => each.at(name).optional((value) => value.number())
  const [newForks, forcedAnswers, wallMs] = [
    known('newForks'),
    known('forcedAnswers'),
    known('wallMs'),
  ]
  return {
    ...(newForks !== undefined && { newForks }),
    ...(forcedAnswers !== undefined && { forcedAnswers }),
    ...(wallMs !== undefined && { wallMs }),
    undefinedBy:
      each
        .at('undefinedBy')
        .optional((reasons) =>
          reasons.entries().map(([reason, count]) => ({ reason, count: count.number() })),
        ) ?? [],
    free: each.at('free').optional((free) => free.list((one) => one.text())) ?? [],
  }
}
