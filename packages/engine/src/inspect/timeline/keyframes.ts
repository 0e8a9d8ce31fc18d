import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import type { Ended } from '../probe/probe-thread.js'
import type { ProbePool, Runner } from './probe-pool.js'
import { type Matched, matchKeyframes, planKeyframes } from './plan-keyframes.js'
import type { Moments } from './moments.js'
import { readFile } from 'node:fs/promises'

export interface KeyframeLimits {
  /** Maximum number of processes that are parked or on their way. */
  readonly keyframes: number
  readonly memoryBytes: number
}

/**
 * Processes parked along a run. A process that is used continues and is no longer a keyframe;
 * another one is brought to its position in the background. There are never more than `keyframes`
 * of them besides the active one. Not promised: that any process is parked. If none is, a move
 * starts a new process.
 */
export class Keyframes {
  readonly #parked = new Set<Runner>()
  readonly #jobs = new Set<Job>()
  readonly #memoryBytes: number
  /** Enough to warm up quickly; one processor is left for the user. */
  readonly #jobsMax = Math.min(4, Math.max(1, availableParallelism() - 1))
  /** Milliseconds of replay until each moment is reached; undefined until measured. */
  #costs: readonly number[] | undefined
  /** Maximum number of parked processes; less than `keyframes` if memory is short. */
  #allowed: number
  /** Number of moments that a replay reaches. */
  #reachable: number
  #isSurveyed: boolean
  #current = -1
  #isPaused = false
  #isClosed = false
  #version = 0
  #loop: Promise<void> | undefined
  #onChange = (): void => {}

  constructor(
    readonly pool: ProbePool,
    readonly moments: Moments,
    { keyframes, memoryBytes }: KeyframeLimits,
  ) {
    this.#memoryBytes = memoryBytes
    this.#allowed = keyframes
    this.#reachable = moments.count
    this.#isSurveyed = moments.count === 0
  }

