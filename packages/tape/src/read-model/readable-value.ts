import type { BodyForm } from '../format/events.js'
import { decodeBody } from '../format/event-body.js'
import { fromWire } from '../values/from-wire.js'

/**
 * The value of a body, for people. One that this version cannot build again, such
 * as a kind of value that only a newer Retake knows, is shown as the text it is.
 */
export const readBody = (as: BodyForm, body: Uint8Array): unknown => {
  try {
    return decodeBody(as, body)
  } catch {
    return new TextDecoder().decode(body)
  }
}

/** Code and signal that a child process ended with. */
export const readExit = (wire: unknown): readonly [code: unknown, signal: unknown] => {
  try {
    const exit = fromWire(wire)
    return Array.isArray(exit) ? [exit[0], exit[1]] : [undefined, undefined]
  } catch {
    return [undefined, undefined]
  }
}
