/** The most similar name, if any is similar enough. Ignores case. */
export function closestName(typed: string, names: readonly string[]): string | undefined {
  const lower = typed.toLowerCase()
  const distanceTo = (name: string): number =>
    name.startsWith(lower) ? 0 : editDistance(lower, name)
  const ranked = names
    .map((name) => ({ name, distance: distanceTo(name.toLowerCase()) }))
    .toSorted((a, b) => a.distance - b.distance)
  const [best] = ranked
  return best !== undefined && best.distance <= Math.max(1, Math.floor(typed.length / 3))
    ? best.name
    : undefined
}

/** Number of letters to add, remove, change or swap with a neighbour. */
function editDistance(a: string, b: string): number {
  let beforePrevious: number[] = []
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i += 1) {
    const current = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1]
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      current[j] = Math.min(
        (previous[j] ?? 0) + 1,
        (current[j - 1] ?? 0) + 1,
        (previous[j - 1] ?? 0) + (same ? 0 : 1),
        swapped ? (beforePrevious[j - 2] ?? 0) + 1 : Infinity,
      )
    }
    beforePrevious = previous
    previous = current
  }
  return previous[b.length] ?? 0
}
