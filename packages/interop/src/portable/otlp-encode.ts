import type { SpanAttributes } from '@retake/tape'
import { SPAN_KINDS, type Span } from './span.js'

export type OtlpEncoding = 'json' | 'protobuf'

/** An OTLP export request, encoded by OpenTelemetry's own package, which is only loaded here. */
export async function encodeSpans(
  spans: readonly Span[],
  encoding: OtlpEncoding,
): Promise<Uint8Array> {
  const { JsonTraceSerializer, ProtobufTraceSerializer } = await import('./otlp-serializers.js')
  const serializer = encoding === 'json' ? JsonTraceSerializer : ProtobufTraceSerializer
  const readable = spans.map(readableSpan) as unknown as Parameters<
    typeof serializer.serializeRequest
  >[0]
  return serializer.serializeRequest(readable) ?? new Uint8Array()
}

/** A span as the SDK passes it to exporters. */
function readableSpan(span: Span): object {
  const { traceId, spanId, parentSpanId, traceState } = span
  const kind = SPAN_KINDS.indexOf(span.kind)
  const { attributes: facts } = span.resource
  const resource = resources.get(span.resource) ?? { attributes: withBytes(facts) }
  resources.set(span.resource, resource)
  return {
    name: span.name,
    // The SDK counts from 0 and has no "unspecified".
    kind: kind <= 0 ? undefined : kind - 1,
    spanContext: () => ({
      traceId,
      spanId,
      traceFlags: 1,
      ...(traceState !== undefined && { traceState: { serialize: () => traceState } }),
    }),
    ...(parentSpanId !== undefined && { parentSpanContext: { spanId: parentSpanId } }),
    startTime: hrTime(span.start),
    endTime: hrTime(span.end),
    status: span.status,
    attributes: withBytes(span.attributes),
    events: span.events.map(({ name, time, attributes }) => ({
      name,
      time: hrTime(time),
      attributes: withBytes(attributes),
    })),
    links: span.links.map(({ attributes, ...context }) => ({
      context: { ...context, traceFlags: 1 },
      attributes: withBytes(attributes),
    })),
    resource,
    instrumentationScope: span.scope,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  }
}

const hrTime = (nanos: string): [seconds: number, nanos: number] => {
  const all = BigInt(nanos)
  return [Number(all / 1_000_000_000n), Number(all % 1_000_000_000n)]
}

/** The serializer groups spans by the identity of their resource. */
const resources = new WeakMap<Span['resource'], object>()

/** Readers of protobuf accept 100 nested messages, and each level of a value takes three. */
const DEPTH_MAX = 30

/** Converts `{ $bytes }` in attributes back to bytes, and what is nested too deeply to JSON. */
const withBytes = (attributes: SpanAttributes, depth = 0): SpanAttributes =>
  Object.fromEntries(Object.entries(attributes).map(([key, value]) => [key, bytesIn(value, depth)]))

function bytesIn(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (depth >= DEPTH_MAX) return JSON.stringify(value)
  if (Array.isArray(value)) return value.map((item) => bytesIn(item, depth + 1))
  const { $bytes: base64 } = value as { readonly $bytes?: unknown }
  return typeof base64 === 'string'
    ? Buffer.from(base64, 'base64')
    : withBytes(value as SpanAttributes, depth + 1)
}
