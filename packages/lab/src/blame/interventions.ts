import { usageError } from '@retake/runner/command-line'
import { accessSync, constants, readFileSync } from 'node:fs'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { FreeAnswer } from '@retake/engine'
import { isRecord, parseSet, type Step, type StepIntervention, type Tape } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { hashOfCode } from '@retake/runner/agent'
import { RunStore, viewRun } from '@retake/runner/runs'
import {
  answerOf,
  answerOfData,
  changedAnswer,
  UnsuitableAnswer,
  emptyAnswer,
  failedAnswer,
  givenAnswer,
  neutralAnswer,
  recordedAnswer,
} from './build-answer.js'
import { fromHere } from '@retake/runner/terminal'
import { diffRuns } from '@retake/tape/diff'
import { closestName } from '@retake/engine/errors'
import { effectName, LiveTools } from './effects.js'
import type { TreeStep } from './process-tree.js'
import { callKeyOf, type OtherAnswer } from './siblings.js'

const KINDS: Readonly<Record<Step['kind'], string>> = {
  model: 'models',
  tool: 'tools',
  http: 'requests',
  mcp: 'MCP requests',
  process: 'processes',
  mark: 'marks',
}
const STEP_KINDS = Object.keys(KINDS).filter((kind) => kind !== 'mark')

/**
 * Steps selected by the part before the `=`, with the precision of the selector: 3 a label, 2 a
 * tool, 1 a kind, 0 all. Throws if it matches no step.
 */
function freedSteps(
  where: string,
  steps: readonly TreeStep[],
): { freed: readonly TreeStep[]; closeness: number } {
  const isKind = STEP_KINDS.includes(where)
  const selectors: [closeness: number, isMeant: (step: Step) => boolean][] = [
    [3, ({ label }) => label === where],
    [0, () => where === 'all'],
    [1, ({ kind }) => isKind && kind === where],
    [2, ({ toolName }) => !isKind && toolName === where],
  ]
  for (const [closeness, isMeant] of selectors) {
    const freed = steps.filter(isMeant)
    if (freed.length > 0 || (closeness === 0 && where === 'all')) return { freed, closeness }
  }
  throw usageError(
    `--free ${where} selects no step.`,
    isKind
      ? `The run has no step of that kind; there are ${namesOf(steps, ({ kind }) => kind)}.`
      : availableSteps(where, steps),
  )
}

function availableSteps(where: string, steps: readonly Step[]): string {
  if (/^\d/.test(where))
    return `Steps that can be made free are ${namesOf(steps, ({ label }) => label)}.`
  const tools = steps.flatMap(({ toolName }) => toolName ?? [])
  const close = closestName(where, [...STEP_KINDS, 'all', ...tools])
  if (close !== undefined) return `Did you mean ${close}?`
  const named = tools.length === 0 ? '' : `; a tool: ${[...new Set(tools)].join(', ')}`
  return `It is all, a kind of step (${STEP_KINDS.join(', ')}), or a step by its number${named}.`
}

const FREED_SHOWN_MAX = 20

function namesOf(steps: readonly Step[], name: (step: Step) => string): string {
  const names = [...new Set(steps.map(name))]
  return `${names.slice(0, FREED_SHOWN_MAX).join(', ')}${names.length > FREED_SHOWN_MAX ? ', …' : ''}`
}

/** Makes the answer of a free step, as `--free` says. */
type MakeAnswer = (
  step: TreeStep,
  /** The answer after earlier changes to the same step. */
  changed: FreeAnswer | undefined,
) => FreeAnswer | 'live' | 'as before'

interface FreeSpec {
  readonly text: string
  /** A kind of step, a tool, a label, or `all`. */
  readonly where: string
  readonly how: string
  readonly answer: MakeAnswer
  /** True for steps that it never answers. */
  readonly skips?: (step: Step) => boolean
}

export interface FreeTreatment {
  readonly kind: StepIntervention
  /** For display: `live`, `as in run 20261115-093012-abcd`, `set:days=30`. */
  readonly how: string
}

const LIVE: FreeTreatment = { kind: 'live', how: 'live' }
const AS_RECORDED: FreeTreatment = { kind: 'pinned', how: 'as recorded' }
const MADE_UP: Readonly<Record<string, StepIntervention>> = {
  neutral: 'neutral',
  nothing: 'empty',
  error: 'error',
}

