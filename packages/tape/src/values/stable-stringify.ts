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
export const stableStringify = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(stableStringify).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const record = value as Readonly<Record<string, unknown>>
  const members = Object.keys(record)
    .toSorted()
    .filter((key) => record[key] !== undefined)
    .map((key) => `${JSON.stringify(key)}:${stableStringify(record[key])}`)
  return `{${members.join(',')}}`
}

/** True if two wire values have the same data, whatever the order of keys. */
export const wireEqual = (left: unknown, right: unknown): boolean =>
  left === right || stableStringify(left) === stableStringify(right)
