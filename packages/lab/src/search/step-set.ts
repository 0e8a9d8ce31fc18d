/** Maximum number of sets tried when looking for a smaller repair. */
const MAX_TRIED = 20_000

/**
 * The smallest set with one step of each cause; if there are several, the earliest. With very many
 * causes it may be larger than necessary, but never too small.
 */
export function minimalRepair(causes: readonly StepSet[]): StepSet {
  let best: StepSet | undefined
  let tried = 0
  const choose = (chosen: StepSet, at: number): void => {
    if (best && (chosen.length >= best.length || ++tried > MAX_TRIED)) return
    const open = causes.findIndex(
      (cause, index) => index >= at && !cause.some((step) => chosen.includes(step)),
    )
    if (open === -1) {
      best = chosen
      return
    }
    for (const step of causes[open]!) choose([...chosen, step], open + 1)
  }
  choose([], 0)
  return (best ?? []).toSorted((a, b) => a - b)
}

/** One random member of each cause: repairing all of them should make the run pass. */
export function randomRepair(causes: readonly StepSet[], random: () => number): StepSet {
  const chosen = new Set<number>()
  for (const cause of causes) {
    if (cause.some((step) => chosen.has(step))) continue
    chosen.add(cause[Math.floor(random() * cause.length)]!)
  }
  return [...chosen].toSorted((a, b) => a - b)
}

/** Different ways to repair one member of each cause; all of them if they are few. */
export function someRepairs(
  causes: readonly StepSet[],
  count: number,
  random: () => number,
): StepSet[] {
  const ways = causes.reduce((product, cause) => product * cause.length, 1)
  const found = new Map<string, StepSet>()
  if (ways <= count) {
    for (let way = 0; way < ways; way++) {
      const chosen = new Set<number>()
      let rest = way
      for (const cause of causes) {
        chosen.add(cause[rest % cause.length]!)
        rest = Math.floor(rest / cause.length)
      }
      add([...chosen].toSorted((a, b) => a - b))
    }
  } else {
    for (let tried = 0; tried < 4 * count && found.size < count; tried++) {
      add(randomRepair(causes, random))
    }
  }
  return [...found.values()]

  function add(repair: StepSet): void {
    found.set(rangesText(repair), repair)
  }
}

/** Steps in ascending order, without duplicates. */
export type StepSet = readonly number[]

/** Steps 0 to `last`; empty for -1. */
export function upTo(last: number): StepSet {
  return Array.from({ length: last + 1 }, (_, step) => step)
}

/** True for steps 0 to n, and for the empty set. */
export function isPrefix(steps: StepSet): boolean {
  return steps.length === 0 || steps.at(-1) === steps.length - 1
}

export function union(first: StepSet, second: StepSet): StepSet {
  if (first.length === 0) return second
  if (second.length === 0) return first
  const merged: number[] = []
  let left = 0
  let right = 0
  while (left < first.length || right < second.length) {
    const a = first[left] ?? Infinity
    const b = second[right] ?? Infinity
    merged.push(Math.min(a, b))
    if (a <= b) left++
    if (b <= a) right++
  }
  return merged
}

export function without(steps: StepSet, removed: StepSet): StepSet {
  if (removed.length === 0) return steps
  const gone = new Set(removed)
  return steps.filter((step) => !gone.has(step))
}

export function includesAll(steps: StepSet, wanted: StepSet): boolean {
  return wanted.every((step) => steps.includes(step))
}

/** `0-4,7`: readable, and unique for a set. */
export function rangesText(steps: StepSet): string {
  let text = ''
  for (let index = 0; index < steps.length; index++) {
    const first = steps[index]!
    while (steps[index + 1] === steps[index]! + 1) index++
    const last = steps[index]!
    text += `${text && ','}${first === last ? first : `${first}-${last}`}`
  }
  return text
}
