import childProcess, { ChildProcess } from 'node:child_process'
import { promisify } from 'node:util'
import { beforeContact } from '../patching/outside-contact.js'
import { currentCheck, currentSession } from '../../kernel/scope.js'
import { childStdio, commandLine, describeCommand, fileSession } from './child-command.js'
import { dressLike, replace, type Undo, undoAll } from '../patching/patch.js'
import { splitPair, withChildTask } from './recorded-child.js'
import { TapeChild } from './tape-child.js'
import { TapeTimer } from '../patching/tape-timer.js'
import { decodeBody, encodeBody, rebuildError, recordError } from '@retake/tape/format'
import { siteField } from '../../kernel/call-site.js'
import type { Session } from '../../kernel/session.js'
import type { SpawnOptions } from '../../kernel/boundary-check.js'

/**
 * All child processes. Asynchronous ones use `ChildProcess.prototype.spawn`, the others
 * `spawnSync`. A replay starts no process.
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
      new TapeChild(session, this, { ...how, args: how.args?.map(String) }, start)
      return 0
    }
    const check = currentCheck()
    return check === undefined ? spawn(options) : check.spawn(this, options, spawn)
  })
}

/** Node's `timeout` option uses an internal timer that no patch can see; this one goes through the gate. */
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
      const timer = new TapeTimer('timeout', options.timeout, () =>
        child.kill(options.killSignal ?? 'SIGTERM'),
      )
      child.once('exit', () => timer.stop())
      child.once('error', () => timer.stop())
      return child
    }
  const patchedExecFile = dressLike(withTimeout(execFile as never), execFile)
  Object.defineProperty(patchedExecFile, promisify.custom, {
    value: (...args: unknown[]) => {
      // Result of `promisify(execFile)`: a promise that also has the child.
      let child: ChildProcess | undefined
      const promise = new Promise((resolve, reject) => {
        child = patchedExecFile(
          ...args,
          (error: Error | null, stdout: unknown, stderr: unknown) => {
            if (error) reject(Object.assign(error, { stdout, stderr }))
            else resolve({ stdout, stderr })
          },
        )
      })
      return Object.assign(promise, { child })
    },
  })
  return undoAll([
    replace(childProcess, 'execFile', patchedExecFile),
    replace(childProcess, 'spawn', dressLike(withTimeout(spawn as never), spawn)),
  ])
}

/** `process.kill`: sends a signal while recording, not on replay. */
export function patchProcessKill(): Undo {
  const native = process.kill
  const kill = (pid: number, signal?: string | number): true => {
    const session = currentSession()
    if (session === undefined) return native.call(process, pid, signal)
    const { body } = encodeBody({ signal: signal ?? 'SIGTERM' })
    const { event, native: failure } = session.performSync({
      event: { type: 'call', kind: 'process', name: 'process.kill', as: 'json', sync: true },
      body,
      durable: true,
      run: () => {
        try {
          native.call(process, pid, signal)
          return { event: { type: 'result' } }
        } catch (error) {
          return { event: { type: 'result', error: recordError(error) }, native: error }
        }
      },
    })
    if (event.type === 'result' && event.error) throw failure ?? rebuildError(event.error)
    return true
  }
  return replace(process, 'kill', dressLike(kill, native))
}

interface SyncResult {
  pid: number
  output: unknown[]
  stdout: any
  stderr: any
  status: number | null
  signal: string | null
  error?: Error
}

/** Synchronous child processes: all forms use `spawnSync`. */
function patchSpawnSync(): Undo {
  const { execFileSync, execSync, spawnSync } = childProcess
  return undoAll([
    replace(childProcess, 'spawnSync', (file: string, ...rest: any[]) => {
      const session = currentSession()
      const { args, options } = splitArguments(rest)
      if (session) return capturedSpawnSync(session, spawnSync, file, args, options)
      const files = fileSession()
      if (files === undefined) return (spawnSync as Function)(file, ...rest)
      return spawnSync(file, args, { ...options, stdio: childStdio(files, options.stdio) })
    }),
    replace(childProcess, 'execFileSync', (file: string, ...rest: any[]) => {
      const session = currentSession()
      if (session === undefined) return (execFileSync as Function)(file, ...rest)
      const { args, options } = splitArguments(rest)
      return outputOf(
        capturedSpawnSync(session, spawnSync, file, args, options),
        options,
        [options.argv0 ?? file, ...args].join(' '),
      )
    }),
    replace(childProcess, 'execSync', (command: string, options: any = {}) => {
      const session = currentSession()
      if (session === undefined) return execSync(command, options)
      const shell = { ...options, shell: options.shell ?? true }
      return outputOf(capturedSpawnSync(session, spawnSync, command, [], shell), options, command)
    }),
  ])
}

