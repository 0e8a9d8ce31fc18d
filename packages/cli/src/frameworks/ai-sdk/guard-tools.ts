import { GuardError } from '@retake/engine'
import {
  checkGuardToolsArguments,
  checkGuardToolsOptions,
  type GuardRun,
} from '@retake/engine/guard'
import { denialText } from '../../guard/denial-text.js'
import { FrameworkTool } from '../../guard/framework-tool.js'
import type { GuardToolsOptions } from '../../guard/guard-tools-options.js'
import { rethrow } from '../../guard/rethrow.js'
import { requireAiSdk } from './supported.js'
import { toolInput } from './tool-input.js'

/** What is used of a tool of the AI SDK. */
interface AiSdkTool {
  readonly inputSchema?: unknown
  readonly execute?: (input: unknown, options: ExecuteOptions) => unknown
}

interface ExecuteOptions {
  readonly abortSignal?: AbortSignal | undefined
  readonly [key: string]: unknown
}

/** A denied call is always told to the model: the AI SDK lets nothing that a tool throws end a run. */
export type AiSdkGuardOptions = Omit<GuardToolsOptions, 'onDenied'>

/**
 * The same tools behind a guard: `generateText({ tools: guardTools(run, { weather }) })`.
 * What the guard denies is a tool error of the AI SDK, with the text of the denial, and
 * `execute` is not called. Tools without `execute` run elsewhere and stay as they are.
 *
 * A result that comes in pieces is waited for: what is handed on is the last of them.
 */
export function guardTools<T extends Readonly<Record<string, object>>>(
  run: GuardRun,
  tools: T,
  options: AiSdkGuardOptions = {},
): T {
  requireAiSdk()
  checkGuardToolsArguments(run, tools, 'an object')
  checkGuardToolsOptions(options, ['tools'])
  const guarded = Object.entries(tools).map(([name, tool]) => [
    name,
    guardTool(run, name, tool as AiSdkTool, options),
  ])
  return Object.fromEntries(guarded) as T
}

function guardTool(
  run: GuardRun,
  name: string,
  tool: AiSdkTool,
  options: AiSdkGuardOptions,
): AiSdkTool {
  const { execute } = tool
  if (execute === undefined) return tool
  const start = (input: unknown, told: ExecuteOptions): unknown =>
    lastOf(Reflect.apply(execute, tool, [input, told]))
  const { schema, isChecked } = toolInput(tool.inputSchema)
  const gate = new FrameworkTool({
    run,
    name,
    input: schema,
    isChecked,
    alone: (input, { signal }) =>
      start(input, { toolCallId: name, messages: [], abortSignal: signal }),
    options,
  })
  const guardedExecute = async (input: unknown, told: ExecuteOptions): Promise<unknown> => {
    const { status, error, output } = await gate.call({
      args: input,
      signal: told.abortSignal,
      work: (args, { signal }) => start(args, { ...told, abortSignal: signal }),
    })
    if (status === 'done') return output
    return rethrow(error instanceof GuardError ? telling(error) : error)
  }
  return Object.assign(Object.create(Object.getPrototypeOf(tool) as object | null), tool, {
    execute: guardedExecute,
  }) as AiSdkTool
}

/** The SDK tells a model the message of an error, so all that is to be known must stand there. */
function telling(error: GuardError): GuardError {
  const { code, rule, what, why, allowed, exitReason } = error
  const told = new GuardError(
    { code, rule, what, why, allowed, ...(exitReason && { exitReason }) },
    { cause: error },
  )
  told.message = denialText(error)
  return told
}

async function lastOf(result: unknown): Promise<unknown> {
  const settled: unknown = await result
  if (typeof settled !== 'object' || settled === null || !(Symbol.asyncIterator in settled))
    return settled
  let last: unknown
  for await (const piece of settled as AsyncIterable<unknown>) last = piece
  return last
}
