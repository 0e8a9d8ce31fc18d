import { type BodyForm, decodeBody, encodeBody } from '@retake/tape/format'
import type { CallUsage, GuardFacts } from '@retake/tape/guards'
import { insideTool, type Session } from '@retake/engine/hook'
import type { CallBounds } from '../bounds/call-bounds.js'
import { checkOf } from '../enforcement/bounds-check.js'
import { type Denial, GuardError, guardErrors } from '../denials/guard-error.js'
import type { GuardedTool, ToolContext } from '../contract/guarded-tool.js'
import { addCallUsage, usageProblem } from './amount.js'
import type { CircuitOutcome } from './meter.js'
import { type Clock, realClock, type WaitEnd, waitFor } from './clock.js'
import { limitErrors } from './limit-errors.js'
import { requestedPauseMs, retrySafety } from './retry-safety.js'

class CallContext implements ToolContext {
  readonly #lazy: LazySignal

  constructor(
    signal: LazySignal,
    readonly idempotencyKey: string,
    readonly attempt: number,
    readonly use: (usage: CallUsage) => void,
  ) {
    this.#lazy = signal
  }

  get signal(): AbortSignal {
    return this.#lazy.signal
  }

  /** For the guard itself. Listening to the signal would cost as much as the rest of a warm call. */
  static onAbort(this: void, context: ToolContext, listener: (() => void) | undefined): void {
    if (#lazy in context) context.#lazy.listener = listener
  }
}

export const { onAbort } = CallContext

/** An abort signal that is created on demand, because most tools never use it. */
export class LazySignal {
  #controller: AbortController | undefined
  #reason: { readonly reason: unknown } | undefined
  listener: (() => void) | undefined

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#reason !== undefined) this.#controller.abort(this.#reason.reason)
    }
    return this.#controller.signal
  }

  abort(reason: unknown): void {
    this.#reason ??= { reason }
    this.#controller?.abort(reason)
    this.listener?.()
  }
}

const FIRST_PAUSE_MS = 250
const PAUSE_MAX_MS = 30_000
/** If a server requests a longer pause, the call is not retried. */
const REQUESTED_PAUSE_MAX_MS = 60_000

/**
 * Decides whether to retry: after a pause, not any more (`why`), or not safe (`none`). May run code
 * of the tool, so call it within its bounds.
 */
function nextAttempt(
  { options }: GuardedTool,
  error: unknown,
  attempt: number,
  didMore: boolean,
  clock: Clock,
): { readonly pauseMs: number } | { readonly why: string } | 'none' {
  const { retries = 0, idempotent, idempotencyKey } = options
  if (!(retries > 0)) return 'none'
  try {
    const safety = retrySafety(error)
    const mayRunTwice = idempotent === true || idempotencyKey !== undefined
    if (safety === 'final') return 'none'
    if (!mayRunTwice && (safety === 'transient' || didMore)) return 'none'
    if (!(attempt <= retries)) return { why: 'There is no attempt left.' }
    const requestedMs = requestedPauseMs(error, clock.date())
    if (requestedMs !== undefined && requestedMs > REQUESTED_PAUSE_MAX_MS)
      return {
        why: `The server requests a pause of ${Math.ceil(requestedMs / 1000)} s; a call waits 60 s at most.`,
      }
    // Exponential backoff with full jitter; at least the requested time.
    const most = Math.min(PAUSE_MAX_MS, FIRST_PAUSE_MS * 2 ** (attempt - 1))
    const jitterMs = clock.random() * (requestedMs === undefined ? most : FIRST_PAUSE_MS)
    return { pauseMs: (requestedMs ?? 0) + jitterMs }
  } catch {
    return 'none'
  }
}

export interface ExecuteOptions {
  readonly tool: GuardedTool
  /** Returns a new copy for each attempt. */
  readonly args: () => unknown
  readonly session: Session
  readonly bounds: CallBounds
  readonly idempotencyKey: string
  /** Timeout of each attempt. */
  readonly timeoutMs: number
  /** Timeout of the whole call. */
  readonly deadlineMs?: number | undefined
  readonly outputBytes?: number
  readonly signal: AbortSignal | undefined
  /** Called before a retry with the usage of the last attempt. Returns a denial to prevent it. */
  readonly again?: (usage: CallUsage | undefined) => Denial | undefined
  /** Called for usage that the tool reports after its call is over. */
  readonly late?: (usage: CallUsage) => void
  readonly clock?: Clock
}

