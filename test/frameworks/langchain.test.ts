import { afterAll, beforeAll, expect, test } from 'vitest'
import { startModelServer } from '@retake/engine/testing'
import type { ModelRequest, ModelServer, ScriptedAnswer } from '@retake/engine/testing'
import { refusalOf, replayWith, unchanged, withNamedRun } from '../support/named-run.js'
import { agentPath } from '../support/run-retake.mjs'
import { onlyTape, stepPlaces } from '../support/step-places.js'
import { sampled, soakOnly } from '../support/soak.js'

const program = agentPath('frameworks/langchain-team.mjs')
const withNames = `
  import { nameSteps, nameTools } from '${import.meta.resolve('retake/langchain')}'
  nameSteps()
  globalThis.nameTools = nameTools
`
const namesLast = `import '${import.meta.resolve('@langchain/langgraph')}'\n${withNames}`

let server: ModelServer
beforeAll(async () => {
  server = await startModelServer({ answer: decide })
})
afterAll(() => server.stop())

/** Asks for a tool on the way down, repeats what it was told on the way up. */
function decide({ messages, body }: ModelRequest): ScriptedAnswer {
  const { role, text } = messages.at(-1) ?? { role: 'user', text: '' }
  const offered = JSON.stringify(body['tools'] ?? [])
  if (role === 'user' && offered.includes('"weather"')) return call('weather')
  if (role === 'user' && offered.includes('"look_up"')) return call('look_up')
  return { text: `answer to ${text}` }
}
const call = (name: string): ScriptedAnswer => ({ toolCalls: [{ name, args: { city: 'Bern' } }] })

const inTool = 'agent planner > node tools > tool weather'
const inResearcher = `${inTool} > agent researcher`
const trip = (asked: string) => [
  `${asked} | agent planner > node model_request`,
  `research Bern | ${inResearcher} > node model_request`,
  `look up Bern | ${inResearcher} > node tools > tool look_up`,
  `result | ${inResearcher} > node model_request`,
  `after the research | ${inTool}`,
  'result | agent planner > node model_request',
]
const report = [
  'stream the plan | node plan',
  'write north | node write',
  'write south | node write',
  'write east | node write',
  'draft | node subgraph > node draft',
  'draft | node called > node draft',
]

const orders: readonly [string, string][] = [
  ['imported before LangGraph', withNames],
  ['imported after it', namesLast],
]

test.each(sampled(orders, (_, index) => index === 0))(
  '%s, steps carry agents, nodes and tools, nested and concurrent; a replay needs no names',
  async (_order, names) => {
    await withNamedRun({ program, names, baseUrl: server.url }, async (run) => {
      const lines = stepPlaces(onlyTape(run.workspace.folder))
      expect(lines.slice(0, 6)).toEqual(trip('plan a trip'))
      expect(lines.slice(6, 12)).toEqual(trip('stream a trip'))
      expect(lines.slice(12, 18)).toEqual(report)
      expect(lines.slice(18, 20)).toEqual([
        'look up Bern for the graph | node tools > tool look_up',
        'look up Rome for the graph | node tools > tool look_up',
      ])
      expect(lines.slice(20, 25)).toEqual([
        'delegate | node delegate > agent researcher > node model_request',
        'look up Bern | node delegate > agent researcher > node tools > tool look_up',
        'result | node delegate > agent researcher > node model_request',
        'page one | node book > node page',
        'page two | node book > node page',
      ])
      expect(lines.slice(25, 37).toSorted()).toEqual(
        [...trip('plan another trip'), ...report].toSorted(),
      )
      expect(lines.slice(37)).toEqual(['outside of all | '])
      expect(await replayWith(run, '')).toEqual(unchanged(run))
    })
  },
)

test('recorded without names, replayed with them: identical', async () => {
  soakOnly()
  await withNamedRun({ program, names: '', baseUrl: server.url }, async (run) => {
    expect(await replayWith(run, withNames)).toEqual(unchanged(run))
  })
})

test('an unsupported version is refused with its name and the supported range', async () => {
  const { code, stderr } = await refusalOf(withNames, '@langchain/core', '0.3.80')
  expect(code).toBe(1)
  expect(stderr).toMatch(/FRAMEWORK_NOT_SUPPORTED[^]*@langchain\/core 0\.3\.80[^]*1\.1 to 1\.x/)
})
