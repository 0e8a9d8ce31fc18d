import { flag } from './position-features.js'
import type { PriorRun } from './prior-run.js'
import { isActing } from './prior-step.js'
import { countMatches, TELLING_WORDS, type TellingWord } from './telling-words.js'

/** What kind of words a step uses, and how many. */
export const wordingFeatures = ({ steps, sets }: PriorRun) => {
  const lengths = steps.filter(isActing).map(({ text }) => Math.log1p(text.length))
  const usual = lengths.toSorted((a, b) => a - b)[Math.floor(lengths.length / 2)] ?? 0
  return (index: number) => {
    const { text = '', calls = '' } = steps[index] ?? {}
    const next = nextActing(steps, index)
    const told = (word: TellingWord): number => Math.log1p(countMatches(text, TELLING_WORDS[word]))
    const toldNext = (word: TellingWord): number =>
      Math.log1p(countMatches(next?.text ?? '', TELLING_WORDS[word]))
    const length = Math.log1p(text.length)
    return {
      length,
      lengthOffUsual: Math.abs(length - usual),
      hasCode: flag(calls !== '' || text.includes('```')),
      hasLink: flag(/https?:\/\//.test(text)),
      asks: flag(/\?\s*$/m.test(text)),
      numbers: Math.log1p(sets[index]?.numbers.size ?? 0),
      listed: Math.log1p(countMatches(text, /^\s*(?:\d+\.|[-*]) /gm)),
      hedging: told('hedging'),
      memory: told('memory'),
      giveUp: told('giveUp'),
      trouble: told('trouble'),
      verdict: told('verdict'),
      confirming: told('confirming'),
      correcting: told('correcting'),
      planning: told('planning'),
      guessing: told('guessing'),
      handing: told('handing'),
      giveUpNext: toldNext('giveUp'),
      correctingNext: toldNext('correcting'),
      confirmingNext: toldNext('confirming'),
    }
  }
}

const nextActing = (steps: PriorRun['steps'], index: number) => {
  for (let later = index + 1; later < Math.min(steps.length, index + 4); later++) {
    const step = steps[later]
    if (step !== undefined && isActing(step)) return step
  }
  return undefined
}