export interface Executed {
  readonly outcome:
    | { readonly value: unknown; readonly as: BodyForm; readonly body: Uint8Array }
    | { readonly error: unknown }
  readonly facts: Pick<GuardFacts, 'status' | 'exitReason' | 'attempts' | 'usage' | 'tookMs'>
  /** Reported usage of the last attempt. */
  readonly lastUsage: CallUsage | undefined
  /** True if the tool was still running, so its usage is unknown. */
  readonly isGivenUp: boolean
}

/**
 * Runs the tool with retries and timeouts. To abandon a tool, aborts its signal and ends its bounds.
 * Not promised: stopping code that never returns to the event loop.
 */
export function executeTool(options: ExecuteOptions): Executed | Promise<Executed> {
  return new Execution(options).start()
}

/** Outcome for the circuit breaker. An abort or a refusal says nothing about the tool. */
export function circuitOutcome({ outcome, facts }: Executed): CircuitOutcome {
  if (facts.status === 'done') return 'success'
  if (facts.exitReason === 'timeout' || facts.exitReason === 'retries') return 'failure'
  const isOfGuard = 'error' in outcome && outcome.error instanceof GuardError
  return facts.status === 'failed' && !isOfGuard ? 'failure' : 'none'
}

type Outcome = EncodedOutput | { readonly error: unknown; readonly exitReason: 'retries' }

class Execution {
  readonly #clock: Clock
  readonly #started: number
  readonly #signal = new LazySignal()
  #attempt = 0
  #isOver = false
  /** Number of refusals before this attempt. */
  #refusals = 0
  /** True if the deadline of the call is earlier than the timeout of the attempt. */
  #isLast = false
  #usage: CallUsage | undefined
  #total: CallUsage | undefined

  constructor(readonly options: ExecuteOptions) {
    this.#clock = options.clock ?? realClock
    this.#started = this.#clock.now()
  }

  start(): Executed | Promise<Executed> {
    const { tool, signal } = this.options
    if (signal?.aborted === true) return this.#end({ stop: limitErrors.CALL_ABORTED(tool.name) })
    const first = this.#try()
    if (!(first instanceof Promise) && 'value' in first) return this.#end(first)
    return this.#finish(first)
  }

