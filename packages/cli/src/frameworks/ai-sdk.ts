/**
 * `retake/ai-sdk`: names the steps of the AI SDK. Use the telemetry integration for version 7
 * (`retakeTelemetry`), or settings of a call for version 6 (`retakeTelemetrySettings`). Agents of
 * both can be named by their id (`nameAgent`). `guardTools` puts tools behind a guard.
 */
import { within } from '@retake/engine'
import { GuardError, type GuardRun, type Schema, type StandardSchema } from '@retake/guard'
import {
  checkGuardTools,
  denialText,
  frameworkTool,
  type GuardToolsOptions,
  rethrow,
} from '../guard/framework-tool.js'
import type { FrameworkScope } from '@retake/tape'
import { compileJsonSchema } from '../guard/json-schema.js'
import { requireVersion, wrapCalls } from './adapter.js'

const requireAiSdk = (): void => requireVersion({ package: 'ai', from: '6.0', to: '7' })

type Json = Readonly<Record<string, unknown>>

/** Input schema of an AI SDK tool. `isChecked`: the SDK has already validated the input. */
function toolInput(given: unknown): {
  readonly schema: Schema | undefined
  readonly isChecked: boolean
} {
  if ((typeof given !== 'object' && typeof given !== 'function') || given === null)
    return { schema: undefined, isChecked: false }
  if ('~standard' in given) return { schema: given, isChecked: true }
  if (typeof given === 'function') return toolInput((given as () => unknown)())
  const { jsonSchema, validate } = given as {
    readonly jsonSchema: Json | PromiseLike<Json>
    readonly validate?: unknown
  }
  const schema = 'then' in jsonSchema ? later(jsonSchema as PromiseLike<Json>) : jsonSchema
  // Without a validation function, the SDK sends a JSON Schema to the model but checks nothing.
  return { schema, isChecked: typeof validate === 'function' }
}

const later = (schema: PromiseLike<Json>): StandardSchema => ({
  '~standard': {
    version: 1,
    vendor: 'ai-sdk',
    validate: async (value) => {
      const issues = compileJsonSchema(await schema)(value)
      return issues.length === 0 ? { value } : { issues }
    },
  },
})

const CHAINED = [
  'setAttribute',
  'setAttributes',
  'addEvent',
  'addLink',
  'addLinks',
  'setStatus',
  'updateName',
] as const

/** An OpenTelemetry span without data, with the interface of `Span` in `@opentelemetry/api`. */
interface NoSpan extends Record<(typeof CHAINED)[number], (...args: unknown[]) => NoSpan> {
  spanContext(): { traceId: string; spanId: string; traceFlags: number }
  end(): void
  isRecording(): boolean
  recordException(): void
}

const NO_SPAN = {
  ...Object.fromEntries(CHAINED.map((name) => [name, () => NO_SPAN])),
  spanContext: () => ({ traceId: '0'.repeat(32), spanId: '0'.repeat(16), traceFlags: 0 }),
  end: () => {},
  isRecording: () => false,
  recordException: () => {},
} as unknown as NoSpan

interface SpanOptions {
  readonly attributes?: Readonly<Record<string, unknown>>
}

/** The part of an OpenTelemetry tracer that AI SDK 6 uses. */
export interface RetakeTracer {
  startSpan(...args: unknown[]): NoSpan
  // The overloads of OpenTelemetry: options and context may be left out.
  // oxlint-disable-next-line typescript/no-explicit-any
  startActiveSpan(...args: any[]): any
}

/**
 * For calls of AI SDK 6 that already use telemetry: does the same as `retakeTelemetrySettings`, and
 * passes every span to `inner`, their previous tracer. Without `inner`, spans are discarded.
 */
export function retakeTracer(inner?: RetakeTracer): RetakeTracer {
  requireAiSdk()
  return {
    startSpan: (...args) => inner?.startSpan(...args) ?? NO_SPAN,
    startActiveSpan: (...args: unknown[]) => {
      const start = () =>
        inner === undefined
          ? (args.at(-1) as (span: NoSpan) => unknown)(NO_SPAN)
          : (inner.startActiveSpan(...args) as unknown)
      const scope = scopeOf(args[0] as string, args[1] as SpanOptions)
      return scope === undefined ? start() : within(scope, start)
    },
  }
}

/** Operations are `ai.generateText`, `ai.embed`, …; spans inside of them have one more part. */
const OPERATION = /^ai\.\w+$/

function scopeOf(span: string, { attributes = {} }: SpanOptions): FrameworkScope | undefined {
  if (span === 'ai.toolCall')
    return scopeNamed('tool', attributes['ai.toolCall.name'], attributes['ai.toolCall.id'])
  return OPERATION.test(span)
    ? scopeNamed('agent', attributes['ai.telemetry.functionId'])
    : undefined
}

function scopeNamed(
  kind: FrameworkScope['kind'],
  name: unknown,
  id?: unknown,
): FrameworkScope | undefined {
  if (typeof name !== 'string') return undefined
  return typeof id === 'string' ? { kind, name, id } : { kind, name }
}

export interface RetakeTelemetrySettings {
  readonly isEnabled: true
  readonly functionId: string
  readonly recordInputs: false
  readonly recordOutputs: false
  readonly tracer: RetakeTracer
}

