import { flag } from './position-features.js'
import { isActing, type PriorStep } from './prior-step.js'
import type { PriorRun } from './prior-run.js'
import { countShared, likeness, shareNew, type WordSets } from './word-sets.js'

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
  for (const [index, step] of steps.entries()) {
    const saying = sayingOf(step)
    if (!firstSaid.has(saying)) firstSaid.set(saying, index)
  }
  const fresh = sets.map(({ words, numbers }) => {
    const newNumbers = new Set([...numbers].filter((number) => !seenNumbers.has(number)))
    const newWords = new Set([...words].filter((word) => !seenWords.has(word)))
    const shares = [shareNew(words, seenWords), shareNew(numbers, seenNumbers)] as const
    for (const word of words) seenWords.add(word)
    for (const number of numbers) seenNumbers.add(number)
    return { newNumbers, newWords, shares }
  })
  const alike = likenesses(steps, sets)
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
      likeEarlier: alike.earlier[index] ?? 0,
      likeLater: alike.later[index] ?? 0,
      repeats: flag((firstSaid.get(sayingOf(step)) ?? index) < index),
      likeEnd: end === undefined ? 0 : likeness(sets[index]!.words, end.words),
    }
  }
}

/** How like the most alike step of its role is, among those shortly before and after. */
const likenesses = (
  steps: readonly PriorStep[],
  sets: readonly WordSets[],
): { readonly earlier: Float64Array; readonly later: Float64Array } => {
  const earlier = new Float64Array(steps.length)
  const later = new Float64Array(steps.length)
  for (const [index, { words }] of sets.entries()) {
    for (let before = Math.max(0, index - REACH); before < index; before++) {
      if (steps[before]?.role !== steps[index]?.role) continue
      const alike = likeness(words, sets[before]!.words)
      earlier[index] = Math.max(earlier[index]!, alike)
      later[before] = Math.max(later[before]!, alike)
    }
  }
  return { earlier, later }
}

const sayingOf = ({ speaker, text, calls = '' }: PriorStep): string =>
  `${speaker}\n${calls === '' ? text : calls}`
