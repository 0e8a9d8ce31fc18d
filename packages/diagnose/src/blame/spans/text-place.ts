import type { Message } from '@retake/tape'

/** Text somewhere in a request. */
export interface TextPlace {
  readonly path: string
  readonly text: string
  /** It is no string there but JSON; `text` is that JSON written out. */
  readonly isValue: boolean
}

/** A message of a request, or one result of a tool in it: what is masked as one. */
export interface RequestPart {
  readonly path: string
  readonly speaker: Message['role']
  /** Never empty: what has no text is not a part. */
  readonly places: readonly TextPlace[]
}

/** From one character of a text up to, without, another. */
export interface Range {
  readonly start: number
  readonly end: number
}

/** A piece of text that can be masked: one range, or several neighbours. */
export interface Span {
  readonly place: TextPlace
  readonly ranges: readonly Range[]
}

/** All of a part's text. */
export function wholeSpans(part: RequestPart): Span[] {
  return part.places.map((place) => ({
    place,
    ranges: [{ start: 0, end: place.text.length }],
  }))
}
