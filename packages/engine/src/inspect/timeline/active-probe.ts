import { errors, RetakeError } from '../../errors.js'
import type { Ended, Evaluation } from '../probe/probe-thread.js'
import type { Stop } from '../probe/stop.js'
import type { ProbePool, Runner } from './probe-pool.js'
import type { Keyframes } from './keyframes.js'
import type { Moments } from './moments.js'
import type { NotFound } from './position.js'

/** How often to replace a process that was ended from outside. */
const ATTEMPTS_MAX = 3
/** Number of moments after which running with a debugger costs more than attaching it again. */
const NEAR = 200

/**
 * The process being inspected. It changes: the process that reaches a moment first is used, and the
 * previous one is parked.
 */
export class ActiveProbe {
  signal: AbortSignal | undefined
  #runner: Runner | undefined

  constructor(
    readonly run: string,
    readonly moments: Moments,
    readonly pool: ProbePool,
    readonly keyframes: Keyframes,
  ) {}

  async stopAt(index: number): Promise<Stop | Ended> {
    for (let attempt = 1; ; attempt++) {
      const stop = await this.#tryToStopAt(index, attempt < ATTEMPTS_MAX)
      if (stop === undefined) continue
      if (stop.kind === 'stop') return stop
      const { report, signal, exitCode } = stop
      const [divergence] = report?.divergences ?? []
      // The replay simply ended.
      if (report !== undefined && divergence === undefined) return stop
      const problem = divergence
        ? `It diverged at event ${divergence.seq}: ${divergence.summary}.`
        : `It ${signal ? `was killed by ${signal}` : `exited with ${exitCode}`}.`
      throw errors.STEP_NOT_REACHED(this.run, this.moments.labelAt(index), problem)
    }
  }

  /** Evaluates an expression at the last stop. */
  evaluate(expression: string): Promise<Evaluation> {
    if (this.#runner === undefined) throw errors.PROBE_GONE('an expression')
    return this.#runner.evaluate(expression)
  }

  /** The moment from which a move to another one would start; undefined for the start. */
  nearestIndex(index: number): number | undefined {
    return this.keyframes.nearestIndex(index, this.#runner)
  }

  /** Ends the process, whatever it is doing. The next move uses another one. */
  giveUp(): void {
    if (this.#runner) this.pool.end(this.#runner)
    this.#runner = undefined
  }

  /** Undefined if something else, such as the system, ended the process and another attempt is allowed. */
  async #tryToStopAt(index: number, mayFail: boolean): Promise<Stop | Ended | undefined> {
    const runner = await this.#runnerFor(index)
    try {
      const isNear = index - this.moments.firstFrom(runner.from) <= NEAR
      const stop = await runner.stopAt(this.moments.seqAt(index), isNear)
      if (stop.kind === 'stop') return stop
      this.giveUp()
      this.signal?.throwIfAborted()
      return mayFail && stop.signal !== undefined ? undefined : stop
    } catch (error) {
      // The process is no longer reliable.
      this.giveUp()
      this.signal?.throwIfAborted()
      if (mayFail && error instanceof RetakeError && error.code === 'PROBE_GONE') return undefined
      throw error
    }
  }

  async #runnerFor(index: number): Promise<Runner> {
    const own = this.#runner
    if (own?.isStoppedAt(this.moments.seqAt(index))) return own
    const best = await this.keyframes.take(index, own, this.signal)
    if (best !== undefined && best === own) return own
    this.#runner = undefined
    if (own) this.keyframes.park(own)
    if (best) return (this.#runner = best)
    await this.pool.endings()
    this.signal?.throwIfAborted()
    return (this.#runner = this.pool.start())
  }
}

/** A condition at one moment; an error counts as false. */
interface Result {
  readonly isTrue: boolean
  readonly message?: string
}

const CONDITIONS_MAX = 50

/**
 * Finds moments at which a condition is true. Results are cached: a replay is always the same, so
 * they never become stale.
 */
export class ConditionSearch {
  readonly #memory = new Map<string, Map<number, Result>>()

  constructor(readonly active: ActiveProbe) {}

  /** The first moment from `from` on, before `end`. */
  async forward(condition: string, from: number, end: number): Promise<number | NotFound> {
    const results = this.#resultsOf(condition)
    for (let index = from; index < end; index++)
      if ((await this.#test(condition, index, results)).isTrue) return index
    return notFound(condition, results, from, end)
  }

  /** The last moment before `end`: section by section, each forward from the keyframe before it. */
  async backward(condition: string, end: number): Promise<number | NotFound> {
    const results = this.#resultsOf(condition)
    for (let last = end - 1; last >= 0;) {
      const first = this.active.nearestIndex(last) ?? 0
      for (let index = first; index <= last; index++) await this.#test(condition, index, results)
      for (let index = last; index >= first; index--) if (results.get(index)?.isTrue) return index
      last = first - 1
    }
    return notFound(condition, results, 0, end)
  }

  async #test(condition: string, index: number, results: Map<number, Result>): Promise<Result> {
    const known = results.get(index)
    if (known) return known
    const stop = await this.active.stopAt(index)
    let result: Result = { isTrue: false }
    if (stop.kind === 'stop') {
      const evaluation = await this.active.evaluate(`!!(${condition}\n)`)
      result = evaluation.ok
        ? { isTrue: evaluation.value.json === true }
        : { isTrue: false, message: evaluation.message }
    }
    results.set(index, result)
    return result
  }

  #resultsOf(condition: string): Map<number, Result> {
    const results = this.#memory.get(condition) ?? new Map<number, Result>()
    // Moves the condition to the end, because the least recently used one is dropped first.
    this.#memory.delete(condition)
    this.#memory.set(condition, results)
    const [oldest = condition] = this.#memory.keys()
    if (this.#memory.size > CONDITIONS_MAX) this.#memory.delete(oldest)
    return results
  }
}

function notFound(
  condition: string,
  results: ReadonlyMap<number, Result>,
  from: number,
  end: number,
): NotFound {
  const seen = [...results].filter(([index]) => index >= from && index < end)
  const messages = seen.map(([, { message }]) => message).filter((text) => text !== undefined)
  const message = messages.at(-1)
  return {
    kind: 'not found',
    condition,
    steps: seen.length,
    failed: messages.length,
    ...(message !== undefined && { message }),
  }
}
