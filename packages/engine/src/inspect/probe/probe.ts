import { LineWatch, type WatchedLine, type WatchLineOptions } from './line-watch.js'
import type { ProbeProcess } from './probe-thread.js'
import { misused, ProbeThread } from './probe-thread.js'
import type { Ended, EvaluateOptions, Evaluation, HaltedAtEvent } from './probe-thread.js'
import type { Paused } from './protocol.js'
import { NEVER } from './shared-slots.js'
import type { Stop } from './stop.js'

/**
 * A replay that can be inspected: one process, which only runs forward. Whenever a method has
 * returned, the process is halted (at an event, or at a line) or has ended. Make one call at a
 * time. A halted process uses memory but no processor time. The process ends when it is closed, or
 * when its controller dies. Not promised: variables of waiting tasks, of which only the locations
 * are known.
 */
export class Probe {
  readonly #thread: ProbeThread
  #position: HaltedAtEvent | Stop | Ended | undefined

  private constructor(process: ProbeProcess) {
    this.#thread = new ProbeThread(process)
  }

  /** Resolves when the process is halted before any agent code has run. */
  static async start(spawn: () => ProbeProcess): Promise<Probe> {
    const probe = new Probe(spawn())
    const halt = await probe.#thread.next()
    if (halt.kind !== 'paused') probe.#position = halt
    return probe
  }

