import { afterAll, beforeAll, expect, test } from 'vitest'
import { startModelServer } from '@retake/engine/testing'
import type { ModelRequest, ModelServer, ScriptedAnswer } from '@retake/engine/testing'
import { refusalOf, replayWith, unchanged, withNamedRun } from '../support/named-run.js'
import { agentPath } from '../support/run-retake.mjs'
import { onlyTape, stepPlaces } from '../support/step-places.js'
import { sampled, soakOnly } from '../support/soak.js'

const program = agentPath('frameworks/openai-agents-team.mjs')
const withNames = `
  import * as agents from '${import.meta.resolve('@openai/agents')}'
  import { nameSteps } from '${import.meta.resolve('retake/openai-agents')}'
  nameSteps(agents)
`
/** The SDK traces nothing where it sees that it is tested; it exports nothing without a key. */
const traced = { NODE_ENV: 'production' }

let server: ModelServer
beforeAll(async () => {
  server = await startModelServer({ answer: decide })
})
afterAll(() => server.stop())

/** Triage hands over, refunds uses both of its tools, everybody else answers. */
function decide({ messages, body }: ModelRequest): ScriptedAnswer {
  const { role, text } = messages.at(-1) ?? { role: 'user', text: '' }
  const offered = JSON.stringify(body['tools'] ?? [])
  if (offered.includes('transfer_to_Refunds'))
    return { toolCalls: [{ name: 'transfer_to_Refunds', args: {} }] }
  const hasLookedUp = messages.some((message) => message.text.startsWith('answer to look up'))
  if (offered.includes('look_up') && !hasLookedUp) {
    const [order] = messages.flatMap((message) => message.text.match(/\d+/) ?? [])
    return {
      toolCalls: [
        { name: 'look_up', args: { order } },
        { name: 'expert', args: { input: `the law on ${order}` } },
      ],
    }
  }
  return { text: `answer to ${role === 'tool' ? 'tools' : text}` }
}

const refund = (order: number, outer = '') => [
  `look up ${order} | ${outer}agent Refunds > tool look_up`,
  `the law on ${order} | ${outer}agent Refunds > tool expert > agent Expert`,
  `result | ${outer}agent Refunds`,
]
const triaged = (asked: string, order: number, outer = '') => [
  `is it polite | ${outer}agent Triage > node politeness`,
  `${asked} | ${outer}agent Triage`,
  `handing over | ${outer}agent Triage > node handoff`,
  `result | ${outer}agent Refunds`,
  ...refund(order, outer),
]

test.each(sampled(['chat_completions', 'responses'], (_, index) => index === 0))(
  'steps carry agents, tools, guardrails: handed over, nested, streamed, concurrent; a replay needs no names; %s',
  async (api) => {
    const env = { ...traced, OPENAI_API: api }
    const options = { program, names: withNames, baseUrl: server.url, env }
    await withNamedRun(options, async (run) => {
      const lines = stepPlaces(onlyTape(run.workspace.folder)).toSorted()
      expect(lines).toEqual(
        [
          ...triaged('refund 7', 7),
          ...triaged('stream 8', 8),
          'between events | ',
          ...triaged('refund 9', 9, 'workflow Morning shift > '),
          'refund 10 | agent Refunds',
          ...refund(10),
          'outside of all | ',
        ].toSorted(),
      )
      expect(await replayWith(run, '')).toEqual(unchanged(run))
    })
  },
)

test('steps carry the same with tracing disabled, except that an agent used as a tool has no parent', async () => {
  soakOnly()
  const options = { program, names: withNames, baseUrl: server.url, env: { TRACING: 'off' } }
  await withNamedRun(options, async ({ workspace }) => {
    const lines = stepPlaces(onlyTape(workspace.folder))
    expect(lines).toContain('look up 7 | agent Refunds > tool look_up')
    expect(lines).toContain('the law on 7 | agent Expert')
    expect(lines).toContain('is it polite | agent Triage > node politeness')
    expect(lines.at(-1)).toBe('outside of all | ')
  })
})

test('recorded without names, replayed with them: identical', async () => {
  soakOnly()
  const options = { program, names: '', baseUrl: server.url, env: traced }
  await withNamedRun(options, async (run) => {
    expect(await replayWith(run, withNames)).toEqual(unchanged(run))
  })
})

test('an unsupported version is refused with its name and the supported range', async () => {
  const { code, stderr } = await refusalOf(withNames, '@openai/agents', '1.2.0')
  expect(code).toBe(1)
  expect(stderr).toMatch(/FRAMEWORK_NOT_SUPPORTED[^]*@openai\/agents 1\.2\.0[^]*0\.20 to 0\.x/)
})
