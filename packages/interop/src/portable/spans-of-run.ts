import { hash } from 'node:crypto'
import {
  errorName,
  type BlameFindings,
  type FrameworkScope,
  isContentAttribute,
  type Message,
  type MessagePart,
  messageText,
  originOf,
  type RunView,
  type SpanAttributes,
  type SpanEvent,
  type Step,
  type Tape,
  defined,
} from '@retake/tape'
import { plainValue } from '@retake/runner/terminal'
import { PROVIDER_NAMES, storedSpans } from './imported-run.js'
import { nanosOf, type Span, type SpanKindName, type SpanResource, type SpanScope } from './span.js'

export type Conventions = 'gen_ai' | 'openinference' | 'both'

export interface SpanOptions {
  readonly conventions: Conventions
  /** Includes messages, arguments and results, which may be private. */
  readonly content: boolean
  readonly version: string
  /** Findings of blame, as evaluations of the steps. */
  readonly findings?: BlameFindings | undefined
}

/** Derived from the run, so that exporting twice does not make two traces. */
export const traceIdOf = (run: string): string => hash('sha256', `trace ${run}`).slice(0, 32)
const spanIdOf = (run: string, what: string): string =>
  hash('sha256', `span ${run} ${what}`).slice(0, 16)

/**
 * The spans of a run, parents first: one for the run, one per agent or node that a framework named,
 * one per step. An imported run keeps its original spans.
 */
export function* spansOfRun(tape: Tape, view: RunView, options: SpanOptions): Generator<Span> {
  if (tape.details.imported !== undefined) {
    for (const span of storedSpans(tape)) yield options.content ? span : withoutContent(span)
    return
  }
  yield* new RunSpans(tape, view, options).all()
}

const withoutContent = (span: Span): Span => ({
  ...span,
  attributes: plainAttributes(span.attributes),
  events: span.events.map((event) => ({ ...event, attributes: plainAttributes(event.attributes) })),
})

const plainAttributes = (attributes: SpanAttributes): SpanAttributes =>
  Object.fromEntries(Object.entries(attributes).filter(([key]) => !isContentAttribute(key)))

/** Attributes by convention. Retake's own are always written. */
interface StepAttributes {
  readonly name: string
  readonly kind: SpanKindName
  readonly genAi: SpanAttributes
  readonly openInference: SpanAttributes
}

class RunSpans {
  readonly #traceId: string
  readonly #resource: SpanResource
  readonly #scope: SpanScope
  /** Spans served from the parent of a branch have their own scope. */
  readonly #replayScope: SpanScope

