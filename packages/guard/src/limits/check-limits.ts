import { GuardError } from '../guard-error.js'
import { DataCheck, type DataPath, type FieldRule } from '../policy/data-check.js'
import { limitErrors } from './limit-errors.js'

type Rules = Readonly<Record<string, FieldRule>>

/** Tokens and money, as tools reserve and report them. */
export const USAGE_RULES: Rules = { inputTokens: 'count', outputTokens: 'count', costUsd: 'count' }

const CALL_LIMITS: Rules = {
  timeoutMs: 'positive',
  deadlineMs: 'positive',
  outputBytes: 'count',
  calls: 'count',
  concurrency: 'positive',
  queue: 'count',
  tokens: 'count',
  costUsd: 'count',
  costUsdPerMinute: 'count',
  breaker: (check, path, data) => {
    const rules: Rules = { failures: 'positive', cooldownMs: 'count' }
    const breaker = check.fields(path, data, '"breaker"', rules)
    for (const key of Object.keys(rules))
      if (breaker !== undefined && breaker[key] === undefined)
        check.add(path, `It has no "${key}".`)
  },
}

const LIMITS: Rules = {
  ...CALL_LIMITS,
  repeats: 'positive',
  reserve: (check, path, data) => void check.fields(path, data, '"reserve"', USAGE_RULES),
  tools: (check, path, data) => {
    const tools = check.object(path, data, 'Limits by tool', undefined) ?? {}
    for (const [tool, limits] of Object.entries(tools))
      check.fields([...path, tool], limits, 'Limits', CALL_LIMITS)
  },
}

/** Throws for limits that could not apply: one that is misspelled or not a number limits nothing. */
export function refuseWrongLimits(limits: unknown): void {
  const check = new DataCheck()
  checkLimits(check, limits, [])
  const [problem] = check.problems
  if (problem !== undefined)
    throw new GuardError(limitErrors.limitsInvalid(problem.path.join('.'), problem.message))
}

/** Checks limits as data: those of the run, and those of single tools. */
export const checkLimits = (check: DataCheck, data: unknown, path: DataPath): void =>
  void check.fields(path, data, 'Limits', LIMITS)
