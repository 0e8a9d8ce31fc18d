import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startModelServer } from '@retake/engine/testing'
import type { ModelServer } from '@retake/engine/testing'
import { answerAsTeam, teamPlaces } from '../../support/ai-sdk-team.js'
import { replayWith, unchanged, withNamedRun } from '../../support/named-run.js'
import { hasNewest, newestPath } from '../../support/newest.js'
import { onlyTape, stepPlaces } from '../../support/step-places.js'

const program = newestPath('ai-sdk-7.mjs')
const withNames = `
  import { nameAgent, retakeTelemetry } from '${import.meta.resolve('retake/ai-sdk')}'
  globalThis.setUp = (ai) => ai.registerTelemetry(retakeTelemetry())
  globalThis.nameAgent = nameAgent
  globalThis.telemetryOf = (functionId) => ({ telemetry: { functionId } })
`

describe.skipIf(!hasNewest)('AI SDK 7', () => {
  let server: ModelServer
  beforeAll(async () => {
    server = await startModelServer({ answer: answerAsTeam })
  })
  afterAll(() => server.stop())

  test('steps carry agents and tools: nested, streamed and concurrent', async () => {
    const options = { program, names: withNames, baseUrl: server.url }
    await withNamedRun(options, async ({ workspace }) => {
      const lines = stepPlaces(onlyTape(workspace.folder)).toSorted()
      // Registered for the whole program, it also sees tools of agents named by their id.
      expect(lines).toEqual(teamPlaces('embed this | ', 'tool look_up'))
    })
  })

  test.each([
    ['recorded with names, replayed without', withNames, ''],
    ['recorded without names, replayed with', '', withNames],
  ])('%s: identical', async (_title, before, after) => {
    await withNamedRun({ program, names: before, baseUrl: server.url }, async (run) => {
      expect(await replayWith(run, after)).toEqual(unchanged(run))
    })
  })
})
