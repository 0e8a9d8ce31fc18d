import type { Swap } from '@retake/engine'
import type { Tape } from '@retake/tape'
import type { Judge, JudgedOrder } from './judge-order.js'
import type { OutcomeDifference } from './outcome.js'
import { tryOrder } from './try-order.js'
import type { Order } from './try-order.js'

/** An outcome that is not the recorded one, and the orders that lead to it. */
export interface Race {
  readonly seeds: readonly number[]
  readonly order: JudgedOrder
  readonly differences: readonly OutcomeDifference[]
  /** The two deliveries whose order decides, if it was found. */
  readonly decides?: Swap
}

export interface Races {
  readonly tried: number
  /** Orders that differ from the recorded one at all. */
  readonly reordered: number
  readonly races: readonly Race[]
  /** Orders that only change the order of the output. */
  readonly outputOrderChanges: number
  /** Orders that could not be followed to their end. */
  readonly unclear: readonly JudgedOrder[]
}

export interface FindOptions {
  readonly seeds: readonly number[]
  /** How many processes run at a time. */
  readonly jobs: number
  readonly judge: Judge
  readonly onTried: (tried: number, found: number) => void
}

/** For more outcomes than this, which deliveries decide is not looked for. */
const EXPLAINED_MAX = 5

/** Tries every seed and says which outcomes differ from the recorded one. */
export async function findRaces(tape: Tape, options: FindOptions): Promise<Races> {
  const { seeds, jobs, judge, onTried } = options
  const attempt = async (order: Order): Promise<JudgedOrder> => judge(await tryOrder(tape, order))
  const orders: JudgedOrder[] = []
  const left = [...seeds]
  const work = async (): Promise<void> => {
    for (let seed = left.shift(); seed !== undefined; seed = left.shift()) {
      orders.push(await attempt({ seed }))
      onTried(orders.length, orders.filter(isChanged).length)
    }
  }
  await Promise.all(Array.from({ length: Math.min(jobs, seeds.length) }, work))
  orders.sort((a, b) => a.seed - b.seed)
  const races: Race[] = []
  for (const [index, alike] of groupByOutcome(orders.filter(isChanged)).entries()) {
    const [order] = alike
    const decides = index < EXPLAINED_MAX ? await decidingSwap(order, attempt) : undefined
    races.push({
      seeds: alike.map(({ seed }) => seed),
      order,
      differences: order.differences,
      ...(decides && { decides }),
    })
  }
  return {
    tried: orders.length,
    reordered: orders.filter(({ swaps }) => swaps.length > 0).length,
    races,
    outputOrderChanges: orders.filter((one) => one.verdict === 'same' && one.outputOrderDiffers)
      .length,
    unclear: orders.filter(({ verdict }) => verdict === 'unclear'),
  }
}

const isChanged = ({ verdict }: JudgedOrder): boolean => verdict === 'changed'
const keyOf = ({ differences }: JudgedOrder): string => JSON.stringify(differences)

function groupByOutcome(orders: readonly JudgedOrder[]): [JudgedOrder, ...JudgedOrder[]][] {
  const groups = new Map<string, [JudgedOrder, ...JudgedOrder[]]>()
  for (const order of orders) {
    const group = groups.get(keyOf(order))
    if (group === undefined) groups.set(keyOf(order), [order])
    else group.push(order)
  }
  return [...groups.values()]
}

/**
 * Follows the order for fewer and fewer choices and then the recorded one, until
 * one choice more or less makes the difference.
 */
async function decidingSwap(
  order: JudgedOrder,
  attempt: (order: Order) => Promise<JudgedOrder>,
): Promise<Swap | undefined> {
  const { swaps, seed } = order
  let unchanged = 0
  let changed = swaps.length
  while (changed - unchanged > 1) {
    const middle = (changed + unchanged) >> 1
    const picks = (swaps[middle - 1]?.pick ?? 0) + 1
    const tried = await attempt({ seed, picks })
    if (keyOf(tried) === keyOf(order)) changed = middle
    else unchanged = middle
  }
  return swaps[changed - 1]
}
