import path from 'node:path'
import type { Tape } from '@retake/tape'
import type { OpenRun, ReportContent, SourceExcerpt, StateView } from '@retake/web'
import { RunStore } from '../run-store.js'
import { localHome } from '../ui/local-home.js'

/** A run as the local viewer opens it, also when its tape lies elsewhere. */
export const openForReport = (file: string): Promise<OpenRun> =>
  localHome(new RunStore(path.dirname(file))).open(path.basename(file, '.tape'))

/** What the local viewer would show besides the tape: captured states, and source lines unless they are left out. */
export function gatherParts(
  run: OpenRun,
  { withSource }: { readonly withSource: boolean },
): Pick<ReportContent, 'states' | 'sources'> {
  const states: Record<string, StateView> = {}
  for (const { label } of run.model.view.recordedSteps) {
    const state = run.state(label)
    if (state !== undefined) states[label] = state
  }
  const sources: Record<string, SourceExcerpt> = {}
  for (const site of withSource ? sitesOf(run.model.tape, Object.values(states)) : []) {
    const excerpt = run.source(site)
    if (excerpt !== undefined) sources[site] = excerpt
  }
  return { states: withSource ? states : withoutLines(states), sources }
}

/** Everywhere that a step or a state says it happened, and where errors were thrown. */
function sitesOf(tape: Tape, states: readonly StateView[]): Set<string> {
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
export const stackSites = (stack: string): string[] =>
  [...stack.matchAll(/(?:file:\/\/)?((?:\/|[A-Z]:[\\/])[^():]*:\d+:\d+)\)?$/gm)]
    .map(([, site = '']) => site)
    .filter((site) => !site.includes('node_modules'))

const withoutLines = (states: Readonly<Record<string, StateView>>): Record<string, StateView> =>
  Object.fromEntries(
    Object.entries(states).map(([label, state]) => [label, { ...state, source: undefined }]),
  )
