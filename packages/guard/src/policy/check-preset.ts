import { GuardError } from '../guard-error.js'
import { guardErrors } from '../guard-errors.js'
import { problemText } from './check-policy.js'
import { DataCheck } from './data-check.js'

/** Throws at options of a preset that it does not have, and where one that it needs is missing. */
export function checkPreset(
  name: string,
  data: unknown,
  keys: readonly string[],
  needed?: string,
): void {
  const check = new DataCheck()
  const options = check.object([], data ?? {}, 'What it takes', keys)
  if (options !== undefined && needed !== undefined && options[needed] === undefined)
    check.add([], `It needs \`${needed}\`.`)
  if (check.problems.length > 0)
    throw new GuardError(
      guardErrors.optionsInvalid(`preset "${name}"`, check.problems.map(problemText)),
    )
}
