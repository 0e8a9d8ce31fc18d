import { symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startModelServer, type ModelServer } from '@retake/engine/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeWorkspace, type Workspace } from '../support/run-retake.mjs'

/** When these SDKs send a request, the stack ends inside the SDK. Comments name the lines that must be found. */
const agent = `
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
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

const find_order = { name: 'find_order', description: 'Finds an order' }
const nothing = { type: 'object', properties: {} }
const runner = client.beta.messages.toolRunner({
  ...ask('Use the tool'),
  tools: [{ ...find_order, input_schema: nothing, parse: (input) => input, run: () => 'left the house' }],
})
for await (const { stop_reason } of runner) console.log(stop_reason) // the tool runner

const story = client.messages.stream(ask('Story')) // messages.stream
console.log((await story.finalMessage()).content[0].text)
for await (const { type } of client.messages.stream(ask('Busy stream?'))) console.log(type) // a retried stream
console.log(await client.beta.messages.stream(ask('Beta')).finalText()) // beta.messages.stream
const signal = new AbortController().signal
const both = ['East', 'West'].map((side) => client.messages.stream(ask(side), { signal })) // two streams
for (const stream of both) console.log(await stream.finalText())
await new Promise((resolve) => setTimeout(() => {
  client.messages.stream(ask('Later')).on('end', resolve) // a stream in a timer
}, 0))

const openai = new OpenAI({ apiKey: 'none', baseURL: process.env.AGENT_BASE_URL + '/v1' })
const gpt = (content) => ({ model: 'gpt-5', messages: [{ role: 'user', content }] })
const tools = [{ type: 'function', function: { ...find_order, parameters: nothing, parse: JSON.parse, function: () => 'left' } }]
console.log(await openai.chat.completions.stream(gpt('Chat')).finalContent()) // chat.completions.stream
console.log(await openai.chat.completions.runTools({ ...gpt('Use the tool'), tools }).finalContent()) // runTools
console.log(await openai.responses.stream({ model: 'gpt-5', input: 'Respond' }).finalResponse().then(({ id }) => id)) // responses.stream

const nobodyWaits = client.messages.create(ask('Last')).then(({ content }) => console.log(content[0].text))
await nobodyWaits // a promise that is awaited later

client.messages.create(ask('Unknown')).then(({ content }) => console.log(content[0].text))
`

/** The line of each request, in order; none rather than a guess. */
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
  'messages.stream',
  'a retried stream',
  'a retried stream',
  'beta.messages.stream',
  'two streams',
  'two streams',
  'a stream in a timer',
  'chat.completions.stream',
  'runTools',
  'runTools',
  'responses.stream',
  'a promise that is awaited later',
  'none',
]

const lineOf = (comment: string): number =>
  agent.split('\n').findIndex((line) => line.endsWith(`// ${comment}`)) + 1

let workspace: Workspace
let model: ModelServer

beforeAll(async () => {
  const failing = new Set(['Busy?', 'Broken?', 'Busy stream?'])
  workspace = await makeWorkspace()
  model = await startModelServer({
    answer: ({ messages }) => {
      const { role, text } = messages.at(-1) ?? { role: 'user', text: '' }
      if (role !== 'tool' && text === 'Use the tool')
        return { toolCalls: [{ name: 'find_order', args: {} }] }
      const status = text.startsWith('Busy') ? 429 : 500
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

describe('requests of @anthropic-ai/sdk and openai', () => {
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
      expected.map((comment) =>
        comment === 'none' ? comment : `${join(workspace.folder, 'agent.mjs')}:${lineOf(comment)}`,
      ),
    )
    const replayed = await workspace.replay()
    expect(replayed.stdout, replayed.stderr).toBe(recorded.stdout)
    expect(replayed.code, replayed.stderr).toBe(0)
  })
})
