import { symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startModelServer, type ModelServer } from '@retake/engine/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeWorkspace, type Workspace } from '../support/run-retake.mjs'

/** When `@anthropic-ai/sdk` sends a request, the stack ends inside the SDK. Comments name the lines that must be found. */
const agent = `
import Anthropic from '@anthropic-ai/sdk'
const client = new Anthropic({ apiKey: 'none', baseURL: process.env.AGENT_BASE_URL })
const ask = (content) => ({ model: 'claude-sonnet-5', max_tokens: 200, messages: [{ role: 'user', content }] })

async function inFunction() {
  const { content } = await client.messages.create(ask('Say hello')) // a call in a function
  return content[0].text
}
console.log(await inFunction())

console.log((await client.messages.create(ask('Busy?'))).content[0].text) // 429
console.log((await client.messages.create(ask('Broken?'))).content[0].text) // 500

for await (const { type } of await client.messages.create({ ...ask('Stream'), stream: true })) // a stream
  console.log(type)

const [north, south] = await Promise.all([ // at once
  client.messages.create(ask('North')),
  client.messages.create(ask('South')),
])
console.log(north.content[0].text, south.content[0].text)

const runner = client.beta.messages.toolRunner({
  ...ask('Use the tool'),
  tools: [{
    name: 'find_order', description: 'Finds an order', input_schema: { type: 'object', properties: {} },
    parse: (input) => input, run: () => 'left the house',
  }],
})
for await (const { stop_reason } of runner) console.log(stop_reason) // the tool runner

const nobodyWaits = client.messages.create(ask('Last')).then(({ content }) => console.log(content[0].text))
await nobodyWaits // a promise that is awaited later
`

/** The line of each request, in order. */
const expected = [
  'a call in a function',
  '429',
  '429',
  '500',
  '500',
  'a stream',
  'at once',
  'at once',
  'the tool runner',
  'the tool runner',
  'a promise that is awaited later',
]

const lineOf = (comment: string): number =>
  agent.split('\n').findIndex((line) => line.endsWith(`// ${comment}`)) + 1

let workspace: Workspace
let model: ModelServer

beforeAll(async () => {
  const failing = new Set(['Busy?', 'Broken?'])
  workspace = await makeWorkspace()
  model = await startModelServer({
    answer: ({ messages }) => {
      const { role, text } = messages.at(-1) ?? { role: 'user', text: '' }
      if (role !== 'tool' && text.includes('tool'))
        return { toolCalls: [{ name: 'find_order', args: {} }] }
      const status = text === 'Busy?' ? 429 : 500
      if (failing.delete(text)) return { error: { status, message: 'Later', retryAfter: 0.01 } }
      return { text: `You said ${text}`, chunks: 2 }
    },
  })
  const modules = fileURLToPath(new URL('../../node_modules', import.meta.url))
  await symlink(modules, join(workspace.folder, 'node_modules'))
  await writeFile(join(workspace.folder, 'agent.mjs'), agent)
})

afterAll(async () => {
  await model.stop()
  await workspace.remove()
})

describe('requests of @anthropic-ai/sdk', () => {
  test('are recorded with the line of the agent that made them, and replay the same', async () => {
    const recorded = await workspace.retake(['record', 'agent.mjs'], {
      env: { AGENT_BASE_URL: model.url },
    })
    expect(recorded.code, recorded.stderr).toBe(0)
    const shown = await workspace.retake(['show', 'last', '--json'])
    const { steps } = JSON.parse(shown.stdout) as {
      steps: { kind: string; inferred: boolean; site?: string }[]
    }
    const sites = steps.filter(({ kind }) => kind === 'model').map(({ site }) => site ?? 'none')
    expect(sites.map((site) => site.replace(/:\d+$/, ''))).toEqual(
      expected.map((comment) => `${join(workspace.folder, 'agent.mjs')}:${lineOf(comment)}`),
    )
    const replayed = await workspace.replay()
    expect(replayed.stdout, replayed.stderr).toBe(recorded.stdout)
    expect(replayed.code, replayed.stderr).toBe(0)
  })
})
