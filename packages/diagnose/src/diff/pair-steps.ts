import { align, type Pair } from './align.js'
import { similarity } from './alignable.js'
import type { StepProfile } from './step-profile.js'

export interface StepPair extends Pair {
  /** The two stand in another order among their neighbours. */
  readonly moved?: boolean
}

/** Steps that have less in common are not the same step in another place. */
const LIKE_ENOUGH = 0.6
/** Beyond this many left-over steps, only equal ones are looked for in other places. */
const MOST_COMPARED = 300

/** Aligns the steps of two runs. What is left over on both sides and alike has moved, as concurrent steps do. */
export const pairSteps = (a: readonly StepProfile[], b: readonly StepProfile[]): StepPair[] => {
  const pairs = align(a, b)
  const onlyA = pairs.filter((pair) => pair.b === undefined).map((pair) => pair.a as number)
  const onlyB = pairs.filter((pair) => pair.a === undefined).map((pair) => pair.b as number)
  const moved = findMoved(onlyA, onlyB, (i, j) => likeness(a[i], b[j], onlyA.length * onlyB.length))
  if (moved.size === 0) return pairs
  const taken = new Set(moved.values())
  return pairs
    .filter((pair) => pair.a !== undefined || !taken.has(pair.b as number))
    .map((pair) => {
      const other = pair.b === undefined ? moved.get(pair.a as number) : undefined
      return other === undefined ? pair : { a: pair.a as number, b: other, moved: true }
    })
}

const likeness = (
  a: StepProfile | undefined,
  b: StepProfile | undefined,
  candidates: number,
): number => {
  if (a === undefined || b === undefined || a.family !== b.family) return 0
  if (a.digest === b.digest) return 2
  return candidates > MOST_COMPARED * MOST_COMPARED ? 0 : similarity(a, b)
}

/** Best matches first; ties go to those that moved least. */
const findMoved = (
  onlyA: readonly number[],
  onlyB: readonly number[],
  likenessOf: (a: number, b: number) => number,
): Map<number, number> => {
  const candidates = onlyA
    .flatMap((a) => onlyB.map((b) => ({ a, b, like: likenessOf(a, b) })))
    .filter(({ like }) => like >= LIKE_ENOUGH)
    .toSorted(
      (one, other) =>
        other.like - one.like ||
        Math.abs(one.a - one.b) - Math.abs(other.a - other.b) ||
        Math.min(one.a, one.b) - Math.min(other.a, other.b),
    )
  const moved = new Map<number, number>()
  const taken = new Set<number>()
  for (const { a, b } of candidates) {
    if (moved.has(a) || taken.has(b)) continue
    moved.set(a, b)
    taken.add(b)
  }
  return moved
}
