import type { DataCheck } from './data-check.js'

type Path = readonly (string | number)[]

const CALL_LIMITS = [
  'timeoutMs',
  'deadlineMs',
  'outputBytes',
  'calls',
  'concurrency',
  'queue',
  'tokens',
  'costUsd',
  'costUsdPerMinute',
]
const USAGE = ['inputTokens', 'outputTokens', 'costUsd']

/** Checks limits as data: the run's, and those of single tools. */
export function checkLimits(check: DataCheck, data: unknown, path: Path = ['limits']): void {
  if (data === undefined) return
  const isOfTool = path.length > 1
  const limits = check.object(path, data, 'Limits', [
    ...CALL_LIMITS,
    'breaker',
    ...(isOfTool ? [] : ['repeats', 'reserve', 'tools']),
  ])
  if (limits === undefined) return
  checkNumbers(check, path, limits, [...CALL_LIMITS, 'repeats'])
  if (limits['concurrency'] === 0)
    check.add([...path, 'concurrency'], 'With none at once no call would ever start.')
  checkPart(check, [...path, 'breaker'], limits['breaker'], ['failures', 'cooldownMs'])
  checkPart(check, [...path, 'reserve'], limits['reserve'], USAGE)
  if (isOfTool || limits['tools'] === undefined) return
  const tools = check.object([...path, 'tools'], limits['tools'], 'Limits by tool', undefined)
  for (const [tool, own] of Object.entries(tools ?? {}))
    checkLimits(check, own, [...path, 'tools', tool])
}

function checkPart(check: DataCheck, path: Path, data: unknown, keys: readonly string[]): void {
  if (data === undefined) return
  const part = check.object(path, data, `"${String(path.at(-1))}"`, keys)
  if (part !== undefined) checkNumbers(check, path, part, keys)
}

function checkNumbers(
  check: DataCheck,
  path: Path,
  data: Readonly<Record<string, unknown>>,
  keys: readonly string[],
): void {
  for (const key of keys) if (data[key] !== undefined) check.count([...path, key], data[key])
}
