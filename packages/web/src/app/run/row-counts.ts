import { KINDS, ORIGINS, STATES } from '@retake/tape/present'
import type { ListColumns } from './list-columns.js'
import type { RowFilter } from './row-filter.js'

/** Fields of a filter that are a choice of values. */
export type ChoiceField = 'kinds' | 'states' | 'badges' | 'lanes' | 'tools' | 'models'

export interface Choice {
  readonly value: string | number
  readonly count: number
}

/** Values that a field has in the rows, with how many rows have each; those chosen are always among them. */
export function choicesOf(columns: ListColumns, field: ChoiceField, filter: RowFilter): Choice[] {
  const column = columnOf(columns, field)
  const counts: number[] = []
  for (let place = 0; place < columns.length; place++) {
    if (field === 'badges' && columns.inferred[place]) continue
    const number = column[place] ?? -1
    if (number >= 0) counts[number] = (counts[number] ?? 0) + 1
  }
  const found = counts.flatMap((count, number) => [
    { value: valueOf(columns, field, number), count },
  ])
  const chosen = (filter[field] as readonly (string | number)[]).filter(
    (value) => !found.some((choice) => choice.value === value),
  )
  return [...found, ...chosen.map((value) => ({ value, count: 0 }))]
}

function columnOf(columns: ListColumns, field: ChoiceField): Uint8Array | Int32Array {
  if (field === 'kinds') return columns.kind
  if (field === 'states') return columns.state
  if (field === 'badges') return columns.origin
  if (field === 'lanes') return columns.lane
  return field === 'tools' ? columns.tool : columns.model
}

function valueOf(columns: ListColumns, field: ChoiceField, number: number): string | number {
  if (field === 'lanes') return number
  const names = {
    kinds: KINDS,
    states: STATES,
    badges: ORIGINS,
    tools: columns.names,
    models: columns.names,
  }
  return names[field][number] ?? ''
}
