export const pushTo = <Key, Value>(lists: Map<Key, Value[]>, key: Key, value: Value): void => {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [value])
  else list.push(value)
}

/** Index of the first item of a sorted list for which a test is true, by bisection; otherwise its length. */
export const firstIndex = <Item>(
  items: readonly Item[],
  isPast: (item: Item) => boolean,
): number => {
  let [low, high] = [0, items.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (isPast(items[middle] as Item)) high = middle
    else low = middle + 1
  }
  return low
}

/** Undefined if one of the values is unknown. */
export const sumKnown = (values: readonly (number | undefined)[]): number | undefined =>
  values.reduce<number | undefined>(
    (sum, each) => (sum === undefined || each === undefined ? undefined : sum + each),
    0,
  )

/** Sets a value as the newest of a map, and removes the oldest ones beyond `max`. */
export const setNewest = <Key, Value>(
  map: Map<Key, Value>,
  key: Key,
  value: Value,
  max: number,
): void => {
  map.delete(key)
  map.set(key, value)
  for (const oldest of map.keys()) if (map.size > max) map.delete(oldest)
}
