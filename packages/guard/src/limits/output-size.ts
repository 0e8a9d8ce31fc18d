const DEEPEST = 500

/**
 * True if a result is certainly larger on the tape than `cap`. Stops as soon as
 * that is known: a result that is much too large, or refers to the same data very
 * often, is not written out to find that out.
 */
export function isLargerThan(value: unknown, cap: number): boolean {
  return new Measure(cap).isOver(value)
}

class Measure {
  #left: number
  readonly #path: object[] = []

  constructor(cap: number) {
    this.#left = cap
  }

  isOver(value: unknown): boolean {
    if (typeof value === 'string') this.#left -= value.length
    else if (typeof value !== 'object' || value === null) this.#left -= 1
    else this.#measureObject(value)
    return this.#left < 0
  }

  #measureObject(value: object): void {
    this.#left -= 2
    // Where a value holds itself, and deeper than this, the tape keeps nothing.
    if (this.#path.length >= DEEPEST || this.#path.includes(value)) return
    this.#path.push(value)
    if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) this.#left -= value.byteLength
    else if (Array.isArray(value) || value instanceof Set) this.#measureEach(value)
    else if (value instanceof Map) this.#measureEach(value.entries())
    else if (isPlain(value)) this.#measureMembers(value)
    this.#path.pop()
  }

  #measureEach(items: Iterable<unknown>): void {
    for (const item of items) if (this.isOver(item)) return
  }

  #measureMembers(value: object): void {
    for (const key of Object.keys(value)) {
      this.#left -= key.length
      const property = Object.getOwnPropertyDescriptor(value, key)
      // A getter is not run here: it would be run twice.
      if (property !== undefined && 'value' in property && this.isOver(property.value)) return
    }
  }
}

const isPlain = (value: object): boolean => {
  const proto: unknown = Object.getPrototypeOf(value)
  return proto === null || proto === Object.prototype
}
