import { createHash } from 'node:crypto'
import type { BodyForm, RecordedError } from '@retake/tape'

/** A short text that is the same for the same result. */
export function answerKey(
  result: { readonly as?: BodyForm; readonly error?: RecordedError },
  body: Uint8Array,
): string {
  const { as, error } = result
  if (error) return `error ${error.class} ${error.code ?? ''} ${error.message}`
  if (body.byteLength <= SHORT) return `${as} ${Buffer.from(body).toString('latin1')}`
  return `${as} ${createHash('sha256').update(body).digest('base64')}`
}

const SHORT = 64