  async #finish(first: Outcome | Promise<Outcome | WaitEnd>): Promise<Executed> {
    const { signal, again, tool } = this.options
    let outcome = await first
    for (;;) {
      if (typeof outcome === 'string') return this.#giveUp(outcome)
      if (!('error' in outcome)) return this.#end(outcome)
      const next = this.#afterError(outcome.error)
      if (typeof next !== 'number') return this.#end(next)
      if ((await waitFor(next, signal, undefined, this.#clock)) === 'aborted')
        return this.#end({ stop: limitErrors.CALL_CANCELLED(tool.name) })
      // The event loop may have been blocked for longer than the pause.
      if (this.#leftMs <= 0) return this.#end(this.#exhausted(outcome.error, NO_TIME))
      const shortage = again?.(this.#usage)
      if (shortage !== undefined) return this.#end({ stop: shortage })
      outcome = await this.#try()
    }
  }

  /** Makes one attempt. Reads arguments, result and errors within the bounds of the tool. */
  #try(): Outcome | Promise<Outcome | WaitEnd> {
    const { tool, args, bounds, timeoutMs, signal } = this.options
    this.#attempt += 1
    this.#usage = undefined
    this.#refusals = bounds.blocked.length
    if ((tool.options.retries ?? 0) > 0) bounds.beginAttempt()
    let settle: (outcome: Outcome) => void
    const returned = this.#inside((): Outcome | undefined => {
      try {
        const { idempotencyKey } = this.options
        const context = new CallContext(this.#signal, idempotencyKey, this.#attempt, (usage) => {
          const wrong = usageProblem(usage)
          if (wrong !== undefined)
            throw new GuardError(
              limitErrors.LIMIT_USAGE_INVALID(`Tool "${this.options.tool.name}"`, wrong),
            )
          if (this.#isOver) return this.options.late?.(usage)
          this.#usage = addCallUsage(this.#usage, usage)
          this.#total = addCallUsage(this.#total, usage)
        })
        const value = tool.run(args(), context)
        if (!isThenable(value)) return this.#encoded(value)
        Promise.resolve(value).then(
          (result) => settle(this.#encoded(result)),
          (error: unknown) => settle({ error }),
        )
        return undefined
      } catch (error) {
        return { error }
      }
    })
    if (returned !== undefined) return returned
    const leftMs = this.#leftMs
    this.#isLast = leftMs < timeoutMs
    const ms = Math.max(0, Math.min(timeoutMs, leftMs))
    return waitFor<Outcome>(ms, signal, (done) => (settle = done), this.#clock)
  }

  #encoded(value: unknown): Outcome {
    const { tool, outputBytes = Infinity, session } = this.options
    if (this.#isOver) return { error: undefined }
    // Encodes and measures a result. May run getters of the tool, so call it within its bounds.
    try {
      if (isLargerThan(value, outputBytes))
        return { stop: limitErrors.LIMIT_OUTPUT_SIZE(tool.name, outputBytes, undefined) }
      const { as, body } = encodeResult(tool.name, value, session)
      const size = body.byteLength
      if (size > outputBytes)
        return { stop: limitErrors.LIMIT_OUTPUT_SIZE(tool.name, outputBytes, size) }
      const own = as === 'bytes' ? new Uint8Array(body) : body
      // A schema gets the decoded copy, which is plain data.
      const isChecked = tool.options.output !== undefined
      return { value: isChecked ? decodeBody(as, own) : value, as, body: own }
    } catch (error) {
      return { error }
    }
  }

  /** Milliseconds to wait before the next attempt, or how the call ends. */
  #afterError(error: unknown): number | Outcome {
    const { tool, bounds } = this.options
    // An action that was refused would be refused again.
    if (bounds.blocked.length > this.#refusals) return { error }
    // The error only covers the request that failed.
    const didMore = !bounds.didOneThing
    const next = this.#inside(() => nextAttempt(tool, error, this.#attempt, didMore, this.#clock))
    if (next === 'none') return { error }
    if ('why' in next) return this.#exhausted(error, next.why)
    return next.pauseMs < this.#leftMs ? next.pauseMs : this.#exhausted(error, NO_TIME)
  }

  #exhausted(cause: unknown, why: string): Outcome {
    const denial = limitErrors.RETRIES_EXHAUSTED(this.options.tool.name, this.#attempt, why)
    return { error: new GuardError(denial, { cause }), exitReason: 'retries' }
  }

  get #leftMs(): number {
    const { deadlineMs = Infinity } = this.options
    return this.#started + deadlineMs - this.#clock.now()
  }

  /** Stops waiting for the tool and ends its bounds. */
  #giveUp(because: WaitEnd): Executed {
    const { tool, bounds, timeoutMs, deadlineMs = Infinity } = this.options
    const denial =
      because === 'aborted'
        ? limitErrors.CALL_CANCELLED(tool.name)
        : this.#isLast
          ? limitErrors.LIMIT_DEADLINE(tool.name, deadlineMs)
          : limitErrors.LIMIT_TIMEOUT(tool.name, timeoutMs)
    this.#isOver = true
    // Listeners of the signal are code of the tool.
    this.#inside(() => this.#signal.abort(new GuardError(denial)))
    bounds.end()
    return this.#end({ stop: denial }, true)
  }

  #end(ended: Outcome, isGivenUp = false): Executed {
    this.#isOver = true
    const outcome: Executed['outcome'] =
      'stop' in ended ? { error: new GuardError(ended.stop) } : ended
    const exitReason =
      'stop' in ended ? ended.stop.exitReason : 'exitReason' in ended ? ended.exitReason : undefined
    const status = 'stop' in ended ? 'stopped' : 'error' in outcome ? 'failed' : 'done'
    const tookMs = Math.round((this.#clock.now() - this.#started) * 1000) / 1000
    const isPlain = exitReason === undefined && this.#attempt === 1 && this.#total === undefined
    const facts: Executed['facts'] = isPlain
      ? { status, tookMs }
      : {
          status,
          ...(exitReason && { exitReason }),
          ...(this.#attempt !== 1 && { attempts: this.#attempt }),
          tookMs,
          ...(this.#total && { usage: this.#total }),
        }
    return { outcome, lastUsage: this.#usage, isGivenUp, facts }
  }

  #inside<T>(work: () => T): T {
    return insideTool(this.options.session, work, checkOf(this.options.bounds))
  }
}

const NO_TIME = 'There is no time left for another attempt.'

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  ((typeof value === 'object' && value !== null) || typeof value === 'function') &&
  typeof (value as { then?: unknown }).then === 'function'

const DEPTH_MAX = 500

/** True if a result is certainly larger than `cap` bytes on the tape. */
export function isLargerThan(value: unknown, cap: number): boolean {
  let left = cap
  const around: object[] = []
  const isOver = (each: unknown): boolean => {
    if (typeof each === 'string') left -= each.length
    else if (typeof each !== 'object' || each === null) left -= 1
    else measure(each)
    return left < 0
  }
  const measure = (object: object): void => {
    left -= 2
    // Cycles and deeper values are not recorded.
    if (around.length >= DEPTH_MAX || around.includes(object)) return
    around.push(object)
    if (ArrayBuffer.isView(object) || object instanceof ArrayBuffer) left -= object.byteLength
    else if (Array.isArray(object) || object instanceof Set || object instanceof Map) {
      for (const item of object as Iterable<unknown>) if (isOver(item)) break
    } else {
      const proto: unknown = Object.getPrototypeOf(object)
      if (proto === null || proto === Object.prototype)
        Object.keys(object).some((key) => isMemberOver(object, key))
    }
    around.pop()
  }
  const isMemberOver = (object: object, key: string): boolean => {
    left -= key.length
    const property = Object.getOwnPropertyDescriptor(object, key)
    // Does not call getters: they run once, when the result is encoded.
    return property !== undefined && 'value' in property && isOver(property.value)
  }
  return isOver(value)
}

/**
 * Encodes the result of a tool. Omits and reports parts that cannot be recorded, such as functions.
 * Throws a `GuardError` if the whole result cannot be recorded.
 */
function encodeResult(
  tool: string,
  value: unknown,
  session: Session,
): { as: BodyForm; body: Uint8Array } {
  let what: string | undefined
  try {
    what = notData(value)
    if (what === undefined)
      return encodeBody(value, {
        onLoss: (path: string, what: string) =>
          session.note({
            kind: 'boundary',
            name: `tool ${tool}`,
            text: `${what} in its result is not stored (at ${path || 'the top'})`,
            consequence: 'loss-ignored',
          }),
      })
  } catch (error) {
    what = error instanceof RangeError ? 'more than can be stored' : 'something unreadable'
  }
  throw new GuardError(guardErrors.GUARD_RESULT_NOT_RECORDABLE(tool, what))
}

/** Names of built-in classes whose instances can be recorded. */
const STORABLE =
  /^(Object|Array|Date|RegExp|URL|Map|Set|ArrayBuffer|DataView|Error|DOMException|Boolean|Number|String|\w+Array)$/

function notData(value: unknown): string | undefined {
  if (typeof value === 'function') return 'a function'
  if (typeof value === 'symbol' && Symbol.keyFor(value) === undefined) return 'a symbol'
  if (typeof value !== 'object' || value === null) return undefined
  if (Symbol.asyncIterator in value) return 'an asynchronous iterator'
  if ('next' in value && typeof value.next === 'function') return 'an iterator'
  const kind = Object.prototype.toString.call(value).slice(8, -1)
  return STORABLE.test(kind) ? undefined : `a ${kind}`
}

/** A result as stored on the tape, or why there is none. */
type EncodedOutput =
  | { readonly value: unknown; readonly as: BodyForm; readonly body: Uint8Array }
  | { readonly error: unknown }
  | { readonly stop: Denial }
