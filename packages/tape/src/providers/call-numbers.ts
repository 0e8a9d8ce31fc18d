/**
 * Ids for calls and results whose API gives them none. The second call of
 * `lookup` in a conversation is `lookup#2`, and so is the second result of it:
 * results come in the order of their calls.
 */
export class CallNumbers {
  readonly #calls = new Map<string, number>()
  readonly #results = new Map<string, number>()

  call(id: string, name: string): string {
    return id === '' ? next(this.#calls, name) : id
  }

  result(id: string, name: string): string {
    return id === '' ? next(this.#results, name) : id
  }
}

const next = (counts: Map<string, number>, name: string): string => {
  const count = (counts.get(name) ?? 0) + 1
  counts.set(name, count)
  return `${name}#${count}`
}

/** Whether an id was made here, and so stands nowhere in a request. */
export const isNumberedCall = (id: string): boolean => /#\d+$/.test(id)
