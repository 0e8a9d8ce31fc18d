import type { ChildProcess } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { outsideRuns } from '@retake/engine/hook'
import { attempt } from '@retake/tape/format'

/** Far more than a process that the kernel can stop takes on a busy machine. */
const STOP_MS = 5000
/** Time to stop before the processes are listed again, which takes longer than a look at a few. */
const ROUND_MS = 20
const PAUSE_MS = 1

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
 *
 * On a busy machine it can take a second until a process stops, and until then it may start another
 * one. So this waits until all are stopped and have no further children, and only then kills them.
 * Not promised: finding those that left the tree because their parent ended earlier, and those of a
 * process that the kernel does not stop, for example because its disk does not answer.
 */
export function endDescendants(pid: number): void {
  outsideRuns(() => {
    if (process.platform !== 'linux') return
    const since = performance.now()
    let stopped = new Set<number>()
    for (;;) {
      // Children of all processes by the id of the parent, without those that have ended.
      const childrenOf = new Map<number, number[]>()
      for (const entry of readdirSync('/proc')) {
        if (!/^\d+$/.test(entry)) continue
        const [state, parent] = statusOf(entry)
        if (parent === undefined || state === 'Z' || state === 'X') continue
        childrenOf.set(Number(parent), [...(childrenOf.get(Number(parent)) ?? []), Number(entry)])
      }

      const members = new Set([pid])
      for (const each of members) for (const child of childrenOf.get(each) ?? []) members.add(child)
      const tree = [...members]
      const isOver = performance.now() - since > STOP_MS
      if (isOver || tree.every((each) => stopped.has(each))) {
        for (const each of tree.slice(1)) endById(each)
        return
      }
      for (const each of tree) {
        if (!stopped.has(each)) endById(each, 'SIGSTOP')
        // A process that waits until its child has started a program stops only after that.
        else if (each !== pid && !childrenOf.has(each)) endById(each)
      }
      const round = performance.now()
      while (!tree.every(isStopped) && performance.now() - round < ROUND_MS)
        // Leaves the processor to those that are to stop.
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS)
      stopped = new Set(tree.filter(isStopped))
    }
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

/** True if no thread of the process can start a process, also because it has ended. */
function isStopped(pid: number): boolean {
  const threads = attempt(() => readdirSync(`/proc/${pid}/task`), [])
  if (threads.every((each) => /^[TtZX]?$/.test(statusOf(`${pid}/task/${each}`)[0] ?? '')))
    return true
  try {
    process.kill(pid, 0)
    return false
  } catch {
    // One of another user can be neither stopped nor killed.
    return true
  }
}

/** Fields of `/proc/<pid>/stat` after the program name, which may contain any character. */
function statusOf(pid: string): string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return []
  }
}
