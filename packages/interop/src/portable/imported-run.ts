import {
  type FrameworkScope,
  type FrameworkScopeKind,
  type ImportDetails,
  importedModelUrl,
  isInputAttribute,
  isRecord,
  recordOf,
  roleOfSpan,
  type SpanAttributes,
  type SpanRole,
  type Tape,
  filledText,
} from '@retake/tape'
import { type JsonRecord, parseJson, toWire } from '@retake/tape/format'
import { TapeWriter } from '@retake/tape/node'
import { HAR_REQUEST, HAR_RESPONSE, type HarMessage } from './har.js'
import { epochMsOf, msBetween, type Span, SPAN_KINDS } from './span.js'

/** Names of the attachments with the imported data, so that it can be exported unchanged. */
const SPAN_NOTE = 'imported-span'
const GROUP_NOTE = 'imported-group'

/** A span without its content, which is loaded on demand. */
export interface SpanEntry {
  readonly spanId: string
  readonly parentSpanId: string | undefined
  readonly start: bigint
  readonly end: bigint
  readonly role: SpanRole
  /** The agent, node or tool that this span is to the steps inside of it. */
  readonly scope: FrameworkScope
  readonly load: () => Span
}

export function entryOfSpan(
  { name, attributes, spanId, parentSpanId, start, end }: Span,
  load: () => Span,
): SpanEntry {
  const role = roleOfSpan(attributes)
  const kind = (filledText(attributes['retake.scope.kind']) ??
    SCOPE_KINDS[role]) as FrameworkScopeKind
  const named =
    filledText(attributes['gen_ai.agent.name']) ??
    filledText(attributes['gen_ai.workflow.name']) ??
    filledText(attributes['gen_ai.tool.name'])
  const scope = { kind, name: named ?? name.replace(new RegExp(`^${kind} `), ''), id: spanId }
  return { spanId, parentSpanId, start: BigInt(start), end: BigInt(end), role, scope, load }
}

const SCOPE_KINDS: Readonly<Record<SpanRole, FrameworkScopeKind>> = {
  agent: 'agent',
  workflow: 'workflow',
  tool: 'tool',
  model: 'node',
  http: 'node',
  other: 'node',
}

/**
 * Writes the tape of an imported trace. Calls of models, tools and HTTP requests become steps,
 * spans around them agents and nodes, others marks. The tape contains every span completely.
 */
export class ImportedRun {
  readonly #writer: TapeWriter
  readonly #entries: readonly SpanEntry[]
  readonly #origin: bigint
  readonly #byId: ReadonlyMap<string, SpanEntry>
  readonly #groups = new Map<string, number>()
  readonly #operations = new Map<SpanEntry, number>()
  readonly #root: SpanEntry | undefined
  #now = 0

