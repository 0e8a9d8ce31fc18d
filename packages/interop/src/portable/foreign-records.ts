import { createHash } from 'node:crypto'
import { isSecretHeader, maskUrl } from '@retake/engine/runs'
import {
  type HeaderPair,
  recordOf,
  type SpanAttributes,
  type SpanEvent,
  filledText,
} from '@retake/tape'
import { HAR_REQUEST, HAR_RESPONSE, type HarMessage } from './har.js'
import { camelAndSnake, BrokenSpan, member } from './otlp-decode.js'
import { nanosOf, SPAN_KINDS, type Span, type SpanKindName } from './span.js'

type JsonObject = Readonly<Record<string, unknown>>

/** Converts records to spans. Fields without an attribute go under the tool's name. */
export const RECORD_FORMATS = {
  har: harSpans,
  langfuse: langfuseSpans,
  langsmith: langsmithSpans,
  openinference: openInferenceSpans,
  trail: trailSpans,
  agentrr: agentrrSpans,
  tracefork: traceforkSpans,
} as const satisfies Readonly<
  Record<string, (record: JsonObject, position: RecordPosition) => Span[]>
>

/** Position of a record, for tools whose records do not say what they belong to. */
export interface RecordPosition {
  readonly index: number
  readonly first: JsonObject
  readonly source: string
}

/** Text unchanged, everything else as JSON. */
const asText = (value: unknown): string | undefined =>
  value === undefined || value === null
    ? undefined
    : typeof value === 'string'
      ? value
      : JSON.stringify(value)

/** More than any time since 1970, or between two of them. */
const NANOS_MAX = 4e21

/** A duration as a whole number; 0 if it cannot be one. */
const wholeNanos = (nanos: number): bigint =>
  Math.abs(nanos) < NANOS_MAX ? BigInt(Math.round(nanos)) : 0n

/** Keeps OpenTelemetry ids. Hashes others, such as UUIDs, to the same length. */
function idOf(value: unknown, digits: 16 | 32): string | undefined {
  const given = typeof value === 'number' ? String(value) : filledText(value)?.replace(/^0x/, '')
  if (given === undefined) return undefined
  const hex = given.replaceAll('-', '').toLowerCase()
  if (hex.length === digits && /^[\da-f]+$/.test(hex)) return hex
  return createHash('sha256').update(given).digest('hex').slice(0, digits)
}

/** Parses a time: nanoseconds, milliseconds or seconds since 1970, or a date (UTC). */
function momentOf(value: unknown): string | undefined {
  if (typeof value === 'number' && Number.isFinite(value) && value > 0) {
    if (value > 1e17) return value < NANOS_MAX ? String(BigInt(Math.trunc(value))) : undefined
    return value > 1e14 ? nanosOf(value / 1000) : nanosOf(value > 1e11 ? value : value * 1000)
  }
  const given = filledText(value)
  if (given === undefined) return undefined
  if (/^\d{16,20}$/.test(given)) return given.padEnd(19, '0')
  const [, base = given, fraction = ''] = /^(.*\d\d:\d\d:\d\d)(?:\.(\d+))?/.exec(given) ?? []
  const zone = /(?:Z|[+-]\d\d:?\d\d)$/.exec(given)?.[0] ?? 'Z'
  const ms = Date.parse(base.replace(' ', 'T') + zone)
  if (Number.isNaN(ms)) return undefined
  return String(BigInt(ms) * 1_000_000n + BigInt(fraction.slice(0, 9).padEnd(9, '0')))
}

interface SpanParts {
  readonly traceId: unknown
  readonly spanId: unknown
  readonly parentSpanId: unknown
  readonly name: unknown
  readonly kind?: unknown
  readonly start: unknown
  readonly end: unknown
  readonly attributes: SpanAttributes
  readonly events?: readonly SpanEvent[]
  /** The error or its message; missing or false if there is none. */
  readonly error?: unknown
  /** True if the program reported success, which is more than no error. */
  readonly isOk?: boolean
  readonly service?: unknown
  readonly scope: string
}

