// Agents of the OpenAI Agents SDK: a handoff, parallel tools, an agent as a tool, a
// guardrail; plain, streamed, and twice at once.
import {
  Agent,
  handoff,
  run,
  setDefaultOpenAIClient,
  setOpenAIAPI,
  setTracingDisabled,
  tool,
  withTrace,
} from '@openai/agents'
import OpenAI from 'openai'
import { z } from 'zod'

if (process.env.TRACING === 'off') setTracingDisabled(true)
const client = new OpenAI({ apiKey: 'none', baseURL: `${process.env.AGENT_BASE_URL}/v1` })
setDefaultOpenAIClient(client)
setOpenAIAPI(process.env.OPENAI_API ?? 'chat_completions')

async function ask(content) {
  const messages = [{ role: 'user', content }]
  const answer = await client.chat.completions.create({ model: 'gpt-4.1-mini', messages })
  return answer.choices[0].message.content
}

const lookUp = tool({
  name: 'look_up',
  description: 'looks up an order',
  parameters: z.object({ order: z.string() }),
  execute: async ({ order }) => {
    await new Promise((resolve) => setTimeout(resolve, 2))
    return ask(`look up ${order}`)
  },
})
const expert = new Agent({ name: 'Expert', instructions: 'expert', model: 'gpt-4.1-mini' })
const refunds = new Agent({
  name: 'Refunds',
  instructions: 'refunds',
  model: 'gpt-4.1-mini',
  tools: [lookUp, expert.asTool({ toolName: 'expert', toolDescription: 'knows the law' })],
})
const triage = Agent.create({
  name: 'Triage',
  instructions: 'triage',
  model: 'gpt-4.1-mini',
  handoffs: [handoff(refunds, { onHandoff: () => ask('handing over') })],
  inputGuardrails: [
    {
      name: 'politeness',
      execute: async () => {
        await ask('is it polite')
        return { tripwireTriggered: false, outputInfo: {} }
      },
    },
  ],
})

console.log((await run(triage, 'refund 7')).finalOutput)

const streamed = await run(triage, 'stream 8', { stream: true })
for await (const event of streamed) {
  if (event.type === 'run_item_stream_event' && event.name === 'handoff_occurred')
    console.log(await ask('between events'))
}
await streamed.completed
console.log(streamed.finalOutput)

const both = await Promise.all([
  withTrace('Morning shift', () => run(triage, 'refund 9')),
  run(refunds, 'refund 10', { maxTurns: 4 }),
])
for (const { finalOutput } of both) console.log(finalOutput)
console.log(await ask('outside of all'))
