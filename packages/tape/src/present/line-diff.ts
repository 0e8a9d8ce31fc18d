/** A range of `a` that was replaced by a range of `b`; either may be empty. */
interface Change {
  readonly fromA: number
  readonly toA: number
  readonly fromB: number
  readonly toB: number
}

/** Part of a line, marked if the other side does not have it. */
export interface LinePart {
  readonly at: number
  readonly text: string
  readonly isChanged: boolean
}

export interface NumberedLine {
  /** From 1. */
  readonly number: number
  readonly parts: readonly LinePart[]
}

/** One line of a comparison: equal on both sides, different, or on one side only. */
export interface DiffLine {
  readonly kind: 'same' | 'changed' | 'removed' | 'added'
  readonly a?: NumberedLine
  readonly b?: NumberedLine
}

/** Longer lines are not compared word by word. */
const LINE_LENGTH_MAX = 5_000

/** Compares two texts line by line, and changed lines word by word. */
export function diffLines(a: string, b: string): DiffLine[] {
  const [left, right] = [a.split('\n'), b.split('\n')]
  const lines: DiffLine[] = []
  let [atA, atB] = [0, 0]
  const whole = (side: readonly string[], index: number): NumberedLine => ({
    number: index + 1,
    parts: [unmarked(side[index] ?? '')],
  })
  const addEqual = (untilA: number): void => {
    for (; atA < untilA; atA++, atB++)
      lines.push({ kind: 'same', a: whole(left, atA), b: whole(right, atB) })
  }
  for (const { fromA, toA, toB } of diffSequences(left, right)) {
    addEqual(fromA)
    for (; atA < toA && atB < toB; atA++, atB++) {
      const parts = diffWords(left[atA] ?? '', right[atB] ?? '')
      lines.push({
        kind: 'changed',
        a: { number: atA + 1, parts: parts.a },
        b: { number: atB + 1, parts: parts.b },
      })
    }
    for (; atA < toA; atA++) lines.push({ kind: 'removed', a: whole(left, atA) })
    for (; atB < toB; atB++) lines.push({ kind: 'added', b: whole(right, atB) })
  }
  addEqual(left.length)
  return lines
}

export function diffWords(
  a: string,
  b: string,
): { readonly a: readonly LinePart[]; readonly b: readonly LinePart[] } {
  if (a.length > LINE_LENGTH_MAX || b.length > LINE_LENGTH_MAX)
    return { a: [unmarked(a)], b: [unmarked(b)] }
  const [left, right] = [wordsOf(a), wordsOf(b)]
  const changes = diffSequences(left, right)
  return {
    a: mark(
      left,
      changes.map(({ fromA, toA }) => [fromA, toA]),
    ),
    b: mark(
      right,
      changes.map(({ fromB, toB }) => [fromB, toB]),
    ),
  }
}

/** A whole line without marks. */
export const unmarked = (text: string): LinePart => ({ at: 0, text, isChanged: false })

const wordsOf = (text: string): readonly string[] =>
  text.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) ?? []

function mark(
  words: readonly string[],
  changed: readonly (readonly [from: number, to: number])[],
): LinePart[] {
  const parts: LinePart[] = []
  let [at, word] = [0, 0]
  const take = (until: number, isChanged: boolean): void => {
    const text = words.slice(word, until).join('')
    if (text !== '') parts.push({ at, text, isChanged })
    at += text.length
    word = until
  }
  for (const [from, to] of changed) {
    take(from, false)
    take(to, true)
  }
  take(words.length, false)
  return parts
}

/** A line of a unified diff; `@` names the lines after a gap. */
export interface UnifiedLine {
  readonly sign: ' ' | '-' | '+' | '@'
  readonly text: string
  /** For `@`: the numbers of the next line in the old and in the new text. */
  readonly lines?: readonly [before: number, after: number]
}

const CONTEXT = 3

