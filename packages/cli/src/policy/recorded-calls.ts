import { readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { readGuards } from '@retake/tape'
import type {
  Effect,
  GuardedCallOnTape,
  GuardStatus,
  RunView,
  Step,
  Tape,
  Verdict,
} from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { noTapes } from '../errors.js'
import { viewRun } from '../view-run.js'

/** A tool call on a tape, as a policy would have seen it. */
export interface RecordedCall {
  readonly run: string
  /** Label of its step. */
  readonly step: string
  readonly tool: string
  readonly args: unknown
  readonly output: unknown
  /** What the tool said it does, where a guard knew. */
  readonly effects: readonly Effect[] | undefined
  /** What a guard did with it then; a call that no guard saw has simply run. */
  readonly status: GuardStatus
  /** What its policy said of it; `allow` where no guard saw it. */
  readonly verdict: Verdict
  /** A rule, a scope or the default of a policy decided, not the guard itself or a contract. */
  readonly isByPolicy: boolean
}

/** A run with its tool calls, in the order they were made. */
export interface RecordedRun {
  readonly id: string
  readonly file: string
  /** Epoch milliseconds. */
  readonly startedAt: number
  /** It came to its end, and not with an error. */
  readonly hasPassed: boolean
  readonly calls: readonly RecordedCall[]
}

/** The tool calls of one tape, those of MCP servers and of unwrapped tools included. */
export function recordedRun(file: string): RecordedRun {
  const tape = openTape(file)
  const view = viewRun(tape)
  const { guards, calls } = readGuards(tape)
  const guarded = new Map(calls.map((call) => [call.callSeq, call]))
  const policies = new Set(guards.flatMap(({ policy }) => policy.policies.map(nameOf)))
  return {
    id: tape.run.id,
    file,
    startedAt: tape.run.startedAt,
    hasPassed: hasPassed(tape, view),
    calls: view.steps
      .filter(({ kind }) => kind === 'tool')
      .map((step) =>
        recordedCall(tape, step, step.inferred ? undefined : guarded.get(step.seq), policies),
      ),
  }
}

/** Every tape of a folder, the oldest first. */
export function recordedRuns(folder: string): RecordedRun[] {
  const isFolder = statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true
  const files = isFolder ? readdirSync(folder).filter((name) => name.endsWith('.tape')) : []
  if (files.length === 0) throw noTapes(path.resolve(folder), isFolder)
  return files
    .toSorted()
    .map((name) => recordedRun(path.join(folder, name)))
    .toSorted((a, b) => a.startedAt - b.startedAt)
}

function recordedCall(
  tape: Tape,
  step: Step,
  guarded: GuardedCallOnTape | undefined,
  policies: ReadonlySet<string>,
): RecordedCall {
  const call = step.call()
  const rule = guarded?.intent.rule
  return {
    run: tape.run.id,
    step: step.label,
    tool: step.toolName ?? call?.name ?? '',
    args: call?.args,
    output: call?.result,
    effects: guarded?.intent.effects,
    status: guarded?.state ?? (step.state === 'done' ? 'done' : 'failed'),
    // A call that is served keeps the approval it was made with.
    verdict: guarded?.facts?.approval ? 'ask' : (guarded?.intent.verdict ?? 'allow'),
    isByPolicy: rule === undefined || policies.has(rule.slice(0, rule.indexOf('/'))),
  }
}

const nameOf = (policy: unknown): string => (policy as { readonly name?: string }).name ?? ''

function hasPassed(tape: Tape, view: RunView): boolean {
  const last = tape.count > 0 ? endOf(tape) : undefined
  if (last?.type !== 'end' || last.error !== undefined || last.signal !== undefined) return false
  return (last.exitCode ?? 0) === 0 && view.steps.every(({ state }) => state !== 'in doubt')
}

function endOf(tape: Tape) {
  for (let seq = tape.count - 1; seq >= Math.max(0, tape.count - 3); seq -= 1) {
    const event = tape.event(seq)
    if (event.type === 'end') return event
  }
  return undefined
}
