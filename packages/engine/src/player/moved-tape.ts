import { isDelivery, isEnvironmentNote } from '@retake/tape/format'
import type { DeliveryEvent, RunDetails, Tape, TapeEvent } from '@retake/tape/format'
import { changedTape } from '../secrets/redacted-tape.js'

/** The folder in which a program was recorded, and the copy in which it is replayed; absolute paths. */
export interface MovedRoot {
  readonly recorded: string
  readonly current: string
}

/**
 * A tape whose program is now in another folder. Served content names that folder instead of the
 * recorded one, so that the program's paths are consistent; compared content stays as recorded.
 *
 * Not promised: a path that is split over two chunks, or encoded, is served unchanged. Raw bytes
 * are not changed if the two folder names differ in length, because something else may have counted
 * them.
 */
export function movedTape(tape: Tape, root: MovedRoot): Tape {
  const move = mover(root)
  const details = moveJson(tape.details, move) as RunDetails
  const event = (seq: number): TapeEvent => {
    const recorded = tape.event(seq)
    const isServed = recorded.type === 'draw' || isDelivery(recorded)
    return isServed ? (moveJson(recorded, move) as TapeEvent) : recorded
  }
  const body = (seq: number): Uint8Array => {
    const recorded = tape.body(seq)
    const answer = tape.event(seq)
    if (isEnvironmentNote(answer)) return Buffer.from(move(Buffer.from(recorded).toString()))
    return isDelivery(answer) ? moveBody(recorded, answer, root) : recorded
  }
  return changedTape(tape, { details, event, body })
}

type Move = (text: string) => string

/** Replaces the recorded folder only as a whole path: `/app` is not part of `/apple` or `example.org/app`. */
function mover({ recorded, current }: MovedRoot): Move {
  const escaped = recorded.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')
  const whole = new RegExp(`(?<![\\w.-])${escaped}(?![\\w-]|\\.\\w)`, 'g')
  return (text) => (text.includes(recorded) ? text.replaceAll(whole, () => current) : text)
}

function moveJson(value: unknown, move: Move): unknown {
  if (typeof value === 'string') return move(value)
  // Has no callbacks, because each level of a record would need several frames of the stack.
  if (Array.isArray(value)) {
    const list: unknown[] = []
    for (const item of value as readonly unknown[]) list.push(moveJson(item, move))
    return list
  }
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value
  const entries: [string, unknown][] = []
  for (const [key, item] of Object.entries(value)) entries.push([key, moveJson(item, move)])
  return Object.fromEntries(entries)
}

function moveBody(body: Uint8Array, answer: DeliveryEvent, root: MovedRoot): Uint8Array {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  if (!bytes.includes(root.recorded)) return body
  if ('as' in answer && (answer.as === 'json' || answer.as === 'text'))
    return Buffer.from(mover(root)(bytes.toString()))
  if (Buffer.byteLength(root.recorded) !== Buffer.byteLength(root.current)) return body
  // In latin1 every byte is one character, so that bytes that are not text stay unchanged.
  const latin1 = (text: string): string => Buffer.from(text).toString('latin1')
  const move = mover({ recorded: latin1(root.recorded), current: latin1(root.current) })
  return Buffer.from(move(bytes.toString('latin1')), 'latin1')
}
