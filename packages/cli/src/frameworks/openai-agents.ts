/** `retake/openai-agents`: names the steps and guards the tools of the OpenAI Agents SDK. */
import { attempt } from '@retake/tape/format'
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

export type { GuardToolsOptions } from '../guard/framework-tool.js'

export interface AgentsSpan {
  readonly spanId: string
  readonly spanData: { readonly type: string }
  /** The span around this one; the SDK's own type has it as `any`. */
  readonly previousSpan?: unknown
}

/** The part of `@openai/agents` that knows where a step happens. */
export interface AgentsContext {
  getCurrentSpan(): AgentsSpan | null
  getCurrentTrace(): { readonly name: string } | null
}

/**
 * Labels every step with the workflow, agent and tool of the OpenAI Agents SDK that it happens in:
 *
 *     import { getCurrentSpan, getCurrentTrace } from '@openai/agents'
 *     nameSteps({ getCurrentSpan, getCurrentTrace })
 *
 * Only reads the SDK's own context, so it also works with tracing disabled, and
 * nothing is exported that was not before. Returns its undo.
 */
export const nameSteps = oncePerProgram((agents: AgentsContext) => {
  requireVersion({ package: '@openai/agents', from: '0.20', to: '0' })
  return scopesFrom(() => {
    const name = agents.getCurrentTrace()?.name
    const isNamed = name !== undefined && name !== UNNAMED
    const workflow = isNamed ? [{ kind: 'workflow', name } as const] : []
    return [...workflow, ...scopesOf(agents.getCurrentSpan())]
  })
})

const UNNAMED = 'Agent workflow'

function scopesOf(innermost: AgentsSpan | null): FrameworkScope[] {
  const scopes: FrameworkScope[] = []
  let span: AgentsSpan | undefined = innermost ?? undefined
  while (span !== undefined) {
    const scope = scopeOf(span)
    if (scope !== undefined) scopes.unshift(scope)
    span = (span.previousSpan as AgentsSpan | null | undefined) ?? undefined
  }
  return scopes
}

/**
 * Kinds of scopes by type of span. Tasks, turns, generations and responses have none, because they
 * are the run and its steps.
 */
const KINDS: Readonly<Record<string, FrameworkScope['kind']>> = {
  agent: 'agent',
  function: 'tool',
  handoff: 'node',
  guardrail: 'node',
  custom: 'node',
  mcp_tools: 'server',
}

function scopeOf({ spanId, spanData }: AgentsSpan): FrameworkScope | undefined {
  const { type, name, server } = spanData as { type: string; name?: string; server?: string }
  const kind = KINDS[type]
  // The target of a handoff is only known at its end.
  const called = type === 'handoff' ? type : type === 'mcp_tools' ? server : name
  if (kind === undefined || called === undefined) return undefined
  // All spans have this id if tracing is disabled.
  return { kind, name: called, ...(spanId !== 'no-op' && { id: spanId }) }
}

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
 * Puts tools behind a guard: `new Agent({ tools: guardTools(run, [lookUp]) })`. A denial reaches
 * the model as the output of the tool, and the tool does not start.
 *
 * Calls are judged by the arguments from the model, checked against the tool's JSON Schema; a zod
 * schema is applied inside of the tool. Errors that the tool's own `errorFunction` turns into text
 * are results for the guard. Tools that a provider runs stay unchanged.
 */
export function guardTools<T extends readonly { readonly type: string; readonly name: string }[]>(
  run: GuardRun,
  tools: T,
  options: GuardToolsOptions = {},
): T {
  requireVersion({ package: '@openai/agents', from: '0.20', to: '0' })
  checkGuardTools(run, tools, 'a list', options)
  return tools.map((tool) => {
    if (tool.type === 'hosted_tool') return tool
    if (tool.type !== 'function')
      throw cliErrors.TOOL_NOT_GUARDABLE(tool.name, `a tool of type "${tool.type}"`)
    return guardTool(run, tool as FunctionTool, options)
  }) as unknown as T
}

function guardTool(run: GuardRun, tool: FunctionTool, options: GuardToolsOptions): FunctionTool {
  const start = async (args: unknown, context: unknown, details: Details): Promise<unknown> => {
    const result = await tool.invoke(context, JSON.stringify(args ?? {}), details)
    if (result === SDK_ERROR) throw new Error(SDK_ERROR)
    return result
  }
  const gate = frameworkTool({
    run,
    name: tool.name,
    input: tool.parameters,
    alone: (args, { signal }) => start(args, undefined, { signal }),
    options,
  })
  const invoke = async (context: unknown, input: string, details?: Details): Promise<unknown> => {
    // Leaves text that is not JSON, which no schema of a function tool accepts.
    const { status, error, output } = await gate({
      args: attempt(() => JSON.parse(input === '' ? '{}' : input) as unknown, input),
      signal: details?.signal,
      work: (args, { signal }) => start(args, context, { ...details, signal }),
    })
    if (status === 'done') return output
    const denial = denialForModel(error, options, details?.signal)
    if (denial !== undefined) return denial
    if (error instanceof Error && error.message === SDK_ERROR) return SDK_ERROR
    return rethrow(error)
  }
  return Object.defineProperties(Object.create(Object.getPrototypeOf(tool) as object | null), {
    ...Object.getOwnPropertyDescriptors(tool),
    invoke: { value: invoke, enumerable: true, writable: true, configurable: true },
  }) as FunctionTool
}

/** The SDK's text for a tool error, unless the tool has its own `errorFunction`. */
const SDK_ERROR = 'An error occurred while running the tool. Please try again.'
