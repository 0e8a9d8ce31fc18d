import type { Ended, Evaluation, ProbeProcess } from '../probe/probe-thread.js'
import { errors } from '../../errors.js'
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { Probe } from '../probe/probe.js'
import type { Stop } from '../probe/stop.js'

/** All processes of a timeline. None of them outlives the controller. */
export class ProbePool {
  readonly #live = new Set<Runner>()
  readonly #dying = new Set<Runner>()
  #isClosed = false

  constructor(readonly spawn: () => ProbeProcess) {
    // For a controller that exits without closing. If the controller is killed, its pipes close,
    // and the processes end themselves.
    process.on('exit', this.#killAll)
  }

  /** Starts a process. Processes that were ended recently still use memory, so wait for `endings` first. */
  start(): Runner {
    if (this.#isClosed) throw errors.TIMELINE_CLOSED()
    const runner = new Runner(this.spawn)
    this.#live.add(runner)
    void runner.gone.then(() => this.#live.delete(runner) && this.#dying.delete(runner))
    return runner
  }

  end(runner: Runner): void {
    if (!this.#live.has(runner)) return
    this.#dying.add(runner)
    runner.kill()
  }

  /** True if this pool has ended it. */
  isEnding(runner: Runner): boolean {
    return this.#dying.has(runner) || this.#isClosed
  }

  /** Resolves when all ended processes are gone. */
  async endings(): Promise<void> {
    await Promise.all([...this.#dying].map(({ gone }) => gone))
  }

  get count(): number {
    return this.#live.size - this.#dying.size
  }

  /**
   * Resident memory of the processes; 0 for one that is gone. Shared pages (Node itself) count for
   * each process, so a sum is an upper bound.
   */
  async sizes(): Promise<readonly number[]> {
    await this.endings()
    const pids = [...this.#live].map(({ pid }) => pid)
    if (pids.length === 0) return []
    return process.platform === 'linux' ? fromProc(pids) : fromPs(pids)
  }

  /** Resolves when all are gone. */
  async close(): Promise<void> {
    this.#isClosed = true
    const all = [...this.#live]
    this.#killAll()
    await Promise.all(all.map(({ gone }) => gone))
    process.off('exit', this.#killAll)
  }

  readonly #killAll = (): void => {
    for (const runner of this.#live) runner.kill()
  }
}

/**
 * One process of a timeline. It only runs forward; `from` shows which moments it can still reach. A
 * parked one is a keyframe.
 */
export class Runner {
  readonly pid: number
  readonly gone: Promise<void>
  readonly #process: ProbeProcess
  readonly #probe: Promise<Probe>
  #from = 0
  #stop: Stop | undefined
  #isGone = false

  constructor(spawn: () => ProbeProcess) {
    const process = spawn()
    this.#process = process
    this.pid = process.pid ?? 0
    const markGone = (): void => {
      this.#isGone = true
      this.#from = Infinity
    }
    this.gone = process.ended.then(markGone, markGone)
    this.#probe = Probe.start(() => process)
    // The user of the runner gets the error.
    this.#probe.catch(() => {})
  }

  /** Number of the first event at which it can still halt; Infinity if it has ended. */
  get from(): number {
    return this.#isGone ? Infinity : this.#from
  }

  isStoppedAt(seq: number): boolean {
    return this.from !== Infinity && this.#stop?.seq === seq
  }

  /** Runs at full speed until immediately before the event. */
  async park(seq: number): Promise<Ended | undefined> {
    return this.#runTo(await this.#probe, seq, false)
  }

  /** Like `park`, and prepares for a stop, after which the process runs slightly slower. */
  async parkReady(seq: number): Promise<Ended | undefined> {
    const probe = await this.#probe
    const end = await this.#runTo(probe, seq, true)
    if (end === undefined) await probe.prepare()
    return end
  }

  /**
   * Runs to the event and stops at the line of user code that it resumes. `isNear`: detaching and
   * attaching the debugger does not pay off.
   */
  async stopAt(seq: number, isNear: boolean): Promise<Stop | Ended> {
    if (this.#stop && this.isStoppedAt(seq)) return this.#stop
    const probe = await this.#probe
    const end = await this.#runTo(probe, seq, isNear)
    if (end) return end
    const stop = await probe.stopAtUserCode()
    if (stop.kind === 'ended') return this.#ended(stop)
    this.#from = stop.position
    this.#stop = stop
    return stop
  }

  /** Evaluates in the innermost frame of user code of the stop, without side effects. */
  async evaluate(expression: string): Promise<Evaluation> {
    return (await this.#probe).evaluate(expression)
  }

  kill(): void {
    this.#from = Infinity
    this.#process.kill()
    // Notifies everybody who waits for an answer.
    this.#process.pipe.destroy()
  }

  async #runTo(probe: Probe, seq: number, staysAttached: boolean): Promise<Ended | undefined> {
    const { position } = probe
    if (position.kind === 'ended') return this.#ended(position)
    if (position.kind === 'halted' && position.seq === seq) return undefined
    if (seq < this.#from) throw new Error(`The probe is past event ${seq} already.`)
    this.#stop = undefined
    const halted = await probe.runTo(seq, { staysAttached })
    if (halted.kind === 'ended') return this.#ended(halted)
    this.#from = halted.seq
    // The tape contains the event, so every replay reaches it.
    if (halted.seq !== seq) throw errors.PROBE_GONE(`at event ${seq}`)
    return undefined
  }

  #ended(end: Ended): Ended {
    this.#from = Infinity
    return end
  }
}

/** Assumed memory of a process if it cannot be measured. */
const ASSUMED_BYTES = 100 * 2 ** 20

const fromProc = (pids: readonly number[]): Promise<number[]> =>
  Promise.all(
    pids.map(async (pid) => {
      // Not `statm`, which counts pages, whose size Node does not report.
      const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
      return Number(/^VmRSS:\s*(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024
    }),
  )

async function fromPs(pids: readonly number[]): Promise<number[]> {
  try {
    const { stdout } = await promisify(execFile)('ps', ['-o', 'rss=', '-p', pids.join(',')])
    return stdout
      .trim()
      .split('\n')
      .map((kilobytes) => Number(kilobytes) * 1024)
  } catch {
    return pids.map(() => ASSUMED_BYTES)
  }
}
