/**
 * Which of many findings to believe, so that on average no more than a share `q` of those
 * believed is false: true for each of the probabilities of chance that is small enough.
 */
export function benjaminiHochberg(chances: readonly number[], q: number): boolean[] {
  const rising = chances.toSorted((a, b) => a - b)
  let bar = -1
  for (const [rank, chance] of rising.entries())
    if (chance <= (q * (rank + 1)) / chances.length) bar = chance
  return chances.map((chance) => chance <= bar)
}
