import { decodeBody, encodeBody } from '@retake/tape/format'
import type { BodyForm } from '@retake/tape/format'

/** A value as the body of an event; nothing when there is none. */
export interface Encoded {
  readonly as?: BodyForm
  readonly body?: Uint8Array
}

/** How one kind of result goes on tape and comes back. */
export interface ResultForm {
  encode(value: unknown): Encoded
  decode(as: BodyForm | undefined, body: Uint8Array): unknown
}

/** Text, bytes, numbers, plain data or nothing. */
export const plain: ResultForm = {
  encode: (value) => (value === undefined ? {} : encodeBody(value)),
  decode: (as, body) => (as === undefined ? undefined : decodeBody(as, body)),
}
