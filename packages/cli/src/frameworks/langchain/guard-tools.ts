import { ToolMessage } from '@langchain/core/messages'
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
import { toolNotGuardable } from '../../errors/guard.js'
import { rethrow } from '../../guard/rethrow.js'
import { requireVersion } from '../supported-version.js'
import { asGraphError, fromTape, toTape } from './taped-output.js'

/** What is used of a LangChain tool. */
interface LangChainTool {
  readonly name: string
  readonly schema?: unknown
  readonly responseFormat?: string
  _call(args: unknown, runManager?: unknown, config?: ToolConfig): unknown
  invoke(args: unknown, config?: ToolConfig): Promise<unknown>
}

interface ToolConfig {
  readonly signal?: AbortSignal | undefined
  readonly toolCall?: { readonly id?: string | undefined } | undefined
}

/**
 * The same tools behind a guard: `createAgent({ tools: guardTools(run, [weather]) })`, also
 * for a `ToolNode`. What the guard denies is a `ToolMessage` with status `error` and the text
 * of the denial, and the tool does not start. Where no model has asked, by `tool.invoke(args)`,
 * it is thrown.
 *
 * A result that comes in pieces is waited for and handed on whole.
 */
export function guardTools<T extends readonly { readonly name: string }[]>(
  run: GuardRun,
  tools: T,
  options: GuardToolsOptions = {},
): T {
  requireVersion({ package: '@langchain/core', from: '1.1', to: '1' })
  checkGuardToolsArguments(run, tools, 'a list')
  checkGuardToolsOptions(options)
  return tools.map((tool) => guardTool(run, tool as LangChainTool, options)) as unknown as T
}

function guardTool(run: GuardRun, tool: LangChainTool, options: GuardToolsOptions): LangChainTool {
  const { name } = tool
  if (typeof tool._call !== 'function')
    throw toolNotGuardable(name, 'a tool that a provider or another program runs')
  const start = async (...args: Parameters<LangChainTool['_call']>): Promise<unknown> =>
    toTape(await wholeOf(tool._call(...args)))
  const gate = new FrameworkTool({
    run,
    name,
    ...inputOf(tool.schema),
    alone: (args, { signal }) => start(args, undefined, { signal }),
    options,
  })
  const call = async (
    args: unknown,
    runManager?: unknown,
    config?: ToolConfig,
  ): Promise<unknown> => {
    const { status, error, output } = await gate.call({
      args,
      signal: config?.signal,
      work: (given, { signal }) => start(given, runManager, { ...config, signal }),
    })
    if (status === 'done') return await fromTape(output)
    const toolCallId = config?.toolCall?.id
    const isTold = options.onDenied !== 'throw' && config?.signal?.aborted !== true
    if (!isTold || toolCallId === undefined || !(error instanceof GuardError))
      return rethrow(await asGraphError(error))
    const message = new ToolMessage({
      content: denialText(error),
      tool_call_id: toolCallId,
      name,
      status: 'error',
    })
    return tool.responseFormat === 'content_and_artifact' ? [message, undefined] : message
  }
  // The tool itself stays as it is, behind one that differs only in this.
  return Object.create(tool, {
    _call: { value: call, writable: true, configurable: true },
    ...('func' in tool && { func: { value: call, writable: true, configurable: true } }),
  }) as LangChainTool
}

/** LangChain has put arguments through a zod schema before it calls a tool; a JSON Schema changes nothing. */
function inputOf(schema: unknown): { input?: Schema; isChecked: boolean } {
  if (typeof schema !== 'object' || schema === null) return { isChecked: true }
  if ('~standard' in schema) return { input: schema, isChecked: true }
  // Schemas of zod before it had Standard Schema.
  return '_def' in schema ? { isChecked: true } : { input: schema as Schema, isChecked: false }
}

async function wholeOf(result: unknown): Promise<unknown> {
  const settled: unknown = await result
  if (typeof settled !== 'object' || settled === null || !(Symbol.asyncIterator in settled))
    return settled
  const pieces = (settled as AsyncIterable<unknown>)[Symbol.asyncIterator]()
  for (;;) {
    const next: IteratorResult<unknown, unknown> = await pieces.next()
    if (next.done === true) return next.value
  }
}
