// Agents of Google's ADK: handed over, in parallel, as a tool, with a tool that asks a model itself, in a workflow.
import {
  AgentTool,
  FunctionTool,
  InMemoryRunner,
  JoinNode,
  LlmAgent,
  node,
  ParallelAgent,
  SequentialAgent,
  START,
  Workflow,
} from '@google/adk'
import { GoogleGenAI } from '@google/genai'
import { z } from 'zod'

process.env.GOOGLE_GENAI_API_KEY = 'none'
process.env.GOOGLE_GEMINI_BASE_URL = process.env.AGENT_BASE_URL
const model = 'gemini-2.5-flash'

const genai = new GoogleGenAI({
  apiKey: 'none',
  httpOptions: { baseUrl: process.env.AGENT_BASE_URL },
})
const ask = async (contents) => (await genai.models.generateContent({ model, contents })).text

const find = new FunctionTool({
  name: 'find',
  description: 'finds',
  parameters: z.object({ what: z.string() }),
  execute: async ({ what }) => ({ found: await ask(`look for ${what}`) }),
})
const expert = new LlmAgent({ name: 'expert', model, instruction: 'expert', tools: [find] })
const helper = new LlmAgent({ name: 'helper', model, instruction: 'helper' })
const chief = new LlmAgent({
  name: 'chief',
  model,
  instruction: 'chief',
  subAgents: [helper],
  tools: [new AgentTool({ agent: expert })],
})

const writer = (name) => new LlmAgent({ name, model, instruction: name, tools: [find] })
const press = new SequentialAgent({
  name: 'press',
  subAgents: [
    new ParallelAgent({ name: 'writers', subAgents: [writer('north'), writer('south')] }),
    new LlmAgent({ name: 'editor', model, instruction: 'editor' }),
  ],
})

const first = node(async () => ask('first node'), { name: 'first' })
const second = node(async () => ask('second node'), { name: 'second' })
const third = node(async () => ask('third node'), { name: 'third' })
const flow = new Workflow({
  name: 'flow',
  edges: [[START, first, [second, third], new JoinNode({ name: 'join' })]],
})

async function run(agent, text, streamingMode = 'none') {
  const runner = new InMemoryRunner({ agent, appName: 'team' })
  const session = await runner.sessionService.createSession({ appName: 'team', userId: 'ada' })
  const lines = []
  for await (const event of runner.runAsync({
    userId: 'ada',
    sessionId: session.id,
    newMessage: { role: 'user', parts: [{ text }] },
    runConfig: { streamingMode },
  })) {
    lines.push(`${event.author} ${JSON.stringify(event.content?.parts ?? [])}`)
    // Nobody's place: the reader of a stream is not inside of it.
    if (text === 'chief, streamed' && lines.length === 2) await ask('between two events')
  }
  return lines
}

console.log(await run(chief, 'chief, please'))
console.log(await run(chief, 'chief, streamed', 'sse'))
console.log(await run(press, 'to the press'))
console.log(await run(flow, 'a workflow'))
const both = await Promise.all([run(chief, 'chief, at once'), run(press, 'press, at once')])
console.log(both.map((lines) => lines.length))
await ask('outside of all')
