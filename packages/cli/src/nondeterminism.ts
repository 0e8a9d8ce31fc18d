import type { CallSites } from '@retake/engine'
import { isDelivery, isInitiation } from '@retake/tape'
import type { Tape, TapeEvent } from '@retake/tape'

/** One source of values that an agent cannot know beforehand. */
export interface Source {
  /** `Date.now`, `POST host/path`, `tool search`, … */
  readonly name: string
  /** How often it was used in the first recording. */
  readonly count: number
  /** Whether the two recordings got something else from it. */
  readonly changed: boolean
  /** Where in the agent's code, the most frequent first. */
  readonly sites: readonly string[]
}

/** Everything on two tapes of the same agent that came from outside, and whether it changed. */
export function findSources(first: Tape, second: Tape, drawSites: CallSites): Source[] {
  const before = collect(first)
  const after = collect(second)
  const sources = [...before].map(([name, { values, sites }]) => ({
    name,
    count: values.length,
    changed: JSON.stringify(values) !== JSON.stringify(after.get(name)?.values),
    sites: mostFrequent([...sites, ...sitesOf(drawSites, name)]),
  }))
  const order = orderOfDeliveries(first)
  if (order.length > 1) {
    const changed = order.join() !== orderOfDeliveries(second).join()
    sources.push({ name: 'order of completions', count: order.length, changed, sites: [] })
  }
  return sources
}

interface Collected {
  readonly values: unknown[]
  readonly sites: string[]
}

function collect(tape: Tape): Map<string, Collected> {
  const found = new Map<string, Collected>()
  const names = new Map<number, string>()
  const at = (name: string): Collected => {
    const known = found.get(name) ?? { values: [], sites: [] }
    found.set(name, known)
    return known
  }
  for (const event of tape.events()) {
    const name = sourceName(event)
    if (event.type === 'draw') at(event.kind).values.push(event.value)
    else if (name !== undefined) {
      names.set(event.seq, name)
      const { values, sites } = at(name)
      values.push('')
      if ('site' in event && event.site !== undefined) sites.push(event.site)
    } else if (isDelivery(event)) {
      const { values } = found.get(names.get(event.op) ?? '') ?? { values: [] }
      // Which of several concurrent calls an answer belongs to does not matter here.
      if (values.length > 0) values[values.length - 1] += digestOf(tape, event)
    }
  }
  return found
}

function digestOf(tape: Tape, event: TapeEvent): string {
  return Buffer.from(tape.body(event.seq)).toString('latin1')
}

function sourceName(event: TapeEvent): string | undefined {
  if (!isInitiation(event)) return undefined
  switch (event.type) {
    case 'request':
      return `${event.method} ${event.url.replace(/^https?:\/\//, '').replace(/[?#].*/, '')}`
    case 'call':
      return event.kind === 'tool' ? `tool ${event.name}` : event.name
    case 'timer':
      return event.kind
    case 'work':
      return event.name
    case 'socket':
      return `connection to ${event.path ?? `${event.host}:${event.port}`}`
  }
}

/** What was answered, in order; each by the order in which it was started. */
function orderOfDeliveries(tape: Tape): number[] {
  const started = new Map<number, number>()
  const order: number[] = []
  for (const event of tape.events()) {
    if (isDelivery(event)) {
      const position = started.get(event.op)
      if (position !== undefined && order.at(-1) !== position) order.push(position)
    } else if (sourceName(event) !== undefined) started.set(event.seq, started.size)
  }
  return order
}

const sitesOf = (all: CallSites, name: string): string[] =>
  all
    .filter((each) => each.name === name && each.site !== undefined)
    .toSorted((a, b) => b.count - a.count)
    .map(({ site }) => site ?? '')

function mostFrequent(sites: readonly string[]): string[] {
  const counts = new Map<string, number>()
  for (const site of sites) counts.set(site, (counts.get(site) ?? 0) + 1)
  return [...counts].toSorted((a, b) => b[1] - a[1]).map(([site]) => site)
}
