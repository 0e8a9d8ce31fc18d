import { createInterface } from 'node:readline/promises'
import { Interrupted } from '../agent-process.js'
import { cost } from '../facts.js'
import type { Estimate } from './estimate.js'

/** Asks on a terminal before money is spent; elsewhere the limits alone hold. */
export async function confirmCost({ costUsd, tokens }: Estimate): Promise<void> {
  const isFree = costUsd === undefined ? tokens === 0 : costUsd === 0
  if (isFree || !process.stdin.isTTY || !process.stderr.isTTY) return
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  const stopped = new AbortController()
  lines.on('SIGINT', () => stopped.abort())
  lines.on('close', () => stopped.abort())
  try {
    const price = costUsd === undefined ? 'an unknown amount' : `about ${cost(costUsd)}`
    const question = `This may cost ${price} or more. Go on? [y/N] `
    const said = await lines.question(question, { signal: stopped.signal })
    if (!/^y/i.test(said)) throw new Interrupted('SIGINT')
  } catch (error) {
    if (stopped.signal.aborted) throw new Interrupted('SIGINT')
    throw error
  } finally {
    lines.removeAllListeners('close')
    lines.close()
  }
}
