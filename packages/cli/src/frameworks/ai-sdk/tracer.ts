import { within } from '@retake/engine'
import type { Place } from '@retake/tape'
import { NO_SPAN } from './no-span.js'
import type { NoSpan } from './no-span.js'
import { requireAiSdk } from './supported.js'

interface SpanOptions {
  readonly attributes?: Readonly<Record<string, unknown>>
}

/** An OpenTelemetry tracer, as far as AI SDK 6 uses one. */
export interface RetakeTracer {
  startSpan(...args: unknown[]): NoSpan
  // The overloads of OpenTelemetry: options and context may be left out.
  // oxlint-disable-next-line typescript/no-explicit-any
  startActiveSpan(...args: any[]): any
}

/**
 * For calls of AI SDK 6 that have telemetry on already: does what
 * `retakeTelemetrySettings` does and hands every span on to `inner`, the tracer
 * they had. Without one, spans go nowhere.
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
      const place = placeOf(args[0] as string, args[1] as SpanOptions)
      return place === undefined ? start() : within(place, start)
    },
  }
}

/** Operations are `ai.generateText`, `ai.embed`, …; what is inside them has one more part. */
const OPERATION = /^ai\.\w+$/

function placeOf(span: string, { attributes = {} }: SpanOptions): Place | undefined {
  if (span === 'ai.toolCall')
    return placeNamed('tool', attributes['ai.toolCall.name'], attributes['ai.toolCall.id'])
  return OPERATION.test(span)
    ? placeNamed('agent', attributes['ai.telemetry.functionId'])
    : undefined
}

function placeNamed(kind: Place['kind'], name: unknown, id?: unknown): Place | undefined {
  if (typeof name !== 'string') return undefined
  return typeof id === 'string' ? { kind, name, id } : { kind, name }
}

/** Settings of one call or agent of AI SDK 6. */
export interface RetakeTelemetrySettings {
  readonly isEnabled: true
  readonly functionId: string
  readonly recordInputs: false
  readonly recordOutputs: false
  readonly tracer: RetakeTracer
}

/**
 * For AI SDK 6: `experimental_telemetry: retakeTelemetrySettings('planner')`.
 * Steps of the call carry the name as their agent, and the tool they are made by.
 */
export function retakeTelemetrySettings(functionId: string): RetakeTelemetrySettings {
  // Collecting texts would change the order in which concurrent calls get on.
  const nothing = { recordInputs: false, recordOutputs: false } as const
  return { isEnabled: true, functionId, ...nothing, tracer: retakeTracer() }
}
