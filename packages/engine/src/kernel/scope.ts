import { AsyncLocalStorage } from 'node:async_hooks'
import type { BoundaryCheck } from './boundary-check.js'
import type { Session } from './session.js'

/**
 * The run that a call belongs to. The store is a session inside `record()` and `replay()`, `null`
 * inside Retake's own work, and `undefined` elsewhere, where a whole-process run (the command line)
 * may still own the call. The work of a tool is not recorded either, but its owner is known.
 */
const storage = new AsyncLocalStorage<RunContext>()

class ToolWork {
  constructor(
    readonly session: Session,
    readonly check: BoundaryCheck | undefined,
    /** A run that was started inside the tool. Its work is recorded, and still checked. */
    readonly run?: Session,
  ) {}
}

let hasChecks = false

let processSession: Session | undefined
let openSessions = 0

/** The session of a boundary call; if undefined, the native function answers. */
export function currentSession(): Session | undefined {
  if (openSessions === 0) return undefined
  const store = storage.getStore()
  const session = store === undefined ? processSession : runOf(store)
  return session !== undefined && isReleased(session) ? undefined : session
}

/** A value from outside the program, drawn by the current run if there is one. */
export function drawn<T>(kind: string, native: () => T): T {
  const session = currentSession()
  return session ? session.draw(kind, native) : native()
}

const runOf = (store: Session | ToolWork | null): Session | undefined =>
  store instanceof ToolWork ? store.run : (store ?? undefined)

/**
 * Work that outlives a recorded run continues natively. A run answered by a tape never reaches the
 * outside, not even after its end: its session still answers.
 */
const isReleased = (session: Session): boolean => session.closed && session.remote === 'live'

/**
 * True if a Node resource was created by the code of a run, or by Retake on its behalf. For Node
 * 20, where the store of an `AsyncLocalStorage` is a property of each resource; always true
 * elsewhere.
 */
export function belongsToRun(resource: object): boolean {
  const { kResourceStore: key } = storage as unknown as { readonly kResourceStore?: symbol }
  if (key === undefined) return true
  const store = (resource as Record<symbol, Session | ToolWork | null | undefined>)[key]
  return store === null || (store === undefined ? processSession : runOf(store)) !== undefined
}

/** The run of a call that is not recorded, because a tool makes it or the run has ended. */
export function unrecordedOwner(): Session | undefined {
  const store = storage.getStore()
  if (store instanceof ToolWork && store.run === undefined) return store.session
  const session = store === undefined ? processSession : runOf(store)
  return session !== undefined && isReleased(session) ? session : undefined
}

/** True for the run of a whole program; everything was opened inside it. */
export const isProcessRun = (session: Session): boolean => session === processSession

/** The run of the whole process, if the call belongs to it and to no nearer run. */
export function currentProcessRun(): Session | undefined {
  const session = currentSession()
  return session === processSession ? session : undefined
}

export const isOwnWork = (): boolean => storage.getStore() === null

/** Runs Retake's own work: nothing it touches is recorded. */
export function outsideRuns<T>(work: () => T): T {
  // In Node 20, the first use of a storage slows down every later promise of the process.
  if (openSessions === 0 && storage.getStore() === undefined) return work()
  return storage.run(null, work)
}

/** Runs the work of a tool of this run. Boundaries consult `check` first; the caller's by default. */
export function insideTool<T>(session: Session, work: () => T, check = currentCheck()): T {
  if (check !== undefined) hasChecks = true
  return storage.run(new ToolWork(session, check), work)
}

/** The check that a boundary must consult; usually undefined. */
export function currentCheck(): BoundaryCheck | undefined {
  if (!hasChecks) return undefined
  const store = storage.getStore()
  return store instanceof ToolWork ? store.check : undefined
}

/**
 * Binds work that is done elsewhere to the current check, because a connection that a run inside a
 * checked tool records is opened outside that run.
 */
export function bindCheck(): <T>(work: () => T) => T {
  const store = hasChecks ? storage.getStore() : undefined
  if (!(store instanceof ToolWork) || store.check === undefined) return here
  const { session, check } = store
  return (work) => storage.run(new ToolWork(session, check), work)
}

const here = <T>(work: () => T): T => work()

/** The run or tool that code belongs to. Opaque: only compared and passed to `insideContext`. */
export type RunContext = Session | ToolWork | null | undefined

export const currentContext = (): RunContext => storage.getStore()

/**
 * Does work in the context of the run or tool that queued it, because queues run it in the context
 * of another task.
 */
export const insideContext = <T>(context: RunContext, work: () => T): T =>
  storage.getStore() === context ? work() : storage.run(context, work)

/** The run whose tool makes this call. */
export function toolOwner(): Session | undefined {
  const store = storage.getStore()
  return store instanceof ToolWork && store.run === undefined ? store.session : undefined
}

export function insideRun<T>(session: Session, work: () => T): T {
  const check = currentCheck()
  const around = storage.getStore()
  return check !== undefined && around instanceof ToolWork
    ? storage.run(new ToolWork(around.session, check, session), work)
    : storage.run(session, work)
}

/** Makes `session` the owner of every call in the process that has no nearer run; undefined removes it. */
export function adoptProcess(session: Session | undefined): void {
  processSession = session
}

const active = new Set<Session>()

export const isRunActive = (): boolean => active.size > 0

export function sessionOpened(session: Session): void {
  openSessions += 1
  active.add(session)
}

/** A run answered by a tape is still answered after its end; see `currentSession`. */
export function sessionClosed(session: Session, remote: Session['remote']): void {
  if (remote === 'live') openSessions -= 1
  if (session.closed) active.delete(session)
}
