import type {
  GuardError,
  GuardedToolOptions,
  GuardResult,
  GuardRun,
  Schema,
  ToolContext,
  ToolFunction,
} from '@retake/guard'
import './json-schema.js'

/** Options of every `guardTools`. */
export interface GuardToolsOptions {
  /** Facts that the framework does not know, by tool: effects, contract, time, retries. */
  readonly tools?: Readonly<Record<string, GuardedToolOptions<never>>>
  /**
   * `tell`: the model reads why a call was denied and can go on. `throw`: the run of the
   * agent ends with the `GuardError`. `tell` unless set.
   */
  readonly onDenied?: 'tell' | 'throw'
}

/** Options of one tool. A tool can have any name, `constructor` for example. */
const toolOptions = (
  { tools = {} }: GuardToolsOptions,
  name: string,
): GuardedToolOptions<unknown> =>
  (Object.hasOwn(tools, name) ? (tools[name] ?? {}) : {}) as GuardedToolOptions<unknown>

/** Reason for the model why a call was stopped: code, what, why, and what is allowed. */
export const denialText = ({ code, what, why, allowed }: GuardError): string =>
  `${code}: ${what} ${why} ${/^allowed\b/i.test(allowed) ? '' : 'Allowed: '}${allowed}`

export interface FrameworkToolOptions {
  readonly run: GuardRun
  readonly name: string
  /** Schema of the arguments, if the framework has one. */
  readonly input?: Schema | undefined
  /** The framework has put the arguments through that schema: once more, and it would see its own result. */
  readonly isChecked?: boolean
  /** Runs the tool where no framework calls it: by `run.call(name, args)`. */
  readonly alone: ToolFunction<unknown, unknown>
  readonly options: GuardToolsOptions
}

export interface FrameworkCall {
  readonly args: unknown
  /** The framework's own. */
  readonly signal?: AbortSignal | undefined
  /** Runs the tool with what the framework has handed to this call. */
  readonly work: (args: unknown, context: ToolContext) => unknown
}

/**
 * A tool of a framework, behind a guard. Each call brings its own work along, since
 * frameworks pass more than arguments to a tool; the guard knows it by its name.
 */
export class FrameworkTool {
  readonly #run: GuardRun
  readonly #name: string
  readonly #options: GuardedToolOptions<unknown>

  constructor({ run, name, input, isChecked = false, alone, options }: FrameworkToolOptions) {
    const told = toolOptions(options, name)
    const known = input === undefined ? told : { input, ...told }
    if (!run.toolNames.includes(name)) run.tool(name, alone, known)
    this.#run = run
    this.#name = name
    this.#options = isChecked ? told : known
  }

  call({ args, signal, work }: FrameworkCall): Promise<GuardResult> {
    const tool = { name: this.#name, run: work, options: this.#options }
    return this.#run.call(tool, args, signal === undefined ? {} : { signal })
  }
}

/** Throws what a tool has thrown, which need not be an error. */
export function rethrow(thrown: unknown): never {
  throw thrown
}
