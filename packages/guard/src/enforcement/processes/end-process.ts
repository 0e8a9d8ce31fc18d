import type { ChildProcess } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { outsideRuns } from '@retake/engine/hook'

/** Ends a process at once, its group where it has one of its own, and what they have started where the system tells. */
export function endProcess(child: ChildProcess, isDetached: boolean): void {
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

/** Linux only: elsewhere there is no list of processes to be read at once. */
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
