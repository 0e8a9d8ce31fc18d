import { fileURLToPath } from 'node:url'
import { startServerProcess } from './start-server-process.mjs'

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
  const args = []
  if (seed !== undefined) args.push(`--seed=${seed}`)
  if (maxLatencyMs !== undefined) args.push(`--max-latency-ms=${maxLatencyMs}`)
  const { ready, stop } = await startServerProcess(program, args)
  return { ...ready, stop }
}
