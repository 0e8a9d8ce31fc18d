import type { Match } from './matcher.js'
import type { MatchExcerpt, Occurrence } from './occurrence.js'

/** A match in some content, before it is known whose content it is. */
export interface Hit extends Pick<Occurrence, 'excerpt' | 'count'> {
  readonly path?: string
  readonly offset?: number
  /** The event, when the content came in several. */
  readonly seq?: number
  /** The text as a whole that the match stands in. */
  readonly whole?: string
}

const AROUND = 80

/** A match with a little of the text around it, cut at whole characters. */
export const excerptOf = (text: string, { index, length }: Match): MatchExcerpt => ({
  before: (index > AROUND ? '…' : '') + trimHalf(text.slice(Math.max(0, index - AROUND), index)),
  match: text.slice(index, index + length),
  after:
    trimHalf(text.slice(index + length, index + length + AROUND)) +
    (text.length > index + length + AROUND ? '…' : ''),
})

/** Without the half of a character that a cut left over. */
const trimHalf = (text: string): string =>
  text.replace(/^[\uDC00-\uDFFF\uFFFD]+|[\uD800-\uDBFF\uFFFD]+$/g, '')
