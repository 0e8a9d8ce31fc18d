/** Where the letters of a query stand in a text, and how well they fit; undefined when they do not. */
export interface Match {
  readonly score: number
  readonly places: readonly number[]
}

/**
 * Finds the letters of a query in order, not necessarily together. Beginnings of words
 * and letters that follow each other count more; every word of the query must be found.
 */
export function fuzzyMatch(query: string, text: string): Match | undefined {
  const lower = text.toLowerCase()
  let score = 0
  const places: number[] = []
  for (const word of query.toLowerCase().split(/\s+/).filter(Boolean)) {
    const match = matchWord(word, lower)
    if (match === undefined) return undefined
    score += match.score
    places.push(...match.places)
  }
  return {
    score: score - lower.length / 1000,
    places: [...new Set(places)].toSorted((a, b) => a - b),
  }
}

function matchWord(word: string, text: string): Match | undefined {
  const whole = wholeAt(word, text)
  if (whole >= 0) {
    const places = Array.from({ length: word.length }, (_, index) => whole + index)
    return { score: word.length * 4 + (isWordStart(text, whole) ? 10 : 0), places }
  }
  const places: number[] = []
  let score = 0
  let from = 0
  for (const letter of word) {
    const at = text.indexOf(letter, from)
    if (at < 0) return undefined
    score += at === from && places.length > 0 ? 2 : isWordStart(text, at) ? 2 : -(at - from) / 20
    places.push(at)
    from = at + letter.length
  }
  return { score, places }
}

/** The word as it is, at the beginning of a word if possible. */
function wholeAt(word: string, text: string): number {
  const first = text.indexOf(word)
  for (let at = first; at >= 0; at = text.indexOf(word, at + 1))
    if (isWordStart(text, at)) return at
  return first
}

const isWordStart = (text: string, at: number): boolean =>
  at === 0 || !/[\p{L}\p{N}]/u.test(text[at - 1] ?? '')
