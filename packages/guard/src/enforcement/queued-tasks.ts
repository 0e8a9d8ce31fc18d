import Module, { createRequire } from 'node:module'
import path from 'node:path'
import {
  currentContext,
  insideContext,
  replace,
  type RunContext,
  type Undo,
  undoAll,
} from '@retake/engine/hook'
import type { CallBounds } from '../bounds/call-bounds.js'
import { currentBounds } from '../bounds/current-bounds.js'

/**
 * Libraries for queues and pools that tools may share. A busy queue starts a task in the async
 * context of the previous task, so the task would run within the bounds of another call, or of none.
 * Therefore each task is bound to the call that queued it. Threads cannot be bound, so a thread pool
 * refuses the tasks of a call unless a shell scope allows its threads.
 *
 * Node has no hook for this, so known libraries are patched. Not promised: other libraries, bundled
 * copies, and fastq, async and old versions of p-limit that were loaded before Retake.
 */
const LIBRARIES: Readonly<Record<string, (library: Library) => void>> = {
  async: (library) =>
    replaceFunctions(library, ['queue', 'priorityQueue', 'cargo', 'cargoQueue'], boundAsyncQueue),
  'async-lock': ({ exports }) => bindArguments(exports, 'acquire'),
  bottleneck: ({ exports }) => {
    bindArguments(exports, 'schedule')
    bindArguments(exports, 'submit')
  },
  dataloader: ({ exports }) => before(exports, 'load', startOwnBatch),
  // p-queue is an ES module, so its class is found when a queue emits its first event.
  eventemitter3: ({ exports }) =>
    before(exports, 'emit', (emitter) => {
      const classes: Function[] = []
      let each = Object.getPrototypeOf(emitter) as { readonly constructor: Function } | null
      for (; each !== null; each = Object.getPrototypeOf(each) as typeof each)
        classes.push(each.constructor)
      const PQueue = classes.find(({ name }) => name === 'PQueue')
      if (PQueue !== undefined) bindArguments(PQueue, 'add')
    }),
  fastq: (library) => replaceFunctions(library, ['queue', 'promise'], boundFastq),
  'p-limit': (library) => replaceFunctions(library, ['index'], boundLimit),
  piscina: ({ exports, filename }) => {
    for (const method of ['run', 'runTask'])
      before(exports['Piscina'], method, () => checkThread(workerBeside(filename)))
  },
  workerpool: ({ exports, filename }) =>
    before(exports, 'exec', (pool: { script: string | null; workers?: readonly object[] }) => {
      // Other classes of the library also have this method.
      if (pool.workers === undefined) return
      const call = currentBounds().at(-1)
      // Starting the first worker is checked by itself.
      if (call !== undefined && pool.workers.length === 0) startedIn.set(pool, call)
      if (startedIn.get(pool) !== call) checkThread(pool.script ?? workerBeside(filename))
    }),
}

/** Pools by the call that started their workers. */
const startedIn = new WeakMap<object, CallBounds>()

/** A CommonJS module. Its exports can be replaced only until it is loaded. */
interface Library {
  readonly filename: string
  exports: any
}

type AnyFunction = (this: any, ...args: any[]) => any

let undos: Undo[] = []

/** Patches libraries that are already loaded, and others when they are loaded. */
export function bindQueuedTasks(): Undo {
  if (undos.length === 0) {
    const { _extensions: loaders } = Module as unknown as { _extensions: { '.js': AnyFunction } }
    const { '.js': native } = loaders
    const load = function (this: unknown, module: Library, ...rest: unknown[]): void {
      native.call(this, module, ...rest)
      patchModule(module)
    }
    undos.push(replace(loaders, '.js', load))
    for (const each of Object.values(createRequire(import.meta.url).cache))
      if (each !== undefined) patchModule(each)
  }
  return () => {
    undoAll(undos)()
    undos = []
  }
}

/** The innermost package that contains a file. */
const PACKAGE = /[\\/]node_modules[\\/]([^\\/]+)[\\/](?!.*node_modules[\\/])/

function patchModule(module: Library): void {
  const name = PACKAGE.exec(module.filename ?? '')?.[1]
  if (name === undefined || !Object.hasOwn(LIBRARIES, name)) return
  if (module.exports !== null && module.exports !== undefined) LIBRARIES[name]?.(module)
}

const patched = new WeakMap<object, Set<string>>()

/** Calls `look` before a method of a class. `look` may change the arguments. */
function before(
  Class: { readonly prototype?: any } | undefined,
  method: string,
  look: (self: any, args: unknown[]) => void,
): void {
  const prototype: Record<string, unknown> | undefined = Class?.prototype
  const native = prototype?.[method]
  if (prototype === undefined || typeof native !== 'function') return
  const methods = patched.get(prototype) ?? new Set()
  if (methods.has(method)) return
  patched.set(prototype, methods.add(method))
  const undo = replace(prototype, method, function (this: unknown, ...args: unknown[]): unknown {
    look(this, args)
    return native.apply(this, args) as unknown
  })
  undos.push(undo, () => patched.delete(prototype))
}

const wrappers = new WeakSet<object>()

/** Replaces exported functions, or the whole export if the file has one of these names. */
function replaceFunctions(
  library: Library,
  names: readonly string[],
  wrap: (native: AnyFunction) => AnyFunction,
): void {
  const wrapOnce = (native: AnyFunction): AnyFunction => {
    if (wrappers.has(native)) return native
    const wrapper = Object.assign(wrap(native), native)
    wrappers.add(wrapper)
    return wrapper
  }
  const { exports, filename } = library
  for (const owner of [exports, exports.default])
    for (const name of names)
      if (typeof owner?.[name] === 'function') owner[name] = wrapOnce(owner[name] as AnyFunction)
  if (typeof exports !== 'function' || !names.includes(path.basename(filename, '.js'))) return
  library.exports = wrapOnce(exports as AnyFunction)
  if (exports.default === exports) library.exports.default = library.exports
}

