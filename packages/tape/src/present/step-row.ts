import { clipText } from '../format/values/clip-text.js'
import { originOf, type StepOrigin } from '../edit/step-origin.js'
import type { Step, StepKind, StepState } from '../read-model/step.js'
import type { RunTotals } from '../read-model/step.js'
import type { Tape } from '../format/tape.js'
import { clock, cost, count, duration } from './figures.js'
import type { RunStatus, Tone } from './run-facts.js'

/** `crash`: not a step, but the error that ended the run outside its steps. */
export type RowKind = StepKind | 'crash'
export const KINDS = [
  'model',
  'tool',
  'http',
  'mcp',
  'process',
  'mark',
  'crash',
] as const satisfies readonly RowKind[]

/** `running`: no answer yet, and the run is still being recorded. The others are those of `Step`. */
export type RowState = StepState | 'running'
export const STATES = [
  'done',
  'failed',
  'aborted',
  'in doubt',
  'running',
  'denied',
] as const satisfies readonly RowState[]

/** Like `StepOrigin`; `re-executed`: not an answer from outside, the code ran again. */
export type RowOrigin = StepOrigin | 're-executed'
export const ORIGINS = [
  'live',
  'served',
  'edited',
  'lost',
  're-executed',
] as const satisfies readonly RowOrigin[]

interface Meaning {
  readonly tone: Tone
  readonly title: string
}

export const STATE_WORDS: Readonly<Record<RowState, Meaning>> = {
  done: { tone: 'good', title: 'Its answer is on the tape.' },
  failed: { tone: 'danger', title: 'It ended with an error.' },
  aborted: { tone: 'neutral', title: 'The agent gave up before the answer came.' },
  'in doubt': {
    tone: 'warning',
    title: 'Sent, but no answer was recorded: it may have had its effect.',
  },
  denied: {
    tone: 'warning',
    title: 'A guard stopped it, or stopped what it tried to access.',
  },
  running: { tone: 'accent', title: 'Sent; the answer has not come yet.' },
}

export const ORIGIN_WORDS: Readonly<Record<RowOrigin, Meaning>> = {
  live: { tone: 'good', title: 'Really requested, and recorded.' },
  served: { tone: 'neutral', title: 'Answered from the tape of an earlier run; nothing was sent.' },
  edited: { tone: 'accent', title: 'Changed by the fork.' },
  lost: {
    tone: 'warning',
    title: 'Under way when the run went live; its recorded answer was not used.',
  },
  're-executed': { tone: 'neutral', title: 'Not an answer from outside: the code ran again.' },
}

/** How a column is stored as JSON, and the array in which filters and the timeline read it. */
interface Column<Value, Stored, Array extends ArrayName | undefined = ArrayName | undefined> {
  readonly store: (value: Value, names: NameTable) => Stored
  readonly load: (stored: Stored, names: readonly string[]) => Value
  readonly blank: Value
  readonly array: Array
}

/** `numbers` are floats, NaN if unknown; `names` are indexes into a table of names, -1 for none. */
export type ArrayName = 'numbers' | 'codes' | 'integers' | 'names'

const same = <T>(value: T): T => value
const text: Column<string, string, undefined> = {
  store: same,
  load: same,
  blank: '',
  array: undefined,
}
const number = <A extends ArrayName | undefined>(array: A): Column<number, number, A> => ({
  store: same,
  load: same,
  blank: 0,
  array,
})
const optional = <T, A extends ArrayName | undefined>(
  array: A,
): Column<T | undefined, T | null, A> => ({
  store: (value) => value ?? null,
  load: (stored) => stored ?? undefined,
  blank: undefined,
  array,
})
const optionalText = optional<string, undefined>(undefined)
const optionalNumber = optional<number, 'numbers'>('numbers')
const oneOf = <T extends string>(words: readonly T[], blank: T): Column<T, number, 'codes'> => ({
  store: (value) => words.indexOf(value),
  load: (stored) => words[stored] ?? blank,
  blank,
  array: 'codes',
})
const name: Column<string | undefined, number, 'names'> = {
  store: (value, names) => (value === undefined ? -1 : names.indexOf(value)),
  load: (stored, names) => (stored < 0 ? undefined : names[stored]),
  blank: undefined,
  array: 'names',
}
const nameList: Column<readonly string[], string, undefined> = {
  store: (values, names) => values.map((value) => names.indexOf(value)).join(','),
  load: (stored, names) =>
    stored === '' ? [] : stored.split(',').map((index) => names[Number(index)] ?? ''),
  blank: [],
  array: undefined,
}