function spanOf(parts: SpanParts): Span {
  const start = momentOf(parts.start)
  if (start === undefined) throw new BrokenSpan('spans without a start time')
  const end = momentOf(parts.end) ?? start
  const traceId = idOf(parts.traceId, 32)
  const spanId = idOf(parts.spanId, 16)
  if (traceId === undefined || spanId === undefined)
    throw new BrokenSpan('spans without a valid id')
  const parentSpanId = idOf(parts.parentSpanId, 16)
  const kind = filledText(parts.kind)
    ?.replace(/^SPAN_KIND_/i, '')
    .toLowerCase() as SpanKindName
  const service = filledText(parts.service) ?? parts.scope
  const known = services.get(service) ?? { attributes: { 'service.name': service } }
  if (services.size < 1000) services.set(service, known)
  return {
    traceId,
    spanId,
    ...(parentSpanId !== undefined && { parentSpanId }),
    name: filledText(parts.name) ?? 'span',
    kind: SPAN_KINDS.includes(kind) ? kind : 'internal',
    start,
    end: BigInt(end) < BigInt(start) ? start : end,
    attributes: Object.fromEntries(
      Object.entries(parts.attributes).filter(([, value]) => value !== undefined && value !== null),
    ),
    events: parts.events ?? [],
    links: [],
    status:
      parts.error === undefined || parts.error === false
        ? { code: parts.isOk === true ? 1 : 0 }
        : { code: 2, message: filledText(parts.error) ?? 'error' },
    resource: known,
    scope: { name: parts.scope },
  }
}

/** Spans of one service share a resource. */
const services = new Map<string, Span['resource']>()

/** Fields without an attribute, under the tool's name. `used`: names of all other fields. */
const restOf = (prefix: string, record: JsonObject, used: string): SpanAttributes =>
  Object.fromEntries(
    Object.entries(record)
      .filter(([key, value]) => !used.split(' ').includes(key) && (value ?? null) !== null)
      .map(([key, value]) => [
        `${prefix}.${key}`,
        typeof value === 'object' ? JSON.stringify(value) : value,
      ]),
  )

/** Kinds that Langfuse and OpenInference share. */
const LANGFUSE_KINDS = /^(?:EMBEDDING|TOOL|RETRIEVER|AGENT|GUARDRAIL|EVALUATOR)$/

const LANGFUSE_USED = [
  'id name timestamp input output observations',
  ...['traceId', 'parentObservationId', 'startTime', 'endTime'].flatMap(camelAndSnake),
].join(' ')

/** An observation of Langfuse, from its API, its interface or its storage export. */
function langfuseSpans(record: JsonObject): Span[] {
  const given = (name: string): unknown => member(record, name)
  const nested = Array.isArray(record['observations']) ? record['observations'] : []
  const isTrace = given('traceId') === undefined
  const type = filledText(record['type'])?.toUpperCase() ?? 'SPAN'
  const usage = recordOf(given('usageDetails') ?? record['usage'])
  const attributes: SpanAttributes = {
    'openinference.span.kind':
      type === 'GENERATION' ? 'LLM' : LANGFUSE_KINDS.test(type) ? type : 'CHAIN',
    'llm.model_name': filledText(record['model']) ?? filledText(given('providedModelName')),
    'input.value': asText(record['input']),
    'output.value': asText(record['output']),
    ...(type === 'TOOL' && { 'gen_ai.tool.name': record['name'] }),
    ...(type === 'AGENT' && { 'gen_ai.agent.name': record['name'] }),
    'llm.token_count.prompt': usage['input'] ?? usage['promptTokens'],
    'llm.token_count.completion': usage['output'] ?? usage['completionTokens'],
    'llm.cost.total':
      given('calculatedTotalCost') ?? given('totalCost') ?? recordOf(given('costDetails'))['total'],
    'session.id': given('sessionId'),
    ...restOf('langfuse', record, LANGFUSE_USED),
  }
  const latency = isTrace && typeof record['latency'] === 'number' ? record['latency'] * 1000 : 0
  const start = given('startTime') ?? record['timestamp']
  const begun = momentOf(start)
  return [
    spanOf({
      traceId: isTrace ? record['id'] : given('traceId'),
      spanId: isTrace ? `trace ${String(record['id'])}` : record['id'],
      parentSpanId: isTrace
        ? undefined
        : (given('parentObservationId') ?? `trace ${String(given('traceId'))}`),
      name: record['name'],
      start,
      end:
        given('endTime') ??
        (begun !== undefined && latency > 0
          ? String(BigInt(begun) + wholeNanos(latency * 1e6))
          : start),
      attributes,
      error: record['level'] === 'ERROR' && (given('statusMessage') ?? true),
      scope: 'langfuse',
    }),
    ...nested.flatMap((each: unknown) => langfuseSpans(recordOf(each))),
  ]
}

