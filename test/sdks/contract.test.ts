/**
 * One contract, every SDK and framework: recorded against a model on the
 * loopback, replayed with that model gone, with the steps that a person should
 * see. `npm test` runs it with the packages of the workspace, `npm run
 * test:newest` with those of test/newest.
 */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { openTape } from '@retake/tape/node'
import { describe, expect, test } from 'vitest'
import { firstDifference } from '../support/first-difference.mjs'
import { viewOf } from '../support/forking.js'
import { makeWorkspace, type Workspace } from '../support/run-retake.mjs'
import { newestScenes, scenes, type Scene } from './scenes.js'
import { findOrder } from './turns.js'
import { stepLine, type ShownStep } from './step-line.js'
import { repetitions, sampled } from '../support/soak.js'
import { agentsFolder, isNewest, startWorld } from './world.js'

/**
 * Before a merge: without those that differ from another only in transport or host, and
 * without what others record and replay: frameworks and MCP (test/frameworks, engine/mcp), and
 * Bedrock Converse (sdks/redaction, sdks/bedrock-branches).
 */
const isVariant = ({ title }: Scene): boolean =>
  /Azure|compatible|HTTP\/1|families|Converse|groq|langchain|agents|adk|modelcontext/.test(title)
const table = isNewest
  ? [...scenes, ...newestScenes]
  : sampled(scenes, (scene) => !isVariant(scene))
const replays = repetitions('RETAKE_REPLAYS', { beforeMerge: 1, soak: 5 })

/** What the tools of a run gave, as the conversation with the model tells it. */
async function toolResults({ folder }: Workspace): Promise<string[]> {
  const runs = join(folder, '.retake', 'runs')
  const name = (await readdir(runs)).find((file) => file.endsWith('.tape')) ?? ''
  const { steps } = viewOf(openTape(join(runs, name)))
  const results = steps.filter(({ inferred }) => inferred).map((step) => step.call()?.result)
  return results.flatMap((result) => /left the house/.exec(JSON.stringify(result) ?? '') ?? [])
}

describe.concurrent(`recorded once, replayed ${replays} times without the model`, () => {
  test.each(table.map((scene) => [scene.title, scene] as const))(
    '%s',
    { timeout: 600_000 + replays * 30_000 },
    async (_title, scene) => {
      const workspace = await makeWorkspace()
      const world = await startWorld(scene)
      try {
        const recorded = await workspace.record(`${agentsFolder}/${scene.agent}`, {
          provider: world.provider,
          args: scene.args ?? [],
          env: world.env,
        })
        expect(recorded.code, recorded.stderr + recorded.stdout).toBe(0)
        expect(recorded.stdout).not.toBe('')
        await world.stop()

        for (let index = 1; index <= replays; index++) {
          const replayed = await workspace.replay()
          const where = `replay ${index} of ${replays}`
          const difference = firstDifference(recorded.stdout, replayed.stdout)
          expect(difference, `${where}\n${difference}\n${replayed.stderr}`).toBeUndefined()
          expect(replayed.code, `${where}\n${replayed.stderr}`).toBe(0)
          expect(replayed.waysOut, `${where}: the agent's process did not report`).toEqual({})
        }

        const shown = await workspace.retake(['show', 'last', '--json'])
        const { steps } = JSON.parse(shown.stdout) as { steps: readonly ShownStep[] }
        const lines = scene.steps && steps.map(stepLine)
        expect(lines).toEqual(scene.steps?.flat())
        expect(await toolResults(workspace)).toEqual(
          lines?.filter((line) => line === findOrder).map(() => 'left the house') ?? [],
        )
      } finally {
        await world.stop()
        await workspace.remove()
      }
    },
  )
})
