import { countOf, defined, filledText, isRecord, recordOf } from '../../format/values/json-shape.js'
import { parseJson, recordsOf } from '../../format/values/json-shape.js'
import type { DecodedResponse, ModelApi, Provider } from '../specification/provider.js'
import { type Usage, usageFromTotals } from '../specification/usage.js'
import { flatMessages, inputMessages, outputMessages } from './span-messages.js'

export type SpanAttributes = Readonly<Record<string, unknown>>

export interface SpanEvent {
  readonly name: string
  /** Nanoseconds since 1970, as text because they exceed the safe integers. */
  readonly time: string
  readonly attributes: SpanAttributes
}

/** Host of the requests that represent imported model calls. Names below `invalid` are never resolved. */
const HOST = 'imported.retake.invalid'

/** The URL of an imported model call; its first path segment is the provider. */
export const importedModelUrl = (provider: string): string =>
  `https://${HOST}/${encodeURIComponent(provider)}`

/**
 * A model call that was imported as a span. The request has the input attributes and the answer the
 * rest, so that together they are the original span. Attributes follow `gen_ai.*` of OpenTelemetry
 * (current and older names), OpenInference, or the AI SDK.
 */
const importedSpan: ModelApi = {
  provider: 'imported',
  api: 'imported span',
  // The whole span is the request, so settings are mixed with the conversation.
  conversation: [],
  providerAt: ({ pathname }) => decodeURIComponent(pathname.split('/')[1] ?? ''),
  matches: ({ method, url }) => method === 'POST' && url.hostname === HOST,
  decodeRequest(request) {
    const { attributes, events } = partOf(request.json())
    return defined({
      model: requestModel(attributes),
      stream: attributes['gen_ai.request.stream'] === true,
      messages: inputMessages(attributes, events),
    })
  },
  decodeResponse({ json }, request): DecodedResponse {
    const { attributes, events, status } = partOf(json)
    const asked = request === undefined ? {} : partOf(request.json()).attributes
    const given =
      attributes['gen_ai.response.finish_reasons'] ?? attributes['ai.response.finishReason']
    const value = typeof given === 'string' && given.startsWith('[') ? parseJson(given) : given
    const finish = filledText(Array.isArray(value) ? value[0] : value)
    return defined({
      model: first(attributes, 'gen_ai.response.model', 'llm.model_name') ?? requestModel(asked),
      messages: outputMessages(attributes, events),
      usage: usageOf(attributes),
      finishReason: finish ?? (status['code'] === 2 ? undefined : 'stop'),
      error:
        status['code'] === 2
          ? (filledText(status['message']) ?? 'The span has failed.')
          : undefined,
      costUsd: countOf(attributes['retake.cost.usd'] ?? attributes['llm.cost.total']),
    })
  },
}

export const imported: Provider = { name: 'imported', apis: [importedSpan] }

/** True for attributes that describe the input of a model or tool; the others describe its output. */
export const isInputAttribute = (key: string): boolean =>
  /^(?:gen_ai\.(?:input|request|prompt|system_instructions|tool\.(?:definitions|call\.arguments)|.*_message)|input\.|llm\.(?:input_messages|prompt|tools|invocation_parameters)|ai\.(?:prompt|toolCall\.args|request)|tool\.parameters)/.test(
    key,
  )

/** True for attributes with the text of messages, arguments and results. */
export const isContentAttribute = (key: string): boolean =>
  /^(?:gen_ai\.(?:input|output|prompt|completion|system_instructions|tool\.(?:definitions|call\.(?:arguments|result)))|input\.|output\.|llm\.(?:input_messages|output_messages|prompt|tools)|ai\.(?:prompt|response\.(?:text|toolCalls)|toolCall\.(?:args|result))|tool\.parameters|exception\.stacktrace|langfuse\.|langsmith\.)/.test(
    key,
  )

