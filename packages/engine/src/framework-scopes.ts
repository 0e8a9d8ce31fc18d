import { AsyncLocalStorage } from 'node:async_hooks'
import type { InitiationEvent, NewEvent, Place, WriteEvent } from '@retake/tape/format'
import { outsideRuns } from './scope.js'

const storage = new AsyncLocalStorage<readonly Place[]>()
const asked = new Set<() => readonly Place[] | undefined>()

/**
 * Runs `body` in a named part of the agent: steps that start there carry the
 * name. Costs nothing on replay and is not compared there.
 */
export function within<T>(place: Place, body: () => T): T {
  return storage.run([...(storage.getStore() ?? []), place], body)
}

/** The same for something that is read piece by piece: each piece is made in the place. */
export async function* eachWithin<T>(
  place: Place,
  pieces: AsyncIterable<T>,
): AsyncGenerator<T, void, undefined> {
  const iterator = within(place, () => pieces[Symbol.asyncIterator]())
  try {
    for (;;) {
      const next = await within(place, () => iterator.next())
      if (next.done === true) return
      yield next.value
    }
  } finally {
    await within(place, () => iterator.return?.())
  }
}

/**
 * For frameworks that keep a context of their own: `where` is asked when a step
 * starts in a recording, and its places come inside those of `within`. Returns
 * its undo. What `where` does is not recorded; when it throws, it knows nothing.
 */
export function placesFrom(where: () => readonly Place[] | undefined): () => void {
  asked.add(where)
  return () => asked.delete(where)
}

/** The event of a step with the places it starts in. Other events stay as they are. */
export function placed<E extends NewEvent<InitiationEvent | WriteEvent>>(event: E): E {
  if (!isStep(event)) return event
  const places = currentPlaces()
  return places.length === 0 ? event : { ...event, within: places }
}

function currentPlaces(): readonly Place[] {
  const known = storage.getStore() ?? []
  if (asked.size === 0) return known
  return [...known, ...[...asked].flatMap(ask)]
}

function ask(where: () => readonly Place[] | undefined): readonly Place[] {
  try {
    return outsideRuns(where) ?? []
  } catch {
    return []
  }
}

const isStep = (event: NewEvent<InitiationEvent | WriteEvent>): boolean =>
  event.type === 'request' ||
  event.type === 'write' ||
  (event.type === 'call' && (event.kind === 'tool' || event.kind === 'process'))
