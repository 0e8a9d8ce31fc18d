import { flag } from './position-features.js'
import type { PriorRun } from './prior-run.js'
import { isActing } from './prior-step.js'
import { countMatches, TELLING_WORDS, type TellingWord } from './telling-words.js'

/** Nobody says more; what is longer is a dump. */
const TEXT_MAX = 100_000

/** What kind of words a step uses, and how many. */
export const wordingFeatures = ({ steps, sets }: PriorRun) => {
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
