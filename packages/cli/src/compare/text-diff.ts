import { printable } from '../terminal/terminal.js'

/** One side of a difference, cut to what matters: the part between `same` parts is what differs. */
export interface Excerpt {
  readonly before: string
  readonly differs: string
  readonly after: string
}

const CONTEXT = 32

/**
 * Where two texts differ, with a little of what surrounds it, on one line each.
 * `width` bounds the length of each excerpt.
 */
export function excerpts(recorded: string, current: string, width: number): [Excerpt, Excerpt] {
  const most = Math.min(recorded.length, current.length)
  let start = 0
  while (start < most && recorded[start] === current[start]) start += 1
  let end = 0
  while (end < most - start && recorded.at(-1 - end) === current.at(-1 - end)) end += 1
  start = wordStart(recorded, start)
  end = wordEnd(recorded, end, recorded.length - start, current.length - start)
  return [cut(recorded, start, end, width), cut(current, start, end, width)]
}

/** Moves back to the start of the word, so that whole words are compared by eye. */
function wordStart(text: string, from: number): number {
  let start = from
  while (start > 0 && from - start < CONTEXT && /[\p{L}\p{N}]/u.test(text[start - 1] ?? ''))
    start -= 1
  return start
}

function wordEnd(text: string, from: number, ...lengths: number[]): number {
  let end = Math.min(from, ...lengths)
  while (end > 0 && from - end < CONTEXT && /[\p{L}\p{N}]/u.test(text.at(-end) ?? '')) end -= 1
  return end
}

function cut(text: string, start: number, end: number, width: number): Excerpt {
  const before = oneLine(text.slice(0, start))
  const differs = oneLine(text.slice(start, text.length - end))
  const after = oneLine(text.slice(text.length - end))
  const shownBefore = before.length > CONTEXT ? `…${before.slice(1 - CONTEXT)}` : before
  const room = Math.max(8, width - shownBefore.length)
  if (differs.length > room)
    return { before: shownBefore, differs: `${differs.slice(0, room - 1)}…`, after: '' }
  const rest = room - differs.length
  const shownAfter = after.length > rest ? `${after.slice(0, Math.max(0, rest - 1))}…` : after
  return { before: shownBefore, differs, after: shownAfter }
}

const oneLine = (text: string): string =>
  printable(text.replaceAll('\n', '⏎').replaceAll('\t', ' '))
