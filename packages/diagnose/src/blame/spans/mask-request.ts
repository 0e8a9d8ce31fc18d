import { setPath } from '@retake/tape'
import { isJsonText, maskJson } from './json-spans.js'
import type { Range, Span, TextPlace } from './text-place.js'

/** What stands where something was left out. Never empty: providers refuse empty text. */
export const NEUTRAL_TEXT = '(left out)'

/**
 * A request in which these spans say nothing. Texts are replaced, never removed: every
 * message, call and id stays, so that the provider takes it as it took the recorded one.
 */
export function maskRequest(request: unknown, spans: readonly Span[]): unknown {
  const byPath = new Map<string, { place: TextPlace; ranges: Range[] }>()
  for (const { place, ranges } of spans) {
    const found = byPath.get(place.path)
    if (found) found.ranges.push(...ranges)
    else byPath.set(place.path, { place, ranges: [...ranges] })
  }
  let masked = request
  for (const { place, ranges } of byPath.values()) {
    const text = maskText(place.text, ranges)
    masked = setPath(masked, place.path, place.isValue ? (JSON.parse(text) as unknown) : text)
  }
  return masked
}

/** Ranges are of the text as it was; they do not overlap. */
function maskText(text: string, ranges: readonly Range[]): string {
  const isJson = isJsonText(text)
  let masked = text
  for (const { start, end } of ranges.toSorted((a, b) => b.start - a.start)) {
    const neutral = isJson ? maskJson(masked.slice(start, end), NEUTRAL_TEXT) : NEUTRAL_TEXT
    masked = masked.slice(0, start) + neutral + masked.slice(end)
  }
  return masked
}
