import { argumentsOf, canonicalCall } from '../canonical-call.js'
import { GuardError, type Denial } from '../guard-error.js'
import type { GuardedToolOptions } from '../guarded-tool.js'
import { checkSchema, type CheckedValue } from './check-schema.js'
import { contractErrors } from './contract-errors.js'
import type { Schema } from './contract.js'
import { brokenContract } from './resolve-contract.js'
import { shapeLine } from './shape-line.js'

/** Arguments as the schema returns them, or why they do not fit. */
export type CheckedInput = { readonly args: unknown } | { readonly denial: Denial }

/**
 * Checks the arguments of a call. Asynchronous only when the schema is.
 *
 * A schema sees a plain copy: arguments that answer otherwise each time they are
 * asked, by a getter or a proxy, are read once, and what was read is checked and used.
 */
export function checkInput(
  tool: string,
  options: Pick<GuardedToolOptions<never>, 'input' | 'output'> | undefined,
  args: unknown,
): CheckedInput | Promise<CheckedInput> {
  if (options === undefined) return { args }
  const { input, output } = options
  if (input === undefined && output === undefined) return { args }
  const denial = brokenContract(tool, options)
  if (denial !== undefined) return { denial }
  if (input === undefined) return { args }
  let plain: unknown
  try {
    plain = argumentsOf(canonicalCall(tool, args))
  } catch (error) {
    if (error instanceof GuardError) return { denial: denialOf(error) }
    throw error
  }
  const checked = checkSchema(input, plain)
  return checked instanceof Promise
    ? checked.then((each) => checkedInput(tool, input, each))
    : checkedInput(tool, input, checked)
}

const checkedInput = (tool: string, schema: Schema, checked: CheckedValue): CheckedInput =>
  'value' in checked
    ? { args: checked.value }
    : { denial: contractErrors.inputInvalid(tool, checked.issues, shapeLine(schema)) }

const denialOf = ({ code, rule, what, why, allowed }: GuardError): Denial => ({
  code,
  rule,
  what,
  why,
  allowed,
})
