/** Where a key leads to in a tree of so many lines; undefined for keys that do something else. */
export function moveInTree(key: string, current: number, count: number): number | undefined {
  if (key === 'ArrowDown') return current + 1
  if (key === 'ArrowUp') return current - 1
  if (key === 'Home') return 0
  return key === 'End' ? count - 1 : undefined
}
