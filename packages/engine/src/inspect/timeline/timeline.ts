import type { Tape } from '@retake/tape/format'
import type { Evaluation, ProbeProcess } from '../probe/probe-thread.js'
import type { CapturedVariable } from '@retake/tape'
import type { Stop } from '../probe/stop.js'
import { ConditionSearch, ActiveProbe } from './active-probe.js'
import { ProbePool } from './probe-pool.js'
import { type KeyframeLimits, Keyframes } from './keyframes.js'
import { type Moment, Moments, type TimelineStep } from './moments.js'
import type {
  NotFound,
  Position,
  StackLine,
  StoppedPosition,
  TimelineStatus,
  Watched,
} from './position.js'
import { errors } from '../../errors.js'

export interface TimelineOptions extends Partial<KeyframeLimits> {
  readonly tape: Tape
  readonly steps: readonly TimelineStep[]
  /** Starts the recorded program as an inspectable replay. */
  readonly spawn: () => ProbeProcess
}

export interface MotionOptions {
  /** Cancels the move; the position does not change. */
  readonly signal?: AbortSignal
}

export interface MotionLane extends MotionOptions {
  /** The lane to follow; by default that of the current step. */
  readonly lane?: number
}

const KEYFRAMES = 8
const MEMORY_BYTES = 2 ** 30

/**
 * A recorded run that can be inspected forward and backward. Calls are executed one after another;
 * all results are plain JSON. Close it when done. Going back means replaying from a keyframe, a
 * process parked before that moment. Keyframes are set up in the background; everything works
 * without them, but slower.
 */
export class Timeline {
  readonly #run: string
  readonly #limits: KeyframeLimits
  readonly #moments: Moments
  readonly #pool: ProbePool
  readonly #keyframes: Keyframes
  readonly #active: ActiveProbe
  readonly #search: ConditionSearch
  readonly #watches = new Watches()
  #position: Position = { kind: 'start' }
  /** -1 at the start; the number of moments at the end. */
  #index = -1
  #stop: Stop | undefined
  #last: Promise<unknown> = Promise.resolve()
  #isClosed = false

  constructor({ tape, steps, spawn, ...limits }: TimelineOptions) {
    const { keyframes = KEYFRAMES, memoryBytes = MEMORY_BYTES } = limits
    this.#limits = { keyframes, memoryBytes }
    this.#run = tape.run.id
    this.#moments = new Moments(tape, steps)
    this.#pool = new ProbePool(spawn)
    this.#keyframes = new Keyframes(this.#pool, this.#moments, this.#limits)
    this.#active = new ActiveProbe(this.#run, this.#moments, this.#pool, this.#keyframes)
    this.#search = new ConditionSearch(this.#active)
    this.#keyframes.resume(this.#index)
  }

  get position(): Position {
    return this.#position
  }

  get count(): number {
    return this.#moments.count
  }

  /** Position in time: -1 at the start, the index of the step, or `count` at the end. */
  get index(): number {
    return this.#index
  }

  /** The steps in order of time. `from` and `to` may be out of range. */
  moments(from = 0, to = this.#moments.count): Moment[] {
    const first = Math.max(0, from)
    const length = Math.max(0, Math.min(to, this.#moments.count) - first)
    return Array.from({ length }, (_, offset) => this.#moments.at(first + offset))
  }

  /** Moves to the moment at which the answer of a step reached the agent. */
  jump(step: number | string, options: MotionOptions = {}): Promise<Position> {
    return this.#motion(options, () => {
      const index = this.#moments.indexOf(String(step))
      if (index !== undefined) return this.#goTo(index)
      throw errors.NO_SUCH_STEP(this.#run, String(step), this.#moments.count)
    })
  }

  /** Moves to the step that is answered next, or to the end. */
  next(options: MotionOptions = {}): Promise<Position> {
    return this.#motion(options, () => this.#goTo(this.#index + 1))
  }

  /** Moves to the step that was answered before, or to the start. */
  back(options: MotionOptions = {}): Promise<Position> {
    return this.#motion(options, () => this.#goTo(this.#index - 1))
  }

  /** Moves to the next step of a lane, or to the end. */
  nextInLane(options: MotionLane = {}): Promise<Position> {
    return this.#motion(options, () => this.#goTo(this.#inLane(1, options.lane)))
  }

  /** Moves to the previous step of a lane, or to the start. */
  backInLane(options: MotionLane = {}): Promise<Position> {
    return this.#motion(options, () => this.#goTo(this.#inLane(-1, options.lane)))
  }

  /** Moves to the next step at which the condition is true; without a condition, to the end. */
  continue(condition?: string, options: MotionOptions = {}): Promise<Position | NotFound> {
    return this.#motion(options, async () => {
      const { count } = this.#moments
      if (condition === undefined) return this.#goTo(count)
      const found = await this.#search.forward(condition, this.#index + 1, count)
      return typeof found === 'number' ? this.#goTo(found) : found
    })
  }

