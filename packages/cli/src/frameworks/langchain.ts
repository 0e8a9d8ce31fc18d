/** `retake/langchain`: names the steps and guards the tools of LangChain and LangGraph. */
import {
  isBaseMessage,
  mapStoredMessagesToChatMessages,
  type StoredMessage,
  ToolMessage,
} from '@langchain/core/messages'
import { scopesFrom } from '@retake/engine'
import type { GuardRun, Schema } from '@retake/guard'
import {
  checkGuardTools,
  frameworkTool,
  type GuardToolsOptions,
  rethrow,
  denialForModel,
} from '../guard/framework-tool.js'
import { cliErrors } from '@retake/runner/errors'
import { oncePerProgram, requireVersion } from './adapter.js'
import type { FrameworkScope } from '@retake/tape'
import { AsyncLocalStorage } from 'node:async_hooks'
import { AsyncLocalStorageProviderSingleton as provider } from '@langchain/core/singletons'

export type { GuardToolsOptions } from '../guard/framework-tool.js'

const current = new AsyncLocalStorage<GraphScopes>()

/**
 * Labels steps with the agent, node and tool of LangChain and LangGraph in which they start. Graphs
 * need no changes. Returns an undo function.
 *
 * LangChain passes its config in an AsyncLocalStorage that a program may provide; this one records
 * the scopes it passes. It reads no recorded value and creates no promise, so tapes do not depend
 * on it.
 */
export const nameSteps = oncePerProgram(() => {
  requireVersion({ package: '@langchain/core', from: '1.1', to: '1' })
  requireVersion({ package: '@langchain/langgraph', from: '1.0', to: '1' })
  // Tracks the scopes of each config. Streams run without one and keep their scopes.
  provider.initializeGlobalInstance(new AsyncLocalStorage())
  const instance = provider.getInstance() as AsyncLocalStorage<unknown>
  const own = Object.getOwnPropertyDescriptor(instance, 'run')
  const run = instance.run.bind(instance)
  instance.run = <R, Args extends unknown[]>(
    store: unknown,
    body: (...args: Args) => R,
    ...args: Args
  ): R =>
    run(store, () => {
      const config = provider.getRunnableConfig() as WhereConfig | undefined
      if (config === undefined) return body(...args)
      const around = current.getStore() ?? { path: [], frames: [] }
      return current.run(scopesIn(config, around), () => body(...args))
    })
  const unwatch = () => {
    if (own === undefined) Reflect.deleteProperty(instance, 'run')
    else Object.defineProperty(instance, 'run', own)
  }
  const unask = scopesFrom(() => current.getStore()?.frames.map(({ scope }) => scope))
  return () => {
    unask()
    unwatch()
  }
})

interface WhereConfig {
  readonly metadata?: Readonly<Record<string, unknown>>
}

/** A scope and its depth in graphs: agents are outside of the node they run, tools inside. */
interface Frame {
  readonly scope: FrameworkScope
  readonly depth: number
}

interface GraphScopes {
  /** Nodes from the outermost graph to the innermost, each as `name:task`. */
  readonly path: readonly string[]
  readonly frames: readonly Frame[]
}

/** Prefix of the metadata key that marks a tool. The rest is the tool's name. */
const TOOL_MARK = 'retake_tool:'

/**
 * The scopes of a config inside of `around`. LangGraph's own config names the nodes of all
 * enclosing graphs, but only the innermost agent, and does not say in which of the nodes a tool
 * runs: that follows from `around`.
 */
