import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

/** What a process is taken to need where nobody can say. */
const ASSUMED_BYTES = 100 * 2 ** 20

/**
 * Memory of processes that is in RAM, by process id; a process that is gone has none.
 * Pages that several share (Node itself) count for each, so a sum is an upper bound.
 */
export async function residentBytes(pids: readonly number[]): Promise<Map<number, number>> {
  if (pids.length === 0) return new Map()
  return process.platform === 'linux' ? fromProc(pids) : fromPs(pids)
}

async function fromProc(pids: readonly number[]): Promise<Map<number, number>> {
  const found = await Promise.all(
    pids.map(async (pid): Promise<[number, number]> => {
      // Not statm: that counts in pages, whose size Node does not tell.
      const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
      return [pid, Number(/^VmRSS:\s*(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024]
    }),
  )
  return new Map(found)
}

async function fromPs(pids: readonly number[]): Promise<Map<number, number>> {
  try {
    const { stdout } = await promisify(execFile)('ps', ['-o', 'pid=,rss=', '-p', pids.join(',')])
    const rows = stdout.trim().split('\n')
    return new Map(
      rows.map((row) => {
        const [pid, kilobytes] = row.trim().split(/\s+/).map(Number)
        return [pid ?? 0, (kilobytes ?? 0) * 1024]
      }),
    )
  } catch {
    return new Map(pids.map((pid) => [pid, ASSUMED_BYTES]))
  }
}