  /** Moves to the latest earlier step at which the condition was true. */
  reverseContinue(condition: string, options: MotionOptions = {}): Promise<Position | NotFound> {
    return this.#motion(options, async () => {
      const found = await this.#search.backward(condition, this.#index)
      return typeof found === 'number' ? this.#goTo(found) : found
    })
  }

  /** Value of an expression in the innermost frame of user code, without side effects. */
  print(expression: string, options: MotionOptions = {}): Promise<Evaluation> {
    return this.#motion(options, () => this.#evaluateHere(expression))
  }

  /** Variables of a frame of the stack; the innermost frame of user code by default. */
  async locals(frame?: number): Promise<readonly CapturedVariable[]> {
    await this.#last
    const { frames } = this.#stopped()
    const chosen = frame === undefined ? frames.find(({ isUser }) => isUser) : frames[frame]
    return chosen?.variables ?? []
  }

  async stack(): Promise<readonly StackLine[]> {
    await this.#last
    this.#stopped()
    return this.#position.kind === 'stop' ? this.#position.stack : []
  }

  /** Shows an expression at every stop from now on; returns its current value. */
  watch(expression: string, options: MotionOptions = {}): Promise<Watched | undefined> {
    return this.#motion(options, async () => {
      this.#watches.add(expression)
      if (this.#position.kind !== 'stop') return undefined
      const watched = this.#watches.first(expression, await this.#evaluateHere(expression))
      const others = this.#position.watches.filter((each) => each.expression !== expression)
      this.#position = { ...this.#position, watches: [...others, watched] }
      return watched
    })
  }

  /** Returns true if it was watched. */
  async unwatch(expression: string): Promise<boolean> {
    await this.#last
    if (this.#position.kind === 'stop') {
      const watches = this.#position.watches.filter((each) => each.expression !== expression)
      this.#position = { ...this.#position, watches }
    }
    return this.#watches.remove(expression)
  }

  /** Resolves when the keyframes are at their positions. Waiting is optional. */
  warmedUp(): Promise<void> {
    return this.#keyframes.settled()
  }

  async status(): Promise<TimelineStatus> {
    const sizes = await this.#pool.sizes()
    return {
      parked: this.#keyframes.positions,
      onTheWay: this.#keyframes.onTheWay,
      processes: this.#pool.count,
      residentBytes: sizes.reduce((sum, size) => sum + size, 0),
    }
  }

  /** Ends every process. Resolves when they are gone. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#keyframes.close()
    await this.#pool.close()
  }

  /** Moves are executed one at a time; background work pauses in the meantime. */
  #motion<T>({ signal }: MotionOptions, move: () => Promise<T>): Promise<T> {
    const done = this.#last.then(async () => {
      if (this.#isClosed) throw errors.TIMELINE_CLOSED()
      signal?.throwIfAborted()
      const giveUp = (): void => this.#active.giveUp()
      signal?.addEventListener('abort', giveUp, { once: true })
      this.#active.signal = signal
      this.#keyframes.pause()
      try {
        return await move()
      } catch (error) {
        if (this.#isClosed) throw errors.TIMELINE_CLOSED()
        signal?.throwIfAborted()
        throw error
      } finally {
        signal?.removeEventListener('abort', giveUp)
        this.#keyframes.resume(this.#index)
      }
    })
    this.#last = done.catch(() => {})
    return done
  }

  async #goTo(wanted: number): Promise<Position> {
    const { count } = this.#moments
    const index = Math.max(-1, Math.min(wanted, count))
    const stop = index < 0 || index === count ? undefined : await this.#active.stopAt(index)
    if (stop === undefined) this.#position = { kind: index < 0 ? 'start' : 'end' }
    else if (stop.kind === 'ended')
      this.#position = { kind: 'end', moment: this.#moments.at(index) }
    else {
      const watches = await this.#watches.read((each) => this.#active.evaluate(each))
      this.#position = positionOf(this.#moments.at(index), stop, watches)
    }
    this.#index = index
    this.#stop = stop?.kind === 'stop' ? stop : undefined
    return this.#position
  }

  #inLane(direction: 1 | -1, wanted: number | undefined): number {
    const { count } = this.#moments
    const isInside = (index: number): boolean => index >= 0 && index < count
    const lane = wanted ?? (isInside(this.#index) ? this.#moments.laneAt(this.#index) : 0)
    let index = this.#index + direction
    while (isInside(index) && this.#moments.laneAt(index) !== lane) index += direction
    return index
  }

  /** A cancelled move may have taken the process away. */
  async #evaluateHere(expression: string): Promise<Evaluation> {
    this.#stopped()
    await this.#active.stopAt(this.#index)
    return this.#active.evaluate(expression)
  }

  #stopped(): Stop {
    if (this.#stop === undefined) throw errors.NOT_AT_A_STEP(this.#position.kind)
    return this.#stop
  }
}

function positionOf(
  moment: Moment,
  { isDirect, location, frames, asyncFrames }: Stop,
  watches: readonly Watched[],
): StoppedPosition {
  return {
    kind: 'stop',
    moment,
    isDirect,
    location,
    locals: frames.find(({ isUser }) => isUser)?.variables ?? [],
    stack: [
      ...frames.map(({ name, location: at, isUser }) => ({
        name,
        location: at,
        isUser,
        isAsync: false,
      })),
      ...asyncFrames.map((line) => ({ ...line, isAsync: true })),
    ],
    watches,
  }
}

/** Expressions that are shown at every stop, with their previous values. */
class Watches {
  readonly #last = new Map<string, string | undefined>()

  add(expression: string): void {
    if (!this.#last.has(expression)) this.#last.set(expression, undefined)
  }

  remove(expression: string): boolean {
    return this.#last.delete(expression)
  }

  async read(evaluate: (expression: string) => Promise<Evaluation>): Promise<Watched[]> {
    const watches: Watched[] = []
    for (const expression of this.#last.keys())
      watches.push(this.#compare(expression, await evaluate(expression)))
    return watches
  }

  /** At the stop where an expression is added, there is no previous value. */
  first(expression: string, evaluation: Evaluation): Watched {
    return { ...this.#compare(expression, evaluation), isChanged: false }
  }

  #compare(expression: string, evaluation: Evaluation): Watched {
    const before = this.#last.get(expression)
    const now = JSON.stringify(evaluation)
    this.#last.set(expression, now)
    return { expression, evaluation, isChanged: before !== undefined && before !== now }
  }
}
