import type { RunTotals, StepKind } from '@retake/tape'

export const KINDS = [
  'model',
  'tool',
  'http',
  'mcp',
  'process',
  'mark',
] as const satisfies readonly StepKind[]

/** `running`: no answer yet, and the run goes on. The others are those of the read model. */
export const STATES = ['done', 'failed', 'aborted', 'in doubt', 'running', 'denied'] as const
export type RowState = (typeof STATES)[number]

/**
 * Where the answer of a step came from. `live`: it was really asked. `served`: from
 * the tape of its parent, or of the run that a guard resumes. `edited`: a fork put it there. `lost`: it was under way when
 * the run went live. `re-executed`: it is no answer from outside; the code ran again.
 */
export const BADGES = ['live', 'served', 'edited', 'lost', 're-executed'] as const
export type Badge = (typeof BADGES)[number]

/** One step as a list shows it. */
export interface Row {
  readonly label: string
  readonly seq: number
  readonly kind: StepKind
  readonly state: RowState
  readonly badge: Badge
  readonly title: string
  /** Milliseconds since the run started. */
  readonly at: number
  readonly latencyMs: number | undefined
  readonly lane: number
  readonly provider: string | undefined
  readonly model: string | undefined
  /** Name of the tool, for a tool step. */
  readonly tool: string | undefined
  readonly tokensIn: number | undefined
  readonly tokensOut: number | undefined
  readonly costUsd: number | undefined
  readonly error: string | undefined
  /** Label of the step that asked for it. */
  readonly parent: string | undefined
  /** Places it happened in, outermost first, as `kind name`. */
  readonly within: readonly string[]
  readonly inferred: boolean
}

/**
 * Many rows as one object of columns: a third of the size of a list of objects,
 * and a row is only made when it is looked at. Names that repeat are numbers into
 * `names`; -1 where there is none, null where a value is not known.
 */
export interface RowColumns {
  readonly label: readonly string[]
  readonly seq: readonly number[]
  readonly kind: readonly number[]
  readonly state: readonly number[]
  readonly badge: readonly number[]
  readonly title: readonly string[]
  readonly at: readonly number[]
  readonly latencyMs: readonly (number | null)[]
  readonly lane: readonly number[]
  readonly provider: readonly number[]
  readonly model: readonly number[]
  readonly tool: readonly number[]
  readonly tokensIn: readonly (number | null)[]
  readonly tokensOut: readonly (number | null)[]
  readonly costUsd: readonly (number | null)[]
  readonly error: readonly (string | null)[]
  readonly parent: readonly (string | null)[]
  /** Indexes into `names`, outermost first, joined by commas; empty when there are none. */
  readonly within: readonly string[]
  readonly names: readonly string[]
}

/** Rows arrive in pieces: first those that stand on the tape, then what needs all of them. */
export type RowMessage =
  | {
      readonly type: 'rows'
      /** Place of the first of them among the recorded steps. */
      readonly from: number
      readonly rows: RowColumns
    }
  | {
      readonly type: 'rest'
      /** Steps only seen in the conversation; each stands behind the row with its `parent` label. */
      readonly inferred: RowColumns
      /** Parents of recorded rows: place among the recorded steps, and label. */
      readonly parents: readonly (readonly [place: number, parent: string])[]
      readonly totals: RunTotals
    }

/** Makes columns of rows. */
export function toColumns(rows: readonly Row[]): RowColumns {
  const names: string[] = []
  const places = new Map<string, number>()
  const nameOf = (name: string | undefined): number => {
    if (name === undefined) return -1
    const known = places.get(name)
    if (known !== undefined) return known
    places.set(name, names.length)
    return names.push(name) - 1
  }
  const orNull = <T>(value: T | undefined): T | null => value ?? null
  return {
    label: rows.map(({ label }) => label),
    seq: rows.map(({ seq }) => seq),
    kind: rows.map(({ kind }) => KINDS.indexOf(kind)),
    state: rows.map(({ state }) => STATES.indexOf(state)),
    badge: rows.map(({ badge }) => BADGES.indexOf(badge)),
    title: rows.map(({ title }) => title),
    at: rows.map(({ at }) => at),
    latencyMs: rows.map(({ latencyMs }) => orNull(latencyMs)),
    lane: rows.map(({ lane }) => lane),
    provider: rows.map(({ provider }) => nameOf(provider)),
    model: rows.map(({ model }) => nameOf(model)),
    tool: rows.map(({ tool }) => nameOf(tool)),
    tokensIn: rows.map(({ tokensIn }) => orNull(tokensIn)),
    tokensOut: rows.map(({ tokensOut }) => orNull(tokensOut)),
    costUsd: rows.map(({ costUsd }) => orNull(costUsd)),
    error: rows.map(({ error }) => orNull(error)),
    parent: rows.map(({ parent }) => orNull(parent)),
    within: rows.map(({ within }) => within.map((place) => nameOf(place)).join(',')),
    names,
  }
}

/** One row of columns. */
export function rowAt(columns: RowColumns, place: number, inferred = false): Row {
  const name = (index: number | undefined): string | undefined =>
    index === undefined || index < 0 ? undefined : columns.names[index]
  const within = columns.within[place] ?? ''
  return {
    label: columns.label[place] ?? '',
    seq: columns.seq[place] ?? 0,
    kind: KINDS[columns.kind[place] ?? 0] ?? 'http',
    state: STATES[columns.state[place] ?? 0] ?? 'done',
    badge: BADGES[columns.badge[place] ?? 0] ?? 'live',
    title: columns.title[place] ?? '',
    at: columns.at[place] ?? 0,
    latencyMs: columns.latencyMs[place] ?? undefined,
    lane: columns.lane[place] ?? 0,
    provider: name(columns.provider[place]),
    model: name(columns.model[place]),
    tool: name(columns.tool[place]),
    tokensIn: columns.tokensIn[place] ?? undefined,
    tokensOut: columns.tokensOut[place] ?? undefined,
    costUsd: columns.costUsd[place] ?? undefined,
    error: columns.error[place] ?? undefined,
    parent: columns.parent[place] ?? undefined,
    within:
      within === '' ? [] : within.split(',').map((index) => columns.names[Number(index)] ?? ''),
    inferred,
  }
}
