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
  // The number of a process that has ended may belong to another one.
  if (pid === undefined || exitCode !== null || signalCode !== null) return false
  endDescendants(pid)
  return outsideRuns(() => {
    const isSent = child.kill(signal)
    // It was stopped, and a stopped process reacts only to SIGKILL.
    child.kill('SIGCONT')
    return isSent
  })
}

/**
 * Ends the descendants of a process before it is killed. Bubblewrap ends its sandbox only after it is
 * set up, so killing it earlier would leave the sandbox behind.
 */
export function endDescendants(pid: number): void {
  outsideRuns(() => {
    if (process.platform !== 'linux') return
    // Prevents it from starting more meanwhile.
    endById(pid, 'SIGSTOP')
    const since = performance.now()
    while (!/^[TtZX]?$/.test(stateOf(pid)) && performance.now() - since < STOP_MS);
    for (const each of descendants(pid)) endById(each)
  })
}

/** A negative number is a process group. */
export function endById(pid: number, signal: NodeJS.Signals = 'SIGKILL'): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended.
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

/** State letter of a process: `T` if stopped, `Z` or `X` if ended. Empty if the process does not exist. */
const stateOf = (pid: number): string => statusOf(String(pid))[0] ?? ''

/** The name of the program, in brackets, may contain anything. */
function statusOf(pid: string): string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return []
  }
}
