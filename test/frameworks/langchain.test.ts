import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startModelServer } from '@retake/engine/testing'
import type { ModelRequest, ModelServer, ScriptedAnswer } from '@retake/engine/testing'
import { agentPath, makeWorkspace } from '../support/run-retake.mjs'
import { onlyTape, stepPlaces } from '../support/step-places.js'

const adapter = import.meta.resolve('retake/langchain')
const withNames = `
  import { nameSteps, nameTools } from '${adapter}'
  nameSteps()
  globalThis.nameTools = nameTools
`
const namesLast = `import '${import.meta.resolve('@langchain/langgraph')}'\n${withNames}`
const withoutNames = ''

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

/** Records the team with these lines before it; they can be changed before it is replayed. */
async function recordTeam(names: string) {
  const workspace = await makeWorkspace()
  const setNames = (text: string) => writeFile(join(workspace.folder, 'names.mjs'), text)
  await setNames(names)
  const agent = join(workspace.folder, 'agent.mjs')
  const team = agentPath('frameworks/langchain-team.mjs')
  await writeFile(agent, `import './names.mjs'\nawait import('${team}')\n`)
  const recorded = await workspace.retake(['record', agent], {
    env: { AGENT_BASE_URL: server.url },
  })
  expect(recorded.code, recorded.stderr).toBe(0)
  return { workspace, recorded, setNames }
}

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

test.each([
  ['imported before LangGraph', withNames],
  ['imported after it', namesLast],
])('%s, steps carry agents, nodes and tools, nested and at once', async (_order, names) => {
  const { workspace } = await recordTeam(names)
  try {
    const lines = stepPlaces(onlyTape(workspace.folder))
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
  } finally {
    await workspace.remove()
  }
})

test.each([
  ['recorded with names, replayed without', withNames, withoutNames],
  ['recorded without names, replayed with', withoutNames, withNames],
])('%s: identical', { timeout: 60_000 }, async (_title, before, after) => {
  const { workspace, recorded, setNames } = await recordTeam(before)
  try {
    await setNames(after)
    const replayed = await workspace.replay()
    expect(replayed.stderr).toContain('identical')
    expect([replayed.code, replayed.stdout]).toEqual([0, recorded.stdout])
    expect(replayed.waysOut).toEqual({})
  } finally {
    await workspace.remove()
  }
})

test('a version it does not know is refused by name and range', async () => {
  const workspace = await makeWorkspace()
  try {
    const home = join(workspace.folder, 'node_modules', '@langchain', 'core')
    await mkdir(home, { recursive: true })
    await writeFile(join(home, 'package.json'), '{"version":"0.3.80"}')
    const agent = join(workspace.folder, 'agent.mjs')
    await writeFile(agent, withNames)
    const recorded = await workspace.retake(['record', agent])
    expect(recorded.code).toBe(1)
    expect(recorded.stderr).toMatch(
      /FRAMEWORK_NOT_SUPPORTED[^]*@langchain\/core 0\.3\.80[^]*1\.1 to 1\.x/,
    )
  } finally {
    await workspace.remove()
  }
})
