import { localTime } from '@retake/tape/present'
import type { RunCard, UnreadableRun } from '../../model/run-head.js'
import type { RowStore } from '../run/row-store.js'
import type { Command } from './command.js'
import { fuzzyMatch } from './fuzzy-match.js'

/** One line of the palette. */
export interface PaletteItem {
  readonly id: string
  readonly group: string
  readonly title: string
  /** Places in the title that were asked for. */
  readonly places: readonly number[]
  readonly note?: string | undefined
  readonly keys?: readonly string[]
  readonly disabled?: string | undefined
  readonly run: () => void
}

type Scored = PaletteItem & { readonly score: number }

/** Lines shown of one group; whoever wants others asks more closely. */
const MOST = 50
/** Time to look at titles of steps before the next key must be answered. */
const BUDGET_MS = 40

/** In this order, as long as nothing is asked for. */
const GROUPS: readonly string[] = [
  'Move',
  'Look',
  'Change',
  'Share',
  'View',
] satisfies readonly Command['group'][]

export function commandItems(
  query: string,
  commands: readonly Command[],
  keysOf: (command: Command) => readonly string[],
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
      const places = match?.places ?? []
      return [
        {
          id,
          title,
          group,
          disabled,
          run,
          places,
          keys: keysOf(command),
          score: query.trim() === '' ? 0 : other.score,
        },
      ]
    }),
    commands.length,
  )
}

export function runItems(
  query: string,
  runs: readonly (RunCard | UnreadableRun)[],
  open: (run: string) => void,
): PaletteItem[] {
  return best(
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
}

/** Steps by number or title. `isPartial`: there was no time for all of them. */
export function stepItems(
  query: string,
  rows: RowStore,
  open: (step: string) => void,
): { readonly items: readonly PaletteItem[]; readonly isPartial: boolean } {
  if (query.trim() === '') return { items: [], isPartial: false }
  const found: Scored[] = []
  const until = performance.now() + BUDGET_MS
  const number = query.trim()
  const exact = rows.placeOf(number)
  let isPartial = false
  for (let place = 0; place < rows.length; place++) {
    if (place % 256 === 255 && performance.now() > until) {
      isPartial = true
      break
    }
    if (place === exact) continue
    const row = rows.at(place)
    const title = `${row.label} ${row.title}`
    const match = fuzzyMatch(query, title)
    if (match !== undefined) found.push(item(row.label, title, match.score, match.places))
  }
  if (exact >= 0) {
    const row = rows.at(exact)
    found.push(item(row.label, `${row.label} ${row.title}`, Infinity, []))
  }
  return { items: best(found), isPartial }

  function item(label: string, title: string, score: number, places: readonly number[]): Scored {
    return { id: `step ${label}`, group: 'Steps', title, places, score, run: () => open(label) }
  }
}

const best = (items: readonly Scored[], most = MOST): PaletteItem[] =>
  items.toSorted((a, b) => b.score - a.score).slice(0, most)