/** Node turns each argument into a string, and programs pass numbers, such as the id of a process. */
function splitArguments(rest: any[]): { args: string[]; options: any } {
  const args = Array.isArray(rest[0]) ? rest[0].map(String) : []
  const options = (Array.isArray(rest[0]) || rest[0] === undefined ? rest[1] : rest[0]) ?? {}
  return { args, options }
}

function capturedSpawnSync(
  session: Session,
  native: Function,
  file: string,
  args: string[],
  options: any,
): SyncResult {
  currentCheck()?.spawnSync(normalised(file, args, options))
  // Which of stdout (1) and stderr (2) the child would inherit; their bytes must be captured
  // instead.
  const stdio = options.stdio
  const shares = (value: unknown, pipe: 1 | 2): boolean => value === 'inherit' || value === pipe
  const inherited = new Set<1 | 2>()
  for (const pipe of [1, 2] as const) {
    if (Array.isArray(stdio) ? shares(stdio[pipe], pipe) : stdio === 'inherit') inherited.add(pipe)
  }

  const delivery = session.performSync({
    event: {
      type: 'call',
      kind: 'process',
      name: 'spawnSync',
      title: commandLine(session, file, args),
      as: 'json',
      sync: true,
      ...siteField(),
    },
    body: encodeBody(describeCommand(session, file, args, options)).body,
    durable: true,
    run: (op) => {
      const pipes: unknown[] = Array.isArray(stdio) ? [...stdio] : ['inherit', 'inherit', 'inherit']
      for (const pipe of inherited) pipes[pipe] = 'pipe'
      const { args: words, env } = syncChild(session, op, { file, args, options })
      const result = native(file, words, {
        ...options,
        ...(env && { env }),
        stdio: childStdio(session, inherited.size === 0 ? stdio : pipes),
      }) as SyncResult
      const { as, body } = encodeBody(result)
      return { event: { type: 'result', as }, body, native: result }
    },
  })
  const { event, body, native: live } = delivery
  const result = (live ??
    (event.type === 'result' && event.as && decodeBody(event.as, body))) as SyncResult
  for (const pipe of inherited) {
    const name = pipe === 1 ? 'stdout' : 'stderr'
    const bytes: unknown = result[name]
    if (bytes instanceof Uint8Array || typeof bytes === 'string') process[name].write(bytes)
    result[name] = null
    if (Array.isArray(result.output)) result.output[pipe] = null
  }
  return result
}

/** Arguments and variables of a synchronous call, with the Retake preload if the session records children. */
function syncChild(
  session: Session,
  op: number,
  call: { readonly file: string; readonly args: readonly string[]; readonly options: any },
): { readonly args: readonly string[]; readonly env?: Record<string, string> } {
  const { file, args, options } = call
  if (options.shell) return { args }
  const { envPairs = [] } = normalised(file, args, options)
  const started = { file, args: [file, ...args], envPairs }
  const child = withChildTask(session, op, started)
  if (child === started) return { args }
  return { args: child.args.slice(1), env: Object.fromEntries(child.envPairs.map(splitPair)) }
}

/** The form to which Node reduces a synchronous call. */
function normalised(file: string, args: readonly unknown[], options: any): SpawnOptions {
  const { env = process.env, argv0 = file, shell, cwd, uid, gid } = options
  const shellFile =
    typeof shell === 'string' ? shell : process.platform === 'win32' ? 'cmd.exe' : '/bin/sh'
  const pairs = Object.entries(env as Record<string, string>).map(
    ([key, value]) => `${key}=${value}`,
  )
  const where = { cwd: cwd && String(cwd), uid, gid, envPairs: pairs }
  return shell
    ? { ...where, shell, file: shellFile, args: [shellFile, '-c', [file, ...args].join(' ')] }
    : { ...where, file, args: [argv0, ...args] }
}

/** `execSync` and `execFileSync`: the output, or an error that contains the whole result. */
function outputOf(result: SyncResult, options: { stdio?: unknown }, command: string): unknown {
  if (options.stdio === undefined && result.stderr?.length > 0) process.stderr.write(result.stderr)
  if (result.error) throw Object.assign(result.error, result)
  if (result.status !== 0) {
    const detail = result.stderr?.length > 0 ? `\n${String(result.stderr)}` : ''
    throw Object.assign(new Error(`Command failed: ${command}${detail}`), result)
  }
  return result.stdout
}
