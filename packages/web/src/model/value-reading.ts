/** A value of unknown form that is read step by step. Every mismatch is an error that says where. */
export class Reading {
  readonly #value: unknown
  readonly #name: string

  constructor(value: unknown, name: string) {
    this.#value = value
    this.#name = name
  }

  at(name: string): Reading {
    const object = this.#object()
    const inner = Object.hasOwn(object, name) ? object[name] : undefined
    return new Reading(inner, this.#name === 'It' ? name : `${this.#name}.${name}`)
  }

  /** Undefined where there is nothing. */
  optional<T>(read: (value: Reading) => T): T | undefined {
    return this.#value === undefined || this.#value === null ? undefined : read(this)
  }

  number(): number {
    if (typeof this.#value === 'number' && Number.isFinite(this.#value)) return this.#value
    throw this.#wrong('a number')
  }

  /** A place in a list of this many. */
  place(count: number): number {
    const place = this.number()
    if (Number.isInteger(place) && place >= 0 && place < count) return place
    throw this.#wrong(`one of ${count} steps`)
  }

  text(): string {
    if (typeof this.#value === 'string') return this.#value
    throw this.#wrong('a text')
  }

  yesOrNo(): boolean {
    if (typeof this.#value === 'boolean') return this.#value
    throw this.#wrong('true or false')
  }

  oneOf<T extends string>(allowed: readonly T[]): T {
    const found = allowed.find((each) => each === this.#value)
    if (found !== undefined) return found
    throw this.#wrong(`one of ${allowed.join(', ')}`)
  }

  list<T>(read: (value: Reading) => T): T[] {
    if (!Array.isArray(this.#value)) throw this.#wrong('a list')
    return this.#value.map((each: unknown, place) =>
      read(new Reading(each, `${this.#name}[${place}]`)),
    )
  }

  entries(): [name: string, value: Reading][] {
    return Object.keys(this.#object()).map((name) => [name, this.at(name)])
  }

  #object(): Record<string, unknown> {
    const value = this.#value
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>
    throw this.#wrong('an object')
  }

  #wrong(expected: string): Error {
    return new Error(`${this.#name} is not ${expected}`)
  }
}
