import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const program = fileURLToPath(new URL('provider-process.mjs', import.meta.url))

/**
 * Starts the loopback provider in its own process. It also ends by itself when
 * the process that started it is gone.
 *
 * @param {{ seed?: number, maxLatencyMs?: number }} [options]
 * @returns {Promise<{ url: string, h2Url: string, seed: number,
 *   stop: () => Promise<import('./loopback-provider.mjs').ProviderCounts> }>}
 *   `stop` ends it and tells what it had seen.
 */
export async function startProviderProcess({ seed, maxLatencyMs } = {}) {
  const args = [program]
  if (seed !== undefined) args.push(`--seed=${seed}`)
  if (maxLatencyMs !== undefined) args.push(`--max-latency-ms=${maxLatencyMs}`)
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const nextLine = async () => {
    const { done, value } = await lines.next()
    if (done) throw new Error('the loopback provider ended before it was ready')
    return JSON.parse(value)
  }
  const address = await nextLine()
  let counts
  return {
    ...address,
    stop: () => {
      counts ??= (async () => {
        const ended = once(child, 'close')
        child.stdin.end()
        const result = await nextLine()
        await ended
        return result
      })()
      return counts
    },
  }
}
