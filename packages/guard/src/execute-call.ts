import { attempt, type BodyForm, clipText, Deadline } from '@retake/tape/format'
import type { CallUsage, GuardFacts } from '@retake/tape/guards'
import { EMPTY, insideTool, type Mask, type Operation } from '@retake/engine/hook'
import { checkOf } from './enforcement/bounds-check.js'
import { expiredApproval, requestApproval } from './approval/request-approval.js'
import { CallBounds } from './bounds/call-bounds.js'
import { toolScopes } from './bounds/scopes.js'
import { argumentsOf, type CanonicalCall } from './canonical-call.js'
import { type CheckedOutput, checkOutput } from './contract/check-output.js'
import type { Decision } from './decide-call.js'
import { type Denial, GuardError } from './denials/guard-error.js'
import type { GuardedCall } from './guarded-call.js'
import type { GuardedTool, Verified } from './contract/guarded-tool.js'
import { commit, commitRefusal } from './guard-outcome.js'
import { countedFor, toUsage, usedAmount } from './limits/amount.js'
import { circuitOutcome, type Executed, executeTool, isLargerThan } from './limits/execute-tool.js'
import { limitErrors } from './limits/limit-errors.js'
import type { Reservation } from './limits/meter.js'
import { guardedCallKey, type CallWithoutResult, settleDoubt } from './resume/earlier-runs.js'
import { attachNote } from './resume/nested-session.js'
import { resumeDenials } from './resume/resume-errors.js'
import { encloseCalls } from './resume/guard-tapes.js'
import { describeThrown } from './denials/thrown-error.js'

/** Continues synchronously if possible, because awaiting costs more than most of a guarded call. */
const whenReady = <T, R>(
  value: T | Promise<T>,
  proceed: (value: T) => R | Promise<R>,
): R | Promise<R> => (value instanceof Promise ? value.then(proceed) : proceed(value))

type Later = void | Promise<void>

const ERROR_BYTES = 100_000

/** Executes the decision about a call: refuses it, serves an earlier result, or runs the tool. */
export class CallExecution {
  #facts: Partial<GuardFacts> | undefined

  constructor(
    readonly call: GuardedCall,
    readonly operation: Operation,
    readonly decision: Decision,
    readonly canonical: CanonicalCall,
  ) {}

