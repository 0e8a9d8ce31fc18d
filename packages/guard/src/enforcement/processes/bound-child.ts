import { ChildProcess } from 'node:child_process'
import { outsideRuns, replace, type SpawnOptions, type Undo, undoAll } from '@retake/engine/hook'
import type { CallBounds } from '../../bounds/call-bounds.js'
import type { Command } from '../../bounds/scopes.js'
import { currentBounds } from '../current-bounds.js'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import worker, { type WorkerOptions } from 'node:worker_threads'

/** Checks a process with the calls around it. Returns the options that were checked, to start it with. */
export function boundOptions<Options extends SpawnOptions>(
  bounds: readonly CallBounds[],
  options: Options,
): Options {
  const args = (options.args ?? []).map(String)
  const checked = { ...options, args }
  const command = commandOf(checked, args)
  for (const each of bounds) each.process(command)
  return checked
}

/** True while a process is started that the calls around have allowed. */
let isChecked = false

/** Starts a process on behalf of guarded calls. It ends with them. */
export function spawnWithin(
  bounds: readonly CallBounds[],
  child: ChildProcess,
  options: SpawnOptions,
  start: (options: SpawnOptions) => number,
): number {
  const checked = boundOptions(bounds, options)
  isChecked = true
  let started: number
  try {
    started = start(checked)
  } finally {
    isChecked = false
  }
  boundChild(bounds, child, checked.detached === true)
  return started
}

/** Functions below `node:child_process`, which a tool could call directly. */
export const patchChildHandles = (): Undo => undoAll([patchHandle(), patchSyncBinding()])

function patchHandle(): Undo {
  const child = new (ChildProcess as unknown as new () => { _handle?: object })()
  const handle = child._handle && (Object.getPrototypeOf(child._handle) as { spawn?: unknown })
  const native = handle?.spawn
  if (handle === undefined || typeof native !== 'function') return () => {}
  return replace(handle, 'spawn', function (this: object, options: SpawnOptions): unknown {
    const bounds = isChecked ? [] : currentBounds()
    return native.call(this, bounds.length === 0 ? options : boundOptions(bounds, options))
  })
}

/** All synchronous forms come to it. Under Node's permission model it cannot be reached. */
function patchSyncBinding(): Undo {
  const { binding } = process as unknown as { binding(name: string): { spawn: Function } }
  try {
    const owner = binding.call(process, 'spawn_sync')
    const native = owner.spawn
    return replace(owner, 'spawn', function (options: SpawnOptions): unknown {
      const bounds = currentBounds()
      return native.call(owner, bounds.length === 0 ? options : boundOptions(bounds, options))
    })
  } catch {
    return () => {}
  }
}

/** Ends a process with the calls that it was started in. */
function boundChild(bounds: readonly CallBounds[], child: ChildProcess, isDetached: boolean): void {
  const { pid } = child
  if (pid === undefined) return
  const releases = bounds.map((each) => {
    each.processes.add(pid)
    return each.onEnd(() => endProcess(child, isDetached))
  })
  child.once('exit', () => {
    for (const release of releases) release()
    for (const each of bounds) each.processes.delete(pid)
  })
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

/** Names of Windows may begin with an equals sign. */
function splitPair(pair: string): [string, string] {
  const at = pair.indexOf('=', 1)
  return [pair.slice(0, at), pair.slice(at + 1)]
}

const isOther = (id: number | undefined, own: (() => number) | undefined): boolean =>
  id !== undefined && id !== null && id !== own?.()

/** Kills a process, its own group if it has one, and on Linux its descendants. */
function endProcess(child: ChildProcess, isDetached: boolean): void {
  const { pid } = child
  if (pid === undefined) return
  outsideRuns(() => {
    const below = descendants(pid)
    child.kill('SIGKILL')
    for (const each of isDetached ? [-pid, ...below] : below) {
      try {
        process.kill(each, 'SIGKILL')
      } catch {
        // It has ended by itself.
      }
    }
  })
}

/** Linux only: elsewhere there is no list of processes that can be read synchronously. */
function descendants(pid: number): number[] {
  if (process.platform !== 'linux') return []
  const childrenOf = new Map<number, number[]>()
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    const parent = parentOf(entry)
    if (parent !== undefined)
      childrenOf.set(parent, [...(childrenOf.get(parent) ?? []), Number(entry)])
  }
  const found: number[] = []
  for (let level = childrenOf.get(pid) ?? []; level.length > 0;) {
    found.push(...level)
    level = level.flatMap((each) => childrenOf.get(each) ?? [])
  }
  return found
}

/** The name of a program, in brackets, may hold anything. */
function parentOf(pid: string): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return undefined
  }
}

/** Threads that guarded tools start: checked like programs, and ended with the call. */
export function patchWorkers(): Undo {
  const Patched = new Proxy(worker.Worker, {
    construct(native, args: [string | URL, WorkerOptions?], newTarget) {
      const bounds = currentBounds()
      if (bounds.length === 0) return Reflect.construct(native, args, newTarget) as object
      const [file, options] = args
      const { eval: isCode, ...how } = { ...options }
      const given = typeof file === 'string' ? file : new URL(file)
      // As Node does: anything but false, 0 or nothing makes it code.
      const name = isCode
        ? '(code)'
        : typeof given === 'string'
          ? path.resolve(given)
          : given.protocol === 'file:'
            ? fileURLToPath(given)
            : given.href
      for (const each of bounds) each.worker(name)
      const started = Reflect.construct(
        native,
        [given, { ...how, ...(isCode !== undefined && { eval: isCode }) }],
        newTarget,
      ) as worker.Worker
      const releases = bounds.map((each) => each.onEnd(() => void started.terminate()))
      started.once('exit', () => {
        for (const release of releases) release()
      })
      return started
    },
  })
  return replace(worker, 'Worker', Patched)
}
