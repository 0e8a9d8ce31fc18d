/**
 * Numbers that describe the steps of a run, to learn from which of them people blame. Eight
 * are enough and come from the package (`priorFeatures`); the others are only measured.
 */
import { CONFIRMING, findFailures, isActing, priorFeatures } from '@retake/lab'

/** Long texts are mostly pages and dumps; their beginning and end tell enough. */
const WORDS_TEXT_MAX = 20_000

/** The parts of a step's text that are compared: words, and numbers of two digits or more. */
const wordSetsOf = (text) => {
  const clipped = clip(text).toLowerCase()
  return {
    words: new Set(clipped.match(/\p{L}{3,}/gu)),
    numbers: new Set(
      (clipped.match(/\d[\d,]*(?:\.\d+)?/g) ?? [])
        .map((number) => number.replaceAll(',', ''))
        .filter((number) => number.length > 1),
    ),
    length: text.length,
  }
}

const clip = (text) =>
  text.length <= WORDS_TEXT_MAX
    ? text
    : `${text.slice(0, WORDS_TEXT_MAX * 0.75)} ${text.slice(-WORDS_TEXT_MAX * 0.25)}`

/** Share of the one that is not in the other; 0 when it is empty. */
const shareNew = (set, seen) => {
  if (set.size === 0) return 0
  let fresh = 0
  for (const item of set) if (!seen.has(item)) fresh++
  return fresh / set.size
}

const countShared = (left, right) => {
  const [small, large] = left.size < right.size ? [left, right] : [right, left]
  let shared = 0
  for (const item of small) if (large.has(item)) shared++
  return shared
}

/** Shared words over all words of both; 0 when both are empty. */
const likeness = (left, right) => {
  const shared = countShared(left, right)
  const all = left.size + right.size - shared
  return all === 0 ? 0 : shared / all
}

/** Facts about a run that several features use. @param {readonly import('@retake/lab').PriorStep[]} steps */
const priorRun = (steps) => {
  const isEnvironment = steps.map(({ role }) => role === 'environment')
  const { failed, first, suspect } = findFailures(steps)
  return {
    steps,
    sets: steps.map(({ text, calls = '' }) => wordSetsOf(`${text} ${calls}`)),
    failed,
    /** An environment that came back with nothing. */
    empty: steps.map(
      ({ text }, index) => isEnvironment[index] && !failed[index] && saysNothing(text),
    ),
    /** The answer of an environment before another step acts, the first that failed; else -1. */
    answeredAt: steps.map((_, index) => answerTo(index, isEnvironment, failed)),
    firstFailure: first,
    suspect,
  }
}

const answerTo = (index, isEnvironment, failed) => {
  if (isEnvironment[index] === true || isEnvironment[index + 1] !== true) return -1
  for (let answer = index + 1; isEnvironment[answer] === true; answer++) {
    if (failed[answer] === true) return answer
  }
  return index + 1
}

