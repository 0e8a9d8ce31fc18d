/**
 * Runs a function for each item, at most `limit` at a time, started in order. Starts no more once
 * `isLast` accepts a result. Returns results in the order of items, without those not started.
 */
export async function mapConcurrent<Item, Result>(
  items: readonly Item[],
  limit: number,
  run: (item: Item) => Promise<Result>,
  isLast: (result: Result) => boolean = () => false,
): Promise<Result[]> {
  const results: Result[] = []
  let next = 0
  let isOver = false
  const work = async () => {
    while (!isOver && next < items.length) {
      const index = next++
      const result = await run(items[index]!)
      results[index] = result
      if (isLast(result)) isOver = true
    }
  }
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, work))
  return results
}
