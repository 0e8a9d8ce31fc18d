import { decodeBody, type BodyForm } from '@retake/tape'
import type { Session } from '@retake/engine/hook'
import { encodeResult } from '../encode-result.js'
import type { Denial } from '../guard-error.js'
import type { GuardedTool } from '../guarded-tool.js'
import { limitErrors } from './limit-errors.js'
import { isLargerThan } from './output-size.js'

/** A result in its form on the tape, or why there is none. */
export type Encoded =
  | { readonly value: unknown; readonly as: BodyForm; readonly body: Uint8Array }
  | { readonly error: unknown }
  | { readonly stop: Denial }

/**
 * Measures a result as it goes on the tape, and keeps it from changing any more. It
 * may run code of the tool, such as getters: call it within the tool's bounds.
 */
export function encodeOutput(
  tool: GuardedTool,
  value: unknown,
  outputBytes: number,
  session: Session,
): Encoded {
  try {
    if (isLargerThan(value, outputBytes))
      return { stop: limitErrors.outputSize(tool.name, outputBytes, undefined) }
    const { as, body } = encodeResult(tool.name, value, session)
    const size = body.byteLength
    if (size > outputBytes) return { stop: limitErrors.outputSize(tool.name, outputBytes, size) }
    const own = as === 'bytes' ? new Uint8Array(body) : body
    // Code that checks a result is not the tool's: it gets plain data, no getters of the tool.
    const isChecked = tool.options.output !== undefined
    return { value: isChecked ? decodeBody(as, own) : value, as, body: own }
  } catch (error) {
    return { error }
  }
}
