/** Long texts are mostly pages and dumps; their beginning and end tell enough. */
const TEXT_MAX = 20_000

/** What is compared of a step's text. */
export interface WordSets {
  readonly words: ReadonlySet<string>
  /** Numbers of two digits and more, or with a decimal point, without thousands separators. */
  readonly numbers: ReadonlySet<string>
  readonly length: number
}

export const wordSetsOf = (text: string): WordSets => {
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

const clip = (text: string): string =>
  text.length <= TEXT_MAX
    ? text
    : `${text.slice(0, TEXT_MAX * 0.75)} ${text.slice(-TEXT_MAX * 0.25)}`

/** Share of the one that is not in the other; 0 when it is empty. */
export const shareNew = (set: ReadonlySet<string>, seen: ReadonlySet<string>): number => {
  if (set.size === 0) return 0
  let fresh = 0
  for (const item of set) if (!seen.has(item)) fresh++
  return fresh / set.size
}

export const countShared = (left: ReadonlySet<string>, right: ReadonlySet<string>): number => {
  const [small, large] = left.size < right.size ? [left, right] : [right, left]
  let shared = 0
  for (const item of small) if (large.has(item)) shared++
  return shared
}

/** Shared words over all words of both; 0 when both are empty. */
export const likeness = (left: ReadonlySet<string>, right: ReadonlySet<string>): number => {
  const shared = countShared(left, right)
  const all = left.size + right.size - shared
  return all === 0 ? 0 : shared / all
}
