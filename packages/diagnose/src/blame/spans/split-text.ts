import { inGroups, isJsonText, jsonRanges } from './json-spans.js'
import type { Range, Span, TextPlace } from './text-place.js'

/** More than these are not told apart inside of one text. */
const MOST_SPANS = 40

/**
 * The pieces of a text that can be masked one by one: fields of JSON, else sentences, else
 * lines, else paragraphs, whichever are the smallest that are few enough.
 */
export function splitText(place: TextPlace, most = MOST_SPANS): Span[] {
  return rangesOf(place.text, most).map((ranges) => ({ place, ranges }))
}

function rangesOf(text: string, most: number): readonly (readonly Range[])[] {
  if (isJsonText(text)) return jsonRanges(text, most)
  const lines = matchesOf(text, /[^\n]+/g)
  const sentences = lines.flatMap(({ start, end }) =>
    matchesOf(text.slice(start, end), SENTENCE, start),
  )
  if (sentences.length <= most) return sentences.map((range) => [range])
  if (lines.length <= most) return lines.map((range) => [range])
  const paragraphs = paragraphsOf(text, lines)
  if (paragraphs.length <= most) return paragraphs.map((range) => [range])
  return inGroups(paragraphs, most)
}

/** Up to a full stop that is followed by a space, so that numbers stay whole. */
const SENTENCE = /.*?(?:[.!?]+["'»”’)\]]*(?=\s|$)|[。！？]+)|.+$/g

/** What a pattern finds, without the space around it; nothing that is only space. */
function matchesOf(text: string, pattern: RegExp, offset = 0): Range[] {
  const ranges: Range[] = []
  for (const { 0: found, index } of text.matchAll(pattern)) {
    const trimmed = found.trim()
    if (trimmed === '') continue
    const start = offset + index + found.indexOf(trimmed[0]!)
    ranges.push({ start, end: start + trimmed.length })
  }
  return ranges
}

/** Lines with no empty line between them. */
function paragraphsOf(text: string, lines: readonly Range[]): Range[] {
  const paragraphs: Range[] = []
  for (const line of lines) {
    const last = paragraphs.at(-1)
    const isNext = last && !/\n\s*\n/.test(text.slice(last.end, line.start))
    if (isNext) paragraphs[paragraphs.length - 1] = { start: last.start, end: line.end }
    else paragraphs.push(line)
  }
  return paragraphs
}
