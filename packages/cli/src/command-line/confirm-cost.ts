import { cost } from '@retake/tape/present'
import { promptOnTerminal } from '../terminal/terminal.js'
import { Interrupted } from './exit-codes.js'

/** Confirms on a terminal before money is spent; elsewhere only the limits apply. */
export async function confirmCost(estimate: {
  readonly costUsd?: number
  readonly tokens: number
}): Promise<void> {
  const { costUsd, tokens } = estimate
  const isFree = costUsd === undefined ? tokens === 0 : costUsd === 0
  if (isFree || !process.stdin.isTTY || !process.stderr.isTTY) return
  const price =
    costUsd === undefined
      ? 'This may cost money; the amount is unknown.'
      : `This may cost up to about ${cost(costUsd)}.`
  const said = await promptOnTerminal((prompt) => prompt(`${price} Continue? [y/N] `))
  if (!/^y/i.test(said)) throw new Interrupted('SIGINT')
}
