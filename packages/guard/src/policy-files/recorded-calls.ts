import { readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import {
  type Effect,
  type GuardedCallOnTape,
  type GuardStatus,
  readGuards,
  rebuildError,
  type Step,
  type Tape,
  type GuardVerdict,
  attempt,
  hasRun,
  tapeErrors,
} from '@retake/tape'
import { judgeCalls, type PolicyJudgement } from '../policy/compiled-policy.js'
import type { Policy } from '../policy/policy.js'
import { thrownIn } from '../denials/thrown-error.js'
import { openTape } from '@retake/tape/node'
import { cliErrors } from '@retake/runner/errors'
import { viewRun } from '@retake/runner/runs'

/** A call that a policy would treat differently from the recording. */
export interface ChangedCall {
  readonly call: RecordedCall
  readonly judgement: PolicyJudgement
}

/**
 * Effect of a policy on recorded runs. Each call is judged after the calls that really came before
 * it, because no tape knows what an agent would have done after a denial.
 */
export function backTest(policies: readonly Policy[], runs: readonly RunCalls[]) {
  /** Calls that ran, and would now be denied or need an approval that they did not need. */
  const newlyBlocked: ChangedCall[] = []
  /** Calls that a policy blocked before they ran, and that are now allowed. */
  const newlyAllowed: ChangedCall[] = []
  for (const { calls } of runs) {
    const judgements = judgeCalls(policies, calls)
    for (const [index, call] of calls.entries()) {
      const judgement = judgements[index]
      if (judgement === undefined) continue
      if (call.started) {
        // A call that needed approval then and now has not changed.
        if (judgement.verdict === 'deny' || (judgement.verdict === 'ask' && call.verdict !== 'ask'))
          newlyBlocked.push({ call, judgement })
      } else if (call.status === 'denied' && call.isByPolicy && judgement.verdict === 'allow')
        newlyAllowed.push({ call, judgement })
    }
  }
  const calls = runs.reduce((sum, run) => sum + run.calls.length, 0)
  return { runs: runs.length, calls, newlyBlocked, newlyAllowed }
}

/** A tool call on a tape, as a policy sees it. */
export interface RecordedCall {
  readonly run: string
  /** Label of its step, or of the enclosing step for a nested call. */
  readonly step: string
  readonly isNested: boolean
  readonly tool: string
  readonly args: unknown
  readonly output: unknown
  readonly error: unknown
  readonly started: boolean
  /** Numbers of its first and last event. */
  readonly began: number
  readonly ended: number | undefined
  readonly effects: readonly Effect[] | undefined
  /** Outcome under the recorded guard. A call without a guard has run. */
  readonly status: GuardStatus
  /** Verdict of the recorded policy; `allow` without a guard. */
  readonly verdict: GuardVerdict
  /** True if a policy decided, not the guard itself or a contract. */
  readonly isByPolicy: boolean
}

export type RunCalls = ReturnType<typeof recordedRun>

/** All tool calls of a tape, including nested ones, MCP servers and unwrapped tools. */
export function recordedRun(file: string) {
  const tape = openTape(file)
  const view = viewRun(tape)
  const { guards, calls } = readGuards(tape)
  const guarded = new Map(calls.map((call) => [call.callSeq, call]))
  const policies = new Set(guards.flatMap(({ policy }) => policy.policies.map(nameOf)))
  const steps = view.steps.filter(({ kind }) => kind === 'tool')
  const last = tape.count > 0 ? endOf(tape) : undefined
  return {
    id: tape.run.id,
    file,
    startedAt: tape.run.startedAt,
    /** True if the run ended without an error. */
    hasPassed:
      last?.type !== 'end' || last.error !== undefined || last.signal !== undefined
        ? false
        : (last.exitCode ?? 0) === 0 && view.steps.every(({ state }) => state !== 'in doubt'),
    calls: [
      ...steps.map((step) => {
        const call = step.inferred ? undefined : guarded.get(step.seq)
        return call ? guardedCall(tape, call, step, policies) : unguardedCall(tape, step)
      }),
      ...calls
        .filter(({ isNested }) => isNested)
        .map((call) => guardedCall(tape, call, stepAround(call, calls, steps), policies)),
    ].toSorted((a, b) => a.began - b.began),
  }
}

/** The step whose tool made a nested call, possibly through other nested calls. */
function stepAround(
  { intent, callSeq }: GuardedCallOnTape,
  calls: readonly GuardedCallOnTape[],
  steps: readonly Step[],
): Step | undefined {
  const isAround = ({ intent: each, isNested }: GuardedCallOnTape): boolean =>
    !isNested && `${each.fingerprint}-${each.occurrence}` === intent.within
  const seq = calls.find(isAround)?.callSeq
  return steps.findLast((step) => (seq === undefined ? step.seq < callSeq : step.seq === seq))
}

/** All tapes of a folder, oldest first. */
export function recordedRuns(folder: string): RunCalls[] {
  // A parent of the folder may be a file.
  const isFolder = attempt(() => statSync(folder).isDirectory(), false)
  const files = isFolder ? readdirSync(folder).filter((name) => name.endsWith('.tape')) : []
  if (files.length === 0) throw cliErrors.NO_RUNS(path.resolve(folder))
  return files
    .toSorted()
    .map((name) => recordedRun(path.join(folder, name)))
    .toSorted((a, b) => a.startedAt - b.startedAt)
}

/** A call whose values cannot be rebuilt cannot be judged. */
function decoded<T>(tape: Tape, read: () => T): T {
  try {
    return read()
  } catch (cause) {
    throw tapeErrors.TAPE_VALUE_TOO_LARGE(tape.path, cause)
  }
}

function guardedCall(
  tape: Tape,
  call: GuardedCallOnTape,
  step: Step | undefined,
  policies: ReadonlySet<string>,
): RecordedCall {
  const { intent, facts, state, error, isNested } = call
  const { rule } = intent
  return {
    run: tape.run.id,
    step: step?.label ?? '',
    isNested,
    tool: call.tool,
    args: decoded(tape, () => call.args()),
    output: decoded(tape, () => call.output()),
    error: error && decoded(tape, () => thrownIn(error, facts?.attempts !== 0)),
    began: call.callSeq,
    ended: call.resultSeq,
    effects: intent.effects,
    status: state,
    started: facts === undefined ? state === 'in doubt' : hasRun(facts),
    // A served call keeps its approval.
    verdict: facts?.approval ? 'ask' : intent.verdict,
    isByPolicy: rule === undefined || policies.has(rule.slice(0, rule.indexOf('/'))),
  }
}

/** A call without a guard has run. */
function unguardedCall(tape: Tape, step: Step): RecordedCall {
  const call = step.call()
  const error = call?.error
  return {
    run: tape.run.id,
    step: step.label,
    isNested: false,
    tool: step.toolName ?? call?.name ?? '',
    args: call?.args,
    output: call?.result,
    error: error && decoded(tape, () => rebuildError(error)),
    began: step.seq,
    ended: step.answerSeqs.at(-1) ?? (step.inferred ? step.seq : undefined),
    effects: undefined,
    status: step.state === 'done' ? 'done' : 'failed',
    started: true,
    verdict: 'allow',
    isByPolicy: true,
  }
}

const nameOf = (policy: unknown): string => (policy as { readonly name?: string }).name ?? ''

function endOf(tape: Tape) {
  for (let seq = tape.count - 1; seq >= Math.max(0, tape.count - 3); seq -= 1) {
    const event = tape.event(seq)
    if (event.type === 'end') return event
  }
  return undefined
}
