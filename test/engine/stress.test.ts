import { afterAll, beforeAll, expect, test } from 'vitest'
import { firstDifference } from '../support/first-difference.mjs'
import { type Provider, startProvider } from '../support/loopback-provider.mjs'
import { makeWorkspace } from '../support/run-retake.mjs'
import { repetitions } from '../support/soak.js'

/**
 * Record → replay cycles of the agents that race most. Few cycles mislead:
 * errors of order showed up in one of three runs, so `test:nodes` and a soak
 * run a hundred. RETAKE_STRESS_CYCLES chooses.
 */
const cycles = repetitions('RETAKE_STRESS_CYCLES', { beforeMerge: 1, soak: 100 })

let provider: Provider
beforeAll(async () => {
  provider = await startProvider()
})
afterAll(() => provider.close())

/** Records and replays once; says what went wrong, if anything did. */
async function runCycle(agent: string): Promise<string | undefined> {
  const workspace = await makeWorkspace()
  const recorded = await workspace.record(agent, { provider })
  const { requests } = provider.counts()
  const replayed = await workspace.replay()
  const sockets = Object.keys(replayed.waysOut ?? { unreported: 1 })
  const complaints = [
    recorded.code === 0 ? undefined : `recording ended with ${recorded.code}\n${recorded.stderr}`,
    firstDifference(recorded.stdout, replayed.stdout),
    replayed.code === 0 ? undefined : `replay ended with ${replayed.code}\n${replayed.stderr}`,
    provider.counts().requests === requests ? undefined : 'replay reached the provider',
    sockets.length === 0 ? undefined : `replay opened ${sockets.join(', ')}`,
  ].filter((complaint) => complaint !== undefined)
  if (complaints.length === 0) {
    await workspace.remove()
    return undefined
  }
  return [...complaints, `kept in ${workspace.folder}`].join('\n')
}

test.each(['stress.mjs', 'order-only.mjs'])(
  `%s is identical in every one of ${cycles} cycles`,
  { timeout: 600_000 + cycles * 20_000 },
  async (agent) => {
    const failures: string[] = []
    for (let cycle = 1; cycle <= cycles; cycle++) {
      const failure = await runCycle(agent)
      if (failure !== undefined) failures.push(`cycle ${cycle}: ${failure}`)
    }
    process.stdout.write(
      `${agent} on Node ${process.version}: ${cycles - failures.length} of ${cycles} identical\n`,
    )
    // The first few tell enough.
    expect(failures, failures.slice(0, 3).join('\n\n')).toEqual([])
  },
)
