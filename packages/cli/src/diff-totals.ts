import type { RunDiff, RunSide } from '@retake/diagnose'
import { duration } from './duration.js'
import { cost, localTime, plural } from './facts.js'
import { printable } from './printable.js'
import { cutTo, table } from './table.js'
import type { Look } from './terminal.js'

/** Which two runs these are, and what they have in common by descent. */
export function sideLines({ a, b, shared }: RunDiff, { paint, width }: Look): string[] {
  const line = (letter: string, { id, name, startedAt }: RunSide): string =>
    `${paint('bold', letter)}  ${cutTo(`${id}  ${localTime(startedAt)}  ${printable(name)}`, width - 3)}`
  const events = shared === undefined ? '' : plural(shared.events, 'event')
  const descent =
    shared === undefined
      ? []
      : shared.run === a.id
        ? [`b branched off a after ${events}`]
        : shared.run === b.id
          ? [`a branched off b after ${events}`]
          : [`both branched off ${shared.run} and share ${events}`]
  return [line('a', a), line('b', b), ...descent]
}

/** Sums of both runs beside each other. */
export function totalsLines({ a, b }: RunDiff, { paint, width }: Look): string[] {
  const rows = FACTS.map(({ name, read, show }) => {
    const values = [a, b].map(read)
    const [left, right] = values
    const isSame = left === right
    const cells = values.map((value) => show(value))
    return [
      name,
      ...cells,
      isSame || left === undefined || right === undefined ? '' : change(left, right, show),
    ]
  }).filter(([, left, right]) => left !== '' || right !== '')
  const header = ['', 'a', 'b', ''].map((cell) => paint('dim', cell))
  const ends = ['exit', endOf(a), endOf(b), '']
  return table([header, ...rows, ends], width)
}

interface Fact {
  readonly name: string
  readonly read: (side: RunSide) => number | undefined
  readonly show: (value: number | undefined) => string
}

const count = (value: number | undefined): string => String(value ?? '')
const FACTS: readonly Fact[] = [
  { name: 'steps', read: ({ steps }) => steps, show: count },
  { name: 'model calls', read: ({ totals }) => totals.modelCalls, show: count },
  { name: 'tool calls', read: ({ totals }) => totals.toolCalls, show: count },
  {
    name: 'tokens in',
    read: ({ totals: { usage } }) => usage.input + usage.cachedInput + usage.cacheWrite,
    show: count,
  },
  { name: 'tokens out', read: ({ totals }) => totals.usage.output, show: count },
  {
    name: 'cost',
    read: ({ totals }) => (totals.modelCalls > 0 ? (totals.costUsd ?? -1) : undefined),
    show: (value) => (value === -1 ? 'unknown' : cost(value)),
  },
  {
    name: 'took',
    read: ({ durationMs }) => durationMs,
    show: (value) => (value === undefined ? '' : duration(value)),
  },
]

function change(left: number, right: number, show: Fact['show']): string {
  if (left === -1 || right === -1) return ''
  const sign = right > left ? '+' : '-'
  return `${sign}${show(Math.abs(right - left))}`
}

function endOf({ exit, status }: RunSide): string {
  if (exit?.error !== undefined) return exit.error.name
  if (exit?.signal !== undefined) return exit.signal
  if (exit === undefined) return status === 'truncated' ? 'cut off' : ''
  return String(exit.code ?? 'fine')
}
