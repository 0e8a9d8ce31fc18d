/** An own property even for `__proto__`, which plain assignment would take for the prototype. */
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