  constructor(
    private readonly tape: Tape,
    private readonly view: RunView,
    private readonly options: SpanOptions,
  ) {
    this.#traceId = traceIdOf(view.id)
    const { branch, platform } = tape.details
    this.#resource = {
      attributes: defined({
        'service.name': view.name,
        'telemetry.sdk.name': 'retake',
        'telemetry.sdk.language': 'nodejs',
        'telemetry.sdk.version': options.version,
        'process.runtime.name': 'nodejs',
        'process.runtime.version': view.node.replace(/^v/, ''),
        'os.type': platform,
        'retake.run.id': view.id,
        'retake.run.kind': branch?.kind ?? 'recording',
        'retake.run.parent': view.parent?.run,
      }),
    }
    this.#scope = { name: 'retake', version: options.version }
    this.#replayScope = {
      name: 'retake.replay',
      version: options.version,
      attributes: { 'retake.replayed': true },
    }
  }

  *all(): Generator<Span> {
    yield this.#runSpan()
    yield* this.#scopeSpans()
    const findings = new Map(this.options.findings?.steps.map((each) => [each.label, each]))
    for (const step of this.view.steps) yield this.#stepSpan(step, findings.get(step.label))
  }

  #runSpan(): Span {
    const { exit, id, name, durationMs, totals } = this.view
    const failed =
      exit?.error !== undefined || (exit?.code ?? 0) !== 0 || exit?.signal !== undefined
    const message =
      exit?.error?.message ?? exit?.signal ?? (failed ? `exit code ${exit?.code}` : '')
    return this.#span('run', {
      name: `invoke_agent ${name}`,
      kind: 'internal',
      at: 0,
      took: durationMs,
      attributes: defined({
        'session.id': id,
        ...this.#named({
          genAi: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': name },
          openInference: { 'openinference.span.kind': 'AGENT' },
        }),
        'retake.run.model_calls': totals.modelCalls,
        'retake.run.tool_calls': totals.toolCalls,
        'retake.run.status': this.tape.status,
        'error.type': failed ? (exit?.error?.name ?? 'exit') : undefined,
      }),
      status: failed ? { code: 2, message } : { code: 0 },
      events: this.#verdictEvents(),
    })
  }

  /** One span per agent, node or workflow, from its first step to its last. */
  *#scopeSpans(): Generator<Span> {
    const times = new Map<string, { path: readonly FrameworkScope[]; from: number; to: number }>()
    for (const step of this.view.steps) {
      const end = endOf(step)
      step.within.forEach((_, index) => {
        const path = step.within.slice(0, index + 1)
        const known = times.get(pathKey(path)) ?? { path, from: step.at, to: end }
        known.from = Math.min(known.from, step.at)
        known.to = Math.max(known.to, end)
        times.set(pathKey(path), known)
      })
    }
    for (const { path, from, to } of times.values()) {
      const { kind, name } = path.at(-1) ?? { kind: 'node', name: '' }
      const isInvoked = kind === 'agent' || kind === 'workflow'
      yield this.#span(`scope ${pathKey(path)}`, {
        name: `${isInvoked ? 'invoke_' : ''}${kind} ${name}`,
        kind: 'internal',
        at: from,
        took: to - from,
        parent: parentKey(path.slice(0, -1)),
        attributes: defined({
          'session.id': this.view.id,
          ...this.#named({
            genAi: isInvoked
              ? { 'gen_ai.operation.name': `invoke_${kind}`, [`gen_ai.${kind}.name`]: name }
              : {},
            openInference: { 'openinference.span.kind': kind === 'agent' ? 'AGENT' : 'CHAIN' },
          }),
          'retake.scope.kind': kind,
        }),
      })
    }
  }

  #stepSpan(step: Step, found: BlameFindings['steps'][number] | undefined): Span {
    const origin = originOf(this.tape, step)
    const isReplayed = origin === 'served'
    const { name, kind, genAi, openInference } = this.#describe(step)
    const { run: parentRun } = this.view.parent ?? {}
    const failed = step.state === 'failed' || step.state === 'denied'
    return this.#span(step.label, {
      // Readers must not count a served step as another call.
      name: isReplayed ? `replayed ${name}` : name,
      kind: isReplayed ? 'internal' : kind,
      scope: isReplayed ? this.#replayScope : this.#scope,
      at: step.at,
      took: step.latencyMs ?? 0,
      parent: parentKey(step.within),
      attributes: defined({
        'session.id': this.view.id,
        ...(isReplayed
          ? this.#named({ genAi: {}, openInference: { 'openinference.span.kind': 'CHAIN' } })
          : this.#named({ genAi, openInference })),
        'retake.step.label': step.label,
        'retake.step.kind': step.kind,
        'retake.step.state': step.state,
        'retake.step.origin': origin,
        'retake.step.inferred': step.inferred || undefined,
        'retake.step.asked_by': step.parent,
        'retake.replayed': isReplayed || undefined,
        'retake.cost.usd': isReplayed ? undefined : step.costUsd,
        'retake.guard.policy': step.guard?.policy,
        'retake.guard.rule': step.guard?.rule,
        'retake.guard.code': step.guard?.code,
        'code.file.path': step.site,
        'error.type': failed ? errorTypeOf(step) : undefined,
      }),
      status: failed ? { code: 2, message: step.error ?? step.state } : { code: 0 },
      events: [...this.#exception(step), ...this.#evaluation(step, found)],
      links:
        isReplayed && parentRun !== undefined
          ? [
              {
                traceId: traceIdOf(parentRun),
                spanId: spanIdOf(parentRun, step.label),
                attributes: { 'retake.link': 'recorded' },
              },
            ]
          : [],
    })
  }

  #describe(step: Step): StepAttributes {
    if (step.kind === 'model') return this.#model(step)
    if (step.mcp() !== undefined) return this.#mcp(step)
    if (step.kind === 'tool') return this.#tool(step)
    if (step.kind === 'http') return httpAttributes(step)
    return {
      name: `${step.kind} ${step.title}`,
      kind: 'internal',
      genAi: {},
      openInference: { 'openinference.span.kind': step.kind === 'process' ? 'TOOL' : 'CHAIN' },
    }
  }

  #model(step: Step): StepAttributes {
    const { model, usage, provider, finishReason } = step
    const operation = finishReason === 'embedded' ? 'embeddings' : 'chat'
    const input = usage && usage.input + usage.cachedInput + usage.cacheWrite
    return {
      name: `${operation} ${model ?? provider ?? 'model'}`,
      kind: 'client',
      genAi: {
        'gen_ai.operation.name': operation,
        'gen_ai.provider.name': PROVIDER_NAMES[provider ?? ''] ?? provider,
        'gen_ai.request.model': model,
        'gen_ai.response.model': model,
        'gen_ai.response.finish_reasons': finishReason === undefined ? undefined : [finishReason],
        'gen_ai.response.time_to_first_chunk':
          step.timeToFirstChunkMs === undefined
            ? undefined
            : Math.round(step.timeToFirstChunkMs * 1000) / 1_000_000,
        'gen_ai.conversation.id': this.view.id,
        'gen_ai.usage.input_tokens': input,
        'gen_ai.usage.output_tokens': usage?.output,
        'gen_ai.usage.cache_read.input_tokens': usage?.cachedInput || undefined,
        'gen_ai.usage.cache_write.input_tokens': usage?.cacheWrite || undefined,
        'gen_ai.usage.reasoning.output_tokens': usage?.reasoning || undefined,
        ...serverOf(step),
        ...this.#content(() => ({
          'gen_ai.input.messages': genAiMessages(step.messages()),
          'gen_ai.output.messages': genAiMessages(step.answer(), finishReason),
        })),
      },
      openInference: {
        'openinference.span.kind': operation === 'chat' ? 'LLM' : 'EMBEDDING',
        'llm.model_name': model,
        'llm.provider': provider,
        'llm.token_count.prompt': input,
        'llm.token_count.completion': usage?.output,
        'llm.token_count.total': usage && (input ?? 0) + usage.output,
        'llm.token_count.prompt_details.cache_read': usage?.cachedInput || undefined,
        'llm.token_count.prompt_details.cache_write': usage?.cacheWrite || undefined,
        'llm.token_count.completion_details.reasoning': usage?.reasoning || undefined,
        'llm.cost.total': step.costUsd,
        ...this.#content(() => ({
          ...flattened('llm.input_messages', step.messages()),
          ...flattened('llm.output_messages', step.answer()),
          'input.value': lastText(step.messages()),
          'output.value': lastText(step.answer()),
        })),
      },
    }
  }

  #tool(step: Step): StepAttributes {
    const name = step.toolName ?? 'tool'
    return {
      name: `execute_tool ${name}`,
      kind: 'internal',
      genAi: {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': name,
        'gen_ai.tool.type': 'function',
        ...this.#content(() => ({
          'gen_ai.tool.call.arguments': jsonText(step.call()?.args),
          'gen_ai.tool.call.result': jsonText(step.call()?.result),
        })),
      },
      openInference: {
        'openinference.span.kind': 'TOOL',
        'tool.name': name,
        ...this.#content(() => ({
          'input.value': jsonText(step.call()?.args),
          'input.mime_type': 'application/json',
          'output.value': jsonText(step.call()?.result),
          'output.mime_type': 'application/json',
        })),
      },
    }
  }

  #mcp(step: Step): StepAttributes {
    const { method = '', id, transport, server, askedBy } = step.mcp() ?? {}
    const tool = this.#tool(step)
    const isTool = step.kind === 'tool'
    const target = isTool ? ` ${step.toolName}` : ''
    return {
      name: `${method}${target}`,
      kind: askedBy === 'server' ? 'server' : 'client',
      genAi: {
        ...(isTool && tool.genAi),
        'mcp.method.name': method,
        'jsonrpc.request.id': id === undefined || id === null ? undefined : String(id),
        'network.transport': transport === 'stdio' ? 'pipe' : 'tcp',
        'mcp.server.name': server,
      },
      openInference: isTool ? tool.openInference : { 'openinference.span.kind': 'CHAIN' },
    }
  }

  #content(read: () => SpanAttributes): SpanAttributes {
    return this.options.content ? read() : {}
  }

  #named({ genAi, openInference }: Omit<StepAttributes, 'name' | 'kind'>): SpanAttributes {
    const { conventions } = this.options
    return {
      ...(conventions !== 'openinference' && genAi),
      ...(conventions !== 'gen_ai' && openInference),
    }
  }

  #exception(step: Step): SpanEvent[] {
    const { failure } = step
    if (failure === undefined) return []
    return this.#event('exception', endOf(step), {
      'exception.type': errorName(failure),
      'exception.message': failure.message,
      ...this.#content(() => ({ 'exception.stacktrace': failure.stack })),
    })
  }

  #evaluation(step: Step, found: BlameFindings['steps'][number] | undefined): SpanEvent[] {
    if (found === undefined) return []
    return this.#event('gen_ai.evaluation.result', endOf(step), {
      'gen_ai.evaluation.name': 'retake.blame',
      'gen_ai.evaluation.score.value': found.responsibility,
      'gen_ai.evaluation.score.label': found.role,
      'retake.blame.necessary': found.isNecessary,
      'retake.blame.sufficient': found.isSufficient,
      'retake.blame.alone.fails': found.alone?.fails,
      'retake.blame.alone.forks': found.alone?.forks,
      'retake.blame.alone.low': found.alone?.low,
      'retake.blame.alone.high': found.alone?.high,
    })
  }

  #verdictEvents(): SpanEvent[] {
    const { findings } = this.options
    if (findings === undefined) return []
    return this.#event('gen_ai.evaluation.result', this.view.durationMs, {
      'gen_ai.evaluation.name': 'retake.blame',
      'gen_ai.evaluation.score.value': findings.confidence,
      'gen_ai.evaluation.score.label': findings.verdict,
      'gen_ai.evaluation.explanation': findings.why,
      'retake.blame.causes': findings.causes.map(({ steps }) => steps.join(' + ')),
    })
  }

  #event(name: string, at: number, attributes: SpanAttributes): SpanEvent[] {
    return [{ name, time: this.#time(at), attributes: defined(attributes) }]
  }

  #time(at: number): string {
    return nanosOf(this.view.startedAt, at)
  }

  #span(
    key: string,
    {
      at,
      took,
      parent = key === 'run' ? undefined : 'run',
      scope = this.#scope,
      ...rest
    }: Pick<Span, 'name' | 'kind' | 'attributes'> &
      Partial<Pick<Span, 'status' | 'events' | 'links' | 'scope'>> & {
        readonly at: number
        readonly took: number
        readonly parent?: string
      },
  ): Span {
    const { id } = this.view
    return {
      traceId: this.#traceId,
      spanId: spanIdOf(id, key),
      ...(parent !== undefined && { parentSpanId: spanIdOf(id, parent) }),
      start: this.#time(at),
      end: this.#time(at + took),
      status: { code: 0 },
      events: [],
      links: [],
      resource: this.#resource,
      scope,
      ...rest,
    }
  }
}

