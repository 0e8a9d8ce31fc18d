import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startModelServer } from '@retake/engine/testing'
import type { ModelRequest, ModelServer, ScriptedAnswer } from '@retake/engine/testing'
import { refusalOf, replayWith, unchanged, withNamedRun } from '../support/named-run.js'
import { agentPath } from '../support/run-retake.mjs'
import { onlyTape, stepPlaces } from '../support/step-places.js'
import { soakOnly } from '../support/soak.js'

const program = agentPath('frameworks/adk-team.mjs')
const withNames = `
  import { nameSteps } from '${import.meta.resolve('retake/google-adk')}'
  nameSteps()
`
/** OpenTelemetry's SDK, a dependency of ADK. */
const adk = createRequire(import.meta.url).resolve('@google/adk')
const sdk = pathToFileURL(createRequire(adk).resolve('@opentelemetry/sdk-trace-node')).href

let server: ModelServer
beforeAll(async () => {
  server = await startModelServer({ answer: decide })
})
afterAll(() => server.stop())

/** Each agent uses its tool once, then hands over if it can, then answers. */
function decide({ messages, body }: ModelRequest): ScriptedAnswer {
  const { role, text } = messages.at(-1) ?? { role: 'user', text: '' }
  if (text.includes('[helper] said')) return { text: 'well done' }
  const offered = JSON.stringify(body['tools'] ?? [])
  if (role !== 'tool' && offered.includes('"expert"')) return call('expert', { request: 'advice' })
  if (role !== 'tool' && offered.includes('"find"')) return call('find', { what: 'it' })
  if (offered.includes('transfer_to_agent') && offered.includes('"expert"'))
    return call('transfer_to_agent', { agentName: 'helper' })
  return { text: `answer to ${text}` }
}
const call = (name: string, args: Record<string, string>): ScriptedAnswer => ({
  toolCalls: [{ name, args }],
})

const inExpert = 'agent chief > tool expert > agent expert'
const handedOver =
  'For context:[chief] tool `transfer_to_agent` returned result: {"result":"Transfer queued"}'
const asked = (text: string) => [
  `${text} | agent chief`,
  `advice | ${inExpert}`,
  `look for it | ${inExpert} > tool find`,
  `result | ${inExpert}`,
  'result | agent chief',
  `${handedOver} | agent chief > agent helper`,
]
const written = (text: string) => [
  ...['north', 'south'].map((name) => `${text} | agent press > agent writers > agent ${name}`),
  ...['north', 'south'].map(
    (name) => `look for it | agent press > agent writers > agent ${name} > tool find`,
  ),
  ...['north', 'south'].map((name) => `result | agent press > agent writers > agent ${name}`),
  'what was said | agent press > agent editor',
]
const flow = ['first', 'second', 'third'].map(
  (name) => `${name} node | workflow flow > node ${name}`,
)

test('steps carry agents, tools and nodes: handed over, streamed, in parallel and concurrent; a replay needs no names', async () => {
  await withNamedRun({ program, names: withNames, baseUrl: server.url }, async (run) => {
    // Either writer may be the last whom the editor reads.
    const lines = stepPlaces(onlyTape(run.workspace.folder)).map((line) =>
      line.replace(/^For context:\[(?:north|south)\] said: .* \|/, 'what was said |'),
    )
    expect(lines.slice(0, 6)).toEqual(asked('chief, please'))
    const streamed = asked('chief, streamed')
    expect(lines.slice(6, 14)).toEqual([
      ...streamed.slice(0, 4),
      'between two events | ',
      ...streamed.slice(4),
      expect.stringMatching(/^For context:\[helper\] said: .* \| agent chief$/),
    ])
    expect(lines.slice(14, 21).toSorted()).toEqual(written('to the press').toSorted())
    expect(lines.slice(21, 24).toSorted()).toEqual(flow)
    expect(lines.slice(24, 37).toSorted()).toEqual(
      [...asked('chief, at once'), ...written('press, at once')].toSorted(),
    )
    expect(lines.slice(37)).toEqual(['outside of all | '])
    expect(await replayWith(run, '')).toEqual(unchanged(run))
  })
})

test('recorded without names, replayed with them: identical', async () => {
  soakOnly()
  await withNamedRun({ program, names: '', baseUrl: server.url }, async (run) => {
    expect(await replayWith(run, withNames)).toEqual(unchanged(run))
  })
})

test('telemetry of the program keeps working beside the names', async () => {
  soakOnly()
  const names = `
    import { NodeTracerProvider } from '${sdk}'
    const spans = []
    new NodeTracerProvider({
      spanProcessors: [{ onStart: ({ name }) => spans.push(name), onEnd() {} }],
    }).register()
    process.on('exit', () => console.log(spans.length, 'spans', spans.slice(0, 3).join(', ')))
    ${withNames}
  `
  await withNamedRun({ program, names, baseUrl: server.url }, async ({ workspace, recorded }) => {
    expect(stepPlaces(onlyTape(workspace.folder)).slice(0, 6)).toEqual(asked('chief, please'))
    expect(recorded.stdout).toMatch(/\d{2,} spans invocation, invoke_agent chief, call_llm/)
  })
})

test('an unsupported version is refused with its name and the supported range', async () => {
  const { code, stderr } = await refusalOf(withNames, '@google/adk', '1.4.0')
  expect(code).toBe(1)
  expect(stderr).toMatch(/FRAMEWORK_NOT_SUPPORTED[^]*@google\/adk 1\.4\.0[^]*2\.0 to 2\.x/)
})