const LANGSMITH_KINDS: Readonly<Record<string, string>> = {
  llm: 'LLM',
  chat_model: 'LLM',
  embedding: 'EMBEDDING',
  tool: 'TOOL',
  retriever: 'RETRIEVER',
  prompt: 'PROMPT',
}

/** A LangSmith run, as its API lists it. */
function langsmithSpans(record: JsonObject): Span[] {
  const type = filledText(record['run_type']) ?? 'chain'
  const extra = recordOf(record['extra'])
  const metadata = recordOf(extra['metadata'])
  const parameters = recordOf(extra['invocation_params'])
  const output = recordOf(record['outputs'])
  const usage = recordOf(output['usage_metadata'])
  const attributes: SpanAttributes = {
    'openinference.span.kind': LANGSMITH_KINDS[type] ?? 'CHAIN',
    'llm.model_name': metadata['ls_model_name'] ?? parameters['model'] ?? parameters['model_name'],
    'llm.provider': metadata['ls_provider'],
    'input.value': asText(type === 'llm' ? flatInputs(record['inputs']) : record['inputs']),
    'output.value': asText(type === 'llm' ? llmOutput(output) : record['outputs']),
    ...(type === 'tool' && { 'gen_ai.tool.name': record['name'] }),
    'llm.token_count.prompt': record['prompt_tokens'] ?? usage['input_tokens'],
    'llm.token_count.completion': record['completion_tokens'] ?? usage['output_tokens'],
    'llm.cost.total':
      typeof record['total_cost'] === 'string'
        ? Number(record['total_cost'])
        : record['total_cost'],
    'session.id': metadata['session_id'] ?? metadata['thread_id'],
    ...restOf(
      'langsmith',
      record,
      'id trace_id parent_run_id name start_time end_time inputs outputs child_runs',
    ),
  }
  const children = Array.isArray(record['child_runs']) ? record['child_runs'] : []
  return [
    spanOf({
      traceId: record['trace_id'] ?? record['id'],
      spanId: record['id'],
      parentSpanId: record['parent_run_id'],
      name: record['name'],
      start: record['start_time'],
      end: record['end_time'],
      attributes,
      error: filledText(record['error']),
      scope: 'langsmith',
    }),
    ...children.flatMap((child: unknown) => langsmithSpans(recordOf(child))),
  ]
}

/** LangChain logs a list with a single conversation. */
function flatInputs(inputs: unknown): unknown {
  const { messages } = recordOf(inputs)
  const list: unknown =
    Array.isArray(messages) && Array.isArray(messages[0]) ? messages[0] : messages
  return Array.isArray(list) ? { messages: list.map(langchainMessage) } : inputs
}

function llmOutput(outputs: JsonObject): unknown {
  const [first] = Array.isArray(outputs['generations']) ? (outputs['generations'] as unknown[]) : []
  const generation = recordOf(Array.isArray(first) ? first[0] : first)
  if (generation['message'] !== undefined) return langchainMessage(generation['message'])
  const [choice] = Array.isArray(outputs['choices']) ? (outputs['choices'] as unknown[]) : []
  return recordOf(choice)['message'] ?? generation['text'] ?? outputs
}

const LANGCHAIN_ROLES = [
  ['AI', 'assistant'],
  ['Tool', 'tool'],
  ['System', 'system'],
] as const

/** A message as LangChain serializes it: `{ id: [..., 'AIMessage'], kwargs: { content } }`. */
function langchainMessage(given: unknown): unknown {
  const message = recordOf(given)
  if (message['kwargs'] === undefined) return message
  const kwargs = recordOf(message['kwargs'])
  const path = message['id']
  const type = Array.isArray(path) ? String(path.at(-1)) : ''
  const role = LANGCHAIN_ROLES.find(([prefix]) => type.startsWith(prefix))?.[1] ?? 'user'
  return { role, ...kwargs }
}

