import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { firstDifference } from '../support/first-difference.mjs'
import { makeWorkspace } from '../support/run-retake.mjs'
import { startProvider } from '../support/loopback-provider.mjs'
import { repetitions, sampled } from '../support/soak.js'

/** An unmodified agent and what is special about running it. */
interface Scene {
  readonly agent: string
  readonly args?: readonly string[]
  readonly input?: string
  readonly exitCode?: number
  /** Puts files into the working folder before recording. They are gone on replay. */
  readonly files?: Readonly<Record<string, string>>
}

const scenes: readonly Scene[] = [
  { agent: 'openai-chat.mjs' },
  { agent: 'openai-responses.mjs' },
  { agent: 'anthropic.mjs' },
  { agent: 'axios.mjs' },
  { agent: 'undici.mjs' },
  { agent: 'undici-and-fetch.mjs' },
  { agent: 'undici-dispatcher.mjs' },
  { agent: 'undici-retries.mjs' },
  { agent: 'fetch-dispatcher.mjs' },
  { agent: 'got.mjs' },
  { agent: 'node-fetch.mjs' },
  { agent: 'ws.mjs' },
  { agent: 'global-websocket.mjs' },
  { agent: 'fetch-request.mjs' },
  { agent: 'http-agent.mjs' },
  { agent: 'http2.mjs' },
  { agent: 'files.mjs', files: { 'notes.txt': `noted ${Math.random()}` } },
  { agent: 'processes.mjs' },
  { agent: 'clock.mjs' },
  { agent: 'order-only.mjs' },
  { agent: 'errors.mjs' },
  { agent: 'streams.mjs' },
  { agent: 'stdin.mjs', args: ['with', '--flags', 'ü'], input: 'first line\nsecond ☃\nthird' },
  { agent: 'exit-code.mjs', exitCode: 7 },
  { agent: 'throws.mjs', exitCode: 1 },
  { agent: 'typescript/agent.ts' },
  { agent: 'stress.mjs' },
]

const replays = repetitions('RETAKE_REPLAYS', { beforeMerge: 1, soak: 10 })

describe.concurrent(`recorded once, replayed ${replays} times without the provider`, () => {
  /**
   * Before a merge: each transport once. Other files replay SDKs (sdks/contract), axios
   * (engine/offline-tail), stdin, files, TypeScript, exit codes, uncaught errors (cli/bad-input)
   * and the agents that race (engine/stress) in the same way.
   */
  const elsewhere =
    /^(openai|anthropic|axios|got|node-fetch|files|clock|order|stdin|exit|throws|type|stress)/
  const tested = sampled(scenes, ({ agent }) => !elsewhere.test(agent))
  test.each(tested.map((scene) => [scene.agent, scene] as const))(
    '%s prints the same, ends the same and opens no socket',
    { timeout: 600_000 + replays * 15_000 },
    async (agent, { args = [], input, exitCode = 0, files = {} }) => {
      const workspace = await makeWorkspace()
      const provider = await startProvider()
      try {
        for (const [name, text] of Object.entries(files)) {
          await writeFile(join(workspace.folder, name), text)
        }
        const recorded = await workspace.record(agent, {
          provider,
          args,
          ...(input === undefined ? {} : { input }),
        })
        expect(recorded.code, recorded.stderr).toBe(exitCode)
        expect(recorded.stdout).not.toBe('')

        await provider.close()
        for (const name of Object.keys(files)) await rm(join(workspace.folder, name))

        for (let index = 1; index <= replays; index++) {
          const replayed = await workspace.replay()
          const where = `replay ${index} of ${replays}`
          const difference = firstDifference(recorded.stdout, replayed.stdout)
          expect(difference, `${where}\n${difference}\n${replayed.stderr}`).toBeUndefined()
          expect(replayed.code, `${where}\n${replayed.stderr}`).toBe(exitCode)
          expect(replayed.waysOut, `${where}: the agent's process did not report`).toBeDefined()
          const used = Object.keys(replayed.waysOut ?? {})
          expect(used, `${where} left the process`).toEqual([])
        }
      } finally {
        await provider.close()
        await workspace.remove()
      }
    },
  )
})
