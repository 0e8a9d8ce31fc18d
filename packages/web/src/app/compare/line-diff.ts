import { diff, presentableDiff } from '@codemirror/merge'

/** A piece of a line, and whether the other side has it too. */
export interface LinePart {
  /** Where it begins in the line. */
  readonly at: number
  readonly text: string
  readonly isChanged: boolean
}

/** One line of a comparison: the same on both sides, another on each, or there on one only. */
export interface DiffLine {
  readonly kind: 'same' | 'changed' | 'removed' | 'added'
  /** Numbers from 1. */
  readonly a?: { readonly number: number; readonly parts: readonly LinePart[] }
  readonly b?: { readonly number: number; readonly parts: readonly LinePart[] }
}

/** Beyond this a comparison by words says nothing, and takes long. */
const LINE_LENGTH_MAX = 5_000
const DIFFERENT_LINES_MAX = 60_000
const LIMITS = { scanLimit: 1_000, timeout: 500 }

/** Two texts line by line; lines that changed are compared by words. */
export function diffLines(a: string, b: string): readonly DiffLine[] {
  const [left, right] = [a.split('\n'), b.split('\n')]
  const lines: DiffLine[] = []
  let [atA, atB] = [0, 0]
  const same = (untilA: number): void => {
    for (; atA < untilA; atA++, atB++) lines.push(sameLine(left, atA, atB))
  }
  for (const { fromA, toA, toB } of lineChanges(left, right)) {
    same(fromA)
    for (; atA < toA && atB < toB; atA++, atB++) lines.push(changedLine(left, right, atA, atB))
    for (; atA < toA; atA++) lines.push({ kind: 'removed', a: whole(left, atA) })
    for (; atB < toB; atB++) lines.push({ kind: 'added', b: whole(right, atB) })
  }
  same(left.length)
  return lines
}

/** Each different line is a letter, and the letters are compared. */
function lineChanges(left: readonly string[], right: readonly string[]): ReturnType<typeof diff> {
  const letters = new Map<string, string>()
  const spell = (lines: readonly string[]): string =>
    lines
      .map((line) => {
        const letter =
          letters.get(line) ?? String.fromCharCode((letters.size % DIFFERENT_LINES_MAX) + 1)
        letters.set(line, letter)
        return letter
      })
      .join('')
  return diff(spell(left), spell(right), LIMITS)
}

const sameLine = (left: readonly string[], a: number, b: number): DiffLine => {
  const parts = [unmarked(left[a] ?? '')]
  return { kind: 'same', a: { number: a + 1, parts }, b: { number: b + 1, parts } }
}

const whole = (lines: readonly string[], at: number) => ({
  number: at + 1,
  parts: [unmarked(lines[at] ?? '')],
})

function changedLine(
  left: readonly string[],
  right: readonly string[],
  atA: number,
  atB: number,
): DiffLine {
  const parts = diffWords(left[atA] ?? '', right[atB] ?? '')
  return {
    kind: 'changed',
    a: { number: atA + 1, parts: parts.a },
    b: { number: atB + 1, parts: parts.b },
  }
}

/** Two lines by words. */
export function diffWords(
  a: string,
  b: string,
): { readonly a: readonly LinePart[]; readonly b: readonly LinePart[] } {
  if (a.length > LINE_LENGTH_MAX || b.length > LINE_LENGTH_MAX)
    return { a: [unmarked(a)], b: [unmarked(b)] }
  const changes = presentableDiff(a, b, LIMITS)
  return {
    a: cut(
      a,
      changes.map(({ fromA, toA }) => [fromA, toA]),
    ),
    b: cut(
      b,
      changes.map(({ fromB, toB }) => [fromB, toB]),
    ),
  }
}

/** A whole line, without marks. */
export const unmarked = (text: string): LinePart => ({ at: 0, text, isChanged: false })

function cut(text: string, changed: readonly (readonly [from: number, to: number])[]): LinePart[] {
  const parts: LinePart[] = []
  let at = 0
  for (const [from, to] of changed) {
    if (from > at) parts.push({ at, text: text.slice(at, from), isChanged: false })
    if (to > from) parts.push({ at: from, text: text.slice(from, to), isChanged: true })
    at = to
  }
  if (at < text.length) parts.push({ at, text: text.slice(at), isChanged: false })
  return parts
}
