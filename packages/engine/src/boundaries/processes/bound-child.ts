import type { ChildProcess } from 'node:child_process'
import type { CallBounds } from '../../guard/bounds/call-bounds.js'
import type { Command } from '../../guard/bounds/scopes.js'
import { endProcess } from './end-process.js'

/** What Node hands down to start a process, after all forms of starting one have become one. */
export interface SpawnOptions {
  readonly file: string
  /** With the name the program is called by in front. */
  readonly args?: readonly unknown[]
  /** `NAME=value` each. */
  readonly envPairs?: readonly string[]
  readonly cwd?: string | undefined
  readonly shell?: unknown
  readonly uid?: number | undefined
  readonly gid?: number | undefined
  readonly detached?: boolean
}

/** Asks the calls in which a process is about to be started; gives what was asked about, to be started as it is. */
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

/** Ends a process with the calls that it was started in. */
export function boundChild(
  bounds: readonly CallBounds[],
  child: ChildProcess,
  isDetached: boolean,
): void {
  const { pid } = child
  if (pid === undefined) return
  const releases = bounds.map((each) => {
    each.processes.add(pid)
    return each.hold(() => endProcess(child, isDetached))
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
