import { DataCheck, problemText, type DataSchema } from '@retake/engine/schema'
import { GuardError, guardErrors } from './guard-error.js'

/** Throws if options are not valid. `of` says whose options they are. */
export function checkOptions<T>(of: string, schema: DataSchema<T>, data: unknown): void {
  const check = new DataCheck()
  schema(check, [], data)
  const problems = check.problems.map(problemText)
  if (problems.length > 0) throw new GuardError(guardErrors.GUARD_OPTIONS_INVALID(of, problems))
}
