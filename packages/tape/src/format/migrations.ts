import { TAPE_FORMAT, type TapeEvent } from './events.js'

/**
 * One step from a format to the next. It is applied as events are read, after
 * they were checked: hashes cover what was written, so an old tape is never
 * rewritten.
 */
export interface Migration {
  /** The format it reads; it answers with events of the next one. */
  readonly from: number
  event(event: TapeEvent): TapeEvent
}

/** Every step since format 1, in order. Each has a golden tape in `test/golden`. */
export const MIGRATIONS: readonly Migration[] = [
  // Format 2 added `write`. A tape of format 1 has none, and no flag that asks for them.
  { from: 1, event: (event) => event },
  // Format 3 links and seals events otherwise; they are the same.
  { from: 2, event: (event) => event },
]

/** What lifts events of format `from` to the present one; `undefined` when no one ever wrote that format. */
export function migrationFrom(
  from: number,
  steps: readonly Migration[] = MIGRATIONS,
  present: number = TAPE_FORMAT,
): ((event: TapeEvent) => TapeEvent) | undefined {
  if (from === present) return (event) => event
  const step = steps.find((candidate) => candidate.from === from)
  const rest = step && migrationFrom(from + 1, steps, present)
  return step && rest && ((event) => rest(step.event(event)))
}
