import { Interrupted } from '../agent-process.js'
import { askOnTerminal } from '../ask-on-terminal.js'
import { cost } from '../facts.js'
import type { Estimate } from './estimate.js'

/** Asks on a terminal before money is spent; elsewhere the limits alone hold. */
export async function confirmCost({ costUsd, tokens }: Estimate): Promise<void> {
  const isFree = costUsd === undefined ? tokens === 0 : costUsd === 0
  if (isFree || !process.stdin.isTTY || !process.stderr.isTTY) return
  const price =
    costUsd === undefined
      ? 'This may cost money; how much is not known.'
      : `This may cost about ${cost(costUsd)} or more.`
  const said = await askOnTerminal((ask) => ask(`${price} Go on? [y/N] `))
  if (!/^y/i.test(said)) throw new Interrupted('SIGINT')
}
