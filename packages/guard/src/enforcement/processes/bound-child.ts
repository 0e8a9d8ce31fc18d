import { ChildProcess } from 'node:child_process'
import { constants } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import worker, { type WorkerOptions } from 'node:worker_threads'
import {
  containsSecret,
  outsideRuns,
  replace,
  type SpawnOptions,
  type Undo,
  undoAll,
} from '@retake/engine/hook'
import { type CallBounds, endWith } from '../../bounds/call-bounds.js'
import { type Command, confinementOf } from '../../bounds/scopes.js'
import {
  endById,
  endDescendants,
  endWithDescendants,
  sandboxMissing,
  startConfined,
} from '@retake/runner/sandbox'
import { checkFirst, currentBounds } from '../../bounds/current-bounds.js'
import { processDenials } from '../../denials/scope-denials.js'
import { checkHanded } from '../files/file-calls.js'
import { FileCheck } from '../files/file-check.js'

/** Prevents tools from ending this process, and checks signals and native add-ons. */
export function patchProcessControl(): Undo {
  const exits = ['exit', 'reallyExit', 'abort', 'execve'] as const
  return undoAll([
    ...exits.map((name) =>
      checkFirst(process, name, (each) =>
        each.refuse(
          processDenials.PROCESS_EXIT('guard/process', { tool: each.tool, how: `process.${name}` }),
        ),
      ),
    ),
    checkFirst(process, '_kill', (each, [pid, signal]) => {
      each.signal(Number(pid), signalName(signal))
      if (signalName(signal) === 'SIGKILL' && each.processes.has(Number(pid)))
        endDescendants(Number(pid))
    }),
    checkFirst(process, 'dlopen', (each, [, file]) =>
      each.unseen('addon', path.resolve(String(file))),
    ),
    ...(['on', 'addListener', 'prependListener', 'once', 'prependOnceListener'] as const).map(
      patchSignals,
    ),
  ])
}

type Listen = (this: NodeJS.Process, event: string | symbol, listener: () => void) => NodeJS.Process

/**
 * The first listener for a signal determines the async context of all later ones. If a tool adds it,
 * the listeners of the program must not run in the context of that call.
 */
function patchSignals(
  method: 'on' | 'addListener' | 'prependListener' | 'once' | 'prependOnceListener',
): Undo {
  const native = process[method] as Listen
  return replace(process, method, function (this: NodeJS.Process, event, listener) {
    const isOfTool = event in constants.signals && currentBounds().length > 0
    const add = (): NodeJS.Process => native.call(this, event, listener)
    return isOfTool ? outsideRuns(add) : add()
  } satisfies Listen)
}

const signalName = (signal: unknown): string =>
  Object.entries(constants.signals).find(([, number]) => number === signal)?.[0] ?? String(signal)

/** Checks a process. Returns a copy of the options to start it with. */
export function boundOptions<Options extends SpawnOptions>(
  bounds: readonly CallBounds[],
  options: Options,
): Options {
  const args = (options.args ?? []).map(String)
  const checked = { ...options, args }
  const command = commandOf(checked, args)
  for (const each of bounds) each.process(command)
  // Throws for a descriptor of the program, which a child could read and write.
  const { stdio } = options
  // Entries of callers, or normalized by Node.
  for (const [index, each] of (Array.isArray(stdio) ? (stdio as unknown[]) : []).entries()) {
    const { fd: handed } = (each ?? {}) as { readonly fd?: unknown }
    const fd = each === 'inherit' ? index : typeof each === 'number' ? each : handed
    if (typeof fd !== 'number' || fd <= 2) continue
    if (checkHanded(new FileCheck(bounds), fd)) continue
    for (const call of bounds)
      if (!call.hasOpened(fd))
        call.refuse(processDenials.DESCRIPTOR_NOT_ALLOWED('guard/process', { tool: call.tool, fd }))
  }

  return checked
}

