import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startModelServer } from '@retake/engine/testing'
import type { ModelRequest, ModelServer, ScriptedAnswer } from '@retake/engine/testing'
import { nameConfig } from 'retake/mastra'
import { refusalOf, replayWith, unchanged, withNamedRun } from '../../support/named-run.js'
import { hasNewest, newestPath } from '../../support/newest.js'
import { onlyTape, stepPlaces } from '../../support/step-places.js'

const program = newestPath('mastra-team.mjs')
const withNames = `
  import { nameAgent, nameConfig } from '${import.meta.resolve('retake/mastra')}'
  Object.assign(globalThis, { nameAgent, nameConfig })
`

/** The planner asks the researcher, who looks up two cities; everybody else answers. */
function decide({ messages, body }: ModelRequest): ScriptedAnswer {
  const { role, text } = messages.at(-1) ?? { role: 'user', text: '' }
  const offered = JSON.stringify(body['tools'] ?? [])
  const lookUp = (city: string) => ({ name: 'look_up', args: { city } })
  if (role === 'user' && offered.includes('agent-researcher'))
    return { toolCalls: [{ name: 'agent-researcher', args: { prompt: 'research it' } }] }
  if (role === 'user' && offered.includes('look_up'))
    return { toolCalls: [lookUp('Bern'), lookUp('Rome')] }
  return { text: `answer to ${role === 'user' ? text : 'tools'}` }
}

const inResearcher = 'agent Planner > tool agent-researcher > agent Researcher'
const trip = (asked: string) => [
  `${asked} | agent Planner`,
  `research it | ${inResearcher}`,
  `look up Bern | ${inResearcher} > tool look_up`,
  `look up Rome | ${inResearcher} > tool look_up`,
  `result | ${inResearcher}`,
  'result | agent Planner',
]
const report = (topic: string) =>
  ['north', 'south'].flatMap((step) => [
    `before ${step} | workflow report > node ${step}`,
    `${step} on ${topic} | workflow report > node ${step} > agent Writer`,
  ])

describe.skipIf(!hasNewest)('Mastra', () => {
  let server: ModelServer
  beforeAll(async () => {
    server = await startModelServer({ answer: decide })
  })
  afterAll(() => server.stop())

  test('steps carry agents, tools, workflows and their steps: nested, streamed and concurrent', async () => {
    const options = { program, names: withNames, baseUrl: server.url }
    await withNamedRun(options, async ({ workspace }) => {
      const lines = stepPlaces(onlyTape(workspace.folder)).toSorted()
      expect(lines).toEqual(
        [
          ...trip('plan a trip'),
          ...trip('stream a trip'),
          'between pieces | ',
          ...report('rivers'),
          ...trip('plan another trip'),
          ...report('lakes'),
          'outside of all | ',
        ].toSorted(),
      )
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

test('the observability settings of the program are unchanged', () => {
  const config = { observability: {} }
  expect(nameConfig(config)).toBe(config)
})

test('an unsupported version of Mastra is refused with its name and the supported range', async () => {
  const { code, stderr } = await refusalOf(`${withNames}\nnameConfig({})`, '@mastra/core', '0.24.0')
  expect(code).toBe(1)
  expect(stderr).toMatch(/FRAMEWORK_NOT_SUPPORTED[^]*@mastra\/core 0\.24\.0[^]*1\.0 to 1\.x/)
})
