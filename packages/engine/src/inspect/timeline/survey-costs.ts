import type { Ended } from '../probe-thread.js'
import type { Moments } from './moments.js'
import { processorTime } from './processor-time.js'
import type { Runner } from './runner.js'

/** More measurements would slow down what they measure. */
const MEASUREMENTS_MAX = 100

/** How long a replay takes to reach each moment. */
export interface Survey {
  /** Milliseconds from the start of the process, by moment. */
  readonly costs: readonly number[]
  /** How many moments it reached. */
  readonly reached: number
  /** Set when it did not reach all: the code is not what it was, or the process was killed. */
  readonly end?: Ended
}

/** Runs a new process through the whole run, and measures on the way. */
export async function surveyCosts(moments: Moments, runner: Runner): Promise<Survey> {
  const started = performance.now()
  const stride = Math.ceil(moments.count / MEASUREMENTS_MAX)
  const known: { readonly index: number; readonly ms: number }[] = []
  for (let index = 0; index < moments.count; index = nextOf(index, stride, moments.count)) {
    const end = await runner.park(moments.seqAt(index))
    if (end) return { costs: interpolate(known), reached: index, end }
    const ms = (await processorTime(runner.pid)) ?? performance.now() - started
    known.push({ index, ms })
  }
  return { costs: interpolate(known), reached: moments.count }
}

/** Every `stride`th one, and the last. */
const nextOf = (index: number, stride: number, count: number): number =>
  index === count - 1 ? count : Math.min(index + stride, count - 1)

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