/** A unified diff: changed lines with three lines of context. Empty if the texts are equal. */
export function unifiedDiff(before: string, after: string): UnifiedLine[] {
  const [a, b] = [before, after].map(terminatedLines) as [string[], string[]]
  const shown: UnifiedLine[] = []
  let [atA, atB] = [0, 0]
  const addEqual = (until: number): void => {
    for (; atA < until; atA++, atB++) shown.push({ sign: ' ', text: a[atA] ?? '' })
  }
  const changes = diffSequences(a, b)
  for (const [index, { fromA, toA, toB }] of changes.entries()) {
    const start = Math.max(fromA - CONTEXT, 0)
    if (index === 0 || start > atA) {
      atB += Math.max(start - atA, 0)
      atA = Math.max(start, atA)
      const lines = [atA + 1, atB + 1] as const
      shown.push({ sign: '@', text: `@ line ${lines.join(' → ')}`, lines })
    }
    addEqual(fromA)
    for (; atA < toA; atA++) shown.push({ sign: '-', text: a[atA] ?? '' })
    for (; atB < toB; atB++) shown.push({ sign: '+', text: b[atB] ?? '' })
    const next = changes[index + 1]?.fromA ?? a.length
    addEqual(Math.min(next, atA + CONTEXT))
  }
  return shown
}

function terminatedLines(text: string): string[] {
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines
}

/** Sequences with more differences are shown as replaced between their equal ends. */
const DIFFERENCES_MAX = 2_000

/** The fewest changes that turn `a` into `b`, in order. */
function diffSequences(a: readonly string[], b: readonly string[]): Change[] {
  const most = Math.min(a.length, b.length)
  let start = 0
  while (start < most && a[start] === b[start]) start++
  let end = 0
  while (end < most - start && a.at(-1 - end) === b.at(-1 - end)) end++
  const [left, right] = [a.slice(start, a.length - end), b.slice(start, b.length - end)]
  if (left.length === 0 && right.length === 0) return []
  return shortestEdit(left, right).map(({ fromA, toA, fromB, toB }) => ({
    fromA: fromA + start,
    toA: toA + start,
    fromB: fromB + start,
    toB: toB + start,
  }))
}

/**
 * Myers' greedy algorithm: `reach[k]` is how far along `a` an edit script of the current
 * length gets on diagonal k (index in `a` minus index in `b`).
 */
function shortestEdit(a: readonly string[], b: readonly string[]): Change[] {
  const limit = Math.min(a.length + b.length, DIFFERENCES_MAX)
  const offset = limit + 1
  const reach = new Int32Array(2 * offset + 1)
  const history: Int32Array[] = []
  for (let edits = 0; edits <= limit; edits++) {
    history.push(reach.slice(offset - edits - 1, offset + edits + 2))
    for (let k = -edits; k <= edits; k += 2) {
      const isInsert = goesDown(reach, offset, k, edits)
      let x = isInsert ? (reach[offset + k + 1] ?? 0) : (reach[offset + k - 1] ?? 0) + 1
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++
      reach[offset + k] = x
      if (x >= a.length && x - k >= b.length) return backtrack(history, a.length, b.length)
    }
  }
  return [{ fromA: 0, toA: a.length, fromB: 0, toB: b.length }]
}

/** True if the script reaches diagonal k by inserting from `b` rather than deleting from `a`. */
const goesDown = (reach: Int32Array, zero: number, k: number, edits: number): boolean =>
  k === -edits || (k !== edits && (reach[zero + k - 1] ?? 0) < (reach[zero + k + 1] ?? 0))

function backtrack(history: readonly Int32Array[], lengthA: number, lengthB: number): Change[] {
  const changes: Change[] = []
  let [x, y] = [lengthA, lengthB]
  for (let edits = history.length - 1; edits > 0; edits--) {
    const reach = history[edits] as Int32Array
    const k = x - y
    const isInsert = goesDown(reach, edits + 1, k, edits)
    const previousK = isInsert ? k + 1 : k - 1
    const previousX = reach[edits + 1 + previousK] ?? 0
    const previousY = previousX - previousK
    const [toA, toB] = isInsert ? [previousX, previousY + 1] : [previousX + 1, previousY]
    const next = changes.at(-1)
    if (next !== undefined && next.fromA === toA && next.fromB === toB)
      changes[changes.length - 1] = { ...next, fromA: previousX, fromB: previousY }
    else changes.push({ fromA: previousX, toA, fromB: previousY, toB })
    x = previousX
    y = previousY
  }
  return changes.toReversed()
}
