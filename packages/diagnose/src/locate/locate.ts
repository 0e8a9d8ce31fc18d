import { hashText } from '../hash.js'
import type { RunView, Step, TapeLike } from '@retake/tape'
import { findLocations } from './find-locations.js'
import type { Hit } from './matcher.js'
import { ExactMatcher, NearMatcher, type Matcher } from './matcher.js'
import type { Located, NearMiss, Occurrence } from './occurrence.js'
import type { Search } from './value-location.js'
import { searchJson } from './search-pieces.js'

/**
 * Finds where a value first appeared in a run and everywhere it went: every
 * event is read, not only those of steps. `view` is the same run as the read
 * model shows it. Says where the text stands, not that one location is the cause
 * of another: a model may well have known it by itself.
 */
export const locate = (tape: TapeLike, view: RunView, text: string): Located => {
  const locations = findLocations(tape, view)
  const occurrences = search({ tape, view, locations }, new ExactMatcher(text))
  const firstOut = occurrences.findIndex(({ direction }) => direction === 'out')
  return {
    text,
    occurrences,
    origins: firstOut < 0 ? occurrences.length : firstOut,
    nearMisses:
      occurrences.length > 0
        ? []
        : nearMisses(search({ tape, view, locations }, new NearMatcher(text))),
  }
}

interface Searched {
  readonly tape: TapeLike
  readonly view: RunView
  readonly locations: readonly Search[]
}

const search = ({ tape, view, locations }: Searched, matcher: Matcher): Occurrence[] => {
  const found = locations
    .flatMap((each) => each(matcher))
    .map(({ location, hit }) => ({ location, hit, seq: hit.seq ?? location.seq }))
    .toSorted((one, other) => one.seq - other.seq)
  const begun = lastBegun(view)
  const tools = inferredTools(view, matcher)
  const sent = new Set<number>()
  return found.map(({ location, hit, seq }) => {
    const { direction, source, name, step, site } = location
    const after = step === undefined ? begun(seq) : undefined
    const via = source === 'request' ? tools(seq, hit) : undefined
    const { path, offset, excerpt, count } = hit
    return {
      seq,
      at: tape.event(seq).at,
      direction,
      source,
      name,
      ...(step !== undefined && { step }),
      ...(after !== undefined && { after }),
      ...(path !== undefined && path !== '' && { path }),
      ...(offset !== undefined && { offset }),
      excerpt,
      count,
      ...(site !== undefined && { site }),
      ...(via !== undefined && { via }),
      ...(source === 'request' && wasSentBefore(hit, sent) && { carried: true }),
    }
  })
}

/** Whether this very text was part of an earlier request. */
const wasSentBefore = ({ whole }: Hit, sent: Set<number>): boolean => {
  if (whole === undefined) return false
  const hash = hashText(whole)
  if (sent.has(hash)) return true
  sent.add(hash)
  return false
}

const lastBegun = ({ recordedSteps }: RunView): ((seq: number) => string | undefined) => {
  let next = 0
  return (seq) => {
    while ((recordedSteps[next]?.seq ?? Infinity) <= seq) next++
    return recordedSteps[next - 1]?.label
  }
}

/** Tools that are seen only in the conversation: their results stand in the request that reports them. */
const inferredTools = (
  view: RunView,
  matcher: Matcher,
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

/** Each way the text is written, the most common first. */
const nearMisses = (occurrences: readonly Occurrence[]): NearMiss[] => {
  const byText = new Map<string, { places: number; first: Occurrence }>()
  for (const first of occurrences) {
    const known = byText.get(first.excerpt.match)
    if (known === undefined) byText.set(first.excerpt.match, { places: 1, first })
    else known.places++
  }
  return [...byText]
    .map(([text, miss]) => ({ text, ...miss }))
    .toSorted((one, other) => other.places - one.places)
    .slice(0, 5)
}
