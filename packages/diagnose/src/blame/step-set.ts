/** Steps in rising order, each once. */
export type StepSet = readonly number[]

/** Steps 0 to `last`; none for -1. */
export function upTo(last: number): StepSet {
  return Array.from({ length: last + 1 }, (_, step) => step)
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

/** As people read them, `0-4,7`: also what tells one set from another. */
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
