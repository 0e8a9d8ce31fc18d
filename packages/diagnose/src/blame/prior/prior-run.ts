import { isActing, type PriorStep } from './prior-step.js'
import { saysFailed, saysNothing } from './telling-words.js'
import { wordSetsOf, type WordSets } from './word-sets.js'

/** What several features need of a run, worked out once. */
export interface PriorRun {
  readonly steps: readonly PriorStep[]
  readonly sets: readonly WordSets[]
  /** An environment that failed. */
  readonly failed: readonly boolean[]
  /** An environment that came back with nothing. */
  readonly empty: readonly boolean[]
  /** The answer of an environment before anybody else acts, of several the first that failed; -1 if there is none. */
  readonly answeredAt: readonly number[]
  /** The first failure of an environment; -1 if there is none. */
  readonly firstFailure: number
  /** The last step that decided something before the first failure, else the first that did. */
  readonly suspect: number
}

export const priorRun = (steps: readonly PriorStep[]): PriorRun => {
  const isEnvironment = steps.map(({ role }) => role === 'environment')
  const failed = steps.map(({ isError, text }, index) =>
    isEnvironment[index] === true ? (isError ?? saysFailed(text)) : false,
  )
  const firstFailure = failed.indexOf(true)
  return {
    steps,
    sets: steps.map(({ text, calls = '' }) => wordSetsOf(`${text} ${calls}`)),
    failed,
    empty: steps.map(
      ({ text }, index) =>
        isEnvironment[index] === true && failed[index] === false && saysNothing(text),
    ),
    answeredAt: steps.map((_, index) => answerTo(index, isEnvironment, failed)),
    firstFailure,
    suspect: suspectOf(steps, firstFailure),
  }
}

const answerTo = (
  index: number,
  isEnvironment: readonly boolean[],
  failed: readonly boolean[],
): number => {
  if (isEnvironment[index] === true || isEnvironment[index + 1] !== true) return -1
  for (let answer = index + 1; isEnvironment[answer] === true; answer++) {
    if (failed[answer] === true) return answer
  }
  return index + 1
}

const suspectOf = (steps: readonly PriorStep[], firstFailure: number): number => {
  const before = firstFailure < 0 ? -1 : steps.slice(0, firstFailure).findLastIndex(isActing)
  return before >= 0 ? before : Math.max(0, steps.findIndex(isActing))
}
