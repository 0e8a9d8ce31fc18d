import { types } from 'node:util'
import {
  clipText,
  fromWire,
  rebuildError,
  type RecordedError,
  recordError,
  toWire,
} from '@retake/tape/format'
import { GuardError, guardErrors } from './guard-error.js'

const DEPTH = 8

/**
 * The refusal that caused an error of a tool. Libraries wrap it: as the cause, as one of several
 * errors, in a message, or in an event.
 */
function findRefusal(
  error: unknown,
  blocked: readonly GuardError[],
  depth = 0,
): GuardError | undefined {
  if (blocked.length === 0 || depth > DEPTH) return undefined
  if (!(error instanceof Error)) {
    const inside = eventError(error)
    return inside && findRefusal(inside, blocked, depth + 1)
  }
  const itself = blocked.find(
    (each) =>
      each === error ||
      error.message.includes(each.message) ||
      ((error as { code?: unknown }).code === each.code && error.message.includes(each.what)),
  )
  if (itself !== undefined) return itself
  const inner = error instanceof AggregateError ? (error.errors as unknown[]) : []
  for (const each of [error.cause, ...inner]) {
    const found = findRefusal(each, blocked, depth + 1)
    if (found !== undefined) return found
  }
  return undefined
}

interface DescribedError {
  readonly error: unknown
  readonly recorded: RecordedError
  readonly isRefusal: boolean
}

/** Describes a thrown value. May run code of the tool, so call it within its bounds. */
export function describeThrown(
  tool: string,
  thrown: unknown,
  blocked: readonly GuardError[],
): DescribedError {
  const error = thrownError(tool, thrown)
  const refusal = findRefusal(error, blocked)
  return {
    error: refusal ?? error,
    recorded: recordError(refusal ?? error),
    isRefusal: refusal !== undefined,
  }
}

/** Converts a thrown value to an error. Never throws. */
export function thrownError(tool: string, thrown: unknown): unknown {
  try {
    if (thrown instanceof Error || types.isNativeError(thrown)) return thrown
    // Encoded and decoded, so that a replay sees the same value.
    const cause = eventError(thrown) ?? fromWire(toWire(thrown))
    return new GuardError(guardErrors.GUARD_TOOL_THREW_NO_ERROR(tool, describe(thrown)), { cause })
  } catch {
    return new GuardError(guardErrors.GUARD_TOOL_THREW_NO_ERROR(tool, 'something unreadable'))
  }
}

/**
 * The error that the tool threw, which the guard may have wrapped. An error of the guard about a
 * tool that was started can quote what the tool got from others: a result, a host or a path.
 */
export function thrownIn(recorded: RecordedError, isStarted: boolean): unknown {
  const error = rebuildError(recorded, { GuardError })
  if (!(error instanceof GuardError)) return error
  const { code, rule, why, cause, fields = {} } = error
  if (!isStarted) return cause
  if (code === 'CONTRACT_DRIFT') return [cause, why]
  // Denials that do not depend on a scope quote only the tool.
  if (!/\/(?:files|network|shell|effects)$/.test(rule)) return [cause, []]
  const touched = TOUCHED.flatMap((name) => String(fields[name] ?? '').split(/\s+/))
  return [cause, touched.filter((word) => /[\d./:@_-]/.test(word))]
}

/** Fields of denials by scopes with hosts, paths and commands, which may come from others. */
const TOUCHED = ['path', 'target', 'host', 'method', 'protocol', 'from', 'command', 'how'] as const

const SHOWN_CHARACTERS = 80

const describe = (thrown: unknown): string => {
  if (typeof thrown !== 'string') return thrown === null ? 'null' : `a value (${typeof thrown})`
  return `the text ${JSON.stringify(clipText(thrown, SHOWN_CHARACTERS))}`
}

/** The error in an error event, which some libraries throw. */
export function eventError(event: unknown): Error | undefined {
  if (typeof event !== 'object' || event === null) return undefined
  const { error } = event as { error?: unknown }
  return error instanceof Error ? error : undefined
}
