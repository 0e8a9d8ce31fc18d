/** The word a person most likely meant, if one is close enough. */
export function closestKey(typed: string, words: readonly string[]): string | undefined {
  let best: string | undefined
  let least = Math.max(2, Math.floor(typed.length / 3)) + 1
  for (const word of words) {
    const distance = changesBetween(typed.toLowerCase(), word.toLowerCase())
    if (distance < least) [best, least] = [word, distance]
  }
  return best
}

/** How many letters must be added, removed or changed. */
function changesBetween(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index)
  for (let at = 1; at <= left.length; at += 1) {
    const next = [at]
    for (let other = 1; other <= right.length; other += 1) {
      const isSame = left[at - 1] === right[other - 1]
      next[other] = Math.min(
        (row[other] ?? 0) + 1,
        (next[other - 1] ?? 0) + 1,
        (row[other - 1] ?? 0) + (isSame ? 0 : 1),
      )
    }
    row = next
  }
  return row[right.length] ?? 0
}
