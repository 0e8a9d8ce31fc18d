import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import type { Ended } from '../probe-thread.js'
import type { Fleet } from './fleet.js'
import { matchKeyframes } from './match-keyframes.js'
import type { Matched } from './match-keyframes.js'
import type { Moments } from './moments.js'
import { planKeyframes } from './plan-keyframes.js'
import type { Runner } from './runner.js'
import { surveyCosts } from './survey-costs.js'

export interface KeyframeLimits {
  /** How many processes may be parked, or on their way to where they will be. */
  readonly keyframes: number
  /** Memory of all processes of the timeline together. */
  readonly memoryBytes: number
}

/** A process on its way to where it will be parked. */
interface Job {
  readonly runner: Runner
  readonly to: number
  readonly done: Promise<void>
  /** When it should be there, as `performance.now()` counts. */
  readonly expectedAt: number
}

/** Enough to warm up quickly; one processor is left for the user. */
const jobsMax = (): number => Math.min(4, Math.max(1, availableParallelism() - 1))

/**
 * Processes parked along a run. One that is used runs on and is gone as a keyframe;
 * another is brought to its place in the background. At any time there are at most
 * `keyframes` of them besides the one that is looked at.
 *
 * Not promised: that a process is parked anywhere. Then a motion starts a new one.
 */
export class Keyframes {
  readonly #fleet: Fleet
  readonly #moments: Moments
  readonly #memoryBytes: number
  readonly #parked = new Set<Runner>()
  readonly #jobs = new Set<Job>()
  /** How many may be parked: fewer than asked for when memory is short. */
  #allowed: number
  /** How many moments a replay reaches. */
  #reachable: number
  #costs: readonly number[] | undefined
  // Not when this file is loaded: it is part of the library, and a run would record the question.
  readonly #jobsMax = jobsMax()
  #isSurveyed = false
  #current = -1
  #isPaused = false
  #isClosed = false
  #version = 0
  #loop: Promise<void> | undefined
  #onChange = (): void => {}

  constructor(fleet: Fleet, moments: Moments, { keyframes, memoryBytes }: KeyframeLimits) {
    this.#fleet = fleet
    this.#moments = moments
    this.#memoryBytes = memoryBytes
    this.#allowed = keyframes
    this.#reachable = moments.count
  }

