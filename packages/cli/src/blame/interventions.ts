import { usageError } from '../command-line/verb.js'
import { accessSync, constants, readFileSync } from 'node:fs'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { FreeAnswer } from '@retake/engine'
import { parseSet, type Step, type Tape, isRecord } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { hashOfCode } from '../agent/source-code.js'
import { RunStore } from '../runs/run-store.js'
import {
  answerOf,
  answerOfData,
  changedAnswer,
  DoesNotFit,
  emptyAnswer,
  failedAnswer,
  givenAnswer,
  neutralAnswer,
  recordedAnswer,
} from './build-answer.js'
import { fromHere } from '../terminal/terminal.js'
import { diffRuns } from '@retake/diagnose'
import { viewRun } from '../runs/view-run.js'
import { closestName } from '@retake/engine/errors'

const STEP_KINDS: readonly string[] = [
  'model',
  'tool',
  'http',
  'mcp',
  'process',
] satisfies Step['kind'][]

/** Steps that a `--free` means, and how closely it names them. */
interface Freed {
  readonly steps: readonly Step[]
  /** 3 a label, 2 a tool, 1 a kind, 0 all: the closest that names a step decides. */
  readonly closeness: number
}

/** Resolves the part before the `=`. Throws if it matches no step. */
function freedSteps(where: string, steps: readonly Step[]): Freed {
  const labelled = steps.filter(({ label }) => label === where)
  if (labelled.length > 0) return { steps: labelled, closeness: 3 }
  if (where === 'all') return { steps, closeness: 0 }
  if (STEP_KINDS.includes(where)) {
    const alike = steps.filter(({ kind }) => kind === where)
    if (alike.length > 0) return { steps: alike, closeness: 1 }
    throw usageError(
      `--free ${where} means no step.`,
      `The run has no step of that kind; there are ${namesOf(steps, ({ kind }) => kind)}.`,
    )
  }
  const tools = steps.filter(({ toolName }) => toolName === where)
  if (tools.length > 0) return { steps: tools, closeness: 2 }
  throw usageError(`--free ${where} means no step.`, whatThereIs(where, steps))
}