  constructor(
    file: string,
    entries: readonly SpanEntry[],
    { id, details }: { readonly id: string; readonly details: ImportDetails },
  ) {
    this.#entries = entries.toSorted((left, right) => compare(left.start, right.start))
    this.#byId = new Map(entries.map((entry) => [entry.spanId, entry]))
    this.#origin = this.#entries[0]?.start ?? 0n
    // The root span: the first whose parent is unknown.
    this.#root =
      this.#entries.find(({ parentSpanId }) => parentSpanId === undefined) ??
      this.#entries.find(({ parentSpanId = '' }) => !this.#byId.has(parentSpanId))
    const root = this.#root?.load()
    const input = root && filledText(root.attributes['input.value'])
    const name =
      root &&
      (filledText(root.attributes['gen_ai.agent.name']) ??
        filledText(root.name) ??
        filledText(root.resource.attributes['service.name']) ??
        'imported')
    this.#writer = TapeWriter.create(
      file,
      {
        type: 'run',
        id,
        name: name ?? details.from,
        startedAt: epochMsOf(String(this.#origin)),
        scope: 'process',
        node: '',
        durability: 'process',
      },
      { imported: details, ...(input !== undefined && { input: toWire(input) }) },
      { now: () => this.#now },
    )
  }

  write(): void {
    const inner = new Set<string>()
    for (const entry of this.#entries)
      if (STEP_ROLES.has(entry.role))
        for (const { spanId } of this.#ancestors(entry)) inner.add(spanId)

    try {
      for (const { entry, isEnd, at } of edgesOf(this.#entries)) {
        this.#now = msBetween(String(this.#origin), String(at))
        if (isEnd) this.#end(entry)
        else this.#start(entry, inner.has(entry.spanId))
      }
      const root = this.#root?.load()
      const { code, message = '' } = root?.status ?? { code: 0 }
      const output = root && filledText(root.attributes['output.value'])
      this.#writer.append(
        {
          type: 'end',
          ...(code === 2 && { error: { class: 'Error', name: 'Error', message } }),
          ...(output !== undefined && { as: 'json' as const }),
        },
        output === undefined ? undefined : bytes(toWire(output)),
      )
      this.#writer.seal()
    } catch (error) {
      this.#writer.close()
      throw error
    }
  }

  /** Enclosing spans, innermost first. Stops at a missing parent or a cycle. */
  #ancestors(entry: SpanEntry): SpanEntry[] {
    const found: SpanEntry[] = []
    let above = this.#byId.get(entry.parentSpanId ?? '')
    while (above !== undefined && above !== entry && found.length < DEPTH_MAX) {
      if (found.includes(above)) break
      found.push(above)
      above = this.#byId.get(above.parentSpanId ?? '')
    }
    return found
  }

  #within(entry: SpanEntry): { readonly within?: readonly FrameworkScope[] } {
    const scopes = this.#ancestors(entry)
      .filter((each) => each !== this.#root)
      .map(({ scope }) => scope)
      .toReversed()
    return scopes.length === 0 ? {} : { within: scopes }
  }

  #start(entry: SpanEntry, hasSteps: boolean): void {
    const span = entry.load()
    const where = this.#within(entry)
    if (entry.role === 'model') {
      const { attributes } = span
      const event = {
        type: 'request',
        seam: 'fetch',
        method: 'POST',
        url: importedModelUrl(providerOf(attributes)),
        headers: [['content-type', 'application/json']],
        ...where,
      } as const
      const input = pick(attributes, isInputAttribute)
      this.#operations.set(
        entry,
        this.#writer.buffer(
          event,
          bytes({ attributes: input, events: span.events.filter(isMessageEvent) }),
        ),
      )
      return
    }
    const isOwn = (key: string): boolean => key !== HAR_REQUEST && key !== HAR_RESPONSE
    const stored = this.#stored({ ...span, attributes: pick(span.attributes, isOwn) })
    this.#writer.buffer({ type: 'note', kind: 'attachment', name: SPAN_NOTE }, bytes(stored))
    if (entry.role === 'tool') {
      const { name } = entry.scope
      const args = valueOf(span.attributes, TOOL_INPUT)
      const event = { type: 'call', kind: 'tool', name, ...where } as const
      const op =
        args === undefined
          ? this.#writer.buffer(event)
          : this.#writer.buffer({ ...event, as: 'json' }, bytes(toWire(args)))
      this.#operations.set(entry, op)
    } else if (entry.role === 'http') {
      const { attributes } = span
      const { headers = [], body } = archived(attributes[HAR_REQUEST])
      const event = {
        type: 'request',
        seam: 'fetch',
        method: filledText(attributes['http.request.method'] ?? attributes['http.method']) ?? 'GET',
        url:
          filledText(attributes['url.full'] ?? attributes['http.url']) ?? 'http://unknown.invalid/',
        headers,
        ...where,
      } as const
      this.#operations.set(entry, this.#writer.buffer(event, body))
    } else if (!hasSteps && (entry !== this.#root || this.#entries.length === 1)) {
      this.#writer.buffer({ type: 'note', kind: 'mark', name: span.name })
    }
  }

  #end(entry: SpanEntry): void {
    const op = this.#operations.get(entry)
    if (op === undefined) return
    this.#operations.delete(entry)
    const span = entry.load()
    const { attributes, status } = span
    if (entry.role === 'tool') {
      const result = valueOf(attributes, TOOL_OUTPUT)
      if (status.code === 2) this.#writer.buffer({ type: 'result', op, error: errorOf(span) })
      else if (result === undefined) this.#writer.buffer({ type: 'result', op })
      else this.#writer.buffer({ type: 'result', op, as: 'json' }, bytes(toWire(result)))
      return
    }
    if (entry.role === 'model') {
      const headers = [['content-type', 'application/json']] as const
      const stored = {
        ...this.#stored(span),
        attributes: pick(attributes, (key) => !isInputAttribute(key)),
      }
      this.#writer.buffer({ type: 'response', op, status: 200, statusText: '', headers })
      this.#writer.buffer({ type: 'deliver', op, part: 'chunk' }, bytes(stored))
    } else {
      const code = attributes['http.response.status_code'] ?? attributes['http.status_code']
      if (code === undefined && status.code === 2) {
        this.#writer.buffer({ type: 'deliver', op, part: 'error', error: errorOf(span) })
        return
      }
      const { headers = [], statusText = '', body } = archived(attributes[HAR_RESPONSE])
      const answered = typeof code === 'number' ? code : 200
      this.#writer.buffer({ type: 'response', op, status: answered, statusText, headers })
      if (body !== undefined) this.#writer.buffer({ type: 'deliver', op, part: 'chunk' }, body)
    }
    this.#writer.buffer({ type: 'deliver', op, part: 'end' })
  }

