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
