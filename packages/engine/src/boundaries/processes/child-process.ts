import childProcess, { ChildProcess } from 'node:child_process'
import { promisify } from 'node:util'
import { beforeContact } from '../../outside-contact.js'
import { currentCheck, currentSession } from '../../scope.js'
import { childStdio, fileSession } from './child-files.js'
import { dressLike, replace, undoAll } from '../patch.js'
import type { Undo } from '../patch.js'
import { patchSpawnSync } from './spawn-sync.js'
import { TapeChild } from './tape-child.js'
import { TapeTimer } from '../tape-timer.js'

/**
 * Child processes in every form. All asynchronous ones come through
 * `ChildProcess.prototype.spawn`, the others through `spawnSync`; on replay no process is started.
 */
export function patchChildProcess(): Undo {
  return undoAll([patchSpawn(), patchTimeouts(), patchSpawnSync()])
}

function patchSpawn(): Undo {
  const native = ChildProcess.prototype as unknown as { spawn(options: unknown): number }
  const nativeSpawn = native.spawn
  return replace(native, 'spawn', function (this: ChildProcess, options: any) {
    const session = currentSession()
    const files = fileSession()
    const start = (child: ChildProcess, how: any): number => {
      beforeContact('process')
      return nativeSpawn.call(child, { ...how, stdio: childStdio(files, how.stdio) })
    }
    const spawn = (how: any): number => {
      if (session === undefined) return start(this, how)
      new TapeChild(session, this, how, start)
      return 0
    }
    const check = currentCheck()
    return check === undefined ? spawn(options) : check.spawn(this, options, spawn)
  })
}

/** Node's own `timeout` option uses a timer that no patch can see; ours does the same through the gate. */
function patchTimeouts(): Undo {
  const { execFile, spawn } = childProcess
  const withTimeout =
    (native: (...args: any[]) => ChildProcess) =>
    (...args: any[]): ChildProcess => {
      const at = args.findIndex(
        (arg) => typeof arg === 'object' && arg !== null && !Array.isArray(arg),
      )
      const options = args[at] as { timeout?: number; killSignal?: NodeJS.Signals } | undefined
      if (currentSession() === undefined || !options?.timeout) return native(...args)
      const child = native(...args.toSpliced(at, 1, { ...options, timeout: 0 }))
      const timer = new TapeTimer(
        'timeout',
        options.timeout,
        () => child.kill(options.killSignal ?? 'SIGTERM'),
        [],
      )
      child.once('exit', () => timer.stop())
      child.once('error', () => timer.stop())
      return child
    }
  const patchedExecFile = dressLike(withTimeout(execFile as never), execFile)
  Object.defineProperty(patchedExecFile, promisify.custom, {
    value: (...args: unknown[]) => promiseOfExecFile(patchedExecFile, args),
  })
  return undoAll([
    replace(childProcess, 'execFile', patchedExecFile),
    replace(childProcess, 'spawn', dressLike(withTimeout(spawn as never), spawn)),
  ])
}

/** What `promisify(execFile)` gives: a promise that also has the child. */
function promiseOfExecFile(
  execFile: (...args: any[]) => ChildProcess,
  args: unknown[],
): Promise<unknown> {
  let child: ChildProcess | undefined
  const promise = new Promise((resolve, reject) => {
    child = execFile(...args, (error: Error | null, stdout: unknown, stderr: unknown) => {
      if (error) reject(Object.assign(error, { stdout, stderr }))
      else resolve({ stdout, stderr })
    })
  })
  return Object.assign(promise, { child })
}
