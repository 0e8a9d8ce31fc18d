import { AsyncLocalStorage } from 'node:async_hooks'
import {
  attempt,
  type FrameworkScope,
  type InitiationEvent,
  type NewEvent,
  type WriteEvent,
} from '@retake/tape/format'
import { outsideRuns } from '../kernel/scope.js'

const storage = new AsyncLocalStorage<readonly FrameworkScope[]>()
const providers = new Set<() => readonly FrameworkScope[] | undefined>()

/**
 * Runs `body` in a named part of the agent; steps that start there get the name. Free on replay,
 * where names are not compared.
 */
export function within<T>(scope: FrameworkScope, body: () => T): T {
  return storage.run([...(storage.getStore() ?? []), scope], body)
}

/** Like `within`, for an iterable: each item is produced in the scope. */
export async function* eachWithin<T>(
  scope: FrameworkScope,
  pieces: AsyncIterable<T>,
): AsyncGenerator<T, void, undefined> {
  const iterator = within(scope, () => pieces[Symbol.asyncIterator]())
  try {
    for (;;) {
      const next = await within(scope, () => iterator.next())
      if (next.done === true) return
      yield next.value
    }
  } finally {
    await within(scope, () => iterator.return?.())
  }
}

/**
 * For frameworks that track their own context: `where` is called when a step starts in a recording,
 * and its scopes are nested in those of `within`. Returns its undo. The work of `where` is not
 * recorded; if it throws, there are no scopes.
 */
export function scopesFrom(where: () => readonly FrameworkScope[] | undefined): () => void {
  providers.add(where)
  return () => providers.delete(where)
}

/** Adds the current scopes to the event of a step. Other events stay unchanged. */
export function withScopes<E extends NewEvent<InitiationEvent | WriteEvent>>(event: E): E {
  if (
    !(
      event.type === 'request' ||
      event.type === 'write' ||
      (event.type === 'call' && (event.kind === 'tool' || event.kind === 'process'))
    )
  )
    return event
  const known = storage.getStore() ?? []
  const scopes =
    providers.size === 0
      ? known
      : [...known, ...[...providers].flatMap((where) => attempt(() => outsideRuns(where)) ?? [])]
  return scopes.length === 0 ? event : { ...event, within: scopes }
}
