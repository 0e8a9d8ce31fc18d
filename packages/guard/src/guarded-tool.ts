import type { CallUsage, Effect } from '@retake/tape/format'
import type { Contract, Schema } from './contract/contract.js'

/** Second argument of a tool. */
export interface ToolContext {
  /** Aborted on timeout, or when the caller aborts the call. */
  readonly signal: AbortSignal
  /** The same for the same call in a resumed run. Pass it to services that support idempotency keys. */
  readonly idempotencyKey: string
  /** Number of this attempt, from 1. */
  readonly attempt: number
  /** Reports usage, in addition to earlier reports. */
  readonly use: (usage: CallUsage) => void
}

export type ToolFunction<Args, Output> = (
  args: Args,
  context: ToolContext,
) => Output | Promise<Output>

export interface GuardedToolOptions<Args> {
  /** Schema of the arguments. The tool gets them as the schema returns them. */
  readonly input?: Schema
  /** Contract of the result. */
  readonly output?: Schema | Contract
  /** Effects of the tool, which are enforced. Without a declaration it may have any. */
  readonly effects?: readonly Effect[]
  /** Calls that differ only in the order of keys in their arguments are different calls. */
  readonly keyOrderMatters?: boolean
  /** Running it twice is harmless: a call in doubt is repeated. */
  readonly idempotent?: boolean
  /** Key by which the service recognises a repeated call. */
  readonly idempotencyKey?: (args: Args) => string
  /** Finds out whether a call in doubt had its effect. Runs within the scopes of the tool. */
  readonly verify?: (args: Args, context: VerifyContext) => Verified | Promise<Verified>
  /**
   * The most that an attempt may use, reserved before it starts. `context.use` reports the actual
   * usage; what is not reported counts as reserved.
   */
  readonly reserve?: CallUsage | ((args: Args) => CallUsage)
  /** Milliseconds an attempt may take; the smaller of this and the limit of the guard applies. */
  readonly timeoutMs?: number
  /** Milliseconds a call may take with all its attempts. */
  readonly deadlineMs?: number
  /**
   * Number of retries after errors that are safe to repeat; default 0. A tool that is not
   * idempotent is retried only after a failed connection or status 429, and only if the attempt
   * did nothing else: no other request, guarded call, file or process.
   */
  readonly retries?: number
  /** Error classes the tool throws: a replayed error is then an instance of the real class. */
  readonly errors?: Readonly<Record<string, new (...args: never[]) => Error>>
}

export interface VerifyContext {
  /** The key that the call was made with. */
  readonly idempotencyKey: string
  readonly signal: AbortSignal
}

/** `happened: true` makes `output` the result of the call. With `unknown`, `inDoubt` decides. */
export type Verified =
  | { readonly happened: true; readonly output: unknown }
  | { readonly happened: false }
  | 'unknown'

/** A tool that runs in its own process, inside a sandbox. Closures cannot move there, so it is a module. */
export interface SandboxedModule {
  /** File of the module, relative to the working directory, or a `file:` URL. */
  readonly module: string
  /** Name of the exported function; default `default`. */
  readonly export?: string
  /** `best-effort`: without bubblewrap, uses weaker means, which docs/guard-scopes.md compares. */
  readonly sandbox?: true | 'best-effort' | SandboxLimits
}

export interface SandboxLimits {
  /** Megabytes of memory, in addition to those of Node itself. */
  readonly memoryMb?: number
  /** Seconds of processor time, after which the process is replaced. */
  readonly cpu?: number
  /** Processes and threads that the tool may have. */
  readonly processes?: number
  /** Environment variables that the tool gets in addition to PATH, HOME and the locale. */
  readonly env?: readonly string[]
  /** More folders with code. Relative imports and `node_modules` are visible anyway. */
  readonly code?: readonly string[]
}

/** A tool that a guard knows. */
export interface GuardedTool {
  readonly name: string
  readonly run: ToolFunction<unknown, unknown>
  readonly options: GuardedToolOptions<unknown>
}
