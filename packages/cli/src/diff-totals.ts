import type { RunDiff, RunSide } from '@retake/diagnose'
import { duration } from './duration.js'
import { cost, localTime, plural } from './facts.js'
import { printable } from './printable.js'
import { cutTo, table } from './table.js'
import type { Look } from './terminal.js'

/** Which two runs these are, and what they have in common by descent. */
export function sideLines(diff: RunDiff, { paint, width }: Look): string[] {
  const { a, b } = diff
  const line = (letter: string, { id, name, startedAt }: RunSide): string =>
    `${paint('bold', letter)}  ${cutTo(`${id}  ${localTime(startedAt)}  ${printable(name)}`, width - 3)}`
  const descent = descentText(diff)
  return [line('a', a), line('b', b), ...(descent === undefined ? [] : [descent])]
}

/** What two runs have in common by descent; undefined when that is nothing. */
export function descentText({ a, b, shared }: RunDiff): string | undefined {
  if (shared === undefined) return undefined
  const events = plural(shared.events, 'event')
  if (shared.run === a.id) return `b branched off a after ${events}`
  if (shared.run === b.id) return `a branched off b after ${events}`
  return `both branched off ${shared.run} and share ${events}`
}

/** Sums of both runs beside each other. */
export function totalsLines(diff: RunDiff, { paint, width }: Look): string[] {
  const header = ['', 'a', 'b', ''].map((cell) => paint('dim', cell))
  const rows = totalsOf(diff).map(({ name, a, b, change: by = '' }) => [name, a, b, by])
  return table([header, ...rows], width)
}

/** One sum of both runs, and how it differs. */
export interface Total {
  readonly name: string
  readonly a: string
  readonly b: string
  readonly change?: string
}

/** Sums that at least one of the runs has; last, how each ended. */
export function totalsOf({ a, b }: RunDiff): Total[] {
  const sums = FACTS.map(({ name, read, show }): Total => {
    const [left, right] = [read(a), read(b)]
    const isKnown = left !== undefined && right !== undefined && left !== right
    const by = isKnown ? change(left, right, show) : ''
    return { name, a: show(left), b: show(right), ...(by !== '' && { change: by }) }
  })
  return [
    ...sums.filter((sum) => sum.a !== '' || sum.b !== ''),
    { name: 'exit', a: endOf(a), b: endOf(b) },
  ]
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
