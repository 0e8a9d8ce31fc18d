import { GuardError } from '../guard-error.js'
import { limitErrors } from './limit-errors.js'
import type { CallLimits, Limits } from './limits.js'
import { NUMBERS } from './merge-limits.js'

/** Throws at limits that could not hold: a limit that is misspelled or no number limits nothing. */
export function checkLimits(limits: Limits): void {
  check(limits, '', [...KNOWN, 'repeats', 'reserve', 'tools'])
  const { repeats, reserve, tools } = limits
  if (repeats !== undefined) needCount(repeats, 'repeats')
  for (const [name, value] of Object.entries(reserve ?? {})) needAmount(value, `reserve.${name}`)
  for (const [tool, of] of Object.entries(tools ?? {})) check(of, `tools.${tool}.`, KNOWN)
}

const KNOWN: readonly string[] = [...NUMBERS, 'breaker']
const COUNTS = new Set<string>(['concurrency', 'timeoutMs', 'deadlineMs'])

function check(limits: CallLimits, where: string, known: readonly string[]): void {
  if (typeof limits !== 'object' || limits === null)
    throw invalid(where.replace(/\.$/, ''), limits, 'limits by name')
  for (const name of Object.keys(limits)) {
    if (!known.includes(name)) throw invalid(where + name, undefined, `one of ${known.join(', ')}`)
  }
  for (const name of NUMBERS) {
    const value = limits[name]
    if (value === undefined) continue
    if (COUNTS.has(name)) needCount(value, where + name)
    else needAmount(value, where + name)
  }
  if (limits.breaker === undefined) return
  needCount(limits.breaker.failures, `${where}breaker.failures`)
  needAmount(limits.breaker.cooldownMs, `${where}breaker.cooldownMs`)
}

function needCount(value: unknown, where: string): void {
  if (typeof value !== 'number' || !(value >= 1)) throw invalid(where, value, 'a number from 1')
}

function needAmount(value: unknown, where: string): void {
  if (typeof value !== 'number' || !(value >= 0)) throw invalid(where, value, 'a number from 0')
}

const invalid = (where: string, value: unknown, expected: string): GuardError =>
  new GuardError(limitErrors.limitsInvalid(where, value, expected))