/** Words that people and models use at turns of a run; English only. Counted, never understood. */
const TELLING_WORDS = {
  /** Remembered instead of looked up. */
  memory:
    /\b(?:my knowledge|i recall|from memory|known to|generally|typically|commonly|historical(?:ly)? (?:data|records)|it is known|well-known|based on (?:the )?(?:general|common|my))\b/gi,
  giveUp:
    /\b(?:unable|cannot|can't|could not|couldn't|not (?:possible|available|feasible|accessible|able)|failed to|fail(?:s|ed|ure)?|apologi\w+|sorry|unfortunately|no (?:direct )?access)\b/gi,
  trouble:
    /\b(?:error|errors|exception|traceback|timed? ?out|timeout|denied|forbidden|invalid|unexpected|undefined|not found|missing|issue|issues|problem|refused|blocked|captcha)\b/gi,
  verdict:
    /\b(?:therefore|thus|hence|in conclusion|conclude[sd]?|final answer|the answer is|result is|terminate|in summary|summary|so,? the)\b/gi,
  confirming: CONFIRMING,
  correcting:
    /\b(?:however|incorrect(?:ly)?|mistake\w*|wrong(?:ly)?|instead|revis\w+|adjust\w*|re-?check\w*|double-?check\w*|actually|misunder\w+|overlook\w*|should have|fix\w*)\b/gi,
  planning:
    /\b(?:plan|steps?|first(?:ly)?|next|then|proceed|will|let's|let us|need to|going to|to do this)\b/gi,
  guessing:
    /\b(?:approximate\w*|estimate[sd]?|roughly|about|likely|probably|might|may|could be|seems?|appears?|perhaps|possibly)\b/gi,
  handing: /\b(?:please|could you|can you|would you|share|provide)\b/gi,
}

const countMatches = (text, pattern) => text.match(pattern)?.length ?? 0

/** An answer that holds nothing: no output, an empty list, nothing found. */
const saysNothing = (text) => {
  const start = text.slice(0, 2000).toLowerCase()
  return NOTHING_FOUND.test(start) || NOTHING.has(withoutHead(start))
}

const NOTHING = new Set(['', '[]', '{}', 'none', 'null', 'undefined', '""', 'n/a'])

const NOTHING_FOUND =
  /no results?\b|not found|nothing (?:was )?found|no data|could not find|there is no code/

/** Without what a terminal says before the output. */
const withoutHead = (text) =>
  text
    .trim()
    .replace(/^exit ?code:? ?0[^\n]*(?:\n|$)/, '')
    .trim()
    .replace(/^code output:/, '')
    .trim()
    .replace(/^([[{])\s+([\]}])$/, '$1$2')

/** Where a step stands, and who it is. Reads no text. */
const positionFeatures = (run) => {
  const { steps } = run
  const last = Math.max(1, steps.length - 1)
  const nthActing = countUp(steps.map(isActing))
  const acting = nthActing.at(-1) ?? 0
  const bySpeaker = new Map()
  for (const { speaker } of steps) bySpeaker.set(speaker, (bySpeaker.get(speaker) ?? 0) + 1)
  const firstOf = new Map(steps.map(({ speaker }, index) => [speaker, index]).toReversed())
  const lastOf = new Map(steps.map(({ speaker }, index) => [speaker, index]))
  return (index) => {
    const step = steps[index]
    if (step === undefined) throw new RangeError(`no step ${index}`)
    const nth = isActing(step) ? (nthActing[index] ?? 0) : 0
    return {
      atStart: flag(index === 0),
      second: flag(index === 1),
      third: flag(index === 2),
      logPosition: Math.log1p(index),
      fromStart: index / last,
      fromStartSquared: (index / last) ** 2,
      atEnd: flag(index === steps.length - 1),
      nextToEnd: flag(index === steps.length - 2),
      firstActing: flag(nth === 1),
      secondActing: flag(nth === 2),
      thirdActing: flag(nth === 3),
      lastActing: flag(nth > 0 && nth === acting),
      isPlan: flag(step.role === 'plan'),
      isInstruction: flag(step.role === 'instruction'),
      speakerIsNew: flag(firstOf.get(step.speaker) === index),
      speakerEnds: flag(lastOf.get(step.speaker) === index),
      speakerShare: (bySpeaker.get(step.speaker) ?? 0) / steps.length,
      sameSpeaker: flag(steps[index - 1]?.speaker === step.speaker),
    }
  }
}

const flag = (isSet) => (isSet ? 1 : 0)

/** How many held up to and including each. */
const countUp = (flags) => {
  let count = 0
  return flags.map((isSet) => (isSet ? ++count : count))
}

/** How far back and ahead texts are compared: a long run must not cost its square. */
const REACH = 12

/**
 * What a step brings in, repeats, and passes on. The end of a run is where its
 * wrong answer stands: the step that first says what the end says is telling.
 */
const noveltyFeatures = ({ steps, sets }) => {
  const seenWords = new Set()
  const seenNumbers = new Set()
  const endIndex = steps.findLastIndex((step) => isActing(step) && step.text.length > 20)
  const end = sets[endIndex]
  const firstSaid = new Map()
  for (const [index, step] of steps.entries()) {
    const saying = sayingOf(step)
    if (!firstSaid.has(saying)) firstSaid.set(saying, index)
  }
  const fresh = sets.map(({ words, numbers }) => {
    const newNumbers = new Set([...numbers].filter((number) => !seenNumbers.has(number)))
    const newWords = new Set([...words].filter((word) => !seenWords.has(word)))
    const shares = [shareNew(words, seenWords), shareNew(numbers, seenNumbers)]
    for (const word of words) seenWords.add(word)
    for (const number of numbers) seenNumbers.add(number)
    return { newNumbers, newWords, shares }
  })
  const alike = likenesses(steps, sets)
  return (index) => {
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
      bringsEndWords: endWords / Math.max(1, end?.words.size ?? 0),
      bringsEndNumbers: Math.log1p(endNumbers),
      likeEarlier: alike.earlier[index] ?? 0,
      likeLater: alike.later[index] ?? 0,
      repeats: flag((firstSaid.get(sayingOf(step)) ?? index) < index),
    }
  }
}

