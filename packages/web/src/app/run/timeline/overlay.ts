import { KINDS, STATES, cost, count, duration, plural } from '@retake/tape/present'
import type { ListColumns } from '../list-columns.js'

export const OVERLAYS = ['none', 'latency', 'tokens', 'cost'] as const
export type Overlay = (typeof OVERLAYS)[number]

/** One figure of every row, and what it adds up to. */
export interface OverlayValues {
  /** By place; NaN where it is not known or makes no sense. */
  readonly values: Float64Array
  /** By place: sum of what is known up to and with this row. */
  readonly sums: Float64Array
  /** By place: calls whose figure is not known up to and with this row. */
  readonly unknown: Uint32Array
  readonly max: number
}

const [MODEL, FAILED, RUNNING] = [
  KINDS.indexOf('model'),
  STATES.indexOf('failed'),
  STATES.indexOf('running'),
]

export function overlayValues(columns: ListColumns, overlay: Overlay): OverlayValues | undefined {
  if (overlay === 'none') return undefined
  const values = new Float64Array(columns.length)
  const sums = new Float64Array(columns.length)
  const unknown = new Uint32Array(columns.length)
  let [sum, missing, max] = [0, 0, 0]
  for (let place = 0; place < columns.length; place++) {
    const value = valueAt(columns, overlay, place)
    values[place] = value
    if (Number.isNaN(value)) missing += isMissing(columns, overlay, place) ? 1 : 0
    else {
      sum += value
      if (value > max) max = value
    }
    sums[place] = sum
    unknown[place] = missing
  }
  return { values, sums, unknown, max }
}

function valueAt(columns: ListColumns, overlay: Overlay, place: number): number {
  const { latencyMs, tokensIn, tokensOut, costUsd, inferred } = columns
  if (overlay === 'latency') return inferred[place] ? Number.NaN : (latencyMs[place] ?? Number.NaN)
  if (overlay === 'cost') return costUsd[place] ?? Number.NaN
  return (tokensIn[place] ?? Number.NaN) + (tokensOut[place] ?? Number.NaN)
}

/** A model call that was answered has used something; where nothing says how much, that is not 0. */
export const isMissing = (columns: ListColumns, overlay: Overlay, place: number): boolean =>
  overlay !== 'latency' &&
  columns.kind[place] === MODEL &&
  columns.state[place] !== RUNNING &&
  // What was refused costs nothing; what broke off after it had used something does.
  !(columns.state[place] === FAILED && Number.isNaN(columns.tokensIn[place] ?? Number.NaN))

const FORMATS = {
  latency: (value: number) => duration(value),
  tokens: (value: number) => `${count(value)} tokens`,
  cost: (value: number) => cost(value),
} as const

export const overlayText = (overlay: Exclude<Overlay, 'none'>, value: number): string =>
  FORMATS[overlay](value)

/** What it came to at a row, of the whole. Says how many calls of the run the sums do not cover. */
export function sumText(
  overlay: Exclude<Overlay, 'none'>,
  { sums, unknown }: OverlayValues,
  place: number,
): string {
  const all = sums.at(-1) ?? 0
  const missing = unknown.at(-1) ?? 0
  const format = FORMATS[overlay]
  const text = `${format(sums[place] ?? 0)} of ${format(all)}`
  const what = overlay === 'latency' ? ' in steps' : ''
  return missing === 0
    ? text + what
    : `${text}, without ${plural(missing, 'call')} of unknown ${overlay}`
}