  /** Moments before which a process is parked. */
  get places(): readonly number[] {
    return [...this.#parked].map((runner) => this.#indexOf(runner)).toSorted((a, b) => a - b)
  }

  get onTheWay(): number {
    return this.#jobs.size
  }

  /** Takes the process that gets to a moment first, which may be the user's own. */
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

  /** The moment from which `take` could go on. */
  nearestIndex(index: number, own: Runner | undefined): number | undefined {
    const best = this.#nearest(index, own)
    return best && this.#indexOf(best)
  }

  /** Keeps a process that is not looked at any more, if it is of use. */
  park(runner: Runner): void {
    if (this.#isClosed || runner.from === Infinity) return this.#fleet.end(runner)
    this.#parked.add(runner)
    while (this.#parked.size + this.#jobs.size > this.#allowed && this.#dropOne());
  }

  /** While the user waits for something, nothing new is begun in the background. */
  pause(): void {
    this.#isPaused = true
  }

  /** The user is there now. */
  resume(current: number): void {
    this.#current = current
    this.#isPaused = false
    this.#change()
    this.#loop ??= this.#work().finally(() => (this.#loop = undefined))
  }

  /** Resolves when every process stands where it should. */
  async settled(): Promise<void> {
    while (this.#loop !== undefined) await this.#loop
  }

  /** Nothing is begun any more. Processes are ended by the fleet. */
  close(): void {
    this.#isClosed = true
    this.#change()
  }

  #change(): void {
    this.#version += 1
    this.#onChange()
  }

  #indexOf(runner: Runner): number {
    return runner.from === Infinity ? Infinity : this.#moments.firstFrom(runner.from)
  }

  #nearest(index: number, own: Runner | undefined): Runner | undefined {
    const all = own ? [own, ...this.#parked] : [...this.#parked]
    return all
      .filter((runner) => this.#indexOf(runner) <= index)
      .toSorted((a, b) => b.from - a.from)[0]
  }

  /** A process in the background that gets the user there sooner than `best` would. */
  #worthWaitingFor(index: number, best: Runner | undefined): Job | undefined {
    const without = this.#cost(index) - (best ? this.#cost(this.#indexOf(best)) : 0)
    const waitMs = ({ expectedAt, to }: Job): number =>
      Math.max(0, expectedAt - performance.now()) + this.#cost(index) - this.#cost(to)
    return [...this.#jobs]
      .filter((job) => job.to <= index && job.expectedAt < Infinity && waitMs(job) < without)
      .toSorted((a, b) => waitMs(a) - waitMs(b))[0]
  }

  /** Milliseconds of replay until a moment is reached; 0 as long as nobody knows. */
  #cost(index: number): number {
    return this.#costs?.[Math.min(index, this.#costs.length - 1)] ?? 0
  }

  async #work(): Promise<void> {
    while (!this.#isClosed) {
      const version = this.#version
      if (!this.#isPaused) {
        await this.#keepWithinMemory()
        if (this.#jobs.size < this.#jobsMax && (await this.#beginJob())) continue
        if (this.#jobs.size === 0 && version === this.#version) return
      }
      if (version !== this.#version) continue
      const changed = new Promise<void>((resolve) => (this.#onChange = resolve))
      await Promise.race([changed, ...[...this.#jobs].map(({ done }) => done)])
    }
  }

  /** Begins the most useful thing that is left to do. */
  async #beginJob(): Promise<boolean> {
    if (!this.#isSurveyed) return this.#startInRoom((runner) => this.#survey(runner))
    const { moves, spare } = this.#match()
    for (const { runner, to } of moves) {
      // It is on its way to another place, from which it may go on later.
      if (runner !== undefined && 'to' in runner) continue
      if (runner !== undefined) {
        this.#parked.delete(runner)
        this.#bring(runner, to)
        return true
      }
      const victim = spare.find((each) => this.#parked.has(each as Runner)) as Runner | undefined
      if (!this.#hasRoom() && victim) this.#end(victim)
      return this.#startInRoom((started) => this.#bring(started, to))
    }
    return false
  }

  async #startInRoom(use: (runner: Runner) => void): Promise<boolean> {
    if (!this.#hasRoom()) return false
    await this.#fleet.endings()
    // The user may have done something meanwhile.
    if (this.#isClosed || this.#isPaused || !this.#hasRoom()) return false
    use(await this.#fleet.start())
    return true
  }

  #hasRoom(): boolean {
    return this.#parked.size + this.#jobs.size < this.#allowed
  }

  /** Processes on their way count as if they had arrived. */
  #match(): Matched<Runner | Job> {
    const places = planKeyframes({
      costs: this.#costs,
      count: this.#reachable,
      current: this.#current,
      limit: this.#allowed,
    })
    return matchKeyframes<Runner | Job>(places, [...this.#jobs, ...this.#parked], (each) =>
      'to' in each ? each.to : this.#indexOf(each),
    )
  }

  #survey(runner: Runner): void {
    this.#isSurveyed = true
    this.#begin(runner, this.#moments.count - 1, Infinity, async () => {
      const { costs, reached, end } = await surveyCosts(this.#moments, runner)
      this.#isSurveyed = end?.signal === undefined
      if (!this.#isSurveyed) return end
      this.#costs = costs
      this.#reachable = Math.min(this.#reachable, reached)
      return end
    })
  }

  #bring(runner: Runner, to: number): void {
    const from = runner.from === 0 ? 0 : this.#cost(this.#indexOf(runner))
    const expectedAt = performance.now() + this.#cost(to) - from
    this.#begin(runner, to, expectedAt, () => runner.park(this.#moments.seqAt(to)))
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
    const job: Job = { runner, to, expectedAt, done }
    this.#jobs.add(job)
  }

  #arrived(runner: Runner, to: number, end: Ended | undefined): void {
    if (end === undefined && runner.from !== Infinity) this.#parked.add(runner)
    else if (end && end.signal === undefined) this.#reachable = Math.min(this.#reachable, to)
    else this.#lost(runner)
  }

  /** Somebody ended it, or it could not be started: with fewer there may be room for all. */
  #lost(runner: Runner): void {
    if (!this.#fleet.isEnding(runner)) this.#allowed = Math.max(0, this.#allowed - 1)
    this.#end(runner)
  }

  async #keepWithinMemory(): Promise<void> {
    for (;;) {
      const sizes = await this.#fleet.sizes()
      const total = sizes.reduce((sum, size) => sum + size, 0)
      const count = this.#parked.size + this.#jobs.size
      const isAbove = total > this.#memoryBytes
      const oneMore = total + Math.max(0, ...sizes)
      if (isAbove) this.#allowed = Math.min(this.#allowed, Math.max(0, count - 1))
      else if (oneMore > this.#memoryBytes) this.#allowed = Math.min(this.#allowed, count)
      if (!isAbove || !this.#dropOne()) return
    }
  }

  /** Ends the parked process that is missed least. */
  #dropOne(): boolean {
    const { spare } = this.#match()
    const parked = [...this.#parked]
    const victim =
      parked.find((runner) => spare.includes(runner)) ??
      parked.toSorted((a, b) => this.#gapBefore(a) - this.#gapBefore(b))[0]
    if (victim) this.#end(victim)
    return victim !== undefined
  }

  /** How much longer jumps right behind it would take without it. */
  #gapBefore(runner: Runner): number {
    const index = this.#indexOf(runner)
    const before = this.places.filter((place) => place < index).at(-1)
    return this.#cost(index) - (before === undefined ? 0 : this.#cost(before))
  }

  #end(runner: Runner): void {
    this.#parked.delete(runner)
    this.#fleet.end(runner)
  }
}
