import { calledFrom, nearestCaller } from '../../kernel/call-site.js'
import { currentSession, isProcessRun } from '../../kernel/scope.js'
import type { Session } from '../../kernel/session.js'

/** Set by these packages when they are loaded or registered, so that programs without them pay nothing. */
const MARKS = [Symbol.for('opentelemetry.js.api.1'), '__SENTRY__', Symbol.for('dd-trace')]
const PACKAGES = /[\\/]node_modules[\\/](?:@opentelemetry|@sentry|@datadog|dd-trace)[\\/]/

/**
 * The session of a clock read, a random value or a timer; undefined if OpenTelemetry, Sentry or
 * Datadog makes the call in a function run. Their ids, times and exports serve the whole process,
 * which usually preloads them, and a replay does not load what a server has preloaded. In a run of
 * a whole program, which loads them again, they are part of the run. Requests belong to the run,
 * because these packages only wrap `fetch` and `node:http`; only exports do not.
 */
export function observedSession(): Session | undefined {
  const session = currentSession()
  return session !== undefined && isTelemetryCall(session) ? undefined : session
}

/** True if the nearest caller outside Retake is such a package. */
export const isTelemetryCall = (session: Session): boolean =>
  ignoresTelemetry(session) && PACKAGES.test(nearestCaller() ?? '')

/** Sends spans over `node:http` for every exporter that uses OTLP over HTTP. */
const EXPORTER = 'otlp-exporter-base'
/** Frames of Node, Retake and an instrumentation between a request and its exporter. */
const EXPORTER_FRAMES = 16

/**
 * True if an exporter of OpenTelemetry sends the current request. A `SimpleSpanProcessor` exports
 * each span in the run that ends it.
 */
export const isTelemetryExport = (session: Session): boolean =>
  ignoresTelemetry(session) && calledFrom(EXPORTER, EXPORTER_FRAMES)

const ignoresTelemetry = (session: Session): boolean =>
  MARKS.some((mark) => mark in globalThis) && !isProcessRun(session)

/** A value from outside the program, drawn by the run that observes it. */
export function drawnByAgent<T>(kind: string, native: () => T): T {
  const session = observedSession()
  return session ? session.draw(kind, native) : native()
}