/** A span of Phoenix or another OpenInference store, as lines of JSON. */
function openInferenceSpans(record: JsonObject): Span[] {
  const context = recordOf(record['context'])
  const attributes = flatAttributes(recordOf(record['attributes']))
  const status =
    filledText(record['status_code']) ?? filledText(recordOf(record['status'])['status_code'])
  return [
    spanOf({
      traceId: context['trace_id'] ?? record['trace_id'],
      spanId: context['span_id'] ?? record['span_id'],
      parentSpanId: record['parent_id'] ?? record['parent_span_id'],
      name: record['name'],
      start: record['start_time'],
      end: record['end_time'],
      attributes: { 'openinference.span.kind': record['span_kind'], ...attributes },
      events: eventsOf(record['events']),
      error: status === 'ERROR' && (record['status_message'] ?? true),
      isOk: status === 'OK',
      scope: 'openinference',
    }),
  ]
}

/** Flattens nested attributes, which some stores use, to their full names. */
function flatAttributes(value: unknown, prefix = '', depth = 0): Record<string, unknown> {
  const found: Record<string, unknown> = {}
  const entries = Array.isArray(value)
    ? value.map((each: unknown, index) => [String(index), each] as const)
    : Object.entries(recordOf(value))
  for (const [key, each] of entries) {
    const name = prefix === '' ? key : `${prefix}.${key}`
    const isNested =
      typeof each === 'object' &&
      each !== null &&
      depth < 10 &&
      !(Array.isArray(each) && each.every((item) => typeof item !== 'object'))
    if (isNested) Object.assign(found, flatAttributes(each, name, depth + 1))
    else found[name] = each
  }
  return found
}

function eventsOf(events: unknown): SpanEvent[] {
  if (!Array.isArray(events)) return []
  return events.map((each: unknown) => {
    const event = recordOf(each)
    return {
      name: filledText(event['name'] ?? event['Name']) ?? 'event',
      time: momentOf(event['timestamp'] ?? event['time'] ?? event['Timestamp']) ?? '0',
      attributes: recordOf(event['attributes'] ?? event['Attributes']),
    }
  })
}

/** A span of the TRAIL data set, with its child spans. */
function trailSpans(record: JsonObject): Span[] {
  const children = Array.isArray(record['child_spans']) ? record['child_spans'] : []
  const start = momentOf(record['timestamp'])
  const took = durationNanos(record['duration'])
  const status = filledText(record['status_code']) ?? ''
  const rest = restOf(
    'trail',
    record,
    'timestamp trace_id span_id parent_span_id span_name span_kind service_name scope_name span_attributes duration status_code status_message events child_spans',
  )
  const span = spanOf({
    traceId: record['trace_id'],
    spanId: record['span_id'],
    parentSpanId: record['parent_span_id'],
    name: record['span_name'],
    kind: record['span_kind'],
    start: record['timestamp'],
    end: start === undefined ? undefined : String(BigInt(start) + took),
    attributes: { ...recordOf(record['span_attributes']), ...rest },
    events: eventsOf(record['events']),
    error: /error/i.test(status) && (record['status_message'] ?? true),
    isOk: /^ok$/i.test(status),
    service: record['service_name'],
    scope: filledText(record['scope_name']) ?? 'trail',
  })
  return [span, ...children.flatMap((child: unknown) => trailSpans(recordOf(child)))]
}

const AGENTRR_KINDS: Readonly<Record<string, string>> = { llm_call: 'LLM', tool_call: 'TOOL' }

/** A line of an agentrr log: its header, or a finished event. */
function agentrrSpans(record: JsonObject, { first }: RecordPosition): Span[] {
  // The header has no time and becomes part of the start of the run.
  if (record['kind'] === 'header') return []
  const type = filledText(record['type']) ?? 'event'
  const request = recordOf(record['request'])
  const response = recordOf(record['response'])
  const meta = recordOf(record['meta'])
  const isStart = type === 'run_start'
  const root = `run ${String(record['run_id'])}`
  const ended = momentOf(record['ts_wall'])
  const tookMs = typeof meta['duration_ms'] === 'number' ? meta['duration_ms'] : 0
  const isModel = type === 'llm_call'
  const isTool = type === 'tool_call'
  return [
    spanOf({
      traceId: record['run_id'],
      spanId: isStart ? root : record['event_id'],
      parentSpanId: isStart ? undefined : (record['parent_id'] ?? root),
      name: isStart ? (first['entrypoint'] ?? 'agentrr') : isTool ? request['name'] : type,
      start: ended && String(BigInt(ended) - wholeNanos(tookMs * 1e6)),
      end: ended,
      attributes: {
        'openinference.span.kind': isStart ? 'AGENT' : (AGENTRR_KINDS[type] ?? 'CHAIN'),
        ...(isModel && { 'llm.model_name': request['model'] }),
        ...(isTool && { 'gen_ai.tool.name': request['name'] }),
        'input.value': asText(
          isModel ? { messages: request['messages'] } : isTool ? request['arguments'] : undefined,
        ),
        'output.value': asText(
          isModel && record['response']
            ? { role: 'assistant', ...response }
            : isTool
              ? response['value']
              : undefined,
        ),
        ...restOf('agentrr', record, 'event_id run_id parent_id ts_wall'),
        ...(isStart && restOf('agentrr.header', first, 'run_id kind')),
      },
      error: record['status'] === 'error' && (recordOf(record['error'])['message'] ?? true),
      isOk: record['status'] === 'ok',
      scope: 'agentrr',
    }),
  ]
}

