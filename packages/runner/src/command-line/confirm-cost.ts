import { cost } from '@retake/tape/present'
import { promptOnTerminal } from '../terminal/terminal.js'
import { Interrupted } from '../terminal/exit-codes.js'
import { usageError } from './verb.js'

/** `--max-usd` can only be guaranteed if all prices are known. */
export function checkPriced(
  { costUsd }: { readonly costUsd?: unknown },
  maxUsd: number | undefined,
  other = 'remove --max-usd',
): void {
  if (maxUsd !== undefined && costUsd === undefined)
    throw usageError(
      '--max-usd cannot be guaranteed: the price of a model is not known.',
      `Set its price in retake.config.ts (\`retake docs config\`), or ${other}.`,
    )
}

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
