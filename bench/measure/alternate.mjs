/**
 * Times several ways of doing the same work in turns, so that whatever slows
 * the machine for a while slows all of them. Every round takes each way once,
 * and every second round in reverse order.
 *
 * @template {string} Name
 * @param {Record<Name, () => unknown>} ways Each does its work once; may return a promise.
 * @param {{ rounds: number, warmUpRounds?: number }} options
 * @returns {Promise<Record<Name, number[]>>} Milliseconds of each round, in the order they were taken.
 */
export async function alternate(ways, { rounds, warmUpRounds = Math.ceil(rounds / 10) }) {
  const names = /** @type {Name[]} */ (Object.keys(ways))
  const times = Object.fromEntries(names.map((name) => [name, []]))
  for (let round = -warmUpRounds; round < rounds; round++) {
    const order = round % 2 === 0 ? names : names.toReversed()
    for (const name of order) {
      const started = performance.now()
      const pending = ways[name]()
      if (pending instanceof Promise) await pending
      const ms = performance.now() - started
      if (round >= 0) times[name].push(ms)
    }
  }
  return times
}
