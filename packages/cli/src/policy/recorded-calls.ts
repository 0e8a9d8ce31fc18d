import { readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { guardedCalls } from '@retake/tape'
import type { Effect, GuardedCallOnTape, GuardStatus, RunView, Step, Tape } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { noRuns } from '../errors.js'
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
  const guarded = new Map(guardedCalls(tape).map((call) => [call.callSeq, call]))
  return {
    id: tape.run.id,
    file,
    startedAt: tape.run.startedAt,
    hasPassed: hasPassed(tape, view),
    calls: view.steps
      .filter(({ kind }) => kind === 'tool')
      .map((step) => recordedCall(tape, step, step.inferred ? undefined : guarded.get(step.seq))),
  }
}

/** Every tape of a folder, the oldest first. */
export function recordedRuns(folder: string): RecordedRun[] {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    throw noRuns(path.resolve(folder))
  const files = readdirSync(folder).filter((name) => name.endsWith('.tape'))
  if (files.length === 0) throw noRuns(path.resolve(folder))
  return files
    .toSorted()
    .map((name) => recordedRun(path.join(folder, name)))
    .toSorted((a, b) => a.startedAt - b.startedAt)
}

function recordedCall(
  tape: Tape,
  step: Step,
  guarded: GuardedCallOnTape | undefined,
): RecordedCall {
  const call = step.call()
  return {
    run: tape.run.id,
    step: step.label,
    tool: step.toolName ?? call?.name ?? '',
    args: call?.args,
    output: call?.result,
    effects: guarded?.intent.effects,
    status: guarded?.state ?? (step.state === 'done' ? 'done' : 'failed'),
  }
}

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
