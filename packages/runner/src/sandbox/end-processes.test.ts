import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { endById, endWithDescendants } from './end-processes.js'

test.skipIf(process.platform !== 'linux')(
  'processes that are started while their tree is ended are ended too',
  async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'retake-tree-'))
    const mark = path.join(folder, 'started')
    onTestFinished(() => {
      for (const pid of processesOf(folder)) endById(pid)
      rmSync(folder, { recursive: true })
    })
    const starting = `: > ${mark}; i=0; while [ $i -lt 400 ]; do i=$((i + 1)); tail -f ${mark} & done; wait`
    const tree = spawn('sh', ['-c', 'sh -c "$1" & wait', 'sh', starting], { stdio: 'ignore' })
    await vi.waitFor(() => expect(existsSync(mark)).toBe(true), { timeout: 60_000, interval: 1 })
    endWithDescendants(tree)
    expect(await once(tree, 'exit')).toEqual([null, 'SIGKILL'])
    // A process that was killed is still there until it runs again. One that was not never ends.
    await vi.waitFor(() => expect(processesOf(folder)).toEqual([]), { timeout: 60_000 })
  },
)

/** Ids of living processes that have the folder in their arguments. */
function processesOf(folder: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        // The command line of a process that has ended is empty.
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(folder)
      } catch {
        return false
      }
    })
    .map(Number)
}