  /** A span as stored. Resources and scopes are written once. */
  #stored({ resource, scope, ...span }: Span): object {
    const key = JSON.stringify({ resource, scope })
    const known = this.#groups.get(key)
    const group = known ?? this.#groups.size
    if (known === undefined) {
      this.#groups.set(key, group)
      this.#writer.buffer({ type: 'note', kind: 'attachment', name: GROUP_NOTE }, Buffer.from(key))
    }
    return { ...span, group }
  }
}

const DEPTH_MAX = 100

/** Older conventions store messages as events. */
const isMessageEvent = ({ name }: Span['events'][number]): boolean =>
  /^gen_ai\..*(?:message|details)$/.test(name)

const STEP_ROLES: ReadonlySet<SpanRole> = new Set(['model', 'tool', 'http'])

const compare = (left: bigint, right: bigint): number => (left < right ? -1 : left > right ? 1 : 0)

/** Starts and ends in chronological order. At equal times, earlier spans end first. */
function edgesOf(
  entries: readonly SpanEntry[],
): { entry: SpanEntry; isEnd: boolean; at: bigint }[] {
  const edges = entries.flatMap((entry) => [
    { entry, isEnd: false, at: entry.start, rank: 1 },
    { entry, isEnd: true, at: entry.end, rank: entry.end === entry.start ? 2 : 0 },
  ])
  return edges.toSorted((left, right) => compare(left.at, right.at) || left.rank - right.rank)
}

const bytes = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value))

const pick = (attributes: SpanAttributes, isWanted: (key: string) => boolean): SpanAttributes =>
  Object.fromEntries(Object.entries(attributes).filter(([key]) => isWanted(key)))

/** A message of an HTTP archive; empty if the span is not from one. */
function archived(message: unknown) {
  if (message === undefined) return {}
  const { headers, statusText, body } = message as HarMessage
  const content = 'text' in body ? Buffer.from(body.text) : Buffer.from(body.base64, 'base64')
  return { headers, statusText, body: content.length === 0 ? undefined : content }
}

const TOOL_INPUT = [
  'gen_ai.tool.call.arguments',
  'input.value',
  'ai.toolCall.args',
  'tool.parameters',
]
const TOOL_OUTPUT = ['gen_ai.tool.call.result', 'output.value', 'ai.toolCall.result']

/** The first of these attributes; JSON is parsed. */
function valueOf(attributes: SpanAttributes, keys: readonly string[]): unknown {
  const found = keys.map((key) => attributes[key]).find((each) => each !== undefined)
  return typeof found === 'string' ? (parseJson(found) ?? found) : found
}

