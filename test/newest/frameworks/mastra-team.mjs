// Agents, tools and workflows of Mastra: an agent below another, parallel tools, a workflow
// with steps at once that ask an agent; whole, streamed, and twice at once.
import { createOpenAI } from '@ai-sdk/openai'
import { Agent } from '@mastra/core/agent'
import { Mastra } from '@mastra/core/mastra'
import { createTool } from '@mastra/core/tools'
import { createStep, createWorkflow } from '@mastra/core/workflows'
import { z } from 'zod'

// Replaced by the test where steps are named.
const { nameConfig = (config) => config, nameAgent = (agent) => agent } = globalThis

const openai = createOpenAI({ apiKey: 'none', baseURL: `${process.env.AGENT_BASE_URL}/v1` })
const model = openai.chat('gpt-4.1-mini')

async function ask(content) {
  const body = JSON.stringify({ model: 'gpt-4.1-mini', messages: [{ role: 'user', content }] })
  const headers = { 'content-type': 'application/json' }
  const url = `${process.env.AGENT_BASE_URL}/v1/chat/completions`
  const answer = await fetch(url, { method: 'POST', headers, body })
  return (await answer.json()).choices[0].message.content
}

const look_up = createTool({
  id: 'look_up',
  description: 'looks up',
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => {
    await new Promise((resolve) => setTimeout(resolve, 2))
    return ask(`look up ${city}`)
  },
})
const researcher = nameAgent(
  new Agent({
    id: 'researcher',
    name: 'Researcher',
    description: 'researches',
    instructions: 'You research.',
    model,
    tools: { look_up },
  }),
)
const planner = new Agent({
  id: 'planner',
  name: 'Planner',
  instructions: 'You plan.',
  model,
  agents: { researcher },
})
const writer = new Agent({ id: 'writer', name: 'Writer', instructions: 'You write.', model })

const topic = z.object({ topic: z.string() })
const text = z.object({ text: z.string() })
const writeStep = (id) =>
  createStep({
    id,
    inputSchema: topic,
    outputSchema: text,
    execute: async ({ inputData, mastra }) => {
      await ask(`before ${id}`)
      const { text } = await mastra.getAgent('writer').generate(`${id} on ${inputData.topic}`)
      return { text }
    },
  })
const report = createWorkflow({ id: 'report', inputSchema: topic, outputSchema: z.any() })
  .parallel([writeStep('north'), writeStep('south')])
  .commit()

const mastra = new Mastra(
  nameConfig({ agents: { planner, writer }, workflows: { report }, logger: false }),
)

async function runReport(name) {
  const run = await mastra.getWorkflow('report').createRun()
  const { status, result } = await run.start({ inputData: { topic: name } })
  return [status, result.north.text, result.south.text]
}

console.log((await mastra.getAgent('planner').generate('plan a trip')).text)

const streamed = await mastra.getAgent('planner').stream('stream a trip')
for await (const piece of streamed.textStream) {
  console.log('piece', piece)
  if (piece.startsWith('answer')) console.log(await ask('between pieces'))
}

console.log(await runReport('rivers'))
const [plan, rivers] = await Promise.all([
  mastra.getAgent('planner').generate('plan another trip'),
  runReport('lakes'),
])
console.log(plan.text, rivers)
console.log(await ask('outside of all'))
