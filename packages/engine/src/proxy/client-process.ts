import { readdirSync, readFileSync } from 'node:fs'

/** On a busy machine a command may take this long to get to its answers. */
const PATIENCE_MS = 500

/** One that was busy all that time computes, and is waited for no longer than this until it was seen waiting. */
const BUSY_MS = 10

/** Elsewhere than on Linux nothing tells when a process waits: a pause has to do. */
const PAUSE_MS = 5

/**
 * The process whose requests come through the proxy. It tells when the command
 * has dealt with everything it was sent and waits again, so that answers to
 * concurrent requests reach it one after the other. Not promised for a command
 * that computes all the time in another thread.
 */
export class ClientProcess {
  #pid: number | undefined
  #port = 0
  #patienceMs = PATIENCE_MS

  /** `port` is the proxy's, as the process sees it. */
  started(pid: number | undefined, port: number): void {
    this.#pid = pid
    this.#port = port
  }

  /** True if the process waits and nothing is on its way, as far as the platform tells. */
  isWaiting(): boolean {
    if (this.#pid === undefined || process.platform !== 'linux') return true
    const family: number[] = []
    // A sandbox has a network of its own, which the processes inside see.
    return (
      allWait(this.#pid, family) &&
      isDrained(this.#pid, this.#port) &&
      isDrained(family.at(-1) ?? this.#pid, this.#port)
    )
  }

  /** Resolves when the process and its descendants wait for something. */
  async settled(): Promise<void> {
    if (this.#pid === undefined) return
    // What was written in this turn has left after it.
    await turn()
    if (process.platform !== 'linux') return pause(PAUSE_MS)
    const started = performance.now()
    // Seen twice: bytes are in no queue while they pass from one to the next.
    for (let seen = 0; seen < 2; await turn()) {
      seen = this.isWaiting() ? seen + 1 : 0
      this.#patienceMs = seen > 0 ? PATIENCE_MS : this.#patienceMs
      if (performance.now() - started > this.#patienceMs) {
        this.#patienceMs = BUSY_MS
        return
      }
    }
  }
}

/** True if every thread of the process and its descendants sleeps; `family` gets their ids. */
function allWait(pid: number, family: number[]): boolean {
  const folder = `/proc/${pid}/task`
  family.push(pid)
  for (const thread of attempt(() => readdirSync(folder), [])) {
    // The name in parentheses may hold anything, so the state comes after the last one.
    const stat = read(`${folder}/${thread}/stat`)
    const state = stat.charAt(stat.lastIndexOf(')') + 2)
    if (state === 'R' || state === 'D') return false
    for (const child of read(`${folder}/${thread}/children`).split(' '))
      if (child !== '' && !allWait(Number(child), family)) return false
  }
  return true
}

/** True if no connection to this port, as the process sees it, has bytes that were not read yet. */
function isDrained(pid: number, port: number): boolean {
  const hex = `:${port.toString(16).toUpperCase().padStart(4, '0')} `
  const connections = read(`/proc/${pid}/net/tcp`).split('\n')
  return connections.every((line) => !line.includes(hex) || line.includes(' 00000000:00000000 '))
}

const read = (file: string): string => attempt(() => readFileSync(file, 'latin1'), '')

/** Processes and threads end while they are looked at. */
function attempt<T>(read: () => T, otherwise: T): T {
  try {
    return read()
  } catch {
    return otherwise
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
