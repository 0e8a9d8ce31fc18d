import type { Drift } from '@retake/tape'
import type { SchemaIssue } from './check-schema.js'
import { pathText } from './path-text.js'
import { typeOf, typesIn } from './type-of.js'

/**
 * What an issue of a schema means for the one who gets the result: a field is
 * missing, is of another type, or breaks the schema otherwise. Found by looking
 * where the issue points, so it is the same for every library.
 */
export function nameDrift({ path, message, expected }: SchemaIssue, value: unknown): Drift {
  const place = placeIn(value, path)
  const at = pathText(path)
  const wanted = expected ?? wantedIn(message)
  if (place.isMissing) {
    const isNamed = wanted !== undefined && typesIn(wanted).length > 0
    return {
      code: 'MISSING_FIELD',
      path: at,
      expected: isNamed ? bare(wanted) : 'a value',
      found: 'nothing',
    }
  }
  const types = wanted === undefined ? [] : typesIn(wanted)
  const found = typeOf(place.value)
  return types.length > 0 && wanted !== undefined && !types.includes(found)
    ? { code: 'TYPE_CHANGED', path: at, expected: bare(wanted), found }
    : { code: 'SCHEMA_BROKEN', path: at, expected: expected ?? message, found: shown(place.value) }
}

/** The value an issue points at. Missing: there is something around it, and nothing there. */
function placeIn(
  value: unknown,
  path: readonly PropertyKey[],
): { readonly value: unknown; readonly isMissing: boolean } {
  let at: unknown = value
  for (const key of path) {
    if (at instanceof Map) at = at.get(key)
    else if (typeof at === 'object' && at !== null && Object.hasOwn(at, key))
      at = (at as Record<PropertyKey, unknown>)[key]
    else at = undefined
  }
  return { value: at, isMissing: at === undefined && path.length > 0 }
}

/** `expected number, received string`, `must be a number`: what most libraries write. */
const wantedIn = (message: string): string | undefined =>
  /\b(?:expected|must be)(?: of type)? (?:an? )?(\w+)/i.exec(message)?.[1]

const bare = (expected: string): string => typesIn(expected).join(' | ')

/** What is there, without quoting texts: a result may hold what should not stand in two places. */
function shown(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (typeof value === 'string') return `a string of ${value.length} characters`
  if (Array.isArray(value)) return `an array of ${value.length}`
  return typeOf(value)
}
