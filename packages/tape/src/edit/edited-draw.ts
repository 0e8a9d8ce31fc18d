import { invalidAnswer, noSuchEvent, nothingToEdit } from '../format/errors.js'
import type { DrawEvent, NewEvent } from '../format/events.js'
import type { TapeLike } from '../format/tape-like.js'
import type { Payload } from './answer-payload.js'

/** What a draw gave: a time, a random number, an id. */
export const drawPayload = (tape: TapeLike, seq: number): Payload => ({
  kind: 'value',
  data: drawAt(tape, seq).value,
})

/** The draw with another value, of the same kind and type. */
export const editedDraw = (
  tape: TapeLike,
  seq: number,
  { data }: Payload,
  { force = false }: { readonly force?: boolean } = {},
): NewEvent<DrawEvent> => {
  const { kind, value } = drawAt(tape, seq)
  const problem = force ? undefined : wrongValue(kind, value, data)
  if (problem !== undefined) throw invalidAnswer([`${kind} ${problem}`])
  return { type: 'draw', kind, value: data }
}

const drawAt = (tape: TapeLike, seq: number): DrawEvent => {
  if (!(Number.isInteger(seq) && seq >= 0 && seq < tape.count))
    throw noSuchEvent(tape.run.name, seq, tape.count)
  const event = tape.event(seq)
  if (event.type !== 'draw')
    throw nothingToEdit(`Event ${seq}`, `It is a ${event.type}, not a draw of clock or random.`)
  return event
}

const typeOf = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'list' : typeof value

const wrongValue = (kind: string, recorded: unknown, value: unknown): string | undefined => {
  if (kind === 'Math.random' && !(typeof value === 'number' && value >= 0 && value < 1))
    return 'gives a number from 0 to below 1'
  const [, size] = /^crypto\.\S+ (\d+)$/.exec(kind) ?? []
  if (size !== undefined) {
    const length = typeof value === 'string' ? base64Length(value) : undefined
    return length === Number(size) ? undefined : `gives ${size} bytes, in base64`
  }
  if (
    kind === 'crypto.randomUUID' &&
    !/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(String(value))
  )
    return 'gives a UUID'
  if (typeOf(value) !== typeOf(recorded))
    return `gives a ${typeOf(recorded)}, not a ${typeOf(value)}`
  return undefined
}

const base64Length = (text: string): number | undefined => {
  try {
    return atob(text).length
  } catch {
    return undefined
  }
}
