/** More changes than this are told as one: the whole payload. */
const PATHS_MAX = 40

/**
 * What differs between two values of JSON, as paths for `--set`, so that a branch can
 * say in a line what was changed. Undefined when only the whole says it: other keys at
 * the top, or too many changes.
 */
export function changedPaths(
  before: unknown,
  after: unknown,
): Readonly<Record<string, unknown>> | undefined {
  // A number or a text has no parts: `value` means all of it.
  if (!isTree(before)) return isTree(after) ? undefined : { value: after }
  const changes = [...changesBetween(before, after, [])]
  if (changes.length > PATHS_MAX || changes.some(({ at }) => at.length === 0)) return undefined
  return Object.fromEntries(changes.map(({ at, value }) => [at.join('.'), value]))
}

interface ChangedPlace {
  readonly at: readonly string[]
  readonly value: unknown
}

/** At the deepest places that both have: a list of another length is one change, and so are other keys. */
function* changesBetween(
  before: unknown,
  after: unknown,
  at: readonly string[],
): Generator<ChangedPlace> {
  if (Object.is(before, after)) return
  if (!isTree(before) || !isTree(after) || !haveSameKeys(before, after)) {
    yield { at, value: after }
    return
  }
  const values = new Map(Object.entries(after))
  const named = Array.isArray(before) ? (key: string) => key : pathKey
  for (const [key, value] of Object.entries(before))
    yield* changesBetween(value, values.get(key), [...at, named(key)])
}

const isTree = (value: unknown): value is object => typeof value === 'object' && value !== null

function haveSameKeys(a: object, b: object): boolean {
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key))
}

/** Odd keys stand in quotes. */
const pathKey = (key: string): string =>
  /^(?!-?\d+$)[^.[\]\\"'=\s]+$/.test(key) ? key : `"${key.replace(/["\\]/g, '\\$&')}"`
