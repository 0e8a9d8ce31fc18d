import type { CallUsage, Effect } from '@retake/tape/guards'
import type { Contract, Schema } from './contract.js'

/** Second argument of a tool. */
export interface ToolContext {
  /** Aborted on timeout, or when the caller aborts. */
  readonly signal: AbortSignal
  /** Identical for the same call in a resumed run. Pass it to services with idempotency keys. */
  readonly idempotencyKey: string
  /** Number of this attempt, from 1. */
  readonly attempt: number
  /** Reports usage. Reports add up. */
  readonly use: (usage: CallUsage) => void
}

export type ToolFunction<Args, Output> = (
  args: Args,
  context: ToolContext,
) => Output | Promise<Output>

export interface GuardedToolOptions<Args> {
  /** Schema of the arguments. The tool gets the values that the schema returns. */
  readonly input?: Schema
  /** Contract of the result. */
  readonly output?: Schema | Contract
  /** Effects of the tool, which are enforced. Without this option, it may have any effect. */
  readonly effects?: readonly Effect[]
  /** True if calls that differ only in the order of keys are different calls. */
  readonly keyOrderMatters?: boolean
  /** True if running it twice is harmless. A call in doubt is then repeated. */
  readonly idempotent?: boolean
  /** Key by which the service recognizes a repeated call. */
  readonly idempotencyKey?: (args: Args) => string
  /** Finds out whether a call in doubt took effect. Runs within the scopes of the tool. */
  readonly verify?: (args: Args, context: VerifyContext) => Verified | Promise<Verified>
  /**
   * The maximum usage of an attempt, reserved before it starts. `context.use` reports the actual
   * usage; usage that is not reported counts as reserved.
   */
  readonly reserve?: CallUsage | ((args: Args) => CallUsage)
  /** Timeout of an attempt. The smaller of this and the limit of the guard applies. */
  readonly timeoutMs?: number
  /** Timeout of a call with all its attempts. */
  readonly deadlineMs?: number
  /**
   * Number of retries after errors that are safe to repeat; default 0. A tool that is not
   * idempotent is retried only after a failed connection or status 429, and only if the attempt
   * did nothing else: no other request, guarded call, file or process.
   */
  readonly retries?: number
  /** Error classes that the tool throws, so that a replayed error is an instance of its class. */
  readonly errors?: Readonly<Record<string, new (...args: never[]) => Error>>
}

export interface VerifyContext {
  /** The idempotency key of the call. */
  readonly idempotencyKey: string
  readonly signal: AbortSignal
}

/** If `happened` is true, `output` is the result of the call. If `unknown`, `inDoubt` decides. */
export type Verified =
  | { readonly happened: true; readonly output: unknown }
  | { readonly happened: false }
  | 'unknown'

/** A tool that runs in a sandboxed process. It is a module, because a closure cannot move there. */
export interface SandboxedModule {
  /** Path relative to the working directory, or a `file:` URL. */
  readonly module: string
  /** Name of the exported function; default `default`. */
  readonly export?: string
  /** `best-effort`: without bubblewrap, uses weaker means; see docs/guard-reference.md. */
  readonly sandbox?: true | 'best-effort' | SandboxLimits
}

export interface SandboxLimits {
  /** Megabytes of memory, in addition to what Node itself needs. */
  readonly memoryMb?: number
  /** Seconds of CPU time, after which the process is replaced. */
  readonly cpu?: number
  /** Number of processes and threads. */
  readonly processes?: number
  /** Environment variables in addition to PATH, HOME and the locale. */
  readonly env?: readonly string[]
  /** More folders with code. Relative imports and `node_modules` are always visible. */
  readonly code?: readonly string[]
}

export interface GuardedTool {
  readonly name: string
  readonly run: ToolFunction<unknown, unknown>
  readonly options: GuardedToolOptions<unknown>
}
