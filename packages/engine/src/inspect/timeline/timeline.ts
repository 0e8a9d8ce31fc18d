import type { Tape } from '@retake/tape'
import { errors } from '../../errors.js'
import type { ProbeProcess } from '../probe-process.js'
import type { Ended, Evaluation } from '../probe-thread.js'
import type { Divergence } from '../../sessions/divergence.js'
import type { Stop, Variable } from '../stop.js'
import { ConditionMemory, conditionResult } from './condition-memory.js'
import type { ConditionResult } from './condition-memory.js'
import { Fleet } from './fleet.js'
import { Keyframes } from './keyframes.js'
import type { KeyframeLimits } from './keyframes.js'
import { Moments } from './moments.js'
import type { Moment, TimelineStep } from './moments.js'
import { positionOf } from './position-of.js'
import type { NotFound, Position, StackLine, Watched } from './position.js'
import type { Runner } from './runner.js'
import { Watches } from './watches.js'

export interface TimelineOptions extends Partial<KeyframeLimits> {
  readonly tape: Tape
  /** The steps on the tape, as the read model has them. */
  readonly steps: readonly TimelineStep[]
  /** Starts the recorded program as a replay to look into. */
  readonly spawn: () => ProbeProcess
}

export interface MotionOptions {
  /** Gives the motion up; the timeline stays where it was. */
  readonly signal?: AbortSignal
}

/** Processes of a timeline. */
export interface TimelineStatus {
  /** Moments before which a process is parked. */
  readonly parked: readonly number[]
  /** Processes that run in the background to where they will be parked. */
  readonly onTheWay: number
  /** All processes, with the one that is looked at. */
  readonly processes: number
  readonly residentBytes: number
  readonly limits: KeyframeLimits
}

const KEYFRAMES = 8
const MEMORY_BYTES = 2 ** 30
/** How often a process is replaced that was ended from outside. */
const ATTEMPTS_MAX = 3

/**
 * A recorded run in which one can go forward and back and look around. Calls are
 * done one after another; all answers are plain JSON. Close it when done.
 *
 * Going back is done by replaying from a process parked before the place, a keyframe.
 * They are set up in the background; everything works at once without them, slower.
 */
export class Timeline {
  readonly #moments: Moments
  readonly #fleet: Fleet
  readonly #keyframes: Keyframes
  readonly #limits: KeyframeLimits
  readonly #run: string
  readonly #watches = new Watches()
  readonly #conditions = new ConditionMemory()
  #position: Position = { kind: 'start' }
  #index = -1
  /** Stands at the position, unless a motion was given up. */
  #runner: Runner | undefined
  #stop: Stop | undefined
  #signal: AbortSignal | undefined
  #last: Promise<unknown> = Promise.resolve()
  #isClosed = false

