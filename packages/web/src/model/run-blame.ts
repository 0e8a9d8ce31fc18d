import type {
  BlamedStep,
  BlameFindings,
  CauseSet,
  ForkCounts,
  Probe,
  Rate,
  RiskPoint,
} from '@retake/tape'

/** Reads a value of unknown shape. Every mismatch is an error with a path. */
class Reading {
  readonly #value: unknown
  readonly #name: string

  constructor(value: unknown, name: string) {
    this.#value = value
    this.#name = name
  }

  at(name: string): Reading {
    const object = this.#object()
    const inner = Object.hasOwn(object, name) ? object[name] : undefined
    return new Reading(inner, this.#name === 'It' ? name : `${this.#name}.${name}`)
  }

  optional<T>(read: (value: Reading) => T): T | undefined {
    return this.#value === undefined || this.#value === null ? undefined : read(this)
  }

  number(): number {
    if (typeof this.#value === 'number' && Number.isFinite(this.#value)) return this.#value
    throw this.#wrong('a number')
  }

  /** An index into a list of this length. */
  index(count: number): number {
    const position = this.number()
    if (Number.isInteger(position) && position >= 0 && position < count) return position
    throw this.#wrong(`one of ${count} steps`)
  }

  text(): string {
    if (typeof this.#value === 'string') return this.#value
    throw this.#wrong('a text')
  }

  yesOrNo(): boolean {
    if (typeof this.#value === 'boolean') return this.#value
    throw this.#wrong('true or false')
  }

  oneOf<T extends string>(allowed: readonly T[]): T {
    const found = allowed.find((each) => each === this.#value)
    if (found !== undefined) return found
    throw this.#wrong(`one of ${allowed.join(', ')}`)
  }

  list<T>(read: (value: Reading) => T): T[] {
    if (!Array.isArray(this.#value)) throw this.#wrong('a list')
    return this.#value.map((each: unknown, index) =>
      read(new Reading(each, `${this.#name}[${index}]`)),
    )
  }

  entries(): [name: string, value: Reading][] {
    return Object.keys(this.#object()).map((name) => [name, this.at(name)])
  }

  #object(): Record<string, unknown> {
    const value = this.#value
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>
    throw this.#wrong('an object')
  }

  #wrong(expected: string): Error {
    return new Error(`${this.#name} is not ${expected}`)
  }
}

const VERDICTS = [
  'attributed',
  'no attributable step',
  'flaky',
  'inconclusive',
  'stopped',
] as const satisfies readonly BlameFindings['verdict'][]
const MODES = ['free', 'frozen'] as const
const CAUSES = ['root', 'joint', 'back-up'] as const
/** Worst first: of steps at one pixel, the first of these is shown. */
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
 * Reads a stored blame file. It may have been edited or cut off: throws an error that says
 * what is wrong. Unknown fields are ignored.
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
  const position = (each: Reading): number => each.index(steps.length)
  const one = (name: string) => all.at(name).optional(position)
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
    minimalRepair: all.at('minimalRepair').list(position),
    ...(decisionStep !== undefined && { decisionStep }),
    ...(commitStep !== undefined && { commitStep }),
    confidence: all.at('confidence').number(),
    anchors: { kept: rate(anchors.at('kept')), free: rate(anchors.at('free')) },
    riskCurve: all.at('riskCurve').list((each): RiskPoint => {
      const upTo = each.at('upTo').number()
      return {
        upTo: upTo === -1 ? -1 : each.at('upTo').index(steps.length),
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
  steps: each.at('steps').list((step) => step.index(steps)),
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

/** The result of the last blame search of a run, validated by `readRunBlame`. */
export interface RunBlame {
  readonly at: number
  readonly oracle: string
  readonly findings: BlameFindings
  readonly facts: SearchFactsView
}

export interface SearchFactsView {
  /** Forks run by this search; the others are from earlier ones. */
  readonly newForks?: number
  /** Recorded answers used although the request had changed. */
  readonly forcedAnswers?: number
  readonly wallMs?: number
  readonly undefinedBy: readonly { readonly reason: string; readonly count: number }[]
  readonly free: readonly string[]
}
