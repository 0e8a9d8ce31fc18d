import { existsSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import type { AmbientPlan } from '@retake/engine'
import { ambientKind, isFileCall, readsFile, pathsOfCall } from '@retake/engine/plans'
import { containsSecret, isSurrounding } from '@retake/engine/runs'
import {
  type AmbientInput,
  type CallEvent,
  clipText,
  decodeBody,
  defined,
  type DrawEvent,
  isEnvironmentNote,
  readsOf,
  type Step,
  type Tape,
  attempt,
} from '@retake/tape'
import { viewRun } from '@retake/runner/runs'
import { type DrawSites, processesOf, type SearchedProcess, type TreeStep } from './process-tree.js'

/** An ambient input, and what pins it in a fork. */
export interface FoundInput {
  readonly input: AmbientInput
  readonly process: SearchedProcess
  readonly plan: AmbientPlan
}

/** Inputs that could differ in a fork, and deleted files and variables, which are always pinned. */
export interface FoundAmbient {
  readonly inputs: readonly FoundInput[]
  readonly removedFiles: ReadonlyMap<SearchedProcess, readonly string[]>
  readonly unsetVariables: readonly string[]
}

export interface AmbientOptions {
  readonly drawSites: DrawSites
  /** Variables that the user sets for the search. */
  readonly env: Readonly<Record<string, string>>
  /** True if variables that are no longer set are inputs too (default: forks get their recorded values). */
  readonly freesUnset?: boolean | undefined
}

interface Draft {
  readonly kind: AmbientInput['kind']
  readonly name: string
  readonly value?: string | undefined
  readonly now?: string | undefined
  readonly site?: string | undefined
  readonly steps?: readonly string[]
  /** The event that first reads it. */
  readonly at: number
  readonly plan: AmbientPlan
}

/**
 * Inputs of a run besides its steps that could differ in a fork, in order of first use: clock reads
 * and random values by call site, changed files and environment variables, and the order of answers
 * to overlapping steps. Reads that only libraries make are one input per kind. Variables that only
 * child processes read are inputs if the user sets them, and otherwise as recorded.
 */
export function findAmbientInputs(
  run: SearchedProcess,
  steps: readonly TreeStep[],
  given: AmbientOptions,
): FoundAmbient {
  const removedFiles = new Map<SearchedProcess, readonly string[]>()
  const variables = changedVariables(run, given.env)
  const freed = variables.filter(({ now }) => now !== undefined || given.freesUnset === true)
  const inputs = processesOf(run).flatMap((process) => {
    const { tape, prefix, drawSites = given.drawSites } = process
    const own = steps.filter((step) => step.process === process)
    const files = fileInputs(tape)
    removedFiles.set(process, files.removed)
    const drafts = [
      ...drawInputs(tape, drawSites),
      ...files.drafts,
      ...orderInput(own),
      ...(prefix === '' ? freed.map(variableInput) : []),
    ]
    return drafts
      .toSorted((a, b) => a.at - b.at)
      .map(({ kind, name, value, now, site, steps: overlapping, at, plan }) => {
        const step = own.findLast(({ seq }) => seq < at)?.label
        const where = site === undefined ? undefined : shortSite(tape, site)
        const known = defined({ value, now, site: where, step, steps: overlapping })
        return { input: { kind, name, ...known }, process, plan }
      })
  })
  const unset = variables.filter((variable) => !freed.includes(variable))
  return { inputs, removedFiles, unsetVariables: unset.map(({ name }) => name) }
}

/** Plan of a fork of one process, with some of the inputs pinned. */
export function ambientPlan(
  { inputs, removedFiles, unsetVariables }: FoundAmbient,
  pinned: readonly number[],
  process: SearchedProcess,
): AmbientPlan {
  const plans = pinned.flatMap((index) => {
    const found = inputs[index]
    return found?.process === process ? found.plan : []
  })
  return {
    ...(process.prefix !== '' && { input: 'live' }),
    draws: plans.flatMap(({ draws }) => draws),
    files: [...(removedFiles.get(process) ?? []), ...plans.flatMap(({ files }) => files)],
    variables: [...unsetVariables, ...plans.flatMap(({ variables }) => variables)],
    order: plans.some(({ order }) => order),
  }
}

const NOTHING: AmbientPlan = { draws: [], files: [], variables: [], order: false }

// ── clocks and random values ────────────────────────────────────────────────

function drawInputs(tape: Tape, sites: DrawSites): Draft[] {
  const groups = new Map<string, DrawEvent[]>()
  for (const event of tape.events(1)) {
    const kind = event.type === 'draw' ? ambientKind(event.kind) : undefined
    if (event.type !== 'draw' || kind === undefined) continue
    const key = `${kind} ${sites[event.seq] ?? ''}`
    const group = groups.get(key) ?? []
    groups.set(key, group)
    group.push(event)
  }
  return [...groups.values()].flatMap((draws) => {
    const [first] = draws
    const kind = first && ambientKind(first.kind)
    if (first === undefined || kind === undefined) return []
    const site = sites[first.seq]
    const [name = first.kind] = first.kind.split(' ')
    return {
      kind,
      name,
      value: kind === 'clock' ? timeText(tape, draws) : randomText(draws),
      site,
      at: first.seq,
      plan: { ...NOTHING, draws: draws.map(({ seq }) => ({ seq, ...(site && { site }) })) },
    }
  })
}

/** `Saturday, 14 Nov 2026 23:10`, in the time zone of the run. */
function timeText({ details }: Tape, draws: readonly DrawEvent[]): string | undefined {
  const read = draws.find(({ kind, value }) => kind === 'Date.now' && typeof value === 'number')
  if (read === undefined) return undefined
  const timeZone = details.env?.['TZ']
  const formatIn = (zone: object): Intl.DateTimeFormat =>
    new Intl.DateTimeFormat('en-GB', { ...TIME, ...zone })
  const format = attempt(() => formatIn(timeZone ? { timeZone } : {})) ?? formatIn({})
  const parts = new Map(
    format.formatToParts(read.value as number).map(({ type, value }) => [type, value]),
  )
  const [weekday, day, month, year, hour, minute] = PARTS.map((part) => parts.get(part) ?? '')
  return `${weekday}, ${day} ${month} ${year} ${hour}:${minute}`
}

const TIME = {
  weekday: 'long',
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
} as const
const PARTS = ['weekday', 'day', 'month', 'year', 'hour', 'minute'] as const

const VALUES_SHOWN = 3

/** Numbers, such as `0.93, 0.11`. Bytes and ids mean nothing to readers. */
function randomText(draws: readonly DrawEvent[]): string | undefined {
  const numbers = draws.map(({ value }) => value).filter((value) => typeof value === 'number')
  if (numbers.length === 0) return undefined
  // Math.random never returns 1, so 0.999 is not shown as 1.
  const rounded = (value: number): number =>
    value < 1 ? Math.min(Number(value.toFixed(2)), 0.99) : Number(value.toFixed(2))
  const shown = numbers.slice(0, VALUES_SHOWN).map((value) => String(rounded(value)))
  return [...shown, ...(numbers.length > VALUES_SHOWN ? ['…'] : [])].join(', ')
}

// ── files ───────────────────────────────────────────────────────────────────

interface Looked {
  readonly at: number
  readonly site: string | undefined
  /** According to the first access. */
  readonly wasThere: boolean
  content?: Uint8Array
}

/**
 * Files that the run read but did not write, and that have changed. Deleted files have no other
 * content that a fork could read.
 */
function fileInputs(tape: Tape): { drafts: Draft[]; removed: string[] } {
  const { looked, changed } = filesOn(tape)
  const others = [...looked].filter(([file]) => !changed.has(file) && !IGNORED.test(file))
  const drafts = others.flatMap(([file, look]) => {
    const value = differenceNow(file, look, tape.run.startedAt)
    if (value === undefined) return []
    const name = path.relative(tape.details.cwd ?? '.', file)
    const { at, site } = look
    const shown = name.startsWith('..') ? file : name
    const plan = { ...NOTHING, files: [file] }
    return { kind: 'file' as const, name: shown, value, site, at, plan }
  })
  const [library, ...more] = drafts.filter(({ site }) => site === undefined)
  const own = drafts.filter(({ site }) => site !== undefined)
  const removed = others.flatMap(([file, { wasThere }]) =>
    wasThere && !existsSync(file) ? [file] : [],
  )
  if (library === undefined) return { drafts: own, removed }
  const files = [library, ...more].flatMap(({ plan }) => plan.files)
  return { drafts: [...own, { ...library, plan: { ...NOTHING, files } }], removed }
}

const IGNORED = /[/\\](?:node_modules|\.retake)[/\\]|^\/(?:dev|proc|sys)\//

function filesOn(tape: Tape): { looked: Map<string, Looked>; changed: Set<string> } {
  const looked = new Map<string, Looked>()
  const changed = new Set<string>()
  const calls = new Map<number, CallEvent>()
  for (const event of tape.events(1)) {
    if (isFileCall(event)) {
      if (readsFile(event, tape.body(event.seq))) calls.set(event.seq, event)
      else for (const file of pathsOfCall(tape, event)) changed.add(file)
    }
    const call = event.type === 'result' ? calls.get(event.op) : undefined
    if (call === undefined || event.type !== 'result') continue
    const { as, seq, error, proof } = event
    const isRead = /\.readFile(Sync)?$/.test(call.name)
    // `existsSync` answers without an error.
    const saysMissing =
      /\.exists(Sync)?$/.test(call.name) && as && decodeBody(as, tape.body(seq)) === false
    const wasThere = error?.code !== 'ENOENT' && !saysMissing
    for (const file of pathsOfCall(tape, call)) {
      const known = looked.get(file) ?? { at: call.seq, site: call.site, wasThere }
      looked.set(file, known)
      if (isRead && error === undefined && proof === undefined) known.content ??= tape.body(seq)
    }
  }
  return { looked, changed }
}

function differenceNow(
  file: string,
  { wasThere, content }: Looked,
  since: number,
): string | undefined {
  const stat = statSync(file, { throwIfNoEntry: false })
  if (stat === undefined) return undefined
  if (!wasThere) return 'missing'
  const now = content && stat.isFile() ? attempt(() => readFileSync(file)) : undefined
  const isSame =
    content !== undefined && now !== undefined
      ? Buffer.compare(content, now) === 0
      : stat.mtimeMs <= since
  return isSame ? undefined : 'changed since'
}

// ── the order of answers ────────────────────────────────────────────────────

/** One input if steps overlap, because their answers could have come in another order. */
function orderInput(steps: readonly Step[]): Draft[] {
  const first = steps.find((step, index) => overlapsNext(step, steps[index + 1]))
  if (first === undefined) return []
  const together = steps.filter(
    (step, index) => overlapsNext(step, steps[index + 1]) || overlapsNext(steps[index - 1], step),
  )
  const answered = together.toSorted((a, b) => lastAnswer(a) - lastAnswer(b))
  const order = answered.map(({ label }) => label)
  return [
    {
      kind: 'order',
      name: 'order of answers',
      value: clipText(`steps ${order.join(', ')}`, VALUE_LENGTH),
      steps: order,
      at: first.seq,
      plan: { ...NOTHING, order: true },
    },
  ]
}

const lastAnswer = ({ seq, answerSeqs }: Step): number => answerSeqs.at(-1) ?? seq

/** True if the next step started before this one was answered. */
export const overlapsNext = (step: Step | undefined, next: Step | undefined): boolean =>
  step !== undefined && next !== undefined && next.seq < lastAnswer(step)

// ── environment variables ───────────────────────────────────────────────────

const VALUE_LENGTH = 40

interface ChangedVariable {
  readonly name: string
  /** Undefined if it was not set. */
  readonly recorded: string | undefined
  /** Undefined if it is not set. */
  readonly now: string | undefined
  /** The event of the run that reads it, or that starts the process that reads it. */
  readonly at: number
}

/**
 * Variables that the run read, and that are set otherwise now or in `env`. Secrets are always
 * current, and variables that Node reads itself are as recorded, unless the user sets one that
 * programs read too.
 */
export function changedVariables(
  run: SearchedProcess,
  env: Readonly<Record<string, string>>,
): readonly ChangedVariable[] {
  const found = new Map<string, ChangedVariable>()
  const known = new Set<string>()
  const note = (name: string, recorded: string | undefined, at: number): void => {
    known.add(name)
    const now = env[name] ?? (isSurrounding(name) ? recorded : process.env[name])
    if (now !== recorded) found.set(name, { name, recorded, now, at })
  }
  for (const { tape, prefix } of processesOf(run)) {
    const isOwn = prefix === ''
    const started = run.tape === tape ? undefined : prefix.split(':')[0]
    for (const event of tape.events(1)) {
      if (!isEnvironmentNote(event)) continue
      for (const { name, value, isSecret } of readsOf(tape, event.seq).reads) {
        // A child may have been given a variable that its parent did not have.
        if (known.has(name) || (!isOwn && !(name in env))) continue
        if (isSecret === true || (value !== null && containsSecret(name, value))) continue
        if (isSurrounding(name) && !FOR_PROGRAMS.test(name)) continue
        const at = isOwn ? event.seq : startOf(run.tape, started)
        note(name, value ?? undefined, at)
      }
    }
  }
  // Node reads these itself, so the tape need not have a read.
  const { env: surrounding = {} } = run.tape.details
  for (const name of Object.keys(env))
    if (!known.has(name) && FOR_PROGRAMS.test(name)) note(name, surrounding[name], 0)
  return [...found.values()]
}

const FOR_PROGRAMS =
  /^(?:TZ|LANG|LANGUAGE|LC_\w+|NODE_ENV|CI|(?:NO|FORCE)_COLOR|COLUMNS|LINES|TERM)$/

const startOf = (tape: Tape, label: string | undefined): number =>
  (viewRun(tape).step(label ?? '')?.seq ?? 0) + 1

const variableInput = ({ name, recorded, now, at }: ChangedVariable): Draft => ({
  kind: 'environment',
  name,
  value: valueText(recorded),
  now: valueText(now),
  at,
  plan: { ...NOTHING, variables: [name] },
})

const valueText = (value: string | undefined): string =>
  value === undefined ? 'not set' : clipText(value, VALUE_LENGTH)

/** `agent.ts:31`: without the column, relative to the folder of the run. */
function shortSite({ details }: Tape, site: string): string {
  const [, file = site, line = ''] = /^(.*):(\d+):\d+$/s.exec(site) ?? []
  const relative = path.relative(details.cwd ?? '.', file)
  return `${relative.startsWith('..') ? file : relative}:${line}`
}
