import path from 'node:path'
import { noteBoundary } from '../patching/note-boundary.js'
import { fileURLToPath } from 'node:url'
import { attempt, clipText, encodeBody, type ErrorClasses } from '@retake/tape/format'
import { errors } from '../../errors.js'
import { beforeContact } from '../patching/outside-contact.js'
import { Overlay, overlayOf } from '../../overlay/overlay.js'
import { currentSession, outsideRuns, unrecordedOwner } from '../../kernel/scope.js'
import type { Session } from '../../kernel/session.js'
import {
  performCall,
  plain,
  type CapturedCall,
  type ResultForm,
} from '../patching/captured-call.js'
import { replace, type Undo } from '../patching/patch.js'
import { callsOf, changesDatabase, EXECUTES, isReading, namesFile } from './sql.js'

/** A native object, by the names of its methods and properties. */
export type Native = Record<string, unknown>

export interface DatabaseLibrary {
  /** As the agent imports it: `better-sqlite3`. */
  readonly name: string
  readonly errorClasses: ErrorClasses
  /** Opens the native connection; if `file` is set, to that file instead of the one in `args`. */
  open(args: readonly unknown[], file: string | undefined): Native
  /** Property of a native connection that is true while a transaction is open. */
  readonly transactionFact: string
}

export interface HandleCall {
  readonly method: string
  readonly args: readonly unknown[]
  /** Arguments to record; all of them by default. */
  readonly compared?: readonly unknown[]
  /** Wraps the native object that the call returns. */
  readonly makes?: Maker
}

/** Wraps a native object for the agent, and describes its visible state on the tape. */
export interface Maker {
  readonly sql?: string
  make(handle: NativeHandle, facts: Readonly<Record<string, unknown>>): object
  facts(native: Native): Readonly<Record<string, unknown>>
}

/** The databases of a module that is loaded for a run whose tape already exists. */
class LoadedDatabases {
  readonly connections: Connection[] = []
  readonly handles: NativeHandle[] = []
  #copies: Overlay | undefined

  constructor(
    readonly run: Session,
    readonly folder: string,
  ) {}

  get copies(): Overlay {
    return (this.#copies ??= new Overlay(this.folder))
  }

  /** From here on, the tape answers; the run opens the databases themselves when it goes live. */
  end(): void {
    for (const { root } of this.connections) {
      const close = root.native?.['close'] as Function | undefined
      attempt(() => outsideRuns(() => close?.call(root.native)))
    }
    for (const handle of this.handles) handle.native = undefined
  }
}

let loading: LoadedDatabases | undefined

/**
 * Loads a module whose top-level code may open databases. It works on copies of them in `folder`:
 * the databases themselves have what it did when the run was recorded. Prepared statements and
 * settings are restored when the run goes live and uses the database.
 */
export async function loadWithCopies<T>(
  run: Session,
  folder: string,
  load: () => Promise<T>,
): Promise<T> {
  const databases = new LoadedDatabases(run, folder)
  loading = databases
  try {
    return await load()
  } finally {
    loading = undefined
    databases.end()
  }
}

/**
 * One connection to a database. While the tape answers, its objects have no native counterpart.
 * When the run goes live and uses one of them, the connection is opened and its state is restored:
 * prepared statements, settings, the calls of an open transaction, and the whole content of an
 * in-memory database.
 */
export class Connection {
  readonly root: NativeHandle
  /** Statements passed to the agent's `verbose` function during the current call. */
  #verboseLines: unknown[][] | undefined
  /** Calls that only the tape has answered, in order. */
  readonly #served: (() => void)[] = []
  #transaction: (() => void)[] | undefined
  #isInServedTransaction = false
  #isServedClosed = false
  /** True if a statement outside of runs has opened another file on this connection. */
  isAttached = false

