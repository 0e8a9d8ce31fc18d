import { createHash } from 'node:crypto'
import {
  type BlameFindings,
  messageText,
  type SpanFindings,
  type Step,
  type StepKind,
} from '@retake/tape'
import { plainValue } from '../terminal/terminal.js'
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { ClassicView } from '@retake/diagnose'

/** Findings of the last search of a run, stored in a file beside the runs. */
export interface FindingsFile {
  readonly version: 1
  /** Id of the run that was searched. */
  readonly run: string
  /** When the search ended, milliseconds since 1970. */
  readonly at: number
  /** The oracle, as it was given. */
  readonly oracle: string
  /** Hash of the search: oracle, interventions, seed. */
  readonly question: string
  /** The searched steps; `findings.steps[i]` is about `steps[i]`. */
  readonly steps: readonly SearchedStep[]
  readonly findings: BlameFindings
  /** Result of changing one step at a time, if requested. */
  readonly classic?: ClassicView
  /** Which words of a model request mattered, if requested. */
  readonly spans?: SpanFindings
  readonly facts: SearchFacts
}

/** A step as a person knows it. */
export interface SearchedStep {
  readonly label: string
  readonly kind: StepKind
  /** Kind and name of the step: `tool search_policy`. */
  readonly name: string
  readonly title: string
}

/** How the search went. */
interface SearchFacts {
  /** Forks that were run now; the others had been run by an earlier search. */
  readonly newForks: number
  /** Why forks came to no verdict, each kind with how often. */
  readonly undefinedBy: Readonly<Record<string, number>>
  /** Recorded answers that were given although the question had changed. */
  readonly forcedAnswers: number
  readonly wallMs: number
  /** How free steps are answered, as it was given; live unless named. */
  readonly free: readonly string[]
  readonly maxForks: number
  readonly maxUsd?: number
  readonly seed: number
}

/** The folder for findings about the runs of a folder: `.retake/blame` for `.retake/runs`. */
export function blameFolder(tapeFile: string): string {
  const runs = path.dirname(path.resolve(tapeFile))
  return path.join(path.basename(runs) === 'runs' ? path.dirname(runs) : runs, 'blame')
}

export const findingsPath = (tapeFile: string, run: string): string =>
  path.join(blameFolder(tapeFile), `${run}.json`)

/** Replaces what an earlier search of this run had come to. */
export function writeFindings(tapeFile: string, found: FindingsFile): void {
  const file = findingsPath(tapeFile, found.run)
  mkdirSync(path.dirname(file), { recursive: true })
  const draft = `${file}.${process.pid}.tmp`
  writeFileSync(draft, `${JSON.stringify(found)}\n`)
  renameSync(draft, file)
}

/**
 * Short text that is equal for equal results of a step: the
 * tools a model calls with their arguments, the words it says, a class of errors,
 * the result of a tool. Ids, key order, case and punctuation make no difference.
 */
export function stepValue(step: Step): string {
  return createHash('sha256').update(meaningOf(step)).digest('hex').slice(0, 16)
}

function meaningOf(step: Step): string {
  const { failure } = step
  if (failure !== undefined) return `error ${failure.class} ${failure.code ?? ''}`
  const status = step.exchange()?.response?.status ?? 200
  if (status >= 400) return `status ${status}`
  if (step.kind === 'model') return saidBy(step)
  const call = step.call() ?? step.mcp()
  if (call !== undefined) return `result ${canonicalFindings(resultOf(call))}`
  const response = step.exchange()?.response
  if (response === undefined) return step.state
  return `answer ${response.json === undefined ? (response.text ?? '') : canonicalFindings(response.json)}`
}

function saidBy(step: Step): string {
  const calls = step.toolCalls.map(({ name, args }) => ({ name, args }))
  if (calls.length > 0) return `calls ${canonicalFindings(calls)}`
  return `says ${words(step.answer().map(messageText).join(' '))}`
}

/** Numbers retain their decimal points: 3.5 is not 35. */
const words = (text: string): string =>
  (text.toLowerCase().match(/\d+(?:[.,]\d+)*|[\p{L}\p{N}]+/gu) ?? []).join(' ')

interface Called {
  readonly result?: unknown
  readonly output?: readonly { readonly pipe: number; readonly bytes: Uint8Array }[]
}

function resultOf({ result, output = [] }: Called): unknown {
  if (output.length === 0) return result
  const printed = output.map(({ pipe, bytes }) => [pipe, Buffer.from(bytes).toString()])
  return [result, printed]
}

/** JSON with sorted keys; values that JSON lacks as in other output. */
export const canonicalFindings = (value: unknown): string =>
  JSON.stringify(sorted(plainValue(value))) ?? ''

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  return Object.fromEntries(entries.map(([key, each]) => [key, sorted(each)]))
}

/** Numbers in rising order as ranges: `0-4,7`. */
export function stepRanges(numbers: readonly number[]): string {
  const ranges: [number, number][] = []
  for (const number of numbers) {
    const last = ranges.at(-1)
    if (last !== undefined && number === last[1] + 1) last[1] = number
    else ranges.push([number, number])
  }
  return ranges.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(',')
}
