import type { SseEvent } from '../../http/sse.js'
import { type JsonRecord, parseJson, recordOf, textOf } from '../../format/values/json-shape.js'

/** A document that grows with the events of a stream. */
export type Draft = Record<string, unknown>

/** The JSON of each event; anything but an object becomes an empty one. */
export const eventData = (events: readonly SseEvent[]): JsonRecord[] =>
  events.map(({ data }) => recordOf(parseJson(data)))

export const appendText = (draft: Draft, key: string, piece: unknown): void => {
  draft[key] = textOf(draft[key]) + textOf(piece)
}

/** Sets a field, but never overwrites a value with null. */
export const setUnlessNull = (draft: Draft, key: string, value: unknown): void => {
  if (value !== null || !Object.hasOwn(draft, key)) draft[key] = value
}

/** The draft at an index, created on first use. */
export const draftAt = <T>(drafts: Map<number, T>, index: number, make: () => T): T => {
  const draft = drafts.get(index) ?? make()
  drafts.set(index, draft)
  return draft
}

/** Drafts by ascending index, in whatever order they arrived. */
export const inOrder = <T>(drafts: ReadonlyMap<number, T>): [index: number, draft: T][] =>
  [...drafts].toSorted(([left], [right]) => left - right)
