import { GuardError } from '@retake/engine'
import {
  checkGuardToolsArguments,
  checkGuardToolsOptions,
  type GuardRun,
  type Schema,
} from '@retake/engine/guard'
import { denialText } from '../../guard/denial-text.js'
import { FrameworkTool } from '../../guard/framework-tool.js'
import type { GuardToolsOptions } from '../../guard/guard-tools-options.js'
import { rethrow } from '../../guard/rethrow.js'
import { toolNotGuardable } from '../../errors/guard.js'
import { requireVersion } from '../supported-version.js'

/** What is used of a function tool of `@openai/agents`. */
interface FunctionTool {
  readonly type: string
  readonly name: string
  readonly parameters?: Schema
  readonly invoke: (context: unknown, input: string, details?: Details) => Promise<unknown>
}

interface Details {
  readonly signal?: AbortSignal | undefined
}

/**
 * The same tools behind a guard: `new Agent({ tools: guardTools(run, [lookUp]) })`. What the
 * guard denies is told to the model as the output of the tool, and the tool does not start.
 *
 * Calls are judged by the arguments the model gave, checked against the tool's JSON Schema;
 * what a zod schema makes of them happens inside the tool. Errors that the tool's own
 * `errorFunction` turns into text are results to the guard. Tools that a provider runs stay as they are.
 */
export function guardTools<T extends readonly { readonly type: string; readonly name: string }[]>(
  run: GuardRun,
  tools: T,
  options: GuardToolsOptions = {},
): T {
  requireVersion({ package: '@openai/agents', from: '0.20', to: '0' })
  checkGuardToolsArguments(run, tools, 'a list')
  checkGuardToolsOptions(options)
  return tools.map((tool) => {
    if (tool.type === 'hosted_tool') return tool
    if (tool.type !== 'function') throw toolNotGuardable(tool.name, `a tool of type "${tool.type}"`)
    return guardTool(run, tool as FunctionTool, options)
  }) as unknown as T
}

function guardTool(run: GuardRun, tool: FunctionTool, options: GuardToolsOptions): FunctionTool {
  const start = async (args: unknown, context: unknown, details: Details): Promise<unknown> => {
    const result = await tool.invoke(context, JSON.stringify(args ?? {}), details)
    if (result === SDK_ERROR) throw new Error(SDK_ERROR)
    return result
  }
  const gate = new FrameworkTool({
    run,
    name: tool.name,
    input: tool.parameters,
    alone: (args, { signal }) => start(args, undefined, { signal }),
    options,
  })
  const invoke = async (context: unknown, input: string, details?: Details): Promise<unknown> => {
    const { status, error, output } = await gate.call({
      args: readInput(input),
      signal: details?.signal,
      work: (args, { signal }) => start(args, context, { ...details, signal }),
    })
    if (status === 'done') return output
    const isTold = options.onDenied !== 'throw' && details?.signal?.aborted !== true
    if (isTold && error instanceof GuardError) return denialText(error)
    if (error instanceof Error && error.message === SDK_ERROR) return SDK_ERROR
    return rethrow(error)
  }
  return Object.defineProperties(Object.create(Object.getPrototypeOf(tool) as object | null), {
    ...Object.getOwnPropertyDescriptors(tool),
    invoke: { value: invoke, enumerable: true, writable: true, configurable: true },
  }) as FunctionTool
}

/** What the SDK says in place of an error of a tool, unless the tool has its own `errorFunction`. */
const SDK_ERROR = 'An error occurred while running the tool. Please try again.'

/** Text that is no JSON stays text, which no schema of a function tool accepts. */
function readInput(input: string): unknown {
  try {
    return JSON.parse(input === '' ? '{}' : input) as unknown
  } catch {
    return input
  }
}
