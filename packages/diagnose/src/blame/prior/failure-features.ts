import { flag } from './position-features.js'
import type { PriorRun } from './prior-run.js'

/** How a step stands to what failed in the environment. */
export const failureFeatures = ({ steps, failed, empty, answeredAt, ...run }: PriorRun) => {
  const before: number[] = []
  let count = 0
  for (const holds of failed) {
    before.push(count)
    if (holds) count++
  }
  return (index: number) => {
    const answer = answeredAt[index] ?? -1
    const failsNext = failed[answer] ?? false
    return {
      failed: flag(failed[index] ?? false),
      failedFirst: flag(index === run.firstFailure),
      empty: flag(empty[index] ?? false),
      answered: flag(answer >= 0),
      failsNext: flag(failsNext),
      emptyNext: flag(empty[answer] ?? false),
      failsNextFirst: flag(failsNext && answer === run.firstFailure),
      succeedsNext: flag(answer >= 0 && !failsNext && empty[answer] === false),
      failedBefore: flag(failed[index - 1] ?? false),
      emptyBefore: flag(empty[index - 1] ?? false),
      afterFailure: flag((before[index] ?? 0) > 0),
      failuresBefore: Math.log1p(before[index] ?? 0),
      suspect: flag(index === run.suspect),
      suspectOfFailure: flag(index === run.suspect && run.firstFailure >= 0),
      retry: flag(
        (failed[index - 1] ?? false) && steps[index]?.speaker === steps[index - 2]?.speaker,
      ),
    }
  }
}
