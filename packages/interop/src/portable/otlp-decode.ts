import type { SpanAttributes, SpanEvent } from '@retake/tape'
import { recordOf } from '@retake/tape'
import { SPAN_KINDS, type Span, type SpanLink, type SpanResource, type SpanScope } from './span.js'

type JsonObject = Readonly<Record<string, unknown>>

/** A span is unusable. Reasons are counted and reported. */
export class BrokenSpan extends Error {
  override readonly name = 'BrokenSpan'
}

export const camelAndSnake = (name: string): [camel: string, snake: string] => [
  name,
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
]

/** A member whose name may also be in snake case. */
export const member = (record: JsonObject, name: string): unknown =>
  record[name] ?? record[camelAndSnake(name)[1]]

/** Decodes an OTLP span from JSON, or from converted protobuf. Throws `BrokenSpan`. */
export function decodeSpan(
  json: unknown,
  { resource, scope }: { readonly resource: SpanResource; readonly scope: SpanScope },
): Span {
  const given = recordOf(json)
  const traceId = idOf(member(given, 'traceId'), 32)
  const spanId = idOf(member(given, 'spanId'), 16)
  if (traceId === undefined || spanId === undefined)
    throw new BrokenSpan('spans without a valid id')
  const parentSpanId = idOf(member(given, 'parentSpanId'), 16)
  const start = nanos(member(given, 'startTimeUnixNano'))
  if (start === undefined) throw new BrokenSpan('spans without a start time')
  const end = nanos(member(given, 'endTimeUnixNano'))
  const traceState = text(member(given, 'traceState'))
  const { code, message } = recordOf(given['status'])
  const number = typeof code === 'string' ? STATUS_NAMES.indexOf(code) : code
  const { kind: name } = given
  const kind = typeof name === 'string' ? KIND_NAMES.indexOf(name) : name
  return {
    traceId,
    spanId,
    ...(parentSpanId !== undefined && { parentSpanId }),
    name: text(given['name']),
    kind: (typeof kind === 'number' && SPAN_KINDS[kind]) || 'unspecified',
    start,
    end: end === undefined || BigInt(end) < BigInt(start) ? start : end,
    attributes: decodeAttributes(given['attributes']),
    events: list(given['events']).map(decodeEvent),
    links: list(given['links']).flatMap(decodeLink),
    status: {
      code: number === 1 || number === 2 ? number : 0,
      ...(typeof message === 'string' && message !== '' && { message }),
    },
    ...(traceState !== '' && { traceState }),
    resource,
    scope,
  }
}

const decodeEvent = (event: JsonObject): SpanEvent => ({
  name: text(event['name']),
  time: nanos(member(event, 'timeUnixNano')) ?? '0',
  attributes: decodeAttributes(event['attributes']),
})

function decodeLink(link: JsonObject): SpanLink[] {
  const traceId = idOf(member(link, 'traceId'), 32)
  const spanId = idOf(member(link, 'spanId'), 16)
  if (traceId === undefined || spanId === undefined) return []
  return [{ traceId, spanId, attributes: decodeAttributes(link['attributes']) }]
}

const STATUS_NAMES = ['STATUS_CODE_UNSET', 'STATUS_CODE_OK', 'STATUS_CODE_ERROR']

const KIND_NAMES = SPAN_KINDS.map((kind) => `SPAN_KIND_${kind.toUpperCase()}`)

export const decodeResource = (json: unknown): SpanResource => ({
  attributes: decodeAttributes(recordOf(json)['attributes']),
})

export function decodeScope(json: unknown): SpanScope {
  const { name, version, attributes } = recordOf(json)
  const own = decodeAttributes(attributes)
  return {
    name: text(name),
    ...(typeof version === 'string' && version !== '' && { version }),
    ...(Object.keys(own).length > 0 && { attributes: own }),
  }
}

/** `[{ key, value: { stringValue } }]` as a record. */
export function decodeAttributes(json: unknown): SpanAttributes {
  const attributes: Record<string, unknown> = {}
  for (const { key, value } of list(json)) {
    if (typeof key === 'string' && key !== '__proto__') attributes[key] = anyValue(value)
  }
  return attributes
}

function anyValue(json: unknown): unknown {
  const value = recordOf(json)
  const given = (name: string): unknown => member(value, name)
  const int = given('intValue')
  if (int !== undefined) {
    const number = Number(int)
    // Larger integers stay text, because a number would change them.
    return Number.isSafeInteger(number) ? number : text(int) || String(number)
  }
  const array = given('arrayValue')
  if (array !== undefined) return list(recordOf(array)['values']).map(anyValue)
  const map = given('kvlistValue')
  if (map !== undefined) return decodeAttributes(recordOf(map)['values'])
  const bytes = given('bytesValue')
  if (bytes !== undefined) return { $bytes: text(bytes) }
  const double = given('doubleValue')
  if (double !== undefined) {
    const number = Number(double)
    return Number.isFinite(number) ? number : String(number)
  }
  return given('stringValue') ?? given('boolValue') ?? null
}

const list = (value: unknown): readonly JsonObject[] =>
  Array.isArray(value) ? value.map((each: unknown) => recordOf(each)) : []
const text = (value: unknown): string => (typeof value === 'string' ? value : '')

/** An id in hexadecimal, or in base64 as some write it; undefined if empty or invalid. */
function idOf(value: unknown, digits: number): string | undefined {
  if (typeof value !== 'string' || value === '') return undefined
  const isHex = value.length === digits && /^[\da-f]+$/i.test(value)
  const hex = isHex ? value.toLowerCase() : Buffer.from(value, 'base64').toString('hex')
  return hex.length === digits && !/^0+$/.test(hex) ? hex : undefined
}

const nanos = (value: unknown): string | undefined => {
  const given =
    typeof value === 'number' && Number.isFinite(value) ? BigInt(Math.trunc(value)) : value
  const found = String(given)
  return (typeof given === 'string' || typeof given === 'bigint') &&
    /^\d{1,20}$/.test(found) &&
    found !== '0'
    ? found
    : undefined
}