function whatThereIs(where: string, steps: readonly Step[]): string {
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

/** How to answer a free step. */
type FreeHow =
  | { readonly kind: 'live' | 'neutral' | 'nothing' | 'error' }
  /** A whole answer, as JSON text or the content of a file. */
  | { readonly kind: 'given'; readonly bytes: Uint8Array }
  /** One place of the recorded answer is changed. */
  | { readonly kind: 'set'; readonly path: string; readonly value: unknown }
  /** As another run answered the same step. */
  | { readonly kind: 'run'; readonly run: string }
  /** By label, what a file says. */
  | { readonly kind: 'script'; readonly file: string; readonly answers: ScriptedAnswers }

type ScriptedAnswers = Readonly<Record<string, unknown>>

/** `--free <where>=<how>`, taken apart. */
interface FreeSpec {
  /** A kind of step, a tool, a label, or `all`. */
  readonly where: string
  readonly how: FreeHow
  readonly text: string
}

interface SpecOptions {
  /** Where files are looked for; the working directory unless set. */
  readonly folder?: string
}

const WORDS = ['live', 'neutral', 'nothing', 'error'] as const

/** Reads one `--free` and the files that it names. */
function parseFree(text: string, { folder = process.cwd() }: SpecOptions = {}): FreeSpec {
  const [, where = '', how = ''] = /^([^=]*)=(.*)$/s.exec(text) ?? []
  if (where.trim() === '' || how.trim() === '') throw wrong(text, EXAMPLE)
  return { where: where.trim(), how: parseHow(how.trim(), text, folder), text }
}

const EXAMPLE = 'For example: --free tool=neutral, --free search=live, --free 4=@other-answer.json.'

function parseHow(how: string, text: string, folder: string): FreeHow {
  const word = WORDS.find((each) => each === how)
  if (word !== undefined) return { kind: word }
  if (how.startsWith('@')) return { kind: 'given', bytes: read(how.slice(1), folder, text) }
  const [, form = '', rest = ''] = /^(json|set|run|script):(.*)$/s.exec(how) ?? []
  switch (form) {
    case 'json':
      parseJson(rest, text)
      return { kind: 'given', bytes: Buffer.from(rest) }
    case 'set':
      return { kind: 'set', ...parseSet(rest) }
    case 'run':
      return { kind: 'run', run: rest }
    case 'script':
      return { kind: 'script', file: rest, answers: readScript(rest, folder, text) }
    default:
      throw wrong(
        text,
        `"${how}" is none of live, neutral, nothing, error, json:…, @file, set:path=json, run:…, script:file.`,
      )
  }
}

function readScript(file: string, folder: string, text: string): ScriptedAnswers {
  const answers = parseJson(Buffer.from(read(file, folder, text)).toString(), text)
  if (typeof answers === 'object' && answers !== null && !Array.isArray(answers))
    return answers as ScriptedAnswers
  throw wrong(
    text,
    `${file} is not an object of answers by step, such as { "4": { "payload": … } }.`,
  )
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
 * Answers of another run of the same agent, by the steps of this one. Which step is
 * which, their diff decides: by kind, name and neighbors.
 */
class SiblingAnswers {
  /** By label here, the label there; steps that do not differ are not in it. */
  readonly #differing = new Map<string, string>()
  readonly #missing = new Set<string>()
  readonly #name: string

  constructor(
    tape: Tape,
    private readonly sibling: Tape,
  ) {
    this.#name = sibling.run.id
    for (const { change, a, b } of diffRuns(viewRun(tape), viewRun(sibling)).steps) {
      if (a !== undefined && b !== undefined) this.#differing.set(a.label, b.label)
      else if (change === 'removed' && a !== undefined) this.#missing.add(a.label)
    }
  }

  /** How the other run answered this step. Throws `DoesNotFit` when it did not, or no differently. */
  answer(step: Step): FreeAnswer {
    if (this.#missing.has(step.label)) throw new DoesNotFit(`run ${this.#name} has no such step`)
    const label = this.#differing.get(step.label)
    const there = label === undefined ? undefined : viewRun(this.sibling).step(label)
    if (there === undefined || there.kind !== step.kind || there.toolName !== step.toolName)
      throw new DoesNotFit(`run ${this.#name} has the same there`)
    return answerOf(this.sibling, there)
  }
}

const KINDS: Readonly<Record<Step['kind'], string>> = {
  model: 'models',
  tool: 'tools',
  http: 'requests',
  mcp: 'MCP requests',
  process: 'processes',
  mark: 'marks',
}
const HOW_MAX = 40
const LABELS_MAX = 8

/**
 * Treatment of free steps in a line: `free: models live · tools neutral · step 4 live`.
 * Kinds whose steps are all treated alike are combined.
 */
function describeInterventions(
  steps: readonly Step[],
  hows: ReadonlyMap<string, string>,
  simulator?: string,
): string {
  const otherwise = simulator === undefined ? 'live' : `by ${fromHere(simulator)}`
  const howOf = ({ label }: Step): string => short(hows.get(label) ?? otherwise)
  const parts = [...new Set(steps.map(({ kind }) => kind))].flatMap((kind) => {
    const alike = steps.filter((step) => step.kind === kind)
    const ways = [...new Set(alike.map(howOf))]
    if (ways.length === 1) return [`${KINDS[kind]} ${ways[0]}`]
    return ways.map((way) => `${named(alike.filter((step) => howOf(step) === way))} ${way}`)
  })
  return `free: ${parts.join(' · ')}`
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
  /** File of a module that answers every free step which nothing else answers. */
  readonly simulator?: string
  /** Where files are looked for; the working directory unless set. */
  readonly folder?: string
  /** Where sibling runs are looked for. */
  readonly runs?: RunStore
}

/** How the steps of a run are made free. */
export interface Interventions {
  /** By label, what a free step is answered with. */
  readonly answers: Readonly<Record<string, FreeAnswer>>
  /** Absolute path of the simulator, and a hash of its code. */
  readonly simulator?: string
  readonly simulatorKey?: string
  /** Labels of the steps that go live; with a simulator, only where it has no answer. */
  readonly live: readonly string[]
  /** Summary in a line, printed before anything is spent. */
  readonly describe: string
  /** Warnings: an answer that equals the recorded one, a step that stays live. */
  readonly warnings: readonly string[]
}

/**
 * Turns what the user said about free steps into answers by label. The closest that
 * names a step decides, and of equals the last; without any, a step goes live.
 * Throws when something is named that is not there, or a step that is named by its
 * number cannot be answered so.
 */
export function planInterventions(
  tape: Tape,
  steps: readonly Step[],
  specs: readonly string[],
  options: InterventionOptions = {},
): Interventions {
  const { folder, runs = new RunStore() } = options
  const parsed = specs.map((text) => parseFree(text, folder === undefined ? {} : { folder }))
  const make = answerMaker(tape, runs)
  const answers: Record<string, FreeAnswer> = {}
  const hows = new Map<string, string>()
  const warnings: string[] = []
  for (const { spec, freed, closeness } of inOrder(parsed, steps)) {
    for (const step of freed) {
      const { label } = step
      const way = hows.get(label)
      try {
        const answer = make(step, spec, way?.startsWith('set:') ? answers[label] : undefined)
        if (answer === 'as before') continue
        delete answers[label]
        hows.delete(label)
        if (answer === 'live') continue
        answers[label] = answer
        hows.set(label, spec.text.slice(spec.text.indexOf('=') + 1).trim())
      } catch (error) {
        if (!(error instanceof DoesNotFit)) throw error
        if (closeness === 3) throw doesNotFit(label, spec, error.message)
        warnings.push(`step ${label} stays ${way ?? 'live'}: ${error.message}`)
      }
    }
  }
  for (const step of steps) {
    const answer = answers[step.label]
    if (answer !== undefined && isDeepStrictEqual(answer, recordedAnswer(tape, step)))
      warnings.push(`step ${step.label} is answered as it was recorded: freeing it changes nothing`)
  }
  const simulator = simulatorOf(options)
  const live = steps.flatMap(({ label }) => (label in answers ? [] : [label]))
  return {
    answers,
    ...simulator,
    live,
    describe: describeInterventions(steps, hows, options.simulator),
    warnings,
  }
}

/** Those that name a step closely come last, and so win. */
function inOrder(
  specs: readonly FreeSpec[],
  steps: readonly Step[],
): { spec: FreeSpec; freed: readonly Step[]; closeness: number }[] {
  return specs
    .map((spec) => {
      const { steps: freed, closeness } = freedSteps(spec.where, steps)
      checkScript(spec, steps)
      return { spec, freed, closeness }
    })
    .toSorted((a, b) => a.closeness - b.closeness)
}

function checkScript({ how, text }: FreeSpec, steps: readonly Step[]): void {
  if (how.kind !== 'script') return
  const unknown = Object.keys(how.answers).find((key) => !steps.some(({ label }) => label === key))
  if (unknown !== undefined)
    throw usageError(
      `--free ${text} answers a step that cannot be made free.`,
      `${how.file} names step ${unknown}.`,
    )
}

type MakeAnswer = (
  step: Step,
  spec: FreeSpec,
  /** The answer after earlier changes of the same step. */
  changed: FreeAnswer | undefined,
) => FreeAnswer | 'live' | 'as before'

function answerMaker(tape: Tape, runs: RunStore): MakeAnswer {
  const siblings = new Map<string, SiblingAnswers>()
  const siblingOf = (name: string): SiblingAnswers => {
    const known = siblings.get(name) ?? new SiblingAnswers(tape, openTape(runs.find(name)))
    siblings.set(name, known)
    return known
  }
  return (step, { how }, changed) => {
    switch (how.kind) {
      case 'live':
      case 'neutral':
      case 'nothing':
      case 'error':
        return scriptedAnswer(tape, step, how.kind)
      case 'given':
        return givenAnswer(tape, step, how.bytes)
      case 'set':
        return changedAnswer(tape, step, how, changed)
      case 'run':
        return siblingOf(how.run).answer(step)
      case 'script':
        return step.label in how.answers
          ? scriptedAnswer(tape, step, how.answers[step.label])
          : 'as before'
    }
  }
}

const doesNotFit = (label: string, { text }: FreeSpec, why: string): Error =>
  usageError(`--free ${text} does not fit step ${label}.`, `${why.replace(/\.$/, '')}.`)

function simulatorOf({
  simulator,
  folder = process.cwd(),
}: InterventionOptions): Pick<Interventions, 'simulator' | 'simulatorKey'> {
  if (simulator === undefined) return {}
  const file = path.resolve(folder, simulator)
  try {
    accessSync(file, constants.R_OK)
    return { simulator: file, simulatorKey: hashOfCode([file]) }
  } catch (error) {
    throw usageError(`The simulator ${simulator} cannot be read.`, (error as Error).message)
  }
}

/**
 * An answer in a script file: `{ "payload": … }`, `{ "error": "…" }`, or one of
 * the words `live`, `neutral`, `nothing` and `error`.
 */
function scriptedAnswer(tape: Tape, step: Step, scripted: unknown): FreeAnswer | 'live' {
  switch (scripted) {
    case 'live':
      return 'live'
    case 'neutral':
      return neutralAnswer(tape, step)
    case 'nothing':
      return emptyAnswer(tape, step)
    case 'error':
      return failedAnswer(step)
    default:
  }
  if (isRecord(scripted) && typeof scripted['error'] === 'string')
    return { error: scripted['error'] }
  if (isRecord(scripted) && 'payload' in scripted)
    return answerOfData(tape, step, scripted['payload'])
  throw new DoesNotFit('the script has neither { "payload": … } nor { "error": "…" } for it')
}