/** Bounds of processes that were checked and are about to start. */
const checkedHandles = new WeakMap<object, readonly CallBounds[]>()

/** Starts a process that ends with the guarded calls. */
export function spawnWithin(
  bounds: readonly CallBounds[],
  child: ChildProcess,
  options: SpawnOptions,
  start: (options: SpawnOptions) => number,
): number {
  const checked = boundOptions(bounds, options)
  const handle = (child as unknown as { _handle?: object })._handle
  if (handle !== undefined) checkedHandles.set(handle, bounds)
  const started = start(checked)
  const { pid } = child
  const isDetached = checked.detached === true
  if (pid === undefined) return started
  for (const each of bounds) each.processes.add(pid)
  const release = endWith(bounds, () => {
    if (child.pid === undefined) return
    endWithDescendants(child)
    if (isDetached) outsideRuns(() => endById(-pid))
  })
  child.once('exit', () => {
    release()
    for (const each of bounds) each.processes.delete(pid)
  })
  return started
}

const { SIGKILL } = constants.signals

/** Starts processes in the sandbox, in the native layer below `node:child_process`. */
export const patchChildHandles = (): Undo => undoAll([patchHandle(), patchSyncBinding()])

interface ChildHandle {
  spawn?: unknown
  kill?: unknown
}

/** Node 24.20 and older pass one object; later versions pass its members in this order. */
type SpawnArguments = [NativeSpawnOptions] | SpawnList
type SpawnList = [file: string, ...unknown[]]
const SPAWN_LIST = ['file', 'args', 'cwd', 'envPairs', 'stdio', 'flags', 'uid', 'gid']

const isListed = (args: SpawnArguments): args is SpawnList => typeof args[0] === 'string'

function patchHandle(): Undo {
  const child = new (ChildProcess as unknown as new () => { _handle?: object })()
  const handle = child._handle && (Object.getPrototypeOf(child._handle) as ChildHandle)
  const native = handle?.spawn
  if (handle === undefined || typeof native !== 'function') return () => {}
  const { kill } = handle
  const undoSpawn = replace(handle, 'spawn', function (this: object, ...args: SpawnArguments) {
    const bounds = checkedHandles.get(this) ?? currentBounds()
    if (bounds.length === 0) return native.apply(this, args) as unknown
    const entries = SPAWN_LIST.map((name, index) => [name, args[index]])
    const options = isListed(args) ? (Object.fromEntries(entries) as NativeSpawnOptions) : args[0]
    const checked = checkedHandles.has(this) ? options : boundOptions(bounds, options)
    return spawnConfined(
      bounds,
      checked,
      (confined) =>
        native.apply(
          this,
          isListed(args)
            ? SPAWN_LIST.map((name) => confined[name as keyof NativeSpawnOptions])
            : [confined],
        ) as unknown,
    )
  })
  if (typeof kill !== 'function') return undoSpawn
  const undoKill = replace(handle, 'kill', function (this: { pid?: number }, signal: number) {
    if (signal === SIGKILL && this.pid !== undefined && checkedHandles.has(this))
      endDescendants(this.pid)
    return kill.call(this, signal) as unknown
  })
  return undoAll([undoSpawn, undoKill])
}

/** All synchronous functions use this binding. Not available under Node's permission model. */
function patchSyncBinding(): Undo {
  const { binding } = process as unknown as { binding(name: string): { spawn: Function } }
  try {
    const owner = binding.call(process, 'spawn_sync')
    const native = owner.spawn
    return replace(owner, 'spawn', function (options: NativeSpawnOptions): unknown {
      const bounds = currentBounds()
      if (bounds.length === 0) return native.call(owner, options)
      return spawnConfined(
        bounds,
        boundOptions(bounds, options),
        (confined) => native.call(owner, confined) as unknown,
      )
    })
  } catch {
    return () => {}
  }
}

