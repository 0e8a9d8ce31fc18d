import { AsyncLocalStorage } from 'node:async_hooks'
import type { Session } from './sessions/session.js'

/**
 * Which run a call belongs to. The store is a session inside `record()` and
 * `replay()`, `null` inside Retake's own work, and `undefined` elsewhere,
 * where a whole-process run (the command line) may still own the call.
 */
const storage = new AsyncLocalStorage<Session | null>()

let processSession: Session | undefined
let openSessions = 0

/** The session a boundary call belongs to, or undefined: then the native function answers. */
export function currentSession(): Session | undefined {
  if (openSessions === 0) return undefined
  const store = storage.getStore()
  const session = store === undefined ? processSession : (store ?? undefined)
  // What a recorded run leaves behind goes on natively. A replayed one has no way
  // to the outside, after its end neither: its session keeps answering.
  return session?.closed === true && !session.replaying ? undefined : session
}

/** The recorded run that a call belongs to although it has ended. */
export function endedSession(): Session | undefined {
  const store = storage.getStore()
  const session = store === undefined ? processSession : (store ?? undefined)
  return session?.closed === true && !session.replaying ? session : undefined
}

/** The run of the whole process, if the call belongs to it and to no nearer run. */
export function currentProcessRun(): Session | undefined {
  const session = currentSession()
  return session === processSession ? session : undefined
}

/** Runs Retake's own work: nothing it touches is recorded. */
export function outsideRuns<T>(work: () => T): T {
  return storage.run(null, work)
}

export function insideRun<T>(session: Session, work: () => T): T {
  return storage.run(session, work)
}

/** Makes `session` the owner of every call in the process that has no nearer run; none when undefined. */
export function adoptProcess(session: Session | undefined): void {
  processSession = session
}

export function sessionOpened(): void {
  openSessions += 1
}

/** Only recordings: see `currentSession`. */
export function sessionClosed(): void {
  openSessions -= 1
}
