/** Defines an own property even for `__proto__`, which an assignment would treat as the prototype. */
export const setOwn = (target: object, key: string, value: unknown): void => {
  if (key === '__proto__') {
    Object.defineProperty(target, key, {
      value,
      writable: true,
      enumerable: true,
      configurable: true,
    })
  } else {
    ;(target as Record<string, unknown>)[key] = value
  }
}

/**
 * JSON with sorted keys, so that equal data gives equal text. Accepts JSON data; convert anything
 * else with `toWire` first.
 */
export function stableStringify(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  // Has no callbacks, because each level of a value would need several frames of the stack.
  const parts: string[] = []
  if (Array.isArray(value)) {
    for (const item of value as readonly unknown[]) parts.push(stableStringify(item))
    return `[${parts.join(',')}]`
  }
  const record = value as Readonly<Record<string, unknown>>
  for (const key of Object.keys(record).toSorted())
    if (record[key] !== undefined)
      parts.push(`${JSON.stringify(key)}:${stableStringify(record[key])}`)
  return `{${parts.join(',')}}`
}

/** True if two wire values have the same data, whatever the order of keys. */
export const wireEqual = (left: unknown, right: unknown): boolean =>
  left === right || stableStringify(left) === stableStringify(right)