/**
 * The columns of a step row. `StepRow`, its form on the wire (`RowColumns`), the arrays that
 * filters read and the check whether a row has changed are all derived from this table.
 */
export const ROW_COLUMNS = {
  label: text,
  seq: number(undefined),
  kind: oneOf<RowKind>(KINDS, 'http'),
  state: oneOf<RowState>(STATES, 'done'),
  origin: oneOf<RowOrigin>(ORIGINS, 'live'),
  title: text,
  /** Milliseconds since the run started. */
  at: number('numbers'),
  latencyMs: optionalNumber,
  lane: number('integers'),
  provider: name,
  model: name,
  tool: name,
  tokensIn: optionalNumber,
  tokensOut: optionalNumber,
  costUsd: optionalNumber,
  error: optionalText,
  /** Label of the step that caused it. */
  parent: optionalText,
  /** Agents, nodes and tools around it, outermost first, as `kind name`. */
  within: nameList,
}

export type ColumnName = keyof typeof ROW_COLUMNS
type Value<C> = C extends { readonly load: (...input: never[]) => infer V } ? V : never
type Stored<C> = C extends { readonly store: (...input: never[]) => infer S } ? S : never

export type StepRow = {
  readonly [Name in ColumnName]: Value<(typeof ROW_COLUMNS)[Name]>
} & { readonly inferred: boolean }

/**
 * Many rows as one object of columns: a third of the size of a list of objects. A row is only built
 * when it is shown.
 */
export type RowColumns = {
  readonly [Name in ColumnName]: readonly Stored<(typeof ROW_COLUMNS)[Name]>[]
} & { readonly names: readonly string[] }

/** Rows arrive in chunks: first the recorded ones, then everything that depends on all of them. */
export type RowMessage =
  | {
      readonly type: 'rows'
      /** Index of the first of these rows among the recorded steps. */
      readonly from: number
      readonly rows: RowColumns
    }
  | {
      readonly type: 'rest'
      /** Steps that appear only in the conversation; each follows the row with its `parent` label. */
      readonly inferred: RowColumns
      /** Parents of recorded rows: index among the recorded steps, and label. */
      readonly parents: readonly (readonly [index: number, parent: string])[]
      readonly totals: RunTotals
      /** Number of events that the rows were read from. */
      readonly events: number
    }

const COLUMN_NAMES = Object.keys(ROW_COLUMNS) as ColumnName[]
const columnOf = (column: ColumnName): Column<unknown, unknown> =>
  ROW_COLUMNS[column] as unknown as Column<unknown, unknown>

class NameTable {
  readonly list: string[] = []
  readonly #indexes = new Map<string, number>()

  indexOf(value: string): number {
    const known = this.#indexes.get(value)
    if (known !== undefined) return known
    this.#indexes.set(value, this.list.length)
    return this.list.push(value) - 1
  }
}

export function toColumns(rows: readonly StepRow[]): RowColumns {
  const names = new NameTable()
  const columns = COLUMN_NAMES.map((each) => [
    each,
    rows.map((row) => columnOf(each).store(row[each], names)),
  ])
  return { ...(Object.fromEntries(columns) as RowColumns), names: names.list }
}

export function rowAt(columns: RowColumns, index: number, inferred = false): StepRow {
  const entries = COLUMN_NAMES.map((each) => {
    const stored = columns[each][index]
    const { load, blank } = columnOf(each)
    return [each, stored === undefined ? blank : load(stored, columns.names)]
  })
  return { ...(Object.fromEntries(entries) as StepRow), inferred }
}

