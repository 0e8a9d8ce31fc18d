/**
 * Each member's exact Shapley share of what a set comes to: what it adds, on average over
 * all orders in which the members could be added. Together they make the value of the whole
 * set less that of none. Asks for every subset once, so it is meant for a cause of a few steps.
 */
export function coreShapley(
  members: readonly number[],
  valueOf: (subset: readonly number[]) => number,
): number[] {
  const count = members.length
  const values = Array.from({ length: 2 ** count }, (_, mask) =>
    valueOf(members.filter((_member, index) => isIn(mask, index))),
  )
  return members.map((_member, index) => {
    let share = 0
    for (const [mask, value] of values.entries()) {
      if (isIn(mask, index)) continue
      share += weight(count, sizeOf(mask)) * (values[mask | (1 << index)]! - value)
    }
    return share
  })
}

/** How often, over all orders, exactly these come before a member: size! (count - size - 1)! / count!. */
function weight(count: number, size: number): number {
  let orders = count
  for (let taken = 1; taken <= size; taken++) orders = (orders * (count - taken)) / taken
  return 1 / orders
}

const isIn = (mask: number, index: number) => ((mask >> index) & 1) === 1

function sizeOf(mask: number): number {
  let size = 0
  for (let rest = mask; rest > 0; rest >>= 1) size += rest & 1
  return size
}