/** Binds a function to the current call. */
function bound(task: unknown): unknown {
  if (typeof task !== 'function') return task
  const context = currentContext()
  return function (this: unknown, ...args: unknown[]): unknown {
    return insideContext(context, () => task.apply(this, args) as unknown)
  }
}

const bindArguments = (Class: { readonly prototype?: any }, method: string): void =>
  before(Class, method, (_, args) => {
    for (const [index, each] of args.entries()) args[index] = bound(each)
  })

const workerBeside = (file: string): string => path.join(path.dirname(file), 'worker.js')

function checkThread(file: string): void {
  for (const each of currentBounds()) each.unseen('worker', path.resolve(file))
}

/** Since version 4, p-limit binds tasks itself. */
const boundLimit =
  (native: AnyFunction): AnyFunction =>
  (...options) =>
    new Proxy(native(...options) as AnyFunction, {
      apply: (limit, self, [task, ...args]) =>
        Reflect.apply(limit, self, [bound(task), ...args]) as unknown,
    })

interface FastqTask {
  readonly value: unknown
  readonly context: RunContext
}

function boundFastq(native: AnyFunction): AnyFunction {
  return (...options) => {
    const worker = options.findIndex((each) => typeof each === 'function')
    const work = options[worker] as AnyFunction
    options[worker] = function (this: unknown, { value, context }: FastqTask, done: unknown) {
      return insideContext(context, () => work.call(this, value, done) as unknown)
    }
    const queue = native(...options) as Record<FastqMethod, AnyFunction>
    const { push, unshift, getQueue, error } = queue
    const withContext = (value: unknown): FastqTask => ({ value, context: currentContext() })
    const methods: Record<FastqMethod, AnyFunction> = {
      push: (value, done) => push(withContext(value), done) as unknown,
      unshift: (value, done) => unshift(withContext(value), done) as unknown,
      getQueue: () => (getQueue() as FastqTask[]).map(({ value }) => value),
      error: (handle: AnyFunction) =>
        error((failure: unknown, { value }: FastqTask) => handle(failure, value) as unknown),
    }
    return Object.assign(queue, methods)
  }
}

type FastqMethod = 'push' | 'unshift' | 'getQueue' | 'error'

interface AsyncQueue {
  readonly _tasks: Record<'push' | 'unshift' | 'shift', AnyFunction> & { readonly head?: AsyncTask }
  /** Tasks per batch; default all. */
  payload?: number
}

interface AsyncTask {
  readonly next?: AsyncTask | null
}

/** `async` removes tasks from its list right before it passes their data to the worker. */
function boundAsyncQueue(native: AnyFunction): AnyFunction {
  return (work: AnyFunction, ...options) => {
    const contexts = new WeakMap<object, RunContext>()
    let context: RunContext
    const worker = function (this: unknown, ...args: unknown[]): unknown {
      return insideContext(context, () => work.apply(this, args) as unknown)
    }
    // The library recognizes an async function by its tag.
    const tag: string | undefined = Reflect.get(work, Symbol.toStringTag)
    Object.defineProperty(worker, Symbol.toStringTag, { value: tag })
    const queue = native(worker, ...options) as AsyncQueue
    const { _tasks: tasks } = queue
    const { push, unshift, shift } = tasks
    const added = (task: AsyncTask): AsyncTask => {
      contexts.set(task, currentContext())
      return task
    }
    Object.assign(tasks, {
      push: (task: AsyncTask) => push.call(tasks, added(task)) as unknown,
      unshift: (task: AsyncTask) => unshift.call(tasks, added(task)) as unknown,
      shift: () => {
        const task = shift.call(tasks) as AsyncTask
        context = contexts.get(task)
        return task
      },
    })
    splitBatches(queue, (task) => contexts.get(task))
    return queue
  }
}

/** Ends a batch at the first task of another call. */
function splitBatches(queue: AsyncQueue, contextOf: (task: AsyncTask) => RunContext): void {
  let { payload } = queue
  const ofOneCall = (): number => {
    const { head } = queue._tasks
    let count = 0
    for (let each = head; each && contextOf(each) === contextOf(head as AsyncTask); count += 1)
      each = each.next ?? undefined
    return count
  }
  Object.defineProperty(queue, 'payload', {
    get: () => (payload === 1 ? 1 : Math.min(payload ?? Infinity, ofOneCall() || Infinity)),
    set(value: number) {
      payload = value
    },
    enumerable: true,
    configurable: true,
  })
}

interface DataLoader {
  _batch: object | null | undefined
  _batchScheduleFn: (dispatch: () => void) => void
}

const boundLoaders = new WeakSet<DataLoader>()
const batchContexts = new WeakMap<object, RunContext>()

/** Starts a separate batch for each call. */
function startOwnBatch(loader: DataLoader): void {
  const { _batch: batch, _batchScheduleFn: schedule } = loader
  if (batch && batchContexts.get(batch) !== currentContext()) loader._batch = null
  if (boundLoaders.has(loader) || schedule === undefined) return
  boundLoaders.add(loader)
  loader._batchScheduleFn = function (dispatch) {
    if (this._batch) batchContexts.set(this._batch, currentContext())
    schedule.call(this, bound(dispatch) as () => void)
  }
}

// Programs import their queues and create them before the first guard.
bindQueuedTasks()
