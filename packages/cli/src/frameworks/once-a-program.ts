/** Calls that are wrapped already. */
const wrapped = new WeakSet<object>()

/**
 * Runs `around` in place of methods of an object, each of which it can then call.
 * Changes the object itself. A method that it does not have is left out, one that
 * is wrapped already stays as it is.
 */
export function wrapCalls(
  object: object,
  names: readonly string[],
  around: (call: () => unknown) => unknown,
): void {
  for (const name of names) {
    const original: unknown = Reflect.get(object, name)
    if (typeof original !== 'function' || wrapped.has(original)) continue
    const value = (...args: unknown[]): unknown =>
      around(() => Reflect.apply(original, object, args) as unknown)
    wrapped.add(value)
    Object.defineProperty(object, name, { value, configurable: true, writable: true })
  }
}

/**
 * Something that holds for the whole program and returns its undo. Done again
 * before that, it changes nothing and hands back the same undo.
 */
export function onceAProgram<A extends readonly unknown[]>(
  setUp: (...args: A) => () => void,
): (...args: A) => () => void {
  let undo: (() => void) | undefined
  return (...args) => {
    if (undo !== undefined) return undo
    const undoSetUp = setUp(...args)
    undo = () => {
      undo = undefined
      undoSetUp()
    }
    return undo
  }
}