function scopesIn({ metadata = {} }: WhereConfig, around: GraphScopes): GraphScopes {
  const namespace = metadata['langgraph_checkpoint_ns']
  // `tools:8f0c…|model_request:1b2d…`; a number between counts calls of one graph in one node.
  const parts = typeof namespace === 'string' ? namespace.split('|') : []
  const path = parts.filter((part) => part !== '' && !/^\d+$/.test(part))
  const agent = metadata['lc_agent_name']
  const tools = Object.keys(metadata)
    .filter((key) => key.startsWith(TOOL_MARK))
    .map((key) => key.slice(TOOL_MARK.length))
  const b = around.path
  const different = path.findIndex((part, index) => part !== b[index])
  const shared = different < 0 ? path.length : different
  const remaining = around.frames.filter(({ depth }) => depth <= shared)
  const frames = leaveOthers(remaining, { agent, tools, depth: path.length })
  const inner = frames.findLast(({ scope }) => scope.kind === 'agent')?.scope.name
  const isNewAgent = typeof agent === 'string' && inner !== agent
  // The nodes of an agent lie directly in it, even if the agent itself is a node.
  const agentAt = Math.max(shared, path.length - 1)
  for (let index = shared; index <= path.length; index += 1) {
    if (isNewAgent && index === agentAt)
      frames.push({ scope: { kind: 'agent', name: agent }, depth: index })
    const node = path[index]
    if (node === undefined) continue
    const at = node.lastIndexOf(':')
    const own =
      at < 0 ? { name: node } : { name: node.slice(0, at), id: node.slice(at + 1, at + 9) }
    frames.push({ scope: { kind: 'node', ...own }, depth: index + 1 })
  }
  for (const name of tools)
    if (!frames.some(({ scope }) => scope.kind === 'tool' && scope.name === name))
      frames.push({ scope: { kind: 'tool', name }, depth: path.length })
  return { path, frames }
}

/**
 * Drops scopes that the config has left. A graph does not inherit the metadata around it, so a
 * config that is deeper than a tool need not mention it.
 */
function leaveOthers(
  frames: readonly Frame[],
  config: { readonly agent: unknown; readonly tools: readonly string[]; readonly depth: number },
): Frame[] {
  const { agent, tools } = config
  const last = frames.findLastIndex(({ scope }) => scope.kind === 'agent' && scope.name === agent)
  const isLeft = ({ scope, depth }: Frame, index: number): boolean =>
    (scope.kind === 'tool' && depth === config.depth && !tools.includes(scope.name)) ||
    (scope.kind === 'agent' && scope.name !== agent && last >= 0 && last < index)
  const end = frames.findIndex(isLeft)
  return end < 0 ? [...frames] : frames.slice(0, end)
}

/** Keys that mark values on a tape that are more than plain data. */
const MESSAGE = 'retake:message'
const COMMAND = 'retake:command'

type Json = Readonly<Record<string, unknown>>

/** A `Command` or `Send` of LangGraph, identified by this field. */
interface GraphObject {
  readonly lg_name?: unknown
  readonly toJSON?: () => object
}

/** Converts messages and graph commands in a tool's output to a form that a tape can store. */
const toTape = (output: unknown): unknown =>
  mapped(output, (each) => {
    if (isBaseMessage(each)) return { [MESSAGE]: each.toDict() }
    const { lg_name: mark, toJSON } = each as GraphObject
    if (toJSON === undefined || (mark !== 'Command' && mark !== 'Send')) return undefined
    const written = toTape({ ...toJSON.call(each) })
    return mark === 'Command' ? { [COMMAND]: written } : written
  })

/** Restores a tool's output from a tape. Loads LangGraph only if the tool used it. */
async function fromTape(output: unknown): Promise<unknown> {
  let isCommand = false
  const plain = mapped(output, (each) => {
    if (COMMAND in each) isCommand = true
    return MESSAGE in each
      ? mapStoredMessagesToChatMessages([(each as Json)[MESSAGE] as StoredMessage])[0]
      : undefined
  })
  if (!isCommand) return plain
  const { Command } = await import('@langchain/langgraph')
  return mapped(plain, (each) =>
    COMMAND in each ? new Command((each as Json)[COMMAND] as object) : undefined,
  )
}

