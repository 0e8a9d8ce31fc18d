import { calledFrom, nearestCaller } from '../../kernel/call-site.js'
import { currentSession, isProcessRun } from '../../kernel/scope.js'
import type { Session } from '../../kernel/session.js'
import type { Undo } from './patch.js'

/** A library that observes the process for all of its runs, such as OpenTelemetry. */
export interface Telemetry {
  /** A property of `globalThis` that it sets, so that programs without it pay nothing. */
  readonly mark: PropertyKey
  /** Its packages, or their scopes. */
  readonly packages: readonly string[]
  /** The package that sends over `node:http` what was observed. */
  readonly exporter?: string
}

const declared = new Set<Telemetry>()
let marks: readonly PropertyKey[] = []
let packages = /(?!)/
let exporters: readonly string[] = []

export function declareTelemetry(telemetry: Telemetry): Undo {
  declared.add(telemetry)
  update()
  return () => {
    declared.delete(telemetry)
    update()
  }
}

function update(): void {
  const all = [...declared]
  marks = all.map(({ mark }) => mark)
  const names = all.flatMap((each) => each.packages)
  packages = new RegExp(String.raw`[\\/]node_modules[\\/](?:${names.join('|')})[\\/]`)
  exporters = all.flatMap(({ exporter }) => exporter ?? [])
}

/**
 * The session of a clock read, a random value or a timer; undefined if such a library makes the
 * call in a function run. Its ids, times and exports serve the whole process, which usually
 * preloads it, and a replay does not load what a server has preloaded. In a run of a whole program,
 * which loads it again, they are part of the run. Requests belong to the run, because these
 * libraries only wrap `fetch` and `node:http`; only exports do not.
 */
export function observedSession(): Session | undefined {
  const session = currentSession()
  return session !== undefined && isTelemetryCall(session) ? undefined : session
}

/** True if the nearest caller outside Retake is such a library. */
export const isTelemetryCall = (session: Session): boolean =>
  ignoresTelemetry(session) && packages.test(nearestCaller() ?? '')

/** Frames of Node, Retake and an instrumentation between a request and its exporter. */
const EXPORTER_FRAMES = 16

/** True if such a library sends the current request. */
export function isTelemetryExport(session: Session): boolean {
  if (!ignoresTelemetry(session)) return false
  // A loop, because a callback would be one more frame.
  for (const exporter of exporters) if (calledFrom(exporter, EXPORTER_FRAMES)) return true
  return false
}

const ignoresTelemetry = (session: Session): boolean =>
  marks.some((mark) => mark in globalThis) && !isProcessRun(session)

/** A value from outside the program, drawn by the run that observes it. */
export function drawnByAgent<T>(kind: string, native: () => T): T {
  const session = observedSession()
  return session ? session.draw(kind, native) : native()
}