  start(): Later {
    const { refusal, isSkipped, earlier, reservation } = this.decision
    const { tool } = this.call
    if (refusal !== undefined) return commitRefusal(this.operation, refusal)
    if (isSkipped === true) return this.#skip()
    if (earlier !== undefined)
      return this.#approved(() => {
        const { error: recorded, facts, from: served } = earlier
        const { as, body } = revealed(earlier.result(), this.operation.session.secrets)
        commit(
          this.operation,
          { ...facts, ...this.#facts, status: 'done', attempts: 0, served },
          { as, body, recorded },
        )
      })
    if (tool === undefined || reservation === undefined)
      throw new Error('an allowed call has no tool or no reservation')
    if (this.decision.doubt !== undefined)
      return this.#verify(tool, reservation, this.decision.doubt)
    return this.#runApproved(tool, reservation)
  }

  #runApproved(tool: GuardedTool, reservation: Reservation): Later {
    if (this.decision.intent.verdict === 'allow') return this.#run(tool, reservation)
    return this.#approved(
      () => {
        // Only a crash after this note leaves the call in doubt.
        const { id: op, session } = this.operation
        const approval = this.#facts?.approval
        attachNote(session, 'approved', { op, ...(approval && { approval }) })
        return this.#run(tool, reservation)
      },
      () => reservation.release(),
    )
  }

  /** Verifies a call in doubt. Runs it if it did not happen; if that is unknown, `inDoubt` decides. */
  async #verify(tool: GuardedTool, room: Reservation, doubt: CallWithoutResult): Promise<void> {
    const { run, name } = this.call
    const found = await this.#found(tool).catch(() => 'unknown' as const)
    if (found !== 'unknown' && !found.happened) {
      settleDoubt(doubt)
      return this.#runApproved(tool, room)
    }
    if (found === 'unknown') {
      const decision = run.tapes.decideDoubt(doubt, tool)
      if (decision === 'retry') return this.#runApproved(tool, room)
      room.release()
      if (decision === 'fail')
        return this.#refuse(resumeDenials.CALL_IN_DOUBT(name, doubt.from.run))
      return this.#skip()
    }
    settleDoubt(doubt)
    room.release()
    commit(this.operation, { status: 'done', attempts: 0, verified: true }, { value: found.output })
  }

  async #found(tool: GuardedTool): Promise<Verified> {
    const { fingerprint, occurrence, key } = this.decision.intent
    const { timeoutMs } = this.call.run.limiter.allowanceOf(tool)
    using deadline = new Deadline({ ms: timeoutMs })
    const { signal } = deadline
    const idempotencyKey = key ?? guardedCallKey(fingerprint, occurrence)
    const looking = this.call.within(
      () => tool.options.verify?.(this.#args(), { idempotencyKey, signal }),
      this.operation.session,
    )
    const late = new Promise<Verified>((resolve) =>
      signal.addEventListener('abort', () => resolve('unknown'), { once: true }),
    )
    const found: unknown = await Promise.race([looking, late])
    const { happened } = (found ?? {}) as { readonly happened?: unknown }
    return typeof happened === 'boolean' ? (found as Verified) : 'unknown'
  }

  #skip(): void {
    const nothing = { as: undefined, body: EMPTY, recorded: undefined }
    commit(this.operation, { status: 'in doubt', attempts: 0 }, nothing)
  }

  #approved(proceed: () => Later, refused?: () => void): Later {
    if (this.decision.intent.verdict !== 'ask') return proceed()
    return requestApproval(this.call, this.operation, this.decision.intent, this.#args()).then(
      (approved) => {
        if (approved.approval) this.#facts = { approval: approved.approval }
        if (!('denial' in approved)) return proceed()
        refused?.()
        return this.#refuse(approved.denial)
      },
    )
  }

  #run(tool: GuardedTool, room: Reservation): Later {
    const { run, name, options, around } = this.call
    const { fingerprint, occurrence, within, key } = this.decision.intent
    const bounds = new CallBounds(name, toolScopes(run.policy.scopes, tool), around)
    encloseCalls(bounds, guardedCallKey(fingerprint, occurrence, within))
    const { session } = this.operation
    return whenReady(room.ready(bounds, options.signal), (denial) => {
      if (denial !== undefined) return this.#refuse(denial)
      const expired = expiredApproval(this.#facts?.approval, name, this.decision.intent)
      if (expired !== undefined) {
        room.release()
        return this.#refuse(expired)
      }
      const { timeoutMs, deadlineMs, outputBytes } = run.limiter.allowanceOf(tool)
      const executing = executeTool({
        tool,
        args: () => this.#args(),
        session: session.owner ?? session,
        bounds,
        idempotencyKey: key ?? guardedCallKey(fingerprint, occurrence),
        timeoutMs,
        deadlineMs,
        outputBytes,
        signal: options.signal,
        again: (usage) => {
          // Records the cost of an attempt before the next one starts, so that a crash cannot lose
          // it.
          const denial = room.again(usage)
          const { run, name } = this.call
          if (denial === undefined)
            run.tapes.spending.recordFor(this.operation, name, usedAmount(usage, room.amount))
          return denial
        },
        late: (usage) => run.tapes.spending.recordFor(this.operation, name, room.late(usage)),
      })
      return whenReady(executing, (executed) => this.#executed(tool, room, bounds, executed))
    })
  }

  /** The amount that the call counts for; undefined if it follows from the other facts. */
  #counted({ counted }: Reservation, facts: GuardFacts): CallUsage | undefined {
    const expected = countedFor(this.decision.intent, facts)
    const isExpected = expected.tokens === counted.tokens && expected.nanoUsd === counted.nanoUsd
    return isExpected ? undefined : (toUsage(counted) ?? {})
  }

  #executed(tool: GuardedTool, room: Reservation, bounds: CallBounds, executed: Executed): Later {
    const { name, around } = this.call
    bounds.end()
    const { outcome, lastUsage, isGivenUp } = executed
    const overused = room.settle(lastUsage, circuitOutcome(executed), isGivenUp)
    const isVague = isGivenUp || (executed.facts.attempts ?? 1) > 1
    const counted = isVague ? this.#counted(room, executed.facts) : undefined
    const isPlain =
      this.#facts === undefined && !overused && !counted && bounds.blocked.length === 0
    const facts: GuardFacts = isPlain
      ? executed.facts
      : {
          ...this.#facts,
          ...executed.facts,
          ...(overused && { overused }),
          ...(counted && { counted }),
          ...(bounds.blocked.length > 0 && {
            blocked: blockedTexts(bounds.blocked),
          }),
        }
    if ('error' in outcome) {
      // An enclosing call may have refused the action.
      const blocked = [bounds, ...around].flatMap((each) => each.blocked)
      const { session } = this.operation
      const expected = insideTool(
        session.owner ?? session,
        () => describeThrown(name, outcome.error, blocked),
        checkOf(bounds),
      )
      const { isRefusal, ...error } = expected
      const { outputBytes } = this.call.run.limiter.allowanceOf(tool)
      const errorBytes = Math.max(outputBytes, ERROR_BYTES)
      if (isLargerThan(error.recorded, errorBytes)) return this.#tooLarge(facts, errorBytes)
      const refused: GuardFacts = {
        ...facts,
        status: 'denied',
        ...(bounds.acted && { acted: true }),
      }
      return commit(this.operation, isRefusal ? refused : facts, error)
    }
    const check = (): CheckedOutput | Promise<CheckedOutput> => checkOutput(tool, outcome.value)
    // A schema may run code of the tool, so it runs within the scopes of the tool.
    const checking =
      tool.options.output === undefined ? check() : this.call.within(check, this.operation.session)
    return whenReady(checking, (checked) => {
      const { value: returned, as, body } = outcome
      const { value, drift, denial } = checked
      const withDrift = drift.length > 0 ? { ...facts, drift } : facts
      if (denial)
        commit(
          this.operation,
          { ...withDrift, status: 'failed' },
          { error: new GuardError(denial) },
        )
      else if (value === returned)
        commit(this.operation, withDrift, { as, body, recorded: undefined })
      else commit(this.operation, withDrift, { value })
    })
  }

  /** The size limit of results also applies to a thrown error. */
  #tooLarge(facts: GuardFacts, bytes: number): void {
    const denial = limitErrors.LIMIT_OUTPUT_SIZE(this.call.name, bytes, undefined, 'error')
    const { exitReason } = denial
    const stopped: GuardFacts = { ...facts, status: 'stopped', ...(exitReason && { exitReason }) }
    commit(this.operation, stopped, { error: new GuardError(denial) })
  }

  #refuse(denial: Denial): void {
    commitRefusal(this.operation, { denial }, this.#facts)
  }

  #args(): unknown {
    return argumentsOf(this.canonical)
  }
}

const BLOCKED_MAX = 200
const BLOCKED_TEXT_MAX = 500

/** A tool that ignores refusals can cause any number of them. */
function blockedTexts(blocked: readonly GuardError[]): string[] {
  const more = blocked.length - BLOCKED_MAX
  const texts = blocked
    .slice(0, BLOCKED_MAX)
    .map(({ code, what }) => clipText(`${code}: ${what}`, BLOCKED_TEXT_MAX))
  return more > 0 ? [...texts, `and ${more} more`] : texts
}

interface Stored {
  readonly as: BodyForm | undefined
  readonly body: Uint8Array
}

/** A stored result with the secrets of this process in place of their masks. */
function revealed({ as, body }: Stored, secrets: Mask): Stored {
  if (as === undefined || as === 'bytes') return { as, body }
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8')
  const shown = secrets.reveal(text)
  // A secret that contains quotes breaks the JSON.
  if (as === 'json' && attempt(() => JSON.parse(shown) as unknown) === undefined)
    return { as, body }
  return shown === text ? { as, body } : { as, body: Buffer.from(shown, 'utf8') }
}
