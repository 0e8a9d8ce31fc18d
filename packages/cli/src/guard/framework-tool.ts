import {
  GuardError,
  type GuardedToolOptions,
  type GuardResult,
  type GuardRun,
  type Schema,
  type ToolContext,
  type ToolFunction,
} from '@retake/guard'
import './json-schema.js'

export { checkGuardTools } from '@retake/guard'

export interface GuardToolsOptions {
  /** Settings that the framework does not know, by tool: effects, contract, time, retries. */
  readonly tools?: Readonly<Record<string, GuardedToolOptions<never>>>
  /**
   * `tell`: the model reads why a call was denied and can continue. `throw`: the agent's run ends
   * with the `GuardError` (default: `tell`).
   */
  readonly onDenied?: 'tell' | 'throw'
}

/** Why a call was stopped, for the model: code, what, why, and what is allowed. */
export const denialText = ({ code, what, why, allowed }: GuardError): string =>
  `${code}: ${what} ${why} ${/^allowed\b/i.test(allowed) ? '' : 'Allowed: '}${allowed}`

/** `denialText` if the model should read it; undefined if the error should be thrown. */
export const denialForModel = (
  error: unknown,
  { onDenied }: GuardToolsOptions,
  signal: AbortSignal | undefined,
): string | undefined =>
  onDenied !== 'throw' && signal?.aborted !== true && error instanceof GuardError
    ? denialText(error)
    : undefined

export interface FrameworkCall {
  readonly args: unknown
  readonly signal?: AbortSignal | undefined
  /** Runs the tool with everything that the framework passed to this call. */
  readonly work: (args: unknown, context: ToolContext) => unknown
}

export type FrameworkTool = (call: FrameworkCall) => Promise<GuardResult>

/**
 * Puts a framework's tool behind a guard, which knows it by name. Each call brings its own `work`,
 * because frameworks pass more than arguments to a tool.
 */
export function frameworkTool(tool: {
  readonly run: GuardRun
  readonly name: string
  readonly input?: Schema | undefined
  /** True if the framework has applied the schema, so that it must not be applied again. */
  readonly isChecked?: boolean
  /** Runs the tool if no framework calls it, through `run.call(name, args)`. */
  readonly alone: ToolFunction<unknown, unknown>
  readonly options: GuardToolsOptions
}): FrameworkTool {
  const { run, name, input, alone } = tool
  const { tools = {} } = tool.options
  // A tool can have any name, even `constructor`.
  const own = (Object.hasOwn(tools, name) ? tools[name] : {}) as GuardedToolOptions<unknown>
  const known = input === undefined ? own : { input, ...own }
  if (!run.toolNames.includes(name)) run.tool(name, alone, known)
  const options = tool.isChecked ? own : known
  return ({ args, signal, work }) =>
    run.call({ name, run: work, options }, args, signal === undefined ? {} : { signal })
}

/** Throws what a tool threw, which may not be an Error. */
export function rethrow(thrown: unknown): never {
  throw thrown
}
