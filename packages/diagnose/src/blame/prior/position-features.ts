import { isActing } from './prior-step.js'
import type { PriorRun } from './prior-run.js'

/** Where a step stands, and who it is. Reads no text. */
export const positionFeatures = (run: PriorRun) => {
  const { steps } = run
  const last = Math.max(1, steps.length - 1)
  const nthActing = countUp(steps.map(isActing))
  const acting = nthActing.at(-1) ?? 0
  const bySpeaker = new Map<string, number>()
  for (const { speaker } of steps) bySpeaker.set(speaker, (bySpeaker.get(speaker) ?? 0) + 1)
  const firstOf = new Map(steps.map(({ speaker }, index) => [speaker, index] as const).toReversed())
  const lastOf = new Map(steps.map(({ speaker }, index) => [speaker, index] as const))
  return (index: number) => {
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
      isTask: flag(step.role === 'task'),
      isPlan: flag(step.role === 'plan'),
      isInstruction: flag(step.role === 'instruction'),
      isEnvironment: flag(step.role === 'environment'),
      speakerIsNew: flag(firstOf.get(step.speaker) === index),
      speakerEnds: flag(lastOf.get(step.speaker) === index),
      speakerShare: (bySpeaker.get(step.speaker) ?? 0) / steps.length,
      sameSpeaker: flag(steps[index - 1]?.speaker === step.speaker),
    }
  }
}

export const flag = (holds: boolean): number => (holds ? 1 : 0)

/** How many held up to and including each. */
const countUp = (held: readonly boolean[]): number[] => {
  let count = 0
  return held.map((holds) => (holds ? ++count : count))
}
