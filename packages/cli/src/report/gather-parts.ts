import type { CapturedState, Tape } from '@retake/tape'
import type { ReportContent, SourceExcerpt } from '@retake/web'
import { readStates } from '../state-file.js'
import { sourceNear } from '../ui/runs/source-near.js'

/** Lines before and after each place: enough to know it again, little to give away. */
const AROUND = 3

/** What the local viewer would show besides the tape: captured states, and source lines unless they are left out. */
export function gatherParts(
  tape: Tape,
  { withSource }: { readonly withSource: boolean },
): Pick<ReportContent, 'states' | 'sources'> {
  const states = readStates(tape) ?? []
  if (!withSource)
    return { states: states.map(({ source: _source, ...state }) => state), sources: {} }
  const sources: Record<string, SourceExcerpt> = {}
  for (const site of sitesOf(tape, states)) {
    const excerpt = sourceNear(tape, site)
    if (excerpt !== undefined) sources[site] = shortened(excerpt)
  }
  return { states, sources }
}

function shortened(excerpt: SourceExcerpt): SourceExcerpt {
  const firstLine = Math.max(excerpt.firstLine, excerpt.line - AROUND)
  const from = firstLine - excerpt.firstLine
  const lines = excerpt.lines.slice(from, excerpt.line - excerpt.firstLine + AROUND + 1)
  return { ...excerpt, firstLine, lines }
}

/** Everywhere that a step or a state says it happened, and where errors were thrown. */
function sitesOf(tape: Tape, states: readonly CapturedState[]): Set<string> {
  const sites = new Set<string>()
  for (const event of tape.events()) {
    if ('site' in event && event.site !== undefined) sites.add(event.site)
    const stack = 'error' in event ? event.error?.stack : undefined
    for (const site of stackSites(stack ?? '')) sites.add(site)
  }
  for (const { location, frames } of states)
    for (const place of [location, ...frames.map((frame) => frame.location)])
      if (place !== undefined) sites.add(`${place.file}:${place.line}:${place.column}`)
  return sites
}

/** `file:line:column` of each line of a stack that is in a file of the user. */
const stackSites = (stack: string): string[] =>
  [...stack.matchAll(/(?:file:\/\/)?((?:\/|[A-Za-z]:[\\/])[^()\n]*:\d+:\d+)\)?$/gm)]
    .map(([, site = '']) => site)
    .filter((site) => !/[\\/]node_modules[\\/]/.test(site))