function commandOf(options: SpawnOptions, [argv0, ...args]: readonly string[]): Command {
  const { file, cwd, shell, uid, gid, envPairs } = options
  return {
    file,
    args,
    shell: shell !== undefined && shell !== false && shell !== null && shell !== '',
    ...(argv0 !== undefined && argv0 !== file && { argv0 }),
    ...(cwd && { cwd }),
    ...(envPairs && { env: Object.fromEntries(envPairs.map(splitPair)) }),
    otherUser: isOther(uid, process.getuid) || isOther(gid, process.getgid),
  }
}

const isOther = (id: number | undefined, own: (() => number) | undefined): boolean =>
  id !== undefined && id !== null && id !== own?.()

/** Checks worker threads like programs, and ends them with the call. */
export function patchWorkers(): Undo {
  const Patched = new Proxy(worker.Worker, {
    construct(native, args: [string | URL, WorkerOptions?], newTarget) {
      const bounds = currentBounds()
      if (bounds.length === 0) return Reflect.construct(native, args, newTarget) as object
      for (const each of bounds) each.unseen('worker', workerName(args))
      const started = Reflect.construct(native, args, newTarget) as worker.Worker
      return started.once(
        'exit',
        endWith(bounds, () => void started.terminate()),
      )
    },
  })
  return replace(worker, 'Worker', Patched)
}

function workerName([file, options]: [string | URL, WorkerOptions?]): string {
  if (options?.eval) return '(code)'
  if (typeof file === 'string') return path.resolve(file)
  return file.protocol === 'file:' ? fileURLToPath(file) : file.href
}

/** Options of a process as Node passes them to its binding. */
interface NativeSpawnOptions extends SpawnOptions {
  readonly stdio?: readonly object[]
}

/**
 * Starts a process of guarded calls in the sandbox, if there is one and the calls have scopes.
 * `CallBounds.process` has checked it. A program killed by a signal exits with 128 plus its number.
 */
function spawnConfined<T>(
  bounds: readonly CallBounds[],
  options: NativeSpawnOptions,
  spawn: (options: NativeSpawnOptions) => T,
): T {
  const scopes = bounds.flatMap((each) => each.scopes)
  const isConfined = scopes.some(
    ({ files, network, shell, needsApproval }) => files ?? network ?? shell ?? needsApproval,
  )
  if (!isConfined || sandboxMissing() !== undefined) return spawn(options)
  const { stdio = [], args = [], cwd, envPairs } = options
  // Programs do not get variables that contain secrets.
  const pairs = envPairs?.filter((pair) => !containsSecret(...splitPair(pair)))
  const confinement = {
    ...confinementOf(scopes, path.resolve(cwd ?? '.')),
    variables: (pairs ?? []).filter(isOfLoader).map(splitPair),
  }
  const command = [options.file, ...args.slice(1).map(String)]
  return startConfined(confinement, command, stdio, (file, confined, descriptors) =>
    spawn({
      ...options,
      file,
      args: ['bwrap', ...confined],
      cwd: '/',
      ...(pairs && { envPairs: pairs.filter((pair) => !isOfLoader(pair)) }),
      stdio: descriptors.map((each) =>
        typeof each === 'number' ? { type: 'fd', fd: each } : each,
      ),
    }),
  )
}

/**
 * True for variables that the C library obeys in any program, such as `LD_PRELOAD`. It ignores them
 * in programs with more rights, for the same reason. `bwrap` itself runs outside of the sandbox.
 */
const isOfLoader = (pair: string): boolean =>
  /^(?:LD_|GLIBC_|MALLOC_|RES_|RESOLV_|GCONV_|GETCONF_|(?:HOSTALIASES|LOCALDOMAIN|LOCPATH|NIS_PATH|NLSPATH|TZDIR)=)/.test(
    pair,
  )

/** On Windows, a name may start with an equals sign. */
function splitPair(pair: string): [name: string, value: string] {
  const at = pair.indexOf('=', 1)
  return [pair.slice(0, at), pair.slice(at + 1)]
}