function partOf(json: unknown): {
  readonly attributes: SpanAttributes
  readonly events: readonly SpanEvent[]
  readonly status: SpanAttributes
} {
  const { attributes, events, status } = recordOf(json)
  return {
    attributes: recordOf(attributes),
    events: recordsOf(events).map((event) => ({
      name: filledText(event['name']) ?? '',
      time: filledText(event['time']) ?? '0',
      attributes: recordOf(event['attributes']),
    })),
    status: recordOf(status),
  }
}

const first = (attributes: SpanAttributes, ...keys: readonly string[]): string | undefined =>
  keys.map((key) => filledText(attributes[key])).find((each) => each !== undefined)

const requestModel = (attributes: SpanAttributes): string | undefined =>
  first(attributes, 'gen_ai.request.model', 'llm.model_name', 'ai.model.id')

function usageOf(attributes: SpanAttributes): Usage | undefined {
  const count = (...keys: readonly string[]): number | undefined =>
    keys.map((key) => countOf(attributes[key])).find((each) => each !== undefined)
  const input = count(
    'gen_ai.usage.input_tokens',
    'gen_ai.usage.prompt_tokens',
    'llm.token_count.prompt',
    'ai.usage.promptTokens',
  )
  const output = count(
    'gen_ai.usage.output_tokens',
    'gen_ai.usage.completion_tokens',
    'llm.token_count.completion',
    'ai.usage.completionTokens',
  )
  if (input === undefined && output === undefined) return undefined
  const cachedInput =
    count('gen_ai.usage.cache_read.input_tokens', 'llm.token_count.prompt_details.cache_read') ?? 0
  const cacheWrite =
    count(
      'gen_ai.usage.cache_write.input_tokens',
      'gen_ai.usage.cache_creation.input_tokens',
      'llm.token_count.prompt_details.cache_write',
    ) ?? 0
  const cached = cachedInput + cacheWrite
  return usageFromTotals({
    // Some instrumentations exclude cached tokens from the input, as Anthropic's API does.
    allInput: cached > (input ?? 0) ? (input ?? 0) + cached : (input ?? 0),
    cachedInput,
    cacheWrite,
    output: output ?? 0,
    reasoning:
      count(
        'gen_ai.usage.reasoning.output_tokens',
        'llm.token_count.completion_details.reasoning',
      ) ?? 0,
    total: undefined,
    unpriced: [],
  })
}

/** Kind of an imported span, by the conventions that it follows. */
export type SpanRole = 'model' | 'tool' | 'agent' | 'workflow' | 'http' | 'other'

const OPERATIONS: Readonly<Record<string, SpanRole>> = {
  chat: 'model',
  generate_content: 'model',
  text_completion: 'model',
  embeddings: 'model',
  execute_tool: 'tool',
  invoke_agent: 'agent',
  create_agent: 'agent',
  invoke_workflow: 'workflow',
}
const KINDS: Readonly<Record<string, SpanRole>> = {
  LLM: 'model',
  EMBEDDING: 'model',
  TOOL: 'tool',
  RETRIEVER: 'tool',
  RERANKER: 'tool',
  AGENT: 'agent',
}

export function roleOfSpan(attributes: SpanAttributes): SpanRole {
  const operation = filledText(attributes['gen_ai.operation.name'])
  const kind = filledText(attributes['openinference.span.kind'])
  const named = OPERATIONS[operation ?? ''] ?? KINDS[kind?.toUpperCase() ?? '']
  if (named !== undefined) return named
  const traced = filledText(attributes['ai.operationId']) ?? ''
  if (/\.do(?:Generate|Stream|Embed)/.test(traced)) return 'model'
  if (traced === 'ai.toolCall' || attributes['mcp.method.name'] === 'tools/call') return 'tool'
  if (kind === undefined && isRecord(flatMessages(attributes, 'gen_ai.completion')[0]))
    return 'model'
  return filledText(attributes['http.request.method'] ?? attributes['http.method'])
    ? 'http'
    : 'other'
}