interface Source {
  readonly tape: Tape
  readonly steps: readonly TreeStep[]
  readonly folder: string
  readonly runs: RunStore
}

/** Parses one `--free` and reads the files it names. */
function parseFree(text: string, source: Source): FreeSpec {
  const [, where = '', how = ''] = /^([^=]*)=(.*)$/s.exec(text)?.map((part) => part.trim()) ?? []
  if (where === '' || how === '')
    throw wrong(
      text,
      'For example: --free tool=neutral, --free search=live, --free 4=@other-answer.json.',
    )
  const answer = parseHow(how, text, source)
  if (!how.startsWith('run:')) return { text, where, how, answer }
  if (where === 'model')
    throw usageError(
      `--free ${text} would hide the cause.`,
      'Models that repeat another run do not react to what they are sent. Leave them live, or select one step by its number.',
    )
  return { text, where, how, answer, skips: ({ kind }) => where === 'all' && kind === 'model' }
}

function parseHow(how: string, text: string, source: Source): MakeAnswer {
  const { tape, steps, folder, runs } = source
  if (['live', 'neutral', 'nothing', 'error', 'recorded'].includes(how))
    return (step) => scriptedAnswer(step.process.tape, step, how)
  if (how.startsWith('@')) {
    const bytes = read(how.slice(1), folder, text)
    return (step) => givenAnswer(step.process.tape, step, bytes)
  }
  const [, form = '', rest = ''] = /^(json|set|run|script):(.*)$/s.exec(how) ?? []
  switch (form) {
    case 'json':
      parseJson(rest, text)
      return (step) => givenAnswer(step.process.tape, step, Buffer.from(rest))
    case 'set': {
      const change = parseSet(rest)
      return (step, changed) => changedAnswer(step.process.tape, step, change, changed)
    }
    case 'run': {
      let answerOfSibling: ((step: TreeStep) => FreeAnswer) | undefined
      return (step) => (answerOfSibling ??= siblingAnswers(tape, openTape(runs.find(rest))))(step)
    }
    case 'script': {
      const answers = parseJson(Buffer.from(read(rest, folder, text)).toString(), text)
      if (!isRecord(answers))
        throw wrong(
          text,
          `${rest} is not an object of answers by step, such as { "4": { "payload": … } }.`,
        )
      const unknown = Object.keys(answers).find((key) => !steps.some(({ label }) => label === key))
      if (unknown !== undefined)
        throw usageError(
          `--free ${text} answers a step that cannot be made free.`,
          `${rest} names step ${unknown}.`,
        )
      return (step) =>
        step.label in answers
          ? scriptedAnswer(step.process.tape, step, answers[step.label])
          : 'as before'
    }
    default:
      throw wrong(
        text,
        `"${how}" is not one of live, neutral, nothing, error, recorded, json:…, @file, set:path=json, run:…, script:file.`,
      )
  }
}

function read(file: string, folder: string, text: string): Uint8Array {
  try {
    return readFileSync(path.resolve(folder, file))
  } catch (error) {
    throw wrong(text, `The file ${file} cannot be read: ${(error as Error).message}`)
  }
}

function parseJson(json: string, text: string): unknown {
  try {
    return JSON.parse(json) as unknown
  } catch (error) {
    throw wrong(text, `It is not JSON: ${(error as Error).message}`)
  }
}

const wrong = (text: string, why: string): Error =>
  usageError(`--free ${text} cannot be understood.`, why)

/**
 * Answers of another run of the same agent. A diff of the runs matches steps by kind, name and
 * neighbours. Throws `UnsuitableAnswer` if the other run has no answer, or the same one.
 */
function siblingAnswers(tape: Tape, sibling: Tape): (step: TreeStep) => FreeAnswer {
  const view = viewRun(sibling)
  const { steps } = diffRuns(viewRun(tape), view)
  return (step) => {
    if (step.process.tape !== tape) throw new UnsuitableAnswer('it is a step of another process')
    // The diff omits equal steps.
    const { change, b } = steps.find(({ a }) => a?.label === step.label) ?? {}
    if (change === 'removed') throw new UnsuitableAnswer(`run ${sibling.run.id} has no such step`)
    const there = b && view.step(b.label)
    if (there === undefined || there.kind !== step.kind || there.toolName !== step.toolName)
      throw new UnsuitableAnswer(`run ${sibling.run.id} has the same there`)
    if (step.kind !== 'model' && callKeyOf(tape, step) !== callKeyOf(sibling, there))
      throw new UnsuitableAnswer(`run ${sibling.run.id} called it with other arguments`)
    return answerOf(sibling, there)
  }
}

