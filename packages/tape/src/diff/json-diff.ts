import { innerPath, memberPath, parseContainer } from './json-value.js'
import { defined, isRecord } from '../format/values/json-shape.js'

/** A difference between two values. The key of a side without a value is missing. */
export interface ValueDiff {
  readonly path: string
  readonly a?: unknown
  readonly b?: unknown
}

/**
 * Differences between two JSON values, by path. Text that is JSON on both sides is compared as
 * JSON. Equal items at both ends of arrays are skipped, so that an inserted item is one difference,
 * not one for every later item.
 */
export const diffJson = (a: unknown, b: unknown, path = ''): ValueDiff[] => {
  if (Object.is(a, b)) return []
  if (typeof a === 'string' && typeof b === 'string') {
    const [left, right] = [parseContainer(a), parseContainer(b)]
    if (left === undefined || right === undefined || Array.isArray(left) !== Array.isArray(right)) {
      return [{ path, a, b }]
    }
    const inner = diffJson(left, right).map((diff) => ({
      ...diff,
      path: innerPath(path, diff.path),
    }))

    // The same JSON value in another notation is still a different text.
    return inner.length === 0 ? [{ path, a, b }] : inner
  }
  if (Array.isArray(a) && Array.isArray(b)) return diffArrays(a, b, path)
  if (isRecord(a) && isRecord(b)) {
    const keys = new Set([...Object.keys(a), ...Object.keys(b)])
    return [...keys].flatMap((key) =>
      diffJson(ownValue(a, key), ownValue(b, key), memberPath(path, key)),
    )
  }
  return [defined({ path, a, b })]
}

const ownValue = (record: Readonly<Record<string, unknown>>, key: string): unknown =>
  Object.hasOwn(record, key) ? record[key] : undefined

const diffArrays = (a: readonly unknown[], b: readonly unknown[], path: string): ValueDiff[] => {
  const most = Math.min(a.length, b.length)
  let start = 0
  while (start < most && isSame(a[start], b[start])) start++
  let end = 0
  while (end < most - start && isSame(a.at(-1 - end), b.at(-1 - end))) end++
  const diffs: ValueDiff[] = []
  for (let index = start; index < Math.max(a.length, b.length) - end; index++) {
    const item = `${path}[${index}]`
    const isInA = index < a.length - end
    const isInB = index < b.length - end
    if (isInA && isInB) diffs.push(...diffJson(a[index], b[index], item))
    else diffs.push(isInA ? { path: item, a: a[index] } : { path: item, b: b[index] })
  }
  return diffs
}

const isSame = (a: unknown, b: unknown): boolean => {
  if (Object.is(a, b)) return true
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => isSame(item, b[index]))
  }
  if (!isRecord(a) || !isRecord(b)) return false
  const keys = Object.keys(a)
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && isSame(a[key], b[key]))
  )
}
