import type { SpanAttributes, SpanEvent } from '@retake/tape'

/** A service or program that made spans. */
export interface SpanResource {
  readonly attributes: SpanAttributes
}

/** The instrumentation that made spans. */
export interface SpanScope {
  readonly name: string
  readonly version?: string
  readonly attributes?: SpanAttributes
}

/**
 * An OpenTelemetry span, as exports write it and imports read it. Does not preserve flags other
 * than "sampled", and the difference between 1 and 1.0.
 */
export interface Span {
  /** 32 and 16 hexadecimal digits. */
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: SpanKindName
  /** Nanoseconds since 1970, as text because a number is not precise enough. */
  readonly start: string
  readonly end: string
  readonly attributes: SpanAttributes
  readonly events: readonly SpanEvent[]
  readonly links: readonly SpanLink[]
  readonly status: { readonly code: 0 | 1 | 2; readonly message?: string }
  readonly traceState?: string
  readonly resource: SpanResource
  readonly scope: SpanScope
}

export interface SpanLink {
  readonly traceId: string
  readonly spanId: string
  readonly attributes: SpanAttributes
}

/** In the order of their numbers in OTLP. */
export const SPAN_KINDS = [
  'unspecified',
  'internal',
  'server',
  'client',
  'producer',
  'consumer',
] as const
export type SpanKindName = (typeof SPAN_KINDS)[number]

/** Nanoseconds since 1970 of a time in milliseconds, exact to the microsecond. */
export const nanosOf = (epochMs: number, laterMs = 0): string => {
  const whole = Math.trunc(epochMs)
  const rest = Math.round((epochMs - whole + laterMs) * 1000)
  return String(BigInt(whole) * 1_000_000n + BigInt(rest) * 1000n)
}

export const msBetween = (from: string, to: string): number =>
  Number((BigInt(to) - BigInt(from)) / 1000n) / 1000

export const epochMsOf = (nanos: string): number => Number(BigInt(nanos) / 1000n) / 1000