/** An exchange of `tracefork export --openinference`, which has no times, only an order. */
function traceforkSpans(record: JsonObject, { index, first }: RecordPosition): Span[] {
  const metadata = recordOf(record['metadata'])
  return [
    spanOf({
      traceId: `tracefork ${String(first['id'])}`,
      spanId: record['id'],
      parentSpanId: undefined,
      name: metadata['llm.model_name'] ?? 'exchange',
      start: index + 1,
      end: index + 2,
      attributes: {
        'input.value': record['input.value'],
        'output.value': record['output.value'],
        ...metadata,
        ...restOf('tracefork', record, 'id metadata input.value output.value'),
      },
      scope: 'tracefork',
    }),
  ]
}

/** `PT1M2.345S`, or nanoseconds. */
function durationNanos(value: unknown): bigint {
  if (typeof value === 'number') return wholeNanos(Math.max(0, Math.trunc(value)))
  const [, hours = 0, minutes = 0, secondsText = '0'] =
    /^PT(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?$/.exec(filledText(value) ?? '') ?? []
  const all = Number(hours) * 3600 + Number(minutes) * 60 + Number(secondsText)
  return wholeNanos(all * 1e9)
}

/** An entry of an HTTP archive. All entries are one trace. */
function harSpans(entry: JsonObject, { index, source }: RecordPosition): Span[] {
  const request = recordOf(entry['request'])
  const response = recordOf(entry['response'])
  const started = Date.parse(String(entry['startedDateTime']))
  const took = typeof entry['time'] === 'number' && entry['time'] > 0 ? entry['time'] : 0
  const url = filledText(request['url'])
  if (Number.isNaN(started) || url === undefined)
    throw new BrokenSpan('entries without a URL or a start time')
  const status = typeof response['status'] === 'number' ? response['status'] : 0
  const method = filledText(request['method']) ?? 'GET'
  const sent: HarMessage = {
    headers: headersOf(request['headers']),
    body: bodyOf(request['postData']),
  }
  const received: HarMessage = {
    headers: headersOf(response['headers']),
    statusText: filledText(response['statusText']) ?? '',
    body: bodyOf(response['content']),
  }
  return [
    spanOf({
      traceId: `har ${source}`,
      spanId: `${source} ${index + 1}`,
      parentSpanId: undefined,
      name: method,
      kind: 'client',
      start: started,
      end: started + took,
      attributes: {
        'http.request.method': method,
        'url.full': maskUrl(url),
        ...(status > 0 && { 'http.response.status_code': status }),
        [HAR_REQUEST]: sent,
        [HAR_RESPONSE]: received,
      },
      error: status === 0 && 'no answer',
      service: source,
      scope: 'har',
    }),
  ]
}

/** Headers without credentials, and without encodings, because bodies in an archive are decoded. */
function headersOf(given: unknown): HeaderPair[] {
  const list = Array.isArray(given) ? given : []
  return list
    .map((each: unknown) => recordOf(each))
    .filter(
      ({ name }) =>
        typeof name === 'string' &&
        !/^(?::|content-(?:encoding|length)$|transfer-encoding$)/i.test(name),
    )
    .map(({ name, value }) => [
      String(name),
      isSecretHeader(String(name)) ? 'retake-hidden' : (filledText(value) ?? ''),
    ])
}

function bodyOf(given: unknown): HarMessage['body'] {
  const { text, encoding, _encoding: own } = recordOf(given)
  if (typeof text !== 'string') return { text: '' }
  return encoding === 'base64' || own === 'base64' ? { base64: text } : { text }
}
