import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { tapesOf } from '../cli/workspace.js'
import { startProvider } from '../support/loopback-provider.mjs'
import type { Provider } from '../support/loopback-provider.mjs'
import { makeWorkspace, run } from '../support/run-retake.mjs'
import type { Workspace } from '../support/run-retake.mjs'
import { sampled } from '../support/soak.js'

/**
 * Looking does not change what is looked at: after stops, steps and expressions all
 * along the run, it has still done exactly what the tape says, and ended the same.
 */
const script = fileURLToPath(new URL('../support/probe-run.mjs', import.meta.url))

let provider: Provider
let workspace: Workspace
beforeAll(async () => {
  provider = await startProvider()
  workspace = await makeWorkspace()
})
afterAll(async () => {
  await provider.close()
  await workspace.remove()
})

const agents: readonly [string, number][] = [
  ['stress.mjs', 0],
  ['openai-chat.mjs', 0],
  ['files.mjs', 0],
  ['processes.mjs', 0],
  ['http2.mjs', 0],
  ['throws.mjs', 1],
  ['exit-code.mjs', 7],
]

// Concurrency is inspected in engine/timeline.
test.each(sampled(agents, ([agent]) => /openai|throws/.test(agent)))(
  '%s replays identically while it is inspected',
  async (agent, exitCode) => {
    await workspace.record(agent, { provider })
    const tape = (await tapesOf(workspace)).at(-1) ?? ''
    const { stdout, stderr } = await run(process.execPath, [script, tape], workspace.folder)
    expect(stderr).toBe('')
    const result = JSON.parse(stdout) as { stops: number }
    expect(result).toMatchObject({ exitCode, divergences: [] })
    expect(result.stops).toBeGreaterThan(0)
  },
)
