/**
 * The loopback provider as its own process, so that a test can stop the
 * outside world before it replays. Prints one JSON line when it is ready and
 * one with its counts when its stdin closes; then it exits.
 *
 *     node test/support/provider-process.mjs [--seed=N] [--max-latency-ms=N]
 */
import { parseArgs } from 'node:util'
import { startProvider } from './loopback-provider.mjs'

const { values } = parseArgs({
  options: { seed: { type: 'string' }, 'max-latency-ms': { type: 'string' } },
})
const number = (text) => (text === undefined ? undefined : Number(text))

const provider = await startProvider({
  seed: number(values.seed),
  maxLatencyMs: number(values['max-latency-ms']),
})
const { url, h2Url, seed } = provider
console.log(JSON.stringify({ url, h2Url, seed }))

process.stdin.resume()
process.stdin.on('end', async () => {
  console.log(JSON.stringify(provider.counts()))
  await provider.close()
  process.exit(0)
})
