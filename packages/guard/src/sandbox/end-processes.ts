import type { ChildProcess } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { outsideRuns } from '@retake/engine/hook'

const STOP_MS = 100

/** Ends a process with a signal and, on Linux, kills its descendants. */
export function endWithDescendants(
  child: ChildProcess,
  signal: NodeJS.Signals = 'SIGKILL',
): boolean {
  const { pid, exitCode, signalCode } = child
  // The id of a process that has ended may belong to another process.
  if (pid === undefined || exitCode !== null || signalCode !== null) return false
  endDescendants(pid)
  return outsideRuns(() => {
    const isSent = child.kill(signal)
    // `endDescendants` stopped it, and a stopped process reacts only to SIGKILL.
    child.kill('SIGCONT')
    return isSent
  })
}

/**
 * Kills the descendants of a process before the process itself is killed. Killing bubblewrap while it
 * sets up its sandbox would leave the sandbox running.
 */
export function endDescendants(pid: number): void {
  outsideRuns(() => {
    if (process.platform !== 'linux') return
    // A stopped process cannot start others.
    endById(pid, 'SIGSTOP')
    const since = performance.now()
    while (!/^[TtZX]?$/.test(stateOf(pid)) && performance.now() - since < STOP_MS);
    for (const each of descendants(pid)) endById(each)
  })
}

/** A negative id means a process group. */
export function endById(pid: number, signal: NodeJS.Signals = 'SIGKILL'): void {
  try {
    process.kill(pid, signal)
  } catch {
    // The process has already ended.
  }
}

function descendants(pid: number): number[] {
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

function parentOf(pid: string): number | undefined {
  const parent = statusOf(pid)[1]
  return parent === undefined ? undefined : Number(parent)
}

/** State letter of a process: `T` if stopped, `Z` or `X` if ended; empty if it does not exist. */
const stateOf = (pid: number): string => statusOf(String(pid))[0] ?? ''

/** Fields of `/proc/<pid>/stat` after the program name, which may contain any character. */
function statusOf(pid: string): string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return []
  }
}