const HOW_MAX = 40
const LABELS_MAX = 8

/**
 * How free steps are answered, on one line: `free steps: models live · tools as recorded · step 4
 * neutral`. Combines kinds whose steps are all answered alike.
 */
function describeInterventions(
  steps: readonly Step[],
  ways: Readonly<Record<string, FreeTreatment>>,
): string {
  const howOf = ({ label }: Step): string => short(ways[label]?.how ?? LIVE.how)
  const parts = [...new Set(steps.map(({ kind }) => kind))].flatMap((kind) => {
    const alike = steps.filter((step) => step.kind === kind)
    const hows = [...new Set(alike.map(howOf))]
    if (hows.length === 1) return [`${KINDS[kind]} ${hows[0]}`]
    return hows.map((how) => `${named(alike.filter((step) => howOf(step) === how))} ${how}`)
  })
  return `free steps: ${parts.join(' · ')}`
}

function named(steps: readonly Step[]): string {
  const [first] = steps
  const shown = steps.slice(0, LABELS_MAX).map(({ label }) => label)
  const more = steps.length > LABELS_MAX ? ', …' : ''
  const tool =
    first?.toolName !== undefined && steps.every(({ toolName }) => toolName === first.toolName)
      ? ` (${first.toolName})`
      : ''
  return `${steps.length === 1 ? 'step' : 'steps'} ${shown.join(', ')}${more}${tool}`
}

const short = (how: string): string => (how.length > HOW_MAX ? `${how.slice(0, HOW_MAX)}…` : how)

export interface InterventionOptions {
  /** File of a module that answers all free steps not answered otherwise. */
  readonly simulator?: string
  /** Folder that relative paths refer to (default: the working directory). */
  readonly folder?: string
  /** Folder of sibling runs. */
  readonly runs?: RunStore
  /** Steps with effects that may really run (default: none). */
  readonly liveTools?: LiveTools
  /** Answers to calls in other runs, by `callKeyOf`. */
  readonly others?: ReadonlyMap<string, readonly OtherAnswer[]>
}

export type Interventions = ReturnType<typeof planInterventions>

/**
 * Turns the options about free steps into answers by label. The most specific selector wins; among
 * equals, the last one. Without a selector, models are called again; a step with effects gets
 * another run's answer to the same call, else the recorded one, and runs only if `liveTools` allows
 * it. Throws if a selector matches nothing, or if a step selected by number cannot be answered this
 * way.
 */
