import { defined } from '../format/values/json-shape.js'
import type { RunView } from '../read-model/run-view.js'
import type { Step } from '../read-model/step.js'
import type { TapeLike } from '../format/tape-like.js'
import { hashText } from '../format/values/hash-text.js'
import { findLocations, type ValueSearch } from './find-locations.js'
import {
  ExactMatcher,
  type Hit,
  type ValueMatcher,
  NearMatcher,
  searchJson,
} from './search-pieces.js'

/**
 * Finds where a value first appeared in a run and everywhere it went. Reads every event, not only
 * those of steps. `view` is the read model of the same run. Does not show that one location caused
 * another: a model may have known the value anyway.
 */
export const locate = (tape: TapeLike, view: RunView, text: string): Located => {
  const locations = findLocations(tape, view)
  const occurrences = search(tape, view, locations, new ExactMatcher(text))
  const firstOut = occurrences.findIndex(({ direction }) => direction === 'out')
  return {
    text,
    occurrences,
    origins: firstOut < 0 ? occurrences.length : firstOut,
    nearMisses:
      occurrences.length > 0
        ? []
        : nearMisses(search(tape, view, locations, new NearMatcher(text))),
  }
}

const search = (
  tape: TapeLike,
  view: RunView,
  locations: readonly ValueSearch[],
  matcher: ValueMatcher,
): Occurrence[] => {
  const found = locations
    .flatMap((each) => each(matcher))
    .map(({ location, hit }) => ({ location, hit, seq: hit.seq ?? location.seq }))
    .toSorted((one, other) => one.seq - other.seq)
  const tools = inferredTools(view, matcher)
  const sent = new Set<number>()
  return found.map(({ location, hit, seq }) => {
    const { direction, source, name, step, site } = location
    const after = step === undefined ? view.stepBefore(seq)?.label : undefined
    const via = source === 'request' ? tools(seq, hit) : undefined
    const { path, offset, excerpt, inString, count, whole } = hit
    const hash = source === 'request' && whole !== undefined ? hashText(whole) : undefined
    // Part of an earlier request, too.
    const carried = (hash !== undefined && sent.has(hash)) || undefined
    if (hash !== undefined) sent.add(hash)
    return defined({
      seq,
      at: tape.event(seq).at,
      direction,
      source,
      name,
      step,
      after,
      path: path || undefined,
      offset,
      excerpt,
      inString,
      count,
      site,
      via,
      carried,
    })
  })
}

/**
 * Results of tools that appear only in the conversation are found in the request that reports them.
 * Attributes them to the tool.
 */
const inferredTools = (
  view: RunView,
  matcher: ValueMatcher,
): ((seq: number, hit: Hit) => Occurrence['via']) => {
  const byRequest = new Map<number, Step[]>()
  for (const step of view.steps) {
    const [seq] = step.answerSeqs
    if (!step.inferred || seq === undefined) continue
    byRequest.set(seq, [...(byRequest.get(seq) ?? []), step])
  }
  return (seq, { whole }) => {
    for (const step of byRequest.get(seq) ?? []) {
      const call = step.call()
      const isResult = searchJson(call?.result, matcher).some((hit) => hit.whole === whole)
      if (call !== undefined && isResult) return { step: step.label, tool: call.name }
    }
    return undefined
  }
}

/** Distinct spellings, most common first. */
const nearMisses = (occurrences: readonly Occurrence[]): NearMiss[] => {
  const byText = new Map<string, { count: number; first: Occurrence }>()
  for (const first of occurrences) {
    const known = byText.get(first.excerpt.match)
    if (known === undefined) byText.set(first.excerpt.match, { count: 1, first })
    else known.count++
  }
  return [...byText]
    .map(([text, miss]) => ({ text, ...miss }))
    .toSorted((one, other) => other.count - one.count)
    .slice(0, 5)
}

export interface MatchExcerpt {
  readonly before: string
  readonly match: string
  readonly after: string
}

/**
 * Kind of location. `answer` and `request` belong to model and HTTP steps, `mcp` is a message to or
 * from an MCP server on stdio, `connection` is a socket with bytes other than HTTP.
 */
export type SourceKind =
  | 'environment'
  | 'arguments'
  | 'draw'
  | 'file'
  | 'input'
  | 'tool'
  | 'mcp'
  | 'process'
  | 'worker'
  | 'dns'
  | 'database'
  | 'connection'
  | 'request'
  | 'answer'
  | 'output'
  | 'mark'
  | 'outcome'

export interface Occurrence {
  /** The event that contains it, or the one that completed it if it came in pieces. */
  readonly seq: number
  /** Milliseconds since the run started. */
  readonly at: number
  /** `in`: it reached the agent. `out`: the agent sent, wrote or printed it. */
  readonly direction: 'in' | 'out'
  readonly source: SourceKind
  /** Name of the file, tool, model, URL or variable, or `stdout`. */
  readonly name: string
  readonly step?: string
  /** Label of the last step that began before it, if it belongs to no step. */
  readonly after?: string
  readonly path?: string
  /** Byte offset in the whole file, body or stream, if that is not JSON. */
  readonly offset?: number
  readonly excerpt: MatchExcerpt
  /** Set if the match is in a string of JSON: `"60"`, not `60`. */
  readonly inString?: true
  readonly count: number
  /** Line of the agent's code, as `file:line:column`. */
  readonly site?: string
  /** The tool that returned it, if the result appears only in the conversation. */
  readonly via?: { readonly step: string; readonly tool: string }
  /** True if an earlier request contained the same text, so it is conversation history. */
  readonly carried?: boolean
}

export interface NearMiss {
  readonly text: string
  readonly count: number
  readonly first: Occurrence
}

export interface Located {
  readonly text: string
  readonly occurrences: readonly Occurrence[]
  /** Number of leading `occurrences` that brought it in; 0 if the agent's code made it. */
  readonly origins: number
  /** Searched only if there is no occurrence. */
  readonly nearMisses: readonly NearMiss[]
}