/** Rebuilds LangGraph's interrupt from its name and data on a tape. */
async function asGraphError(error: unknown): Promise<unknown> {
  if (!(error instanceof Error) || error.name !== 'GraphInterrupt') return error
  const { GraphInterrupt } = await import('@langchain/langgraph')
  return error instanceof GraphInterrupt
    ? error
    : (Object.setPrototypeOf(error, GraphInterrupt.prototype) as unknown)
}

/** Replaces objects for which `change` returns a value, in lists and plain objects. */
function mapped(value: unknown, change: (each: object) => unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const changed = change(value)
  if (changed !== undefined) return changed
  if (Array.isArray(value)) return value.map((each) => mapped(each, change))
  if (Object.getPrototypeOf(value) !== Object.prototype) return value
  const entries = Object.entries(value).map(([key, each]) => [key, mapped(each, change)])
  return Object.fromEntries(entries) as unknown
}

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
 * Puts tools behind a guard: `createAgent({ tools: guardTools(run, [weather]) })`, also for a
 * `ToolNode`. A denial becomes a `ToolMessage` with status `error` and the text of the denial, and
 * the tool does not start. If called without a model, by `tool.invoke(args)`, it throws.
 *
 * If a result comes in pieces, the guard waits for all of them.
 */
export function guardTools<T extends readonly { readonly name: string }[]>(
  run: GuardRun,
  tools: T,
  options: GuardToolsOptions = {},
): T {
  requireVersion({ package: '@langchain/core', from: '1.1', to: '1' })
  checkGuardTools(run, tools, 'a list', options)
  return tools.map((tool) => guardTool(run, tool as LangChainTool, options)) as unknown as T
}

function guardTool(run: GuardRun, tool: LangChainTool, options: GuardToolsOptions): LangChainTool {
  const { name } = tool
  if (typeof tool._call !== 'function')
    throw cliErrors.TOOL_NOT_GUARDABLE(name, 'a tool that a provider or another program runs')
  const start = async (...args: Parameters<LangChainTool['_call']>): Promise<unknown> =>
    toTape(await wholeOf(tool._call(...args)))
  const gate = frameworkTool({
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
    const { status, error, output } = await gate({
      args,
      signal: config?.signal,
      work: (given, { signal }) => start(given, runManager, { ...config, signal }),
    })
    if (status === 'done') return await fromTape(output)
    const toolCallId = config?.toolCall?.id
    const content = denialForModel(error, options, config?.signal)
    if (content === undefined || toolCallId === undefined) return rethrow(await asGraphError(error))
    const message = new ToolMessage({
      content,
      tool_call_id: toolCallId,
      name,
      status: 'error',
    })
    return tool.responseFormat === 'content_and_artifact' ? [message, undefined] : message
  }
  // Leaves the tool itself unchanged: the returned object inherits from it.
  return Object.create(tool, {
    _call: { value: call, writable: true, configurable: true },
    ...('func' in tool && { func: { value: call, writable: true, configurable: true } }),
  }) as LangChainTool
}

/** LangChain applies a zod schema before it calls a tool, but not a JSON Schema. */
function inputOf(schema: unknown): { input?: Schema; isChecked: boolean } {
  if (typeof schema !== 'object' || schema === null) return { isChecked: true }
  if ('~standard' in schema) return { input: schema, isChecked: true }
  // Schemas of zod versions before Standard Schema.
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

interface NamedTool {
  readonly name: string
  defaultConfig?: { metadata?: Record<string, unknown> } | undefined
}

/**
 * Marks tools so that steps inside of them get their names, because LangChain's config does not
 * contain the current tool. The mark is metadata of the tool, inherited by everything it calls.
 * Returns the same tools.
 */
export function nameTools<T extends readonly NamedTool[]>(tools: T): T {
  for (const tool of tools) {
    const { metadata, ...config } = tool.defaultConfig ?? {}
    tool.defaultConfig = {
      ...config,
      metadata: { ...metadata, [`${TOOL_MARK}${tool.name}`]: true },
    }
  }
  return tools
}
