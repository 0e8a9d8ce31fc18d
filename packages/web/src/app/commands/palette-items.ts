import { localTime } from '@retake/tape/present'
import type { RunCard } from '@retake/tape'
import type { UnreadableRun } from '../../model/run-source.js'
import type { RowStore } from '../run/data/row-store.js'
import { GROUPS, type PageCommand } from './commands.js'

interface Match {
  readonly score: number
  readonly indexes: readonly number[]
}

/**
 * Finds the letters of a query in order, not necessarily adjacent. Starts of words and adjacent
 * letters score higher. Every word of the query must match.
 */
export function fuzzyMatch(query: string, text: string): Match | undefined {
  const lower = text.toLowerCase()
  let score = 0
  const indexes: number[] = []
  for (const word of query.toLowerCase().split(/\s+/).filter(Boolean)) {
    const match = matchWord(word, lower)
    if (match === undefined) return undefined
    score += match.score
    indexes.push(...match.indexes)
  }
  return {
    score: score - lower.length / 1000,
    indexes: [...new Set(indexes)].toSorted((a, b) => a - b),
  }
}

function matchWord(word: string, text: string): Match | undefined {
  const whole = wholeAt(word, text)
  if (whole >= 0) {
    const indexes = Array.from({ length: word.length }, (_, index) => whole + index)
    return { score: word.length * 4 + (isWordStart(text, whole) ? 10 : 0), indexes }
  }
  const indexes: number[] = []
  let score = 0
  let from = 0
  for (const letter of word) {
    const at = text.indexOf(letter, from)
    if (at < 0) return undefined
    score += at === from && indexes.length > 0 ? 2 : isWordStart(text, at) ? 2 : -(at - from) / 20
    indexes.push(at)
    from = at + letter.length
  }
  return { score, indexes }
}

function wholeAt(word: string, text: string): number {
  const first = text.indexOf(word)
  for (let at = first; at >= 0; at = text.indexOf(word, at + 1))
    if (isWordStart(text, at)) return at
  return first
}

const isWordStart = (text: string, at: number): boolean =>
  at === 0 || !/[\p{L}\p{N}]/u.test(text[at - 1] ?? '')

export interface PaletteItem {
  readonly id: string
  readonly group: string
  readonly title: string
  readonly indexes: readonly number[]
  readonly note?: string | undefined
  readonly keys?: readonly string[]
  readonly disabled?: string | undefined
  readonly run: () => void
}

type Scored = PaletteItem & { readonly score: number }

const MOST = 50
/** Time budget for matching step titles, so that typing stays responsive. */
const BUDGET_MS = 40

export function commandItems(
  query: string,
  commands: readonly PageCommand[],
  keysOf: (command: PageCommand) => readonly string[],
): PaletteItem[] {
  const ordered =
    query.trim() === ''
      ? commands.toSorted(
          (a, b) =>
            GROUPS.indexOf(a.group) - GROUPS.indexOf(b.group) ||
            Number(a.disabled !== undefined) - Number(b.disabled !== undefined),
        )
      : commands
  return best(
    ordered.flatMap((command) => {
      const match = fuzzyMatch(query, command.title)
      const other =
        match ?? fuzzyMatch(query, `${command.title} ${command.group} ${command.words ?? ''}`)
      if (other === undefined) return []
      const { id, title, group, disabled, run } = command
      const indexes = match?.indexes ?? []
      return [
        {
          id,
          title,
          group,
          disabled,
          run,
          indexes,
          keys: keysOf(command),
          score: query.trim() === '' ? 0 : other.score,
        },
      ]
    }),
    commands.length,
  )
}

export const runItems = (
  query: string,
  runs: readonly (RunCard | UnreadableRun)[],
  open: (run: string) => void,
): PaletteItem[] =>
  best(
    runs.flatMap((run) => {
      if ('error' in run) return []
      const title = run.name === run.id ? run.id : `${run.name} ${run.id}`
      const match = fuzzyMatch(query, title)
      if (match === undefined) return []
      const note = `${run.status}, ${localTime(run.startedAt)}`
      return [
        { id: `run ${run.id}`, group: 'Runs', title, note, ...match, run: () => open(run.id) },
      ]
    }),
  )

/** Steps by number or title. `isPartial` is true if the time budget ran out. */
export function stepItems(
  query: string,
  rows: RowStore,
  open: (step: string) => void,
): { readonly items: readonly PaletteItem[]; readonly isPartial: boolean } {
  if (query.trim() === '') return { items: [], isPartial: false }
  const found: Scored[] = []
  const until = performance.now() + BUDGET_MS
  const number = query.trim()
  const exact = rows.indexOf(number)
  let isPartial = false
  for (let index = 0; index < rows.length; index++) {
    if (index % 256 === 255 && performance.now() > until) {
      isPartial = true
      break
    }
    if (index === exact) continue
    const row = rows.at(index)
    const title = `${row.label} ${row.title}`
    const match = fuzzyMatch(query, title)
    if (match !== undefined) found.push(item(row.label, title, match.score, match.indexes))
  }
  if (exact >= 0) {
    const row = rows.at(exact)
    found.push(item(row.label, `${row.label} ${row.title}`, Infinity, []))
  }
  return { items: best(found), isPartial }

  function item(label: string, title: string, score: number, indexes: readonly number[]): Scored {
    return { id: `step ${label}`, group: 'Steps', title, indexes, score, run: () => open(label) }
  }
}

const best = (items: readonly Scored[], most = MOST): PaletteItem[] =>
  items.toSorted((a, b) => b.score - a.score).slice(0, most)