  /** Moments before which a process is parked, in order. */
  get positions(): readonly number[] {
    return [...this.#parked].map((runner) => this.#indexOf(runner)).toSorted((a, b) => a - b)
  }

  get onTheWay(): number {
    return this.#jobs.size
  }

  /** Takes the process that reaches a moment first, which may be the active one. */
  async take(
    index: number,
    own: Runner | undefined,
    signal: AbortSignal | undefined,
  ): Promise<Runner | undefined> {
    signal?.throwIfAborted()
    const best = this.#nearest(index, own)
    const coming = this.#worthWaitingFor(index, best)
    if (coming) {
      await Promise.race([coming.done, ...(signal ? [once(signal, 'abort')] : [])])
      return this.take(index, own, signal)
    }
    if (best) this.#parked.delete(best)
    return best
  }

  /** The moment from which `take` could continue. */
  nearestIndex(index: number, own: Runner | undefined): number | undefined {
    const best = this.#nearest(index, own)
    return best && this.#indexOf(best)
  }

  /** Parks a process that is no longer active, if it is useful. */
  park(runner: Runner): void {
    if (this.#isClosed || runner.from === Infinity) return this.#end(runner)
    this.#add(runner)
    while (this.#count > this.#allowed && this.#dropOne());
  }

  /** Prevents background work from starting while the user waits for something. */
  pause(): void {
    this.#isPaused = true
  }

  /** Resumes background work; the user is now at this moment. */
  resume(current: number): void {
    this.#current = current
    this.#isPaused = false
    this.#change()
    this.#loop ??= this.#work().finally(() => (this.#loop = undefined))
  }

  /** Resolves when every process is at its position. */
  async settled(): Promise<void> {
    while (this.#loop !== undefined) await this.#loop
  }

  /** Starts nothing new. The pool ends the processes. */
  close(): void {
    this.#isClosed = true
    this.#change()
  }

  #change(): void {
    this.#version += 1
    this.#onChange()
  }

  async #work(): Promise<void> {
    while (!this.#isClosed) {
      const version = this.#version
      if (!this.#isPaused) {
        await this.#limitMemory()
        if (this.#jobs.size < this.#jobsMax && (await this.#beginJob())) continue
        if (this.#jobs.size === 0 && version === this.#version) return
      }
      if (version !== this.#version) continue
      const changed = new Promise<void>((resolve) => (this.#onChange = resolve))
      await Promise.race([changed, ...[...this.#jobs].map(({ done }) => done)])
    }
  }

  /** Starts the most useful remaining job. */
  async #beginJob(): Promise<boolean> {
    if (this.#isPaused || this.#isClosed) return false
    if (!this.#isSurveyed) return this.#startInRoom((runner) => this.#survey(runner))
    const { moves, spare } = this.#match()
    for (const { runner, to } of moves) {
      // Already on its way to another position, from which it may continue later.
      if (runner !== undefined && 'to' in runner) continue
      if (runner !== undefined) {
        this.#parked.delete(runner)
        this.#bring(runner, to)
        return true
      }
      const victim = [...this.#parked].find((each) => spare.includes(each))
      if (!this.#hasRoom && victim) this.#end(victim)
      return this.#startInRoom((started) => this.#bring(started, to))
    }
    return false
  }

  async #startInRoom(use: (runner: Runner) => void): Promise<boolean> {
    if (!this.#hasRoom) return false
    await this.pool.endings()
    // The situation may have changed in the meantime.
    if (this.#isClosed || this.#isPaused || !this.#hasRoom) return false
    use(this.pool.start())
    return true
  }

  /** Parks a process at its position as long as it lives. */
  #add(runner: Runner): void {
    this.#parked.add(runner)
    void runner.gone.then(() => this.#parked.delete(runner))
  }

  get #count(): number {
    return this.#parked.size + this.#jobs.size
  }

  get #hasRoom(): boolean {
    return this.#count < this.#allowed
  }

  /** Processes on their way count as if they had arrived. */
  #match(): Matched<Runner | Job> {
    const spans = planKeyframes({
      costs: this.#costs,
      count: this.#reachable,
      current: this.#current,
      limit: this.#allowed,
    })
    // Moments that share an event are one position.
    const firstAt = (index: number): number => this.moments.firstFrom(this.moments.seqAt(index))
    const distinct = spans.map(({ first, last }) => ({
      first: firstAt(first),
      last: firstAt(last),
    }))
    return matchKeyframes<Runner | Job>(distinct, [...this.#jobs, ...this.#parked], (each) =>
      'to' in each ? each.to : this.#indexOf(each),
    )
  }

  /** The first moment that a process has not passed. */
  #indexOf(runner: Runner): number {
    return runner.from === Infinity ? Infinity : this.moments.firstFrom(runner.from)
  }

  /** 0 until costs are known. */
  #cost(index: number): number {
    return this.#costs?.[Math.min(index, this.#costs.length - 1)] ?? 0
  }

  /** How long a process takes to reach a moment; a new process starts at 0. */
  #wayMs(runner: Runner | undefined, to: number): number {
    const isNew = runner === undefined || runner.from === 0
    return this.#cost(to) - (isNew ? 0 : this.#cost(this.#indexOf(runner)))
  }

  /** The nearest process before a moment, which may be the active one. */
  #nearest(index: number, own: Runner | undefined): Runner | undefined {
    return [...(own ? [own] : []), ...this.#parked]
      .filter((runner) => this.#indexOf(runner) <= index)
      .toSorted((a, b) => b.from - a.from)[0]
  }

  /**
   * A process on its way that reaches a moment sooner than `best`, although it must arrive at its
   * position first.
   */
  #worthWaitingFor(index: number, best: Runner | undefined): Job | undefined {
    const withoutMs = this.#wayMs(best, index)
    const waitMs = ({ expectedAt, to }: Job): number =>
      Math.max(0, expectedAt - performance.now()) + this.#cost(index) - this.#cost(to)
    return [...this.#jobs]
      .filter((job) => job.to <= index && waitMs(job) < withoutMs)
      .toSorted((a, b) => waitMs(a) - waitMs(b))[0]
  }

  #survey(runner: Runner): void {
    this.#isSurveyed = true
    this.#begin(runner, this.moments.count - 1, Infinity, async () => {
      const { costs, reached, end } = await surveyCosts(this.moments, runner)
      this.#isSurveyed = end?.signal === undefined
      if (!this.#isSurveyed) return end
      this.#costs = costs
      this.#reachable = Math.min(this.#reachable, reached)
      return end
    })
  }

  #bring(runner: Runner, to: number): void {
    const expectedAt = performance.now() + this.#wayMs(runner, to)
    this.#begin(runner, to, expectedAt, () => runner.parkReady(this.moments.seqAt(to)))
  }

  #begin(
    runner: Runner,
    to: number,
    expectedAt: number,
    run: () => Promise<Ended | undefined>,
  ): void {
    const done = run()
      .then(
        (end) => this.#arrived(runner, to, end),
        () => this.#lost(runner),
      )
      .then(() => void this.#jobs.delete(job))
    const job: Job = { to, expectedAt, done }
    this.#jobs.add(job)
  }

  #arrived(runner: Runner, to: number, end: Ended | undefined): void {
    if (end === undefined && runner.from !== Infinity) this.#add(runner)
    else if (end && end.signal === undefined) this.#reachable = Math.min(this.#reachable, to)
    else this.#lost(runner)
  }

  /** Called if a process was killed from outside or did not start, perhaps for lack of memory. */
  #lost(runner: Runner): void {
    if (!this.pool.isEnding(runner)) this.#allowed = Math.max(0, this.#allowed - 1)
    this.#end(runner)
  }

  async #limitMemory(): Promise<void> {
    for (;;) {
      const sizes = await this.pool.sizes()
      const total = sizes.reduce((sum, size) => sum + size, 0)
      const isAbove = total > this.#memoryBytes
      const oneMore = total + Math.max(0, ...sizes)
      if (isAbove) this.#allowed = Math.min(this.#allowed, Math.max(0, this.#count - 1))
      else if (oneMore > this.#memoryBytes) this.#allowed = Math.min(this.#allowed, this.#count)
      if (!isAbove || !this.#dropOne()) return
    }
  }

  /** Ends the least useful parked process. */
  #dropOne(): boolean {
    const { spare } = this.#match()
    const parked = [...this.#parked]
    // How much longer jumps to moments right after a process would take without it.
    const gap = (runner: Runner): number => {
      const index = this.#indexOf(runner)
      const before = this.positions.findLast((position) => position < index)
      return this.#cost(index) - (before === undefined ? 0 : this.#cost(before))
    }
    const victim =
      parked.find((runner) => spare.includes(runner)) ??
      parked.toSorted((a, b) => gap(a) - gap(b))[0]
    if (victim) this.#end(victim)
    return victim !== undefined
  }

  #end(runner: Runner): void {
    this.#parked.delete(runner)
    this.pool.end(runner)
  }
}

interface Job {
  readonly to: number
  readonly done: Promise<void>
  /** Expected arrival, as `performance.now()`. */
  readonly expectedAt: number
}

/** More measurements would distort the result. */
const MEASUREMENTS_MAX = 100

/**
 * Runs a new process through the whole run. Returns the milliseconds from its start to each moment,
 * the number of moments it reached, and its end if it did not reach all of them, because the code
 * has changed or the process was killed.
 */
async function surveyCosts(moments: Moments, runner: Runner) {
  const { count } = moments
  const started = performance.now()
  const stride = Math.ceil(count / MEASUREMENTS_MAX)
  const known: { readonly index: number; readonly ms: number }[] = []
  for (let index = 0; index < count;) {
    const end = await runner.park(moments.seqAt(index))
    if (end) return { costs: interpolate(known), reached: index, end }
    const ms = (await processorTime(runner.pid)) ?? performance.now() - started
    known.push({ index, ms })
    // Every `stride`th moment, and the last.
    index = index === count - 1 ? count : Math.min(index + stride, count - 1)
  }
  return { costs: interpolate(known), reached: count }
}

function interpolate(
  known: readonly { readonly index: number; readonly ms: number }[],
): readonly number[] {
  const costs: number[] = []
  let before = { index: -1, ms: 0 }
  for (const { index, ms } of known) {
    const each = (ms - before.ms) / (index - before.index)
    for (let offset = 1; offset <= index - before.index; offset++)
      costs.push(before.ms + each * offset)
    before = { index, ms }
  }
  return costs
}

/**
 * CPU time of a process's main thread in milliseconds, which other work on the machine hardly
 * affects; undefined if the system does not report it.
 */
async function processorTime(pid: number): Promise<number | undefined> {
  if (process.platform !== 'linux') return undefined
  const text = await readFile(`/proc/${pid}/schedstat`, 'utf8').catch(() => '')
  const nanoseconds = Number(text.split(' ')[0])
  return nanoseconds > 0 ? nanoseconds / 1e6 : undefined
}