  /** Current position: halted at an event, stopped at a line of user code, or at the end. */
  get position(): HaltedAtEvent | Stop | Ended {
    if (this.#position === undefined) throw misused('is running')
    return this.#position
  }

  /**
   * Lets the agent run until the first event numbered `seq` or later: immediately before a delivery
   * reaches it, or immediately after it started an operation. Skips draws and output. Runs at full
   * speed, without a debugger; `staysAttached` makes this slower and the next stop faster, for many
   * stops in succession.
   */
  async runTo(seq: number, { staysAttached = false } = {}): Promise<HaltedAtEvent | Ended> {
    if (this.position.kind === 'ended') throw misused('has ended')
    await this.#thread.want({ wanted: seq, wantedDelivery: NEVER })
    this.#position = undefined
    await this.#thread.release(staysAttached)
    const halt = await this.#thread.next()
    if (halt.kind === 'paused') throw misused('paused by itself')
    return (this.#position = halt)
  }

  /**
   * Lets the event at which the process is halted happen, and stops at the first line of user code
   * that runs because of it: in the turn of that delivery, or in a turn that follows from it (a
   * library unpacked or retried the answer). If there is no such line, stops at the next line of
   * user code that runs at all, with `isDirect` false. If the process is halted at an initiation,
   * the result is the stack that made it.
   */
  async stopAtUserCode(): Promise<Stop | Ended> {
    const halted = this.position
    if (halted.kind !== 'halted') throw misused('is not halted at an event')
    await this.#thread.want({ wanted: NEVER, wantedDelivery: NEVER })
    const paused = await this.#thread.attach()
    if (halted.at === 'initiation') return this.#stopped(halted.seq, paused, true)
    const turns =
      halted.at === 'start'
        ? [halted.seq]
        : await this.#thread.callTool<number[]>('relatedTurns', { value: halted.seq })
    await this.#thread.breakpoints.arm()
    let turn = halted.seq
    for (;;) {
      const isRelated = turns.includes(turn)
      const next = turns.find((seq) => seq > turn)
      const isAnothers = !isRelated && next !== undefined
      if (isAnothers)
        await this.#thread.link.post('Debugger.setBreakpointsActive', { active: false })
      await this.#thread.want({
        wantedDelivery: isAnothers ? next : isRelated ? turn + 1 : NEVER,
      })
      this.#position = undefined
      this.#thread.resume()
      const halt = await this.#thread.next()
      if (halt.kind === 'ended') return (this.#position = halt)
      if (halt.kind === 'paused') return this.#stopped(halted.seq, halt.paused, isRelated)
      turn = halt.seq
      await this.#thread.attach()
    }
  }

  /** Attaches the debugger to a halted process, which stays halted, so that the next stop is faster. */
  async prepare(): Promise<void> {
    if (this.position.kind !== 'halted') throw misused('is not halted at an event')
    await this.#thread.attach()
    await this.#thread.breakpoints.arm()
  }

  /** Steps to the next line of the same function; other tasks may run in the meantime. */
  stepOver(): Promise<Stop | Ended> {
    return this.#step('stepOver')
  }

  /** Steps into the next function of user code. */
  stepInto(): Promise<Stop | Ended> {
    return this.#step('stepInto')
  }

  stepOut(): Promise<Stop | Ended> {
    return this.#step('stepOut')
  }

  /**
   * Value of an expression at the stop, or the error that it threw. If the process is halted at an
   * event, only globals are visible. The tape is not consumed: clock and random values are real.
   */
  async evaluate(expression: string, options: EvaluateOptions = {}): Promise<Evaluation> {
    const { kind } = this.position
    if (kind === 'ended') throw misused('has ended')
    const paused = await this.#thread.attach()
    const frame = kind === 'stop' ? (options.frame ?? this.#thread.userFrame(paused)) : undefined
    return this.#thread.evaluate(expression, frame, options)
  }

  /**
   * Lets the agent run from its start to its end, and evaluates an expression each time a line is
   * about to run.
   */
  async watchLine(options: WatchLineOptions): Promise<WatchedLine> {
    if (this.position.kind !== 'halted') throw misused('is not halted at its start')
    await this.#thread.want({ wanted: NEVER, wantedDelivery: NEVER })
    await this.#thread.attach()
    const watched = await new LineWatch(this.#thread, options).run()
    this.#position = watched.end
    return watched
  }

  /**
   * Opens the standard inspector at a stop, for a debugger to attach, and returns its address.
   * After that, only `waitForEnd` and `close` are useful.
   */
  async openInspector(port: number): Promise<string> {
    if (this.position.kind === 'ended') throw misused('has ended')
    await this.#thread.want({ wanted: NEVER, wantedDelivery: NEVER })
    await this.#thread.attach()
    await this.#thread.breakpoints.disarm()
    return this.#thread.callTool<string>('openInspector', { value: port })
  }

  /** Resolves when the process, which the debugger resumes, has ended. */
  async waitForEnd(): Promise<Ended> {
    for (;;) {
      const halt = await this.#thread.next()
      if (halt.kind === 'ended') return (this.#position = halt)
    }
  }

  /** Lets the agent run to its end. */
  async resume(): Promise<Ended> {
    const halt = await this.runTo(NEVER)
    if (halt.kind !== 'ended') throw misused('was held where nothing was wanted')
    return halt
  }

  close(): Promise<void> {
    return this.#thread.kill()
  }

  async #step(how: 'stepOver' | 'stepInto' | 'stepOut'): Promise<Stop | Ended> {
    const stop = this.position
    if (stop.kind !== 'stop') throw misused('is not stopped at a line')
    await this.#thread.want({ wanted: NEVER, wantedDelivery: NEVER })
    await this.#thread.breakpoints.disarm()
    this.#position = undefined
    this.#thread.resume(how)
    for (;;) {
      const halt = await this.#thread.next()
      if (halt.kind === 'ended') return (this.#position = halt)
      if (halt.kind === 'halted') throw misused('was halted while stepping')
      if (this.#thread.userFrame(halt.paused) === 0)
        return this.#stopped(stop.seq, halt.paused, stop.isDirect)
      // Stepped into a library, so continue to the next line of user code.
      await this.#thread.breakpoints.arm()
      this.#thread.resume()
    }
  }

  async #stopped(seq: number, paused: Paused, isDirect: boolean): Promise<Stop> {
    const [position, read] = await Promise.all([
      this.#thread.callTool<number>('position'),
      this.#thread.reader.read(paused.callFrames),
    ])
    const stop: Stop = { kind: 'stop', seq, position, isDirect, ...read }
    this.#position = stop
    return stop
  }
}
