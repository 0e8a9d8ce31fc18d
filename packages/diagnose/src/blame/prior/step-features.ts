import { noveltyFeatures } from './novelty-features.js'
import { flag, positionFeatures } from './position-features.js'
import { priorRun, type PriorRun } from './prior-run.js'
import { isActing, type PriorStep } from './prior-step.js'
import { countMatches, TELLING_WORDS, type TellingWord } from './telling-words.js'

/** Nobody says more; what is longer is a dump. */
const TEXT_MAX = 100_000

/** What kind of words a step uses, and how many. */
const wordingFeatures = ({ steps, sets }: PriorRun) => {
  const tallies = steps.map(({ text }) => tallyWords(text.slice(0, TEXT_MAX)))
  const lengths = steps.filter(isActing).map(({ text }) => Math.log1p(text.length))
  const usual = lengths.toSorted((a, b) => a - b)[Math.floor(lengths.length / 2)] ?? 0
  return (index: number) => {
    const { text: whole = '', calls = '' } = steps[index] ?? {}
    const text = whole.slice(0, TEXT_MAX)
    const told = tallies[index] ?? NONE_TOLD
    const next = tallies[nextActing(steps, index)] ?? NONE_TOLD
    const length = Math.log1p(whole.length)
    return {
      length,
      lengthOffUsual: Math.abs(length - usual),
      hasCode: flag(calls !== '' || text.includes('```')),
      hasLink: flag(/https?:\/\//.test(text)),
      asks: flag(/\?[ \t]*$/m.test(text)),
      numbers: Math.log1p(sets[index]?.numbers.size ?? 0),
      listed: Math.log1p(countMatches(text, /^[ \t]*(?:\d+\.|[-*]) /gm)),
      ...told,
      giveUpNext: next.giveUp,
      correctingNext: next.correcting,
      confirmingNext: next.confirming,
    }
  }
}

/** The next that decides something, if it comes soon; else -1. */
const nextActing = (steps: PriorRun['steps'], index: number): number => {
  const soon = steps.slice(index + 1, index + 4).findIndex(isActing)
  return soon < 0 ? -1 : index + 1 + soon
}

const tallyWords = (text: string): Record<TellingWord, number> => {
  const tally = { ...NONE_TOLD }
  for (const word of TELLING) tally[word] = Math.log1p(countMatches(text, TELLING_WORDS[word]))
  return tally
}

const TELLING = Object.keys(TELLING_WORDS) as TellingWord[]

const NONE_TOLD = Object.fromEntries(TELLING.map((word) => [word, 0])) as Record<
  TellingWord,
  number
>

/** How a step stands to what failed in the environment. */
const failureFeatures = ({ steps, failed, empty, answeredAt, ...run }: PriorRun) => {
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

/** What is seen of one step without running anything; every feature by its name. */
export type StepFeatures = ReturnType<ReturnType<typeof positionFeatures>> &
  ReturnType<ReturnType<typeof failureFeatures>> &
  ReturnType<ReturnType<typeof wordingFeatures>> &
  ReturnType<ReturnType<typeof noveltyFeatures>>

export type FeatureName = keyof StepFeatures

/**
 * Features of every step of a run: the same steps always give the same numbers.
 * They are hints, drawn from words and places; none of them shows a cause.
 */
export const stepFeatures = (steps: readonly PriorStep[]): StepFeatures[] => {
  const run = priorRun(steps)
  const position = positionFeatures(run)
  const failure = failureFeatures(run)
  const wording = wordingFeatures(run)
  const novelty = noveltyFeatures(run)
  return steps.map((_, index) => ({
    ...position(index),
    ...failure(index),
    ...wording(index),
    ...novelty(index),
  }))
}