/** How like the most alike step of its role is, among those shortly before and after. */
const likenesses = (steps, sets) => {
  const earlier = new Float64Array(steps.length)
  const later = new Float64Array(steps.length)
  for (const [index, { words }] of sets.entries()) {
    for (let before = Math.max(0, index - REACH); before < index; before++) {
      if (steps[before]?.role !== steps[index]?.role) continue
      const alike = likeness(words, sets[before].words)
      earlier[index] = Math.max(earlier[index], alike)
      later[before] = Math.max(later[before], alike)
    }
  }
  return { earlier, later }
}

const sayingOf = ({ speaker, text, calls = '' }) => `${speaker}\n${calls === '' ? text : calls}`

/** Nobody says more; what is longer is a dump. */
const TEXT_MAX = 100_000

/** What kind of words a step uses, and how many. */
const wordingFeatures = ({ steps, sets }) => {
  const tallies = steps.map(({ text }) => tallyWords(text.slice(0, TEXT_MAX)))
  const lengths = steps.filter(isActing).map(({ text }) => Math.log1p(text.length))
  const usual = lengths.toSorted((a, b) => a - b)[Math.floor(lengths.length / 2)] ?? 0
  return (index) => {
    const { text: whole = '', calls = '' } = steps[index] ?? {}
    const text = whole.slice(0, TEXT_MAX)
    const signals = tallies[index] ?? NO_SIGNALS
    const next = tallies[nextActing(steps, index)] ?? NO_SIGNALS
    const length = Math.log1p(whole.length)
    return {
      length,
      lengthOffUsual: Math.abs(length - usual),
      hasCode: flag(calls !== '' || text.includes('```')),
      hasLink: flag(/https?:\/\//.test(text)),
      asks: flag(/\?[ \t]*$/m.test(text)),
      numbers: Math.log1p(sets[index]?.numbers.size ?? 0),
      listed: Math.log1p(countMatches(text, /^[ \t]*(?:\d+\.|[-*]) /gm)),
      ...signals,
      giveUpNext: next.giveUp,
      correctingNext: next.correcting,
    }
  }
}

/** The next that decides something, if it comes soon; else -1. */
const nextActing = (steps, index) => {
  const soon = steps.slice(index + 1, index + 4).findIndex(isActing)
  return soon < 0 ? -1 : index + 1 + soon
}

const tallyWords = (text) => {
  const tally = { ...NO_SIGNALS }
  for (const word of TELLING) tally[word] = Math.log1p(countMatches(text, TELLING_WORDS[word]))
  return tally
}

const TELLING = Object.keys(TELLING_WORDS)

const NO_SIGNALS = Object.fromEntries(TELLING.map((word) => [word, 0]))

/** How a step stands to what failed in the environment. */
const failureFeatures = ({ steps, failed, empty, answeredAt, ...run }) => {
  const before = []
  let count = 0
  for (const isSet of failed) {
    before.push(count)
    if (isSet) count++
  }
  return (index) => {
    const answer = answeredAt[index] ?? -1
    const failsNext = failed[answer] ?? false
    return {
      failed: flag(failed[index] ?? false),
      empty: flag(empty[index] ?? false),
      answered: flag(answer >= 0),
      failsNext: flag(failsNext),
      emptyNext: flag(empty[answer] ?? false),
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

/**
 * Features of every step of a run: the same steps always give the same numbers.
 * They are hints, drawn from words and positions; none of them shows a cause.
 *
 * @param {readonly import('@retake/lab').PriorStep[]} steps
 */
export const stepFeatures = (steps) => {
  const run = priorRun(steps)
  const position = positionFeatures(run)
  const failure = failureFeatures(run)
  const wording = wordingFeatures(run)
  const novelty = noveltyFeatures(run)
  const shipped = priorFeatures(steps)
  return steps.map((_, index) => ({
    ...shipped[index],
    ...position(index),
    ...failure(index),
    ...wording(index),
    ...novelty(index),
  }))
}
