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
  /** Calls that differ only in the order of keys in their arguments are different calls. */
  readonly keyOrderMatters?: boolean
  /** Running it twice does no harm: a call in doubt is simply made again. */
  readonly idempotent?: boolean
  /** A key under which the other side knows a call; as good as `idempotent` where it is honoured. */
  readonly idempotencyKey?: (args: Args) => string
  /**
   * Looks whether a call in doubt had its effect, before anybody is asked: does refund 4711 exist?
   * Runs within the bounds of the tool.
   */
  readonly verify?: (args: Args, context: VerifyContext) => Verified | Promise<Verified>
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

export interface VerifyContext {
  /** The key that the call was made with. */
  readonly idempotencyKey: string
  readonly signal: AbortSignal
}

/** `happened: true` makes `output` the result of the call. `unknown`: `inDoubt` of the guard decides. */
export type Verified =
  | { readonly happened: true; readonly output: unknown }
  | { readonly happened: false }
  | 'unknown'

/** A tool that runs in a process of its own, inside a sandbox: a module, because closures cannot move. */
export interface SandboxedModule {
  /** File of the module, relative to the working directory, or a `file:` URL. */
  readonly module: string
  /** Name of the exported function; `default` unless set. */
  readonly export?: string
  /** `best-effort`: where there is no sandbox, the module runs under Node's permission model, which is weaker. */
  readonly sandbox?: true | 'best-effort' | SandboxLimits
}

export interface SandboxLimits {
  /** Megabytes of memory, beside what Node itself needs. */
  readonly memoryMb?: number
  /** Seconds of processor time for the process, which is replaced when it has used them up. */
  readonly cpu?: number
  /** Processes and threads that the tool may have. */
  readonly processes?: number
  /** Environment variables that the tool needs. Beside PATH, HOME and the locale it gets none. */
  readonly env?: readonly string[]
  /** More folders with code. What the module imports by relative names, and `node_modules`, is visible. */
  readonly code?: readonly string[]
}

/** A tool that a guard knows. */
export interface GuardedTool {
  readonly name: string
  readonly run: ToolFunction<unknown, unknown>
  readonly options: GuardedToolOptions<unknown>
}
