import { createHash } from 'node:crypto'
import { encodeBody, stableStringify, toWire, type BodyForm } from '@retake/tape'
import { GuardError } from './guard-error.js'
import { guardErrors } from './guard-errors.js'

/** A call in the one form that is judged, stored, compared and run. */
export interface CanonicalCall {
  readonly as: BodyForm
  readonly body: Uint8Array
  /** Of tool and arguments, whatever the order of their keys. */
  readonly fingerprint: string
}

/** What cannot be stored cannot be compared either: such a call is refused. */
export function canonicalCall(tool: string, args: unknown): CanonicalCall {
  const { as, body } = encodeBody(args, {
    onLoss: (path, what) => {
      throw new GuardError(guardErrors.argumentsNotRecordable(tool, path, what))
    },
  })
  return { as, body, fingerprint: fingerprintOf(tool, args) }
}

/** The first 32 hex digits of a sha256. */
export function fingerprintOf(tool: string, args: unknown): string {
  const text = stableStringify([tool, toWire(args)])
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}
