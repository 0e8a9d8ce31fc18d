import type { Denial } from '../guard-error.js'
import type { Schema } from './contract.js'

/** Arguments as the schema returns them, or why they do not fit. */
export type CheckedInput = { readonly args: unknown } | { readonly denial: Denial }

/** Checks the arguments of a call. Asynchronous only when the schema is. */
export function checkInput(
  _tool: string,
  _schema: Schema | undefined,
  args: unknown,
): CheckedInput | Promise<CheckedInput> {
  return { args }
}