/**
 * For AI SDK 6: `experimental_telemetry: retakeTelemetrySettings('planner')`. Labels steps of the
 * call with this name as their agent, and with the tool that makes them.
 */
export function retakeTelemetrySettings(functionId: string): RetakeTelemetrySettings {
  // Collecting texts would change the order in which concurrent calls proceed.
  const nothing = { recordInputs: false, recordOutputs: false } as const
  return { isEnabled: true, functionId, ...nothing, tracer: retakeTracer() }
}

interface AiSdkTool {
  readonly inputSchema?: unknown
  readonly execute?: (input: unknown, options: ExecuteOptions) => unknown
}

interface ExecuteOptions {
  readonly abortSignal?: AbortSignal | undefined
  readonly [key: string]: unknown
}

/** Denials always go to the model, because a tool error never ends a run in the AI SDK. */
export type AiSdkGuardOptions = Omit<GuardToolsOptions, 'onDenied'>

/**
 * Puts tools behind a guard: `generateText({ tools: guardTools(run, { weather }) })`. A denial
 * becomes a tool error of the AI SDK with the text of the denial, and `execute` is not called.
 * Tools without `execute` run elsewhere and stay unchanged.
 *
 * If `execute` yields several results, the guard waits for the last one and returns it.
 */
export function guardTools<T extends Readonly<Record<string, object>>>(
  run: GuardRun,
  tools: T,
  options: AiSdkGuardOptions = {},
): T {
  requireAiSdk()
  checkGuardTools(run, tools, 'an object', options, ['tools'])
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
  const start = (input: unknown, settings: ExecuteOptions): unknown =>
    lastOf(Reflect.apply(execute, tool, [input, settings]))
  const { schema, isChecked } = toolInput(tool.inputSchema)
  const gate = frameworkTool({
    run,
    name,
    input: schema,
    isChecked,
    alone: (input, { signal }) =>
      start(input, { toolCallId: name, messages: [], abortSignal: signal }),
    options,
  })
  const guardedExecute = async (input: unknown, settings: ExecuteOptions): Promise<unknown> => {
    const { status, error, output } = await gate({
      args: input,
      signal: settings.abortSignal,
      work: (args, { signal }) => start(args, { ...settings, abortSignal: signal }),
    })
    if (status === 'done') return output
    return rethrow(error instanceof GuardError ? withWholeMessage(error) : error)
  }
  return Object.assign(Object.create(Object.getPrototypeOf(tool) as object | null), tool, {
    execute: guardedExecute,
  }) as AiSdkTool
}

/** The SDK passes only the message of an error to the model, so it must contain everything. */
function withWholeMessage(error: GuardError): GuardError {
  const { code, rule, what, why, allowed, exitReason } = error
  const whole = new GuardError(
    { code, rule, what, why, allowed, ...(exitReason && { exitReason }) },
    { cause: error },
  )
  whole.message = denialText(error)
  return whole
}

async function lastOf(result: unknown): Promise<unknown> {
  const settled: unknown = await result
  if (typeof settled !== 'object' || settled === null || !(Symbol.asyncIterator in settled))
    return settled
  let last: unknown
  for await (const piece of settled as AsyncIterable<unknown>) last = piece
  return last
}

interface Work<T> {
  readonly callId: string
  readonly functionId?: string | undefined
  readonly execute: () => PromiseLike<T>
}
interface ToolWork<T> extends Work<T> {
  readonly toolCallId: string
  readonly toolCall?: { readonly toolName?: string } | undefined
}

/** The part of AI SDK 7's `Telemetry` that runs work in a context. */
export interface RetakeTelemetry {
  executeLanguageModelCall<T>(work: Work<T>): PromiseLike<T>
  executeTool<T>(work: ToolWork<T>): PromiseLike<T>
}

/**
 * For AI SDK 7: `registerTelemetry(retakeTelemetry())`. Labels steps with the `functionId` of the
 * call as their agent, and with the tool that makes them. Sends nothing.
 */
export function retakeTelemetry(): RetakeTelemetry {
  requireAiSdk()
  return {
    executeLanguageModelCall: (work) => inAgent(work, work.execute),
    executeTool: (work) => {
      const { toolCall, toolCallId: id, execute } = work
      const name = toolCall?.toolName
      return inAgent(work, () =>
        name === undefined ? execute() : within({ kind: 'tool', name, id }, execute),
      )
    },
  }
}

function inAgent<T>({ functionId: name, callId: id }: Work<T>, body: () => PromiseLike<T>) {
  return name === undefined ? body() : within({ kind: 'agent', name, id }, body)
}

export interface AiSdkAgent {
  readonly id?: string | undefined
  generate(...args: never[]): unknown
  stream(...args: never[]): unknown
}

/**
 * Labels the steps of an agent with a name (default: its id). Changes the agent itself and returns
 * it. To label steps of its tools, use `retakeTelemetry` or `retakeTracer`.
 */
export function nameAgent<A extends AiSdkAgent>(agent: A, name = agent.id ?? 'agent'): A {
  requireAiSdk()
  wrapCalls(agent, ['generate', 'stream'], (call) => within({ kind: 'agent', name }, call))
  return agent
}