/** A row with only a few known fields. */
export const blankRow = (known: Partial<StepRow>): StepRow => ({
  ...(Object.fromEntries(COLUMN_NAMES.map((each) => [each, columnOf(each).blank])) as StepRow),
  inferred: false,
  ...known,
})

/** True if a row is the same in two sets of columns, judged by its stored values. */
export const isSameRow = (left: RowColumns, right: RowColumns, index: number): boolean =>
  COLUMN_NAMES.every(
    (each) =>
      columnOf(each).array === 'names' ||
      each === 'within' ||
      left[each][index] === right[each][index],
  )

/** Maximum characters of a title, a name or an error in a list. */
const LINE = 300

export interface RowOptions {
  readonly status: RunStatus
  readonly laneOf: (step: Step) => number
}

/** The row of a step. A recorded step has no `parent` yet: finding it needs all answers. */
export function rowOf(tape: Tape, step: Step, { status, laneOf }: RowOptions): StepRow {
  const { usage, error, model, toolName } = step
  // While a run is being recorded, a step without an answer is neither in doubt nor aborted.
  const isOpen = step.state === 'in doubt' || (step.state === 'aborted' && step.error === undefined)
  const state = status === 'recording' && isOpen ? 'running' : step.state
  const title = state === 'running' ? (step.waitingTitle ?? step.title) : step.title
  return {
    label: step.label,
    seq: step.seq,
    kind: step.kind,
    state,
    origin: rowOrigin(tape, step),
    title: clipText(title, LINE),
    at: step.at,
    latencyMs: step.latencyMs,
    lane: laneOf(step),
    provider: step.provider,
    model: model && clipText(model, LINE),
    tool: toolName && clipText(toolName, LINE),
    tokensIn: usage && usage.input + usage.cachedInput + usage.cacheWrite,
    tokensOut: usage?.output,
    costUsd: step.costUsd,
    error: error && clipText(error, LINE),
    parent: step.inferred ? step.parent : undefined,
    within: step.within.map((scope) => `${scope.kind} ${clipText(scope.name, LINE)}`),
    inferred: step.inferred,
  }
}

function rowOrigin(tape: Tape, step: Step): RowOrigin {
  const origin = originOf(tape, step)
  if (step.kind === 'mark' && origin === 'served') return 're-executed'
  // A guard served the answer from the run that it resumes.
  if (step.guard?.served !== undefined && origin !== 'edited') return 'served'
  return origin ?? 'live'
}

/** A cell of step lists, in the terminal and on the page. */
export interface StepCell {
  readonly heading: string
  /** Empty if there is nothing to show; undefined if the value is unknown. */
  readonly text: (row: StepRow) => string | undefined
}

export const STEP_CELLS = {
  label: { heading: 'step', text: ({ label }) => label },
  kind: { heading: 'kind', text: ({ kind }) => kind },
  title: { heading: '', text: ({ title }) => title },
  origin: { heading: 'origin', text: (row) => (row.inferred ? '' : row.origin) },
  within: {
    heading: 'in',
    text: ({ within }) => within.map((scope) => scope.slice(scope.indexOf(' ') + 1)).join(' › '),
  },
  lane: { heading: 'lane', text: ({ lane }) => String(lane) },
  subject: { heading: 'model, tool', text: ({ model, tool }) => model ?? tool ?? '' },
  tokens: {
    heading: 'tokens',
    text: (row) =>
      row.tokensIn === undefined && row.tokensOut === undefined
        ? missing(row)
        : `${count(row.tokensIn ?? 0)} → ${count(row.tokensOut ?? 0)}`,
  },
  cost: {
    heading: 'cost',
    text: (row) => (row.costUsd === undefined ? missing(row) : cost(row.costUsd)),
  },
  took: {
    heading: 'took',
    text: ({ latencyMs, inferred }) =>
      latencyMs === undefined || inferred ? '' : duration(latencyMs),
  },
  at: { heading: 'at', text: ({ at }) => clock(at) },
} as const satisfies Record<string, StepCell>

/** A refused call used nothing; an answer without counts used an unknown amount. */
const missing = ({ kind, state }: StepRow): '' | undefined =>
  kind === 'model' && state !== 'failed' && state !== 'running' ? undefined : ''