export function planInterventions(
  tape: Tape,
  steps: readonly TreeStep[],
  specs: readonly string[],
  options: InterventionOptions = {},
) {
  const { folder = process.cwd(), runs = new RunStore(), others = NO_OTHERS } = options
  const { liveTools = new LiveTools([], []), simulator } = options
  const answers: Record<string, FreeAnswer> = {}
  const ways: Record<string, FreeTreatment> = {}
  const warnings: string[] = []
  // The most specific selectors come last, and so win.
  const parsed = specs
    .map((text) => parseFree(text, { tape, steps, folder, runs }))
    .map((spec) => ({ ...spec, ...freedSteps(spec.where, steps) }))
    .toSorted((a, b) => a.closeness - b.closeness)
  for (const { text, how, answer: make, skips, freed, closeness } of parsed) {
    const skipped = freed.filter((step) => skips?.(step) === true)
    if (skipped.length > 0)
      warnings.push(
        `--free ${text} answers no model: one that repeats another run would hide the cause`,
      )
    for (const step of freed.filter((each) => !skipped.includes(each))) {
      const { label } = step
      const before = ways[label]
      try {
        const answer = make(step, before?.how.startsWith('set:') ? answers[label] : undefined)
        if (answer === 'as before') continue
        if (answer === 'live' && !liveTools.mayRun(step)) {
          if (closeness >= 2)
            throw usageError(
              `--free ${text} would really run ${effectName(step)}.`,
              `Its effects are real. Allow them with --live-tools=${step.toolName ?? step.kind}.`,
            )
          continue
        }
        delete answers[label]
        if (answer === 'live') {
          ways[label] = LIVE
          continue
        }
        answers[label] = answer
        ways[label] = {
          kind: MADE_UP[how] ?? (how.startsWith('run:') ? 'sibling' : 'given'),
          how,
        }
      } catch (error) {
        if (!(error instanceof UnsuitableAnswer)) throw error
        if (closeness === 3)
          throw usageError(
            `--free ${text} does not fit step ${label}.`,
            `${error.message.replace(/\.$/, '')}.`,
          )
        warnings.push(`step ${label} is not answered by ${short(how)}: ${error.message}`)
      }
    }
  }
  const made = new Set(steps.map((step) => callKeyOf(step.process.tape, step)))
  const recordings: Record<string, readonly FreeAnswer[]> = {}
  for (const [key, found] of others)
    if (!made.has(key)) recordings[key] = found.map(({ answer }) => answer)
  for (const step of steps) {
    const {
      label,
      inferred,
      process: { tape: own },
    } = step
    const given = ways[label]
    const answer = answers[label]
    const key = callKeyOf(own, step) ?? ''
    const [other] = others.get(key) ?? []
    if (given !== undefined) {
      if (answer === undefined || !isDeepStrictEqual(answer, recordedAnswer(own, step))) continue
      warnings.push(`step ${label} is answered as it was recorded: freeing it changes nothing`)
      ways[label] = { ...given, kind: 'pinned' }
    } else if (!inferred && simulator !== undefined)
      ways[label] = { kind: 'simulated', how: `by ${fromHere(simulator)}` }
    else if (!inferred && liveTools.mayRun(step)) ways[label] = LIVE
    else if (other === undefined) ways[label] = inferred ? LIVE : AS_RECORDED
    else {
      if (inferred) answers[label] = other.answer
      else recordings[key] = [other.answer]
      const { run, passes } = other
      ways[label] = passes
        ? { kind: 'sibling', how: `as in run ${run}, which passed` }
        : { kind: 'recorded', how: `as in run ${run}` }
    }
  }
  const { allowed } = liveTools
  return {
    /** Answers of free steps, by label. */
    answers,
    ...simulatorOf(options),
    /** Answers of other runs, by call. */
    recordings,
    /** Steps with effects that may really run; missing: all. */
    ...(allowed && { liveTools: allowed }),
    /** Labels of steps that go live; with a simulator, only if it has no answer. */
    live: steps.flatMap((step) =>
      step.inferred || step.label in answers || !liveTools.mayRun(step) ? [] : [step.label],
    ),
    /** How each step is answered while free, by label. */
    ways,
    /** One-line summary, printed before anything is spent. */
    describe: describeInterventions(steps, ways),
    warnings,
  }
}

const NO_OTHERS: ReadonlyMap<string, readonly OtherAnswer[]> = new Map()

function simulatorOf({ simulator, folder = process.cwd() }: InterventionOptions): {
  readonly simulator?: string
  readonly simulatorKey?: string
} {
  if (simulator === undefined) return {}
  const file = path.resolve(folder, simulator)
  try {
    accessSync(file, constants.R_OK)
    return { simulator: file, simulatorKey: hashOfCode([file]) }
  } catch (error) {
    throw usageError(`The simulator ${simulator} cannot be read.`, (error as Error).message)
  }
}

/** An answer in a script: `{ "payload": … }`, `{ "error": "…" }`, or a word such as `live`. */
function scriptedAnswer(tape: Tape, step: Step, scripted: unknown): FreeAnswer | 'live' {
  if (scripted === 'live') return scripted
  if (scripted === 'recorded') return answerOf(tape, step)
  if (scripted === 'neutral') return neutralAnswer(tape, step)
  if (scripted === 'nothing') return emptyAnswer(tape, step)
  if (scripted === 'error') return failedAnswer(step)
  if (isRecord(scripted) && typeof scripted['error'] === 'string')
    return { error: scripted['error'] }
  if (isRecord(scripted) && 'payload' in scripted)
    return answerOfData(tape, step, scripted['payload'])
  throw new UnsuitableAnswer('the script has neither { "payload": … } nor { "error": "…" } for it')
}
