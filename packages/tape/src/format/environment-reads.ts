import { parseJson } from './values/json-shape.js'
import type { TapeEvent } from './events.js'
import type { TapeLike } from './tape-like.js'

const NOTE = 'process.env'

/** One variable of the environment as the program first saw it. */
export interface EnvironmentRead {
  readonly name: string
  /** Null if it was not set; a placeholder if it is a secret. */
  readonly value: string | null
  readonly isSecret?: true
  /** Proves, on the machine that recorded, that a value is the recorded one. Useless elsewhere. */
  readonly proof?: string
}

/** Body of a note about variables that were read. */
export interface EnvironmentReads {
  readonly reads: readonly EnvironmentRead[]
  /** Set if the program listed its variables: all names that were set, in order. */
  readonly names?: readonly string[]
}

export const environmentNote = { type: 'note', kind: 'attachment', name: NOTE } as const

export const isEnvironmentNote = (event: TapeEvent): boolean =>
  event.type === 'note' && event.kind === 'attachment' && event.name === NOTE

/** Decodes a note. Empty if Retake did not write it: a tape can come from anywhere. */
export function readsOf(tape: TapeLike, seq: number): EnvironmentReads {
  try {
    const found = parseJson(new TextDecoder().decode(tape.body(seq))) as EnvironmentReads
    const isName = (name: unknown): boolean => typeof name === 'string'
    const isRead = ({ name, value }: EnvironmentRead): boolean =>
      isName(name) && (value === null || isName(value))
    if (found.reads.every(isRead) && (found.names ?? []).every(isName)) return found
  } catch {
    // Not JSON, or of an unexpected form.
  }
  return { reads: [] }
}

/**
 * The known part of a run's environment: the variables that the program read before the event
 * `until`, and the few that Node needs. A command in another language got all of it.
 */
export function environmentOnTape(
  tape: TapeLike,
  until = tape.count,
): Map<string, EnvironmentRead> {
  const known = new Map<string, EnvironmentRead>()
  for (const [name, value] of Object.entries(tape.details.env ?? {}))
    known.set(name, { name, value })
  for (const { reads } of notesOf(tape, until)) for (const read of reads) known.set(read.name, read)
  return known
}

/** The names that the program saw when it first listed its variables; undefined if it never did. */
export function namesOnTape(tape: TapeLike, until = tape.count): readonly string[] | undefined {
  for (const { names } of notesOf(tape, until)) if (names !== undefined) return names
  return undefined
}

function* notesOf(tape: TapeLike, until: number): Generator<EnvironmentReads> {
  for (const event of tape.events(1, until))
    if (isEnvironmentNote(event)) yield readsOf(tape, event.seq)
}