const endOf = (step: Step): number => step.at + (step.latencyMs ?? 0)
const pathKey = (path: readonly FrameworkScope[]): string =>
  JSON.stringify(path.map(({ kind, name, id }) => [kind, name, id]))
const parentKey = (path: readonly FrameworkScope[]): string =>
  path.length === 0 ? 'run' : `scope ${pathKey(path)}`

/** The MCP conventions define an error type for tools that answer with an error. */
function errorTypeOf(step: Step): string {
  if (step.failure?.name !== undefined) return step.failure.name
  const status = step.exchange()?.response?.status
  if (status !== undefined && status >= 400) return String(status)
  return step.kind === 'tool' && step.mcp() !== undefined ? 'tool_error' : step.state
}

const jsonText = (value: unknown): string | undefined =>
  value === undefined ? undefined : (JSON.stringify(plainValue(value)) ?? undefined)

function serverOf(step: Step): SpanAttributes {
  const { url = '' } = step.exchange()?.request ?? {}
  if (!URL.canParse(url)) return {}
  const { hostname, port, protocol } = new URL(url)
  return {
    'server.address': hostname,
    'server.port': Number(port) || (protocol === 'http:' ? 80 : 443),
  }
}

function httpAttributes(step: Step): StepAttributes {
  const { request, response } = step.exchange() ?? {}
  return {
    name: request?.method ?? 'connect',
    kind: 'client',
    genAi: {
      'http.request.method': request?.method,
      'url.full': request?.url,
      'http.response.status_code': response?.status,
      ...serverOf(step),
    },
    openInference: { 'openinference.span.kind': 'CHAIN' },
  }
}

