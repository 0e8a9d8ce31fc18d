import EventEmitter from 'node:events'
import type { ErrorClass, ErrorClasses } from '@retake/tape/format'
import { errors } from '../../errors.js'
import { performTool, type ToolCall } from '../patching/tool-call.js'
import { currentSession, outsideRuns } from '../../kernel/scope.js'
import type { Session } from '../../kernel/session.js'
import { isContactForbidden } from '../patching/outside-contact.js'
import { replace, undoAll, type Undo } from '../patching/patch.js'
import { noteBoundary } from '../patching/note-boundary.js'
import { whenLoaded } from '../patching/when-loaded.js'

/**
 * Database clients and pools that were created outside the run that uses them, as in most servers.
 * Their connections serve many runs, so their bytes belong to none of them. Each call is made
 * outside the run and recorded like a tool call, with its input and result. On replay it is served
 * without a connection. A client that a run creates itself is recorded at its socket.
 */

export type Method = (this: object, ...args: unknown[]) => unknown
export type Class = Function & { readonly prototype: object }

/** Classes whose instances may be shared. */
const clientClasses = new Set<Class>()

/** The run that created a client, or another object that runs may share. */
export const makers = new WeakMap<object, Session>()
/** The clients that a run has created. */
const madeBy = new WeakMap<Session, WeakRef<object>[]>()

/** The passwords of all clients that a run has created, for runs that go live. */
export function* clientPasswords(session: Session): Generator<string> {
  for (const made of madeBy.get(session) ?? []) {
    const { password } = (made.deref() ?? {}) as { password?: unknown }
    if (typeof password === 'string') yield password
  }
}

/** A loop, because every emitter that a run creates passes here. */
function isClient(emitter: object): boolean {
  for (const Client of clientClasses) if (emitter instanceof Client) return true
  return false
}

/** Clients are event emitters, so their creation is detected there. */
export function patchEmitters(): Undo {
  const emitters = EventEmitter as unknown as { init: (this: object, options: unknown) => void }
  const native = emitters.init
  return replace(emitters, 'init', function (this: object, options: unknown): void {
    native.call(this, options)
    if (clientClasses.size === 0) return
    const session = currentSession()
    if (session === undefined) return
    if (!isClient(this)) return
    makers.set(this, session)
    if (session.remote === 'live') return
    const made = madeBy.get(session) ?? []
    madeBy.set(session, made)
    made.push(new WeakRef(this))
  })
}

/**
 * Patches a library when it is loaded. `find` returns its copies; of each, `classes` are the
 * clients that may be shared.
 */
export function patchLibrary<Library extends object>(
  entry: RegExp,
  find: (exports: unknown) => readonly Library[],
  classes: (library: Library) => readonly Class[],
  patch: (library: Library) => Undo,
): Undo {
  const patched = new Map<Class, Undo>()
  const found = (exports: unknown): void => {
    for (const library of find(exports)) {
      const [first, ...rest] = classes(library)
      if (first === undefined || patched.has(first)) continue
      for (const each of [first, ...rest]) clientClasses.add(each)
      patched.set(first, patch(library))
    }
  }
  return undoAll([
    () => {
      clientClasses.clear()
      undoAll([...patched.values()])()
    },
    whenLoaded(entry, found),
  ])
}

/** The current run, unless it created the object itself. */
export function sharedIn(object: object): Session | undefined {
  const session = currentSession()
  return makers.get(object) === session ? undefined : session
}

export type SharedMethod = (
  session: Session,
  native: Method,
  self: object,
  args: unknown[],
) => unknown

/** Replaces a method for runs that share the object; no-op if it does not exist. */
export function patchShared(
  target: object,
  name: string,
  shared: SharedMethod,
  { ownerOf = (self) => self, offline }: SharedOptions = {},
): Undo {
  const native = (target as Record<string, Method | undefined>)[name]
  if (typeof native !== 'function') return () => {}
  return replace(target, name, function (this: object, ...args: unknown[]) {
    const session = sharedIn(ownerOf(this))
    if (session !== undefined) return shared(session, native, this, args)
    const isOffline = isContactForbidden() && currentSession() === undefined
    return offline && isOffline ? offline(this, args) : native.apply(this, args)
  } satisfies Method)
}

interface SharedOptions {
  /** The client that an object belongs to. */
  readonly ownerOf?: (self: object) => object
  /** Answers calls outside of runs in a process that replays one, such as those of a module. */
  readonly offline?: (self: object, args: unknown[]) => unknown
}

export interface SharedCall extends Pick<ToolCall, 'name' | 'title' | 'run' | 'errorClasses'> {
  readonly input?: unknown
}

export const performShared = (session: Session, call: SharedCall): Promise<unknown> =>
  performTool(session, {
    input: undefined,
    ...call,
    durable: true,
    lossNote: { name: call.name },
  })

/** Uses something of a shared client that is not captured: reported, and refused on replay. */
export function uncaptured<T>(session: Session, name: string, native: () => T): T {
  if (session.local === 'tape') throw errors.BOUNDARY_NOT_REPLAYABLE(name)
  noteShared(session, name)
  return outsideRuns(native)
}

export function noteShared(session: Session, name: string): void {
  noteBoundary(session, {
    name,
    text: 'a shared client is captured call by call; wrap the call in tool()',
    consequence: 'stops',
  })
}

type Callback = (error: unknown, ...values: unknown[]) => void

/** Passes the outcome to a callback if there is one; otherwise returns a promise. */
export function answer(
  outcome: Promise<unknown>,
  callback: unknown,
  values: (value: unknown) => readonly unknown[] = (value) => [value],
): unknown {
  if (typeof callback !== 'function') return outcome
  void outcome.then(
    (value) => (callback as Callback)(undefined, ...values(value)),
    (error: unknown) => (callback as Callback)(error),
  )
  return undefined
}

export const titleOf = (text: string): string => text.replaceAll(/\s+/g, ' ').trim().slice(0, 200)

// ── errors ──────────────────────────────────────────────────────────────────

/** The error classes among the exports of modules, by name. */
export function errorClassesOf(...modules: readonly unknown[]): ErrorClasses {
  const classes: Record<string, ErrorClass> = {}
  for (const each of modules.flatMap((exports) => Object.values(exports ?? {}))) {
    if (typeof each === 'function' && each.prototype instanceof Error)
      classes[each.name] = each as ErrorClass
  }
  return classes
}

/** Makes errors inside a restored result, as of a transaction, instances of their classes. */
export function restoreErrors<T>(value: T, classes: ErrorClasses): T {
  if (Array.isArray(value)) for (const each of value) restoreErrors(each, classes)
  else if (value instanceof Error) {
    const { name } = value.constructor
    const Class = Object.hasOwn(classes, name) ? classes[name] : undefined
    if (Class !== undefined) Object.setPrototypeOf(value, Class.prototype as object)
  }
  return value
}
