import type { Random } from '@retake/tape'

export { type Random, seededRandom } from '@retake/tape'

/** Mixes an integer into a seed so that neighbouring values give unrelated streams. */
export function mixSeed(seed: number, value: number): number {
  let mixed = Math.imul(value ^ (value >>> 16), 0x85ebca6b)
  mixed ^= mixed >>> 13
  mixed = Math.imul(mixed, 0xc2b2ae35)
  mixed = seed ^ mixed
  mixed = (mixed << 13) | (mixed >>> 19)
  return (Math.imul(mixed, 5) + 0xe6546b64) | 0
}

/** `count` different integers below `below`, in ascending order. */
export function pickSteps(random: Random, below: number, count: number): number[] {
  const picked = new Set<number>()
  while (picked.size < count) picked.add(Math.floor(random() * below))
  return [...picked].toSorted((a, b) => a - b)
}

export function pickOne<T>(random: Random, choices: readonly T[]): T {
  return choices[Math.floor(random() * choices.length)]!
}
