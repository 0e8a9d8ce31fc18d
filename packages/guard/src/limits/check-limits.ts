import { GuardError } from '../guard-error.js'
import { DataCheck, type PlainObject } from '../policy/data-check.js'
import { limitErrors } from './limit-errors.js'
import { NUMBER_LIMITS } from './limits.js'

type Path = readonly (string | number)[]

const CALL_LIMITS = [...NUMBER_LIMITS, 'breaker']
const USAGE = ['inputTokens', 'outputTokens', 'costUsd']

/** Nothing could happen in less than one of these. */
const FROM_ONE = new Set(['concurrency', 'timeoutMs', 'deadlineMs', 'repeats', 'failures'])

/** Throws at limits that could not hold: a limit that is misspelled or no number limits nothing. */
export function refuseWrongLimits(limits: unknown): void {
  const check = new DataCheck()
  checkLimits(check, limits, [])
  const [problem] = check.problems
  if (problem !== undefined)
    throw new GuardError(limitErrors.limitsInvalid(problem.path.join('.'), problem.message))
}

/** Checks limits as data: the run's, and those of single tools. */
export function checkLimits(check: DataCheck, data: unknown, path: Path): void {
  const limits = check.object(path, data, 'Limits', [...CALL_LIMITS, 'repeats', 'reserve', 'tools'])
  if (limits === undefined) return
  checkCallLimits(check, limits, path)
  checkNumbers(check, path, limits, ['repeats'])
  if (limits['reserve'] !== undefined) {
    const at = [...path, 'reserve']
    const reserve = check.object(at, limits['reserve'], '"reserve"', USAGE)
    if (reserve !== undefined) checkNumbers(check, at, reserve, USAGE)
  }
  if (limits['tools'] === undefined) return
  const tools = check.object([...path, 'tools'], limits['tools'], 'Limits by tool', undefined)
  for (const [tool, data] of Object.entries(tools ?? {})) {
    const at = [...path, 'tools', tool]
    const own = check.object(at, data, 'Limits', CALL_LIMITS)
    if (own !== undefined) checkCallLimits(check, own, at)
  }
}

function checkCallLimits(check: DataCheck, limits: PlainObject, path: Path): void {
  checkNumbers(check, path, limits, NUMBER_LIMITS)
  if (limits['breaker'] === undefined) return
  const at = [...path, 'breaker']
  const keys = ['failures', 'cooldownMs']
  const breaker = check.object(at, limits['breaker'], '"breaker"', keys)
  if (breaker === undefined) return
  for (const key of keys) if (breaker[key] === undefined) check.add(at, `It has no "${key}".`)
  checkNumbers(check, at, breaker, keys)
}

function checkNumbers(
  check: DataCheck,
  path: Path,
  data: PlainObject,
  keys: readonly string[],
): void {
  for (const key of keys)
    if (data[key] !== undefined) check.count([...path, key], data[key], FROM_ONE.has(key) ? 1 : 0)
}