  constructor({ tape, steps, spawn, ...limits }: TimelineOptions) {
    const { keyframes = KEYFRAMES, memoryBytes = MEMORY_BYTES } = limits
    this.#limits = { keyframes, memoryBytes }
    this.#run = tape.run.id
    this.#moments = new Moments(tape, steps)
    this.#fleet = new Fleet(spawn)
    this.#keyframes = new Keyframes(this.#fleet, this.#moments, this.#limits)
    if (this.#moments.count > 0) this.#keyframes.resume(-1)
  }

  /** Where the timeline stands. */
  get position(): Position {
    return this.#position
  }

  /** The steps in the order of time. `from` and `to` may lie outside. */
  moments(from = 0, to = this.#moments.count): Moment[] {
    const first = Math.max(0, from)
    const count = Math.max(0, Math.min(to, this.#moments.count) - first)
    return Array.from({ length: count }, (_, offset) => this.#moments.at(first + offset))
  }

  /** To the moment the answer of a step reached the agent. */
  jump(step: number | string, options: MotionOptions = {}): Promise<Position> {
    return this.#motion(options, () => {
      const index = this.#moments.indexOf(String(step))
      if (index === undefined)
        throw errors.noSuchMoment(this.#run, String(step), this.#moments.count)
      return this.#goTo(index)
    })
  }

  /** To the step that is answered next, or to the end. */
  next(options: MotionOptions = {}): Promise<Position> {
    return this.#motion(options, () => this.#goTo(this.#index + 1))
  }

  /** To the step that was answered before, or to the start. */
  back(options: MotionOptions = {}): Promise<Position> {
    return this.#motion(options, () => this.#goTo(this.#index - 1))
  }

  /** To the next step of a lane: of the current one unless said. */
  nextInLane(options: MotionOptions & { readonly lane?: number } = {}): Promise<Position> {
    return this.#motion(options, () => {
      const lane = options.lane ?? this.#lane()
      for (let index = this.#index + 1; index < this.#moments.count; index++)
        if (this.#moments.laneAt(index) === lane) return this.#goTo(index)
      return this.#goTo(this.#moments.count)
    })
  }

  /** To the step before in a lane: in the current one unless said. */
  backInLane(options: MotionOptions & { readonly lane?: number } = {}): Promise<Position> {
    return this.#motion(options, () => {
      const lane = options.lane ?? this.#lane()
      for (let index = this.#index - 1; index >= 0; index--)
        if (this.#moments.laneAt(index) === lane) return this.#goTo(index)
      return this.#goTo(-1)
    })
  }

  /** To the next step at which the condition is true; without one, to the end. */
  continue(condition?: string, options: MotionOptions = {}): Promise<Position | NotFound> {
    return this.#motion(options, async () => {
      if (condition === undefined) return this.#goTo(this.#moments.count)
      const results = this.#conditions.of(condition)
      for (let index = this.#index + 1; index < this.#moments.count; index++) {
        const { isTrue } = await this.#test(condition, index, results)
        if (isTrue) return this.#goTo(index)
      }
      return notFound(condition, results, (index) => index > this.#index)
    })
  }

  /** To the latest earlier step at which the condition was true. */
  reverseContinue(condition: string, options: MotionOptions = {}): Promise<Position | NotFound> {
    return this.#motion(options, async () => {
      const results = this.#conditions.of(condition)
      // Stretch by stretch, each forward from the keyframe before it.
      for (let last = this.#index - 1; last >= 0;) {
        const first = this.#keyframes.nearestIndex(last, this.#runner) ?? 0
        for (let index = first; index <= last; index++) await this.#test(condition, index, results)
        for (let index = last; index >= first; index--)
          if (results.get(index)?.isTrue) return this.#goTo(index)
        last = first - 1
      }
      return notFound(condition, results, (index) => index < this.#index)
    })
  }

  /** Value of an expression in the innermost frame of user code. It cannot change anything. */
  print(expression: string, options: MotionOptions = {}): Promise<Evaluation> {
    return this.#motion(options, () => this.#evaluateHere(expression))
  }

  /** Variables of a frame of the stack: of the innermost one of user code unless said. */
  locals(frame?: number): Promise<readonly Variable[]> {
    return this.#motion({}, () => {
      const frames = this.#stopped().frames
      const chosen = frame === undefined ? frames.find(({ isUser }) => isUser) : frames[frame]
      return Promise.resolve(chosen?.variables ?? [])
    })
  }

  stack(): Promise<readonly StackLine[]> {
    return this.#motion({}, () => {
      this.#stopped()
      return Promise.resolve(this.#position.kind === 'stop' ? this.#position.stack : [])
    })
  }

  /** Shows the value of an expression from now on at every stop; answers with the one here. */
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

  /** Answers whether it was watched. */
  unwatch(expression: string): Promise<boolean> {
    return this.#motion({}, () => {
      const wasWatched = this.#watches.remove(expression)
      if (this.#position.kind === 'stop') {
        const watches = this.#position.watches.filter((each) => each.expression !== expression)
        this.#position = { ...this.#position, watches }
      }
      return Promise.resolve(wasWatched)
    })
  }

  /** Resolves when the keyframes are where they should be. Nobody needs to wait for it. */
  warmedUp(): Promise<void> {
    return this.#keyframes.settled()
  }

  async status(): Promise<TimelineStatus> {
    const sizes = await this.#fleet.sizes()
    return {
      parked: this.#keyframes.places,
      onTheWay: this.#keyframes.onTheWay,
      processes: this.#fleet.count,
      residentBytes: sizes.reduce((sum, size) => sum + size, 0),
      limits: this.#limits,
    }
  }

  /** Ends every process. Resolves when they are gone. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#keyframes.close()
    await this.#fleet.close()
  }

  /** One at a time; the background rests meanwhile. */
  #motion<T>({ signal }: MotionOptions, move: () => Promise<T>): Promise<T> {
    const done = this.#last.then(async () => {
      if (this.#isClosed) throw errors.timelineClosed()
      signal?.throwIfAborted()
      const giveUp = (): void => this.#dropRunner()
      signal?.addEventListener('abort', giveUp, { once: true })
      this.#signal = signal
      this.#keyframes.pause()
      try {
        return await move()
      } catch (error) {
        if (this.#isClosed) throw errors.timelineClosed()
        signal?.throwIfAborted()
        throw error
      } finally {
        signal?.removeEventListener('abort', giveUp)
        if (this.#moments.count > 0) this.#keyframes.resume(this.#index)
      }
    })
    this.#last = done.catch(() => {})
    return done
  }

  async #goTo(wanted: number): Promise<Position> {
    const index = Math.max(-1, Math.min(wanted, this.#moments.count))
    const isOutside = index < 0 || index === this.#moments.count
    const stop = isOutside ? undefined : await this.#stopAt(index, false)
    const position = await this.#describe(index, stop)
    this.#index = index
    this.#stop = stop?.kind === 'stop' ? stop : undefined
    this.#position = position
    return position
  }

  async #describe(index: number, stop: Stop | Ended | undefined): Promise<Position> {
    if (stop === undefined) return { kind: index < 0 ? 'start' : 'end' }
    const moment = this.#moments.at(index)
    if (stop.kind === 'ended') return { kind: 'end', moment }
    const watches = await this.#watches.read((expression) => this.#evaluate(expression))
    return positionOf(moment, stop, watches)
  }

  async #test(
    condition: string,
    index: number,
    results: Map<number, ConditionResult>,
  ): Promise<ConditionResult> {
    const known = results.get(index)
    if (known) return known
    const stop = await this.#stopAt(index, true)
    const result =
      stop.kind === 'ended'
        ? { isTrue: false }
        : conditionResult(await this.#evaluate(`!!(${condition}\n)`))
    results.set(index, result)
    return result
  }

  /** Brings a process to a moment: the nearest one before it, or a new one. */
  async #stopAt(index: number, keepDebugger: boolean): Promise<Stop | Ended> {
    for (let attempt = 1; ; attempt++) {
      const runner = await this.#runnerFor(index)
      const stop = await runner.stopAt(this.#moments.seqAt(index), keepDebugger)
      if (stop.kind === 'stop') return stop
      this.#dropRunner()
      this.#signal?.throwIfAborted()
      // Somebody else ended the process, the system perhaps.
      if (stop.signal !== undefined && attempt < ATTEMPTS_MAX) continue
      const problem = problemOf(stop)
      if (problem !== undefined)
        throw errors.stepNotReached(this.#run, this.#moments.labelAt(index), problem)
      return stop
    }
  }

  async #runnerFor(index: number): Promise<Runner> {
    const own = this.#runner
    if (own?.isStoppedAt(this.#moments.seqAt(index))) return own
    const best = await this.#keyframes.take(index, own, this.#signal)
    if (best !== undefined && best === own) return own
    this.#runner = undefined
    if (own) this.#keyframes.park(own)
    this.#runner = best ?? (await this.#fleet.start())
    this.#signal?.throwIfAborted()
    return this.#runner
  }

  #dropRunner(): void {
    if (this.#runner) this.#fleet.end(this.#runner)
    this.#runner = undefined
  }

  /** In a process that stands at the position; brings one there if a motion was given up. */
  async #evaluateHere(expression: string): Promise<Evaluation> {
    this.#stopped()
    await this.#stopAt(this.#index, false)
    return this.#evaluate(expression)
  }

  #evaluate(expression: string): Promise<Evaluation> {
    if (this.#runner === undefined) throw errors.probeGone('an expression')
    return this.#runner.evaluate(expression)
  }

  #stopped(): Stop {
    if (this.#stop === undefined) throw errors.notAtAStep(this.#position.kind)
    return this.#stop
  }

  #lane(): number {
    const isOutside = this.#index < 0 || this.#index >= this.#moments.count
    return isOutside ? 0 : this.#moments.laneAt(this.#index)
  }
}

/** Why the replay did not come to where the recording was; undefined when it just ended. */
function problemOf({ report, signal, exitCode }: Ended): string | undefined {
  if (report === undefined)
    return `It ${signal ? `was killed by ${signal}` : `exited with ${exitCode}`}.`
  const [divergence] = report.divergences as readonly Divergence[]
  return divergence && `It diverged at event ${divergence.seq}: ${divergence.summary}`
}

function notFound(
  condition: string,
  results: ReadonlyMap<number, ConditionResult>,
  wasLookedAt: (index: number) => boolean,
): NotFound {
  const seen = [...results].filter(([index]) => wasLookedAt(index)).map(([, result]) => result)
  const messages = seen.map(({ message }) => message).filter((message) => message !== undefined)
  const message = messages.at(-1)
  return {
    kind: 'not found',
    condition,
    steps: seen.length,
    failed: messages.length,
    ...(message !== undefined && { message }),
  }
}
