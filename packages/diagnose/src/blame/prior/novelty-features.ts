import { flag } from './position-features.js'
import { isActing, type PriorStep } from './prior-step.js'
import type { PriorRun } from './prior-run.js'
import { countShared, likeness, shareNew } from './word-sets.js'

/** How far back and ahead texts are compared: a long run must not cost its square. */
const REACH = 12

/**
 * What a step brings in, repeats, and passes on. The end of a run is where its
 * wrong answer stands: the step that first says what the end says is telling.
 */
export const noveltyFeatures = ({ steps, sets }: PriorRun) => {
  const seenWords = new Set<string>()
  const seenNumbers = new Set<string>()
  const endIndex = steps.findLastIndex((step) => isActing(step) && step.text.length > 20)
  const end = sets[endIndex]
  const firstSaid = new Map<string, number>()
  for (const text of steps.map(sayingOf).entries()) {
    if (!firstSaid.has(text[1])) firstSaid.set(text[1], text[0])
  }
  const fresh = sets.map(({ words, numbers }) => {
    const newNumbers = new Set([...numbers].filter((number) => !seenNumbers.has(number)))
    const newWords = new Set([...words].filter((word) => !seenWords.has(word)))
    const shares = [shareNew(words, seenWords), shareNew(numbers, seenNumbers)] as const
    for (const word of words) seenWords.add(word)
    for (const number of numbers) seenNumbers.add(number)
    return { newNumbers, newWords, shares }
  })
  const similarities = (index: number, from: number, to: number): number => {
    let most = 0
    for (let other = Math.max(0, from); other < Math.min(steps.length, to); other++) {
      if (steps[other]?.role !== steps[index]?.role) continue
      most = Math.max(most, likeness(sets[index]!.words, sets[other]!.words))
    }
    return most
  }
  return (index: number) => {
    const own = fresh[index]
    const step = steps[index]
    if (own === undefined || step === undefined) throw new RangeError(`no step ${index}`)
    const endWords =
      end === undefined || index === endIndex ? 0 : countShared(own.newWords, end.words)
    const endNumbers =
      end === undefined || index === endIndex ? 0 : countShared(own.newNumbers, end.numbers)
    return {
      newWords: own.shares[0],
      newNumbers: own.shares[1],
      newNumberCount: Math.log1p(own.newNumbers.size),
      bringsEndWords: endWords / Math.max(1, end?.words.size ?? 0),
      bringsEndNumbers: Math.log1p(endNumbers),
      likeEarlier: similarities(index, index - REACH, index),
      likeLater: similarities(index, index + 1, index + 1 + REACH),
      repeats: flag((firstSaid.get(sayingOf(step)) ?? index) < index),
      likeEnd: end === undefined ? 0 : likeness(sets[index]!.words, end.words),
    }
  }
}

const sayingOf = ({ speaker, text, calls = '' }: PriorStep): string =>
  `${speaker}\n${calls === '' ? text : calls}`
