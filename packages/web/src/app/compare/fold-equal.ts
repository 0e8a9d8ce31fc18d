/** What is shown, or a stretch of equal things that is folded away. */
export type Folded<T> =
  | { readonly type: 'item'; readonly item: T }
  | { readonly type: 'fold'; readonly items: readonly T[]; readonly key: number }

/**
 * Folds stretches of equal items, leaving some of them around what differs. Short
 * stretches are not worth a fold. `key` is the place of a fold's first item.
 */
export function foldEqual<T>(
  items: readonly T[],
  isEqual: (item: T) => boolean,
  { margin, least }: { readonly margin: number; readonly least: number },
): readonly Folded<T>[] {
  const out: Folded<T>[] = []
  let at = 0
  while (at < items.length) {
    const start = at
    while (at < items.length && isEqual(items[at] as T)) at++
    const from = start === 0 ? 0 : start + margin
    const to = at === items.length ? at : at - margin
    const isFolded = to - from >= least
    for (let place = start; place < (isFolded ? from : at); place++)
      out.push({ type: 'item', item: items[place] as T })
    if (isFolded) {
      out.push({ type: 'fold', items: items.slice(from, to), key: from })
      for (let place = to; place < at; place++) out.push({ type: 'item', item: items[place] as T })
    }
    if (at < items.length) out.push({ type: 'item', item: items[at++] as T })
  }
  return out
}