const lastText = (messages: readonly Message[]): string | undefined => {
  const last = messages.at(-1)
  return last && messageText(last)
}

/** Messages in the format of `gen_ai.input.messages`. */
const genAiMessages = (messages: readonly Message[], finishReason?: string): string =>
  JSON.stringify(
    messages.map(({ role, parts }) => ({
      role,
      parts: parts.map(genAiPart),
      ...(finishReason !== undefined && { finish_reason: finishReason }),
    })),
  )

function genAiPart(part: MessagePart): object {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return { type: part.type, content: part.text }
    case 'tool_call':
      return { type: 'tool_call', id: part.id, name: part.name, arguments: part.args }
    case 'tool_result':
      return {
        type: 'tool_call_response',
        id: part.id,
        response: part.content,
        ...(part.isError && { is_error: true }),
      }
    case 'image':
      return { type: 'uri', modality: 'image', uri: part.source }
    case 'other':
      return { type: part.kind, value: part.value }
  }
}

/** Messages in the format of OpenInference: one attribute per field. */
function flattened(prefix: string, messages: readonly Message[]): SpanAttributes {
  const attributes: Record<string, unknown> = {}
  messages.forEach((message, index) => {
    const at = `${prefix}.${index}.message`
    attributes[`${at}.role`] = message.role
    const text = messageText(message)
    const result = message.parts.find((part) => part.type === 'tool_result')
    if (text !== '') attributes[`${at}.content`] = text
    else if (typeof result?.content === 'string') attributes[`${at}.content`] = result.content
    else if (result !== undefined)
      attributes[`${at}.content`] = JSON.stringify(result.content) ?? ''
    if (result !== undefined) attributes[`${at}.tool_call_id`] = result.id
    message.parts
      .filter((part) => part.type === 'tool_call')
      .forEach(({ id, name, args }, call) => {
        const inner = `${at}.tool_calls.${call}.tool_call`
        attributes[`${inner}.id`] = id
        attributes[`${inner}.function.name`] = name
        attributes[`${inner}.function.arguments`] = JSON.stringify(args)
      })
  })
  return attributes
}
