import { readFileSync } from 'node:fs'
import type { RunDetails } from '@retake/tape'
import { replacePrivateFile, TapeLock } from '@retake/tape/node'
import { attempt } from '@retake/tape/format'
import { cliErrors } from '../errors.js'

/** Runs with this tag are not removed by `retake rm`. */
export const PIN = 'pin'

/** Legal hold: runs with this tag are never removed, not even by name. */
export const LOCKED = 'hold'

export interface RunTags {
  readonly tags?: readonly string[]
  readonly note?: string
}

/** Tags changed after the recording are in a file beside the tape, because a tape never changes. */
export const tagsFileOf = (tape: string): string => `${tape}.tags`

/** Current tags and note of a run. Throws if they cannot be read. */
export function tagsOf(tape: string, details: Pick<RunDetails, 'tags'>): RunTags {
  return changedTags(tape) ?? (details.tags === undefined ? {} : { tags: details.tags })
}

export function changedTags(tape: string): RunTags | undefined {
  const file = tagsFileOf(tape)
  const text = attempt(() => readFileSync(file, 'utf8'))
  if (text === undefined) return undefined
  const read = attempt(() => JSON.parse(text) as { tags?: unknown; note?: unknown } | null)
  const tags = read?.tags
  if (!Array.isArray(tags) || !tags.every((tag) => typeof tag === 'string'))
    throw cliErrors.TAGS_UNREADABLE(file)
  return {
    ...(tags.length > 0 && { tags }),
    ...(typeof read?.note === 'string' && { note: read.note }),
  }
}

export interface TagChange {
  readonly add: readonly string[]
  readonly remove: readonly string[]
  /** An empty text removes the note. */
  readonly note?: string | undefined
}

/** Changes and returns tags and note of a run. Concurrent changes wait for each other. */
export function changeTags(
  tape: string,
  details: Pick<RunDetails, 'tags'>,
  { add, remove, note }: TagChange,
): RunTags {
  const file = tagsFileOf(tape)
  using _lock = TapeLock.take(file)
  const before = tagsOf(tape, details)
  const tags = [...new Set([...(before.tags ?? []), ...add])].filter((tag) => !remove.includes(tag))
  const said = note ?? before.note ?? ''
  const after = said === '' ? {} : { note: said }
  replacePrivateFile(file, `${JSON.stringify({ tags, ...after })}\n`)
  return { ...(tags.length > 0 && { tags }), ...after }
}
