import type { CallUsage, Effect } from '@retake/tape/format'
import type { Contract, Schema } from './contract/contract.js'

/** Second argument of a tool. */
export interface ToolContext {
  /** Aborted when the call is given up: it took too long, or the caller lost interest. */
  readonly signal: AbortSignal
  /** The same for the same call in a repeated run: hand it to services that know idempotency keys. */
  readonly idempotencyKey: string
  /** From 1: how often the tool was started for this call. */
  readonly attempt: number
  /** Says what the call used, in addition to what was said before. */
  readonly use: (usage: CallUsage) => void
}

export type ToolFunction<Args, Output> = (
  args: Args,
  context: ToolContext,
) => Output | Promise<Output>

export interface GuardedToolOptions<Args> {
  /** Arguments must fit; the tool gets them as the schema returns them. */
  readonly input?: Schema
  /** Contract of the result. */
  readonly output?: Schema | Contract
  /** Effects of the tool on the world. It may have no others; without a declaration it may have any. */
  readonly effects?: readonly Effect[]
  /** Running it twice does no harm: a call in doubt is simply made again. */
  readonly idempotent?: boolean
  /** A key under which the other side knows a call; as good as `idempotent` where it is honoured. */
  readonly idempotencyKey?: (args: Args) => string
  /**
   * The most an attempt may use, reserved before it starts; what is really used comes from
   * `context.use`, and whatever the tool does not report counts as reserved.
   */
  readonly reserve?: CallUsage | ((args: Args) => CallUsage)
  /** Milliseconds an attempt may take; the smaller of this and the limit of the guard applies. */
  readonly timeoutMs?: number
  /** Milliseconds a call may take with all its attempts. */
  readonly deadlineMs?: number
  /**
   * How often it is tried again after an error that is safe to retry; 0 unless set. A tool
   * that is not idempotent is only when nobody was reached, or with 429, and when it did
   * nothing else in that attempt: no second request, no guarded call, no file, no process.
   */
  readonly retries?: number
  /** Error classes the tool throws: a replayed error is then an instance of the real class. */
  readonly errors?: Readonly<Record<string, new (...args: never[]) => Error>>
}

/** A tool that a guard knows. */
export interface GuardedTool {
  readonly name: string
  readonly run: ToolFunction<unknown, unknown>
  readonly options: GuardedToolOptions<unknown>
}
