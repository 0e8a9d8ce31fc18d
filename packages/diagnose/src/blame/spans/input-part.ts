import { clipText, type BlameFindings, type InputPart, type InputSpan } from '@retake/tape'
import type { RequestPart, Span } from './text-place.js'

/** What was found of a part: its role, its cause, and how often that fails. */
export type Finding = Pick<InputPart, 'role' | 'cause' | 'rate'>

const EXCERPT_LENGTH = 160

/** A searched message as it is shown. */
export function inputPart(part: RequestPart, finding: Finding): InputPart {
  const { path, speaker, places } = part
  const text = places.map((place) => place.text).join(' ')
  return { path, speaker, excerpt: excerptOf(text), ...finding }
}

/** A span as it is shown. */
export function inputSpan(span: Span, part: RequestPart, finding: Finding): InputSpan {
  const { path, text } = span.place
  const start = span.ranges[0]!.start
  const end = span.ranges.at(-1)!.end
  const excerpt = excerptOf(text.slice(start, end))
  return { path, speaker: part.speaker, excerpt, ...finding, start, end }
}

/** What a search of parts found of one of them. */
export function findingAt(found: BlameFindings, part: number): Finding {
  const { role } = found.steps[part]!
  const cause = found.causes.findIndex(({ steps }) => steps.includes(part))
  return cause === -1 ? { role } : { role, cause, rate: found.causes[cause]!.sufficiency }
}

const excerptOf = (text: string) =>
  clipText(
    text
      .slice(0, 4 * EXCERPT_LENGTH)
      .replace(/\s+/g, ' ')
      .trim(),
    EXCERPT_LENGTH,
  )