function errorOf({ status, events, attributes }: Span) {
  const thrown = events.find(({ name }) => name === 'exception')?.attributes ?? {}
  const name =
    filledText(thrown['exception.type']) ?? filledText(attributes['error.type']) ?? 'Error'
  const message = filledText(thrown['exception.message']) ?? status.message ?? ''
  const stack = filledText(thrown['exception.stacktrace'])
  return { class: name, name, message, ...(stack !== undefined && { stack }) }
}

/** Values of `gen_ai.provider.name` for providers. */
export const PROVIDER_NAMES: Readonly<Record<string, string>> = {
  google: 'gcp.gemini',
  vertex: 'gcp.vertex_ai',
  bedrock: 'aws.bedrock',
  mistral: 'mistral_ai',
  azure: 'azure.ai.openai',
  xai: 'x_ai',
}
const PROVIDERS: Readonly<Record<string, string>> = {
  'gcp.gen_ai': 'google',
  ...Object.fromEntries(Object.entries(PROVIDER_NAMES).map(([own, name]) => [name, own])),
}

function providerOf(attributes: SpanAttributes): string {
  const given =
    filledText(attributes['gen_ai.provider.name']) ??
    filledText(attributes['gen_ai.system']) ??
    filledText(attributes['llm.provider']) ??
    filledText(attributes['llm.system']) ??
    filledText(attributes['ai.model.provider'])?.split('.')[0] ??
    'unknown'
  return PROVIDERS[given] ?? given
}

const isText = (value: unknown): boolean => typeof value === 'string'
const isNanos = (value: unknown): boolean => isText(value) && /^\d{1,20}$/.test(value as string)
const areRecords = (value: unknown, is: (each: JsonRecord) => boolean): boolean =>
  Array.isArray(value) && value.every((each) => isRecord(each) && is(each))

/** True for what a note about a span contains: a tape can come from anywhere. */
function isSpan(value: JsonRecord): boolean {
  const { traceId, spanId, name, kind, start, end, attributes, events, links } = value
  const { status, resource, scope } = value
  return (
    [traceId, spanId, name].every(isText) &&
    SPAN_KINDS.some((each) => each === kind) &&
    isNanos(start) &&
    isNanos(end) &&
    isRecord(attributes) &&
    areRecords(
      events,
      (each) => isText(each['name']) && isNanos(each['time']) && isRecord(each['attributes']),
    ) &&
    areRecords(
      links,
      (each) => isText(each['traceId']) && isText(each['spanId']) && isRecord(each['attributes']),
    ) &&
    isRecord(status) &&
    [0, 1, 2].some((each) => each === status['code']) &&
    isRecord(resource) &&
    isRecord(resource['attributes']) &&
    isRecord(scope) &&
    isText(scope['name']) &&
    (scope['attributes'] === undefined || isRecord(scope['attributes']))
  )
}

/** The original spans of an imported run. Skips those that `retake import` did not write. */
export function* storedSpans(tape: Tape): Generator<Span> {
  const groups: Pick<Span, 'resource' | 'scope'>[] = []
  const inputs = new Map<number, SpanAttributes>()
  const read = (seq: number): Readonly<Record<string, unknown>> =>
    recordOf(parseJson(Buffer.from(tape.body(seq)).toString()))
  const whole = (stored: JsonRecord, input: SpanAttributes): Span[] => {
    const { group, attributes, ...rest } = stored
    const all = { ...input, ...recordOf(attributes) }
    const span = { ...rest, ...groups[Number(group)], attributes: all }
    return isSpan(span) ? [span as unknown as Span] : []
  }
  for (const event of tape.events()) {
    const { seq } = event
    if (event.type === 'note' && event.name === GROUP_NOTE)
      groups.push(read(seq) as unknown as Pick<Span, 'resource' | 'scope'>)
    else if (event.type === 'note' && event.name === SPAN_NOTE) yield* whole(read(seq), {})
    else if (event.type === 'request' && event.url.startsWith(importedModelUrl('')))
      inputs.set(seq, recordOf(read(seq)['attributes']))
    else if (event.type === 'deliver' && event.part === 'chunk') {
      const input = inputs.get(event.op)
      const stored = read(seq)
      if (input !== undefined && isRecord(stored['status'])) yield* whole(stored, input)
      inputs.delete(event.op)
    }
  }
}
