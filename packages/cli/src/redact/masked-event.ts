import { decodeBody } from '@retake/tape'
import type { BodyForm, TapeEvent } from '@retake/tape'
import type { Mask } from './mask.js'

/** Members that say what an event is, not what it holds; and digests, which a guess could be checked with. */
const KEPT = new Set(['type', 'seq', 'at', 'op', 'from', 'socket', 'kind', 'seam', 'part', 'as'])
const DROPPED = new Set(['digest'])

/** An event with every text in it masked. Its body is another matter. */
export function maskedEvent<E extends TapeEvent>(event: E, mask: Mask): E {
  const members = Object.entries(event)
    .filter(([key]) => !DROPPED.has(key))
    .map(([key, value]) => [
      key,
      KEPT.has(key) || typeof value === 'number' ? (value as unknown) : mask.deep(value),
    ])
  return Object.fromEntries(members) as E
}

/** A body on its own. One that could not be read any more becomes a text of `*`. */
export function maskedBody(event: TapeEvent, body: Uint8Array, mask: Mask): Uint8Array {
  const as = 'as' in event ? event.as : undefined
  const readable = as === 'json' ? withoutHiddenBytes(body, mask) : body
  const [masked = readable] = mask.pieces([readable])
  return masked === body || as !== 'json' || isReadable(as, masked) ? masked : blankBody(as, body)
}

/** The same body when there is nothing to hide in bytes that stand in it. */
function withoutHiddenBytes(body: Uint8Array, mask: Mask): Uint8Array {
  const json = Buffer.from(body).toString()
  const masked = mask.wireBytes(json)
  return masked === json ? body : Buffer.from(masked)
}

/** Nothing of a body, but its length. */
export const blankBody = (as: BodyForm | undefined, body: Uint8Array): Uint8Array =>
  as === 'json'
    ? Buffer.from(JSON.stringify('*'.repeat(Math.max(0, body.length - 2))))
    : Buffer.alloc(body.length, '*')

function isReadable(as: BodyForm, body: Uint8Array): boolean {
  try {
    decodeBody(as, body)
    return true
  } catch {
    return false
  }
}
