import { Probe } from '../probe.js'
import type { ProbeProcess } from '../probe-process.js'
import type { Ended, Evaluation } from '../probe-thread.js'
import type { Stop } from '../stop.js'
import { errors } from '../../errors.js'

/**
 * One process of a timeline. It goes forward only; `from` says which moments still
 * lie before it. Parked, it is a keyframe.
 */
export class Runner {
  readonly pid: number
  /** Resolves when the process is gone. */
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
    // Whoever uses the runner hears of it.
    this.#probe.catch(() => {})
  }

  /** Number of the first event at which it can still be held; Infinity when it has ended. */
  get from(): number {
    return this.#isGone ? Infinity : this.#from
  }

  isStoppedAt(seq: number): boolean {
    return this.from !== Infinity && this.#stop?.seq === seq
  }

  /** Runs until just before the event, at full speed. */
  async park(seq: number): Promise<Ended | undefined> {
    return this.#runTo(await this.#probe, seq, false)
  }

  /** The same, and makes ready for a stop; once that is done, it runs a little slower. */
  async parkReady(seq: number): Promise<Ended | undefined> {
    const probe = await this.#probe
    const end = await this.#runTo(probe, seq, true)
    if (end === undefined) await probe.prepare()
    return end
  }

  /**
   * Runs to the event and stops at the line of user code it wakes. `isNear`: it does
   * not pay to take the debugger off for the way, and to attach it again.
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

  /** In the innermost frame of user code of the stop. Cannot change anything. */
  async evaluate(expression: string): Promise<Evaluation> {
    return (await this.#probe).evaluate(expression)
  }

  /** Ends the process, whatever it does. */
  kill(): void {
    this.#from = Infinity
    this.#process.kill()
    // Lets those who wait for an answer know.
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
    // The tape has the event, so whoever replays it comes by.
    if (halted.seq !== seq) throw errors.PROBE_GONE(`at event ${seq}`)
    return undefined
  }

  #ended(end: Ended): Ended {
    this.#from = Infinity
    return end
  }
}