  constructor(
    readonly library: DatabaseLibrary,
    readonly file: string,
    readonly args: readonly unknown[],
    /** Set if the tape of this run answers calls, but does not have the opening. */
    readonly run = loading?.run,
  ) {
    this.root = new NativeHandle(this)
    loading?.connections.push(this)
  }

  get isInMemory(): boolean {
    const { file } = this
    return file === '' || /^:memory:$|^file:(?::memory:|.*[?&]mode=memory)/.test(file)
  }

  open(session: Session | undefined): Native {
    const overlay = this.isInMemory ? undefined : (loading?.copies ?? databaseOverlayOf(session))
    const file = overlay && fileFor(overlay, this.file)
    if (loading === undefined) beforeContact('database')
    const args = this.args.map((arg) =>
      typeof arg === 'function'
        ? (...words: unknown[]) => {
            if (this.#verboseLines === undefined) this.verbose?.(...words)
            else this.#verboseLines.push(words)
          }
        : arg,
    )
    return this.library.open(args, file)
  }

  get verbose(): ((...words: unknown[]) => void) | undefined {
    const given = this.args.find((arg) => typeof arg === 'function')
    return given as ((...words: unknown[]) => void) | undefined
  }

  /** Runs native code and returns its `verbose` output, for the agent in record and replay. */
  listen<T>(run: () => T): { readonly lines: readonly unknown[][]; readonly result: () => T } {
    const lines: unknown[][] = []
    this.#verboseLines = lines
    try {
      const value = run()
      return { lines, result: () => value }
    } catch (error) {
      return {
        lines,
        result: () => {
          throw error
        },
      }
    } finally {
      this.#verboseLines = undefined
    }
  }

  /** True while a transaction is open, whose changes other connections do not see. */
  get isInTransaction(): boolean {
    return this.root.native?.[this.library.transactionFact] === true
  }

  /** A fact that follows from the calls that the tape has answered. */
  servedFact(name: string): unknown {
    if (name === this.library.transactionFact) return this.#isInServedTransaction
    if (name === 'open' || name === 'isOpen') return !this.#isServedClosed
    return name === 'busy' ? false : undefined
  }

  /** Called when the tape has answered `close`. */
  closed(): void {
    this.#isServedClosed = true
  }

  /** Remembers a call that the tape answered if a live connection would have to repeat it. */
  remember(sql: string, isExecuted: boolean, repeat: () => void): void {
    const { begins, ends, isOfConnection } = callsOf(isExecuted ? sql : '')
    if (begins || ends) this.#isInServedTransaction = begins
    if (!isExecuted || isOfConnection) this.#served.push(repeat)
    else if (this.isInMemory) {
      if (!isReading(sql)) this.#served.push(repeat)
    } else if (begins) this.#transaction ??= [repeat]
    else if (ends) this.#transaction = undefined
    else this.#transaction?.push(repeat)
  }

  /** Opens a connection that existed only on the tape until now. */
  revive(session: Session | undefined): void {
    if (session?.local === 'tape') throw errors.BOUNDARY_NOT_REPLAYABLE(this.library.name)
    const transaction = this.#transaction ?? []
    // The disk already has what the parent committed later, so repeating it would insert the rows
    // twice.
    if (transaction.length > 0 && databaseOverlayOf(session) !== undefined)
      throw errors.DATABASE_NOT_CARRIED_OVER(this.file, 'A transaction is open there.')
    const { result } = this.listen(() =>
      outsideRuns(() => {
        this.root.native = this.open(session)
        for (const repeat of [...this.#served.splice(0), ...transaction]) repeat()
      }),
    )
    result()
    this.#transaction = undefined
  }
}

/** Retake's handle for a library object; has no native object while a tape answers. */
export class NativeHandle {
  native: Native | undefined

  constructor(
    readonly connection: Connection,
    /** The SQL of the statement, if it is a statement or belongs to one. */
    readonly sql?: string,
  ) {
    loading?.handles.push(this)
  }

  made(native: Native | undefined, sql = this.sql): NativeHandle {
    const handle = new NativeHandle(this.connection, sql)
    handle.native = native
    return handle
  }

  /** The native object for `session`; opened first if it existed only on the tape. */
  real(session: Session | undefined): Native {
    if (this.native === undefined) {
      if (this.connection.root.native === undefined) this.connection.revive(session)
      if (this.native === undefined)
        throw errors.DATABASE_NOT_CARRIED_OVER(
          this.connection.file,
          'A query whose rows are being read, or a backup, is in progress there.',
        )
    }
    return this.native
  }
}

const handles = new WeakMap<object, NativeHandle>()

export function handleOf(object: object): NativeHandle {
  const handle = handles.get(object)
  if (handle === undefined) throw new TypeError('Illegal invocation')
  return handle
}

export const isHandle = (object: unknown): object is object =>
  typeof object === 'object' && object !== null && handles.has(object)

export function bindHandle<T extends object>(object: T, handle: NativeHandle): T {
  handles.set(object, handle)
  return object
}

/** Opens a database for the agent, which gets `object`. On replay nothing is opened. */
export function openDatabase(
  object: object,
  library: DatabaseLibrary,
  {
    file,
    args,
    compared,
  }: { file: string; args: readonly unknown[]; compared: readonly unknown[] },
  facts: Maker['facts'],
): Readonly<Record<string, unknown>> {
  const session = currentSession()
  const isUncaptured = session !== undefined && lacksOpening(session, library)
  const connection = new Connection(library, file, args, isUncaptured ? session : undefined)
  bindHandle(object, connection.root)
  if (isUncaptured) return {}
  const open = (): Readonly<Record<string, unknown>> => {
    connection.root.native = connection.open(session ?? unrecordedOwner())
    return facts(connection.root.native)
  }
  if (session === undefined) return open()
  const call = capturedCall(session, connection.root, { method: 'open', args, compared })
  return perform(session, connection, call, open) as Readonly<Record<string, unknown>>
}

/**
 * True if the tape has calls of the library but no opening, because the recorded program had copied
 * the library's classes before Retake was loaded.
 */
export function lacksOpening(session: Session, { name }: DatabaseLibrary): boolean {
  const names = session.local === 'tape' ? session.recordedCalls?.() : undefined
  return (
    names !== undefined &&
    !names.has(`${name}.open`) &&
    [...names].some((each) => each.startsWith(`${name}.`))
  )
}

/** Makes one call on a native object, or lets the tape answer it. */
export function callNative(object: object, call: HandleCall): unknown {
  const handle = handleOf(object)
  const { connection } = handle
  const session = currentSession()
  const owner = session ?? unrecordedOwner() ?? connection.run
  const run = (): unknown => {
    const native = handle.real(owner)
    const answer = runNative(native)
    const { makes } = call
    if (makes === undefined) return answer === native ? undefined : answer
    return makes.make(handle.made(answer as Native, makes.sql), makes.facts(answer as Native))
  }
  if (session === undefined) {
    if (loading === undefined) {
      if (namesFile(textOf(handle, call))) connection.isAttached = true
      return run()
    }
    const value = outsideRuns(run)
    remember(value)
    return value
  }
  const captured = capturedCall(session, handle, call)
  return perform(
    session,
    connection,
    {
      ...captured,
      served: (outcome) => {
        if (!('error' in outcome)) remember(outcome.value)
      },
    },
    run,
  )

  function remember(value: unknown): void {
    if (call.method === 'close' && handle === connection.root) connection.closed()
    if (NOT_REPEATED.has(call.method)) return
    connection.remember(textOf(handle, call), EXECUTES.has(call.method), () => repeat(value))
  }

  function runNative(native: Native): unknown {
    const isCopy = loading !== undefined || databaseOverlayOf(owner) !== undefined
    if (isCopy && namesFile(textOf(handle, call)))
      throw errors.DATABASE_NOT_CARRIED_OVER(connection.file, 'The statement names another file.')
    return (native[call.method] as Function).apply(native, call.args) as unknown
  }

  function repeat(value: unknown): void {
    const answer = runNative(handle.real(owner)) as Native
    if (isHandle(value)) handleOf(value).native = answer
  }
}

export function readFact(object: object, name: string): unknown {
  const handle = handleOf(object)
  const session = currentSession()
  const owner = session ?? unrecordedOwner() ?? handle.connection.run
  const read = (): unknown => handle.real(owner)[name]
  if (session === undefined) return read()
  const { connection } = handle
  const kind = `${connection.library.name}.${name}`
  // The recorded run did not see such reads if its database was opened before Retake was loaded.
  if (connection.run !== undefined && session.expectsDraw?.(kind) === false)
    return connection.servedFact(name)
  return session.draw(kind, read)
}

const NOT_REPEATED = new Set(['iterate', 'next', 'return', 'transfer', 'columns', 'serialize'])

/** A database call in the form recorded on the tape. */
export function capturedCall(
  session: Session,
  handle: NativeHandle,
  call: HandleCall,
): CapturedCall {
  const { connection } = handle
  const { method, args, compared = args } = call
  const { library } = connection
  // Agent functions that SQLite calls in the middle of a statement.
  if (method !== 'open' && args.some(containsFunction))
    noteBoundary(session, {
      name: `a function handed to ${method}() of ${library.name}`,
      text: 'its results are part of the recorded answers; its other effects are not captured',
      consequence: 'not-called',
    })
  if (connection.isAttached)
    noteBoundary(session, {
      name: `a file that was attached to ${library.name} before the run`,
      text: 'a module that attaches a file when it is imported cannot be loaded again',
      consequence: 'never-replays',
    })
  const text = textOf(handle, call)
  // Calls whose changes other connections may see: in a transaction, only its end.
  return {
    kind: 'database',
    name: `${library.name}.${method}`,
    title: clipText(text.trim(), TITLE_MAX),
    input: encodeBody([
      numberOf(session, handle),
      ...(session.secrets.parameters(text, compared) as readonly unknown[]),
    ]),
    form: formOf(handle, call),
    durable:
      changesDatabase(method, text) &&
      !connection.isInMemory &&
      (!connection.isInTransaction || callsOf(text).ends),
    errorClasses: library.errorClasses,
  }
}

const TITLE_MAX = 200

/** The statement of a call, or the file. */
const textOf = ({ sql, connection }: NativeHandle, { method, args }: HandleCall): string =>
  sql ?? (EXECUTES.has(method) || method === 'prepare' ? String(args[0]) : connection.file)

function perform(
  session: Session,
  connection: Connection,
  call: CapturedCall,
  run: () => unknown,
): unknown {
  const { verbose, library } = connection
  if (verbose === undefined) return performCall(session, call, run)
  let heard: readonly unknown[][] = []
  try {
    return performCall(session, call, () => {
      const { lines, result } = connection.listen(run)
      heard = lines
      return result()
    })
  } finally {
    // SQLite reports a statement before it runs; here, before its result is seen.
    const lines = session.draw(`${library.name}.verbose`, () => heard)
    for (const words of lines) verbose(...words)
  }
}

const formOf = (handle: NativeHandle, { makes }: HandleCall): ResultForm =>
  makes === undefined
    ? plain
    : {
        encode: (value) => plain.encode(makes.facts(handleOf(value as object).native ?? {})),
        decode: (as, body) => {
          const facts = plain.decode(as, body) as Readonly<Record<string, unknown>>
          return makes.make(handle.made(undefined, makes.sql), facts)
        },
      }

const numbers = new WeakMap<
  Session,
  { count: number; readonly of: WeakMap<NativeHandle, number> }
>()

/** Numbers the handles of a run in the order of their first use. */
function numberOf(session: Session, handle: NativeHandle): number {
  let known = numbers.get(session)
  if (known === undefined) numbers.set(session, (known = { count: 0, of: new WeakMap() }))
  const number = known.of.get(handle) ?? (known.count += 1)
  known.of.set(handle, number)
  return number
}

const containsFunction = (arg: unknown): boolean =>
  typeof arg === 'function' ||
  (typeof arg === 'object' &&
    arg !== null &&
    !isHandle(arg) &&
    Object.values(arg).some((member) => typeof member === 'function'))

/** Adds methods that only forward their arguments; chained ones return the object itself. */
export function forwardMethods(
  owner: Function,
  methods: readonly string[],
  isChained = false,
): void {
  const prototype = owner.prototype as object
  for (const method of methods) {
    if (method in prototype) continue
    const passed = {
      [method](this: object, ...args: unknown[]): unknown {
        const answer = callNative(this, { method, args })
        return isChained ? this : answer
      },
    }
    Object.assign(prototype, passed)
  }
}

export const methodsOf = ({ prototype }: { readonly prototype: object }): string[] =>
  Object.getOwnPropertyNames(prototype).filter((name) => name !== 'constructor')

/**
 * Captures the use of objects of the library's own class, which a program may have created before
 * Retake was loaded. How they were opened is unknown.
 */
export function adoptInstances(Native: Class, Own: Class, library: DatabaseLibrary): Undo[] {
  return methodsOf(Native).flatMap((method) => {
    const native = Reflect.get(Native.prototype, method) as Function
    const captured = Reflect.get(Own.prototype, method) as Function | undefined
    if (captured === undefined) return []
    const adopting = function (this: object, ...args: unknown[]): unknown {
      if (currentSession() !== undefined) return captured.apply(adopted(this, library), args)
      const answer = native.apply(this, args) as unknown
      if (EXECUTES.has(method) && typeof args[0] === 'string' && namesFile(args[0]))
        handleOf(adopted(this, library)).connection.isAttached = true
      if (method !== 'prepare') return answer
      const { connection } = handleOf(adopted(this, library))
      return bindHandle(answer as object, connection.root.made(answer as Native, String(args[0])))
    }
    return [replace(Native.prototype, method, adopting)]
  })
}

interface Class {
  readonly prototype: object
}

function adopted(object: object, library: DatabaseLibrary): object {
  if (isHandle(object)) return object
  const { root } = new Connection(library, OPENED_BEFORE, [])
  root.native = object as Native
  return bindHandle(object, root)
}

const OPENED_BEFORE = 'a database that was opened before'

/** Defines properties that are read through the run each time. */
export function showChanging<T extends object>(object: T, names: readonly string[]): T {
  for (const name of names)
    Object.defineProperty(object, name, { get: () => readFact(object, name), enumerable: true })
  return object
}

/** Overlay for the databases of a run; undefined if they are used on disk. */
export const databaseOverlayOf = (session: Session | undefined): Overlay | undefined =>
  session && overlayOf({ overlay: session.databases ?? session.overlay })

/** Files next to a database that are part of its content. */
const BESIDE = ['-wal', '-journal']

/** The file as a branch sees it: a private copy that receives the branch's writes. */
export function fileFor(overlay: Overlay, file: string): string {
  const isUrl = file.startsWith('file:')
  const [name = '', query] = isUrl ? file.slice('file:'.length).split('?') : [file]
  const filePath = overlay.resolve(
    isUrl && name.startsWith('//') ? fileURLToPath(`file:${name}`) : path.resolve(name),
  )
  for (const end of BESIDE)
    if (overlay.lookAt(filePath + end) !== undefined) overlay.forWriting(filePath + end)
  const own = overlay.forWriting(filePath)
  return isUrl ? `file:${own}${query === undefined ? '' : `?${query}`}` : own
}
