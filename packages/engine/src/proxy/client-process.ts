import { attempt } from '@retake/tape/format'
import { readdirSync, readFileSync } from 'node:fs'

/**
 * CPU time after which nothing waits for a command until it is idle again. Not wall-clock time: on
 * a busy machine the command may not run for a second or more.
 */
const COMPUTE_MS = 1000

/** Limit of CPU time after that. */
const BUSY_MS = 10

/** Limit for a command that hangs in the kernel. */
const WALL_MS = 30_000

/** Number of checks in a row after which a pause leaves the processor to the command. */
const EAGER_LOOKS = 20
const PAUSE_MS = 1

/** Only Linux shows when a process is waiting; elsewhere there is only a fixed pause. */
const BLIND_PAUSE_MS = 5

/** Linux reports CPU time in hundredths of a second. */
const TICK_MS = 10

/**
 * The process whose requests come through the proxy. Detects when the command
 * has processed everything it was sent and waits again, so that answers to
 * concurrent requests reach it one after the other. Not promised for a command
 * that computes continuously in another thread.
 */
export class ClientProcess {
  #pid: number | undefined
  #port = 0
  #computeMs = COMPUTE_MS
  /** How often in a row it was seen waiting; undefined while nobody waits for it to settle. */
  #seen: number | undefined
  #settling: Promise<void> = Promise.resolve()

  /** `port` is the proxy's port as the process sees it. */
  started(pid: number | undefined, port: number): void {
    this.#pid = pid
    this.#port = port
  }

  /**
   * Resolves when the process and its descendants are waiting, and everything that they have sent
   * so far has been read here.
   */
  settled(): Promise<void> {
    if (this.#pid === undefined) return Promise.resolve()
    if (process.platform !== 'linux') return turn().then(() => pause(BLIND_PAUSE_MS))
    // A new caller has just sent something, so earlier observations no longer count.
    if (this.#seen === undefined) this.#settling = this.#settle(this.#pid)
    this.#seen = 0
    return this.#settling
  }

  async #settle(pid: number): Promise<void> {
    const started = performance.now()
    let computedBefore: number | undefined
    for (let looks = 0; ; looks++) {
      // Bytes written in this turn leave after it, and bytes that have arrived are read.
      await turn()
      const { isWaiting, computedMs } = lookAt(pid, this.#port)
      computedBefore ??= computedMs
      this.#seen = isWaiting ? (this.#seen ?? 0) + 1 : 0
      if (isWaiting) this.#computeMs = COMPUTE_MS
      // Checked twice, because bytes are in no queue while they move from one to the next.
      if (this.#seen >= 2) break
      if (computedMs - computedBefore > this.#computeMs || performance.now() - started > WALL_MS) {
        this.#computeMs = BUSY_MS
        break
      }
      if (looks >= EAGER_LOOKS) await pause(PAUSE_MS)
    }
    this.#seen = undefined
  }
}

interface Look {
  /** True if every thread sleeps and no bytes are in transit, as far as the platform shows. */
  readonly isWaiting: boolean
  /** CPU time of all threads together since they started. */
  readonly computedMs: number
}

function lookAt(pid: number, port: number): Look {
  const family: number[] = []
  const { isWaiting, computedMs } = lookAtThreads(pid, family)
  // A sandbox has its own network, which only the processes inside it see.
  const networks = new Set([pid, family.at(-1) ?? pid])
  return {
    isWaiting:
      isWaiting &&
      [...networks].every((each) => {
        // True if no connection to this port, as the process sees it, has unread bytes.
        const hex = `:${port.toString(16).toUpperCase().padStart(4, '0')} `
        const connections = read(`/proc/${each}/net/tcp`).split('\n')
        return connections.every(
          (line) => !line.includes(hex) || line.includes(' 00000000:00000000 '),
        )
      }),
    computedMs,
  }
}

/** The threads of the process and its descendants; `family` gets their ids. */
function lookAtThreads(pid: number, family: number[]): Look {
  const folder = `/proc/${pid}/task`
  family.push(pid)
  let isWaiting = true
  let computedMs = 0
  for (const thread of attempt(() => readdirSync(folder), [])) {
    // The name in parentheses may contain anything, so the fields begin after the last parenthesis.
    const stat = read(`${folder}/${thread}/stat`)
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (fields[0] === 'R' || fields[0] === 'D') isWaiting = false
    computedMs += (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) * TICK_MS
    for (const child of read(`${folder}/${thread}/children`).split(' ')) {
      if (child === '') continue
      const look = lookAtThreads(Number(child), family)
      isWaiting &&= look.isWaiting
      computedMs += look.computedMs
    }
  }
  return { isWaiting, computedMs }
}

// Processes and threads may end while they are inspected.
const read = (file: string): string => attempt(() => readFileSync(file, 'latin1'), '')

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
