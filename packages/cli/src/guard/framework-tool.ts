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
  /** Facts that the framework does not know, by tool: effects, contract, time, retries. */
  readonly tools?: Readonly<Record<string, GuardedToolOptions<never>>>
  /**
   * `tell`: the model reads why a call was denied and can continue. `throw`: the run of the
   * agent ends with the `GuardError`. `tell` unless set.
   */
  readonly onDenied?: 'tell' | 'throw'
}

/** Reason for the model why a call was stopped: code, what, why, and what is allowed. */
export const denialText = ({ code, what, why, allowed }: GuardError): string =>
  `${code}: ${what} ${why} ${/^allowed\b/i.test(allowed) ? '' : 'Allowed: '}${allowed}`

/** The same where the model is to read it; undefined where the error is to be thrown. */
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
  /** Runs the tool with what the framework has handed to this call. */
  readonly work: (args: unknown, context: ToolContext) => unknown
}

export type FrameworkTool = (call: FrameworkCall) => Promise<GuardResult>

/**
 * A tool of a framework, behind a guard. Each call brings its own work along, since
 * frameworks pass more than arguments to a tool; the guard knows it by its name.
 */
export function frameworkTool(tool: {
  readonly run: GuardRun
  readonly name: string
  readonly input?: Schema | undefined
  /** The framework has put the arguments through that schema: once more, and it would see its own result. */
  readonly isChecked?: boolean
  /** Runs the tool where no framework calls it: by `run.call(name, args)`. */
  readonly alone: ToolFunction<unknown, unknown>
  readonly options: GuardToolsOptions
}): FrameworkTool {
  const { run, name, input, alone } = tool
  const { tools = {} } = tool.options
  // A tool can have any name, `constructor` for example.
  const own = (Object.hasOwn(tools, name) ? tools[name] : {}) as GuardedToolOptions<unknown>
  const known = input === undefined ? own : { input, ...own }
  if (!run.toolNames.includes(name)) run.tool(name, alone, known)
  const options = tool.isChecked ? own : known
  return ({ args, signal, work }) =>
    run.call({ name, run: work, options }, args, signal === undefined ? {} : { signal })
}

/** Throws what a tool has thrown, which need not be an error. */
export function rethrow(thrown: unknown): never {
  throw thrown
}
