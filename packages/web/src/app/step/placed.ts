/**
 * Things of a tape with their places. A tape is only ever added to, so a place is who
 * a thing is: a good key for lists.
 */
export const placed = <T>(
  things: readonly T[],
  from = 0,
): readonly { readonly place: number; readonly it: T }[] =>
  things.map((it, index) => ({ place: from + index, it }))
