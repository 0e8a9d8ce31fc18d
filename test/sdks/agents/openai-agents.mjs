// OpenAI's Agents SDK: a triage agent hands off to one with a tool, whole and streamed. With `traced`, traces go out.
import {
  Agent,
  BatchTraceProcessor,
  getGlobalTraceProvider,
  OpenAIProvider,
  OpenAITracingExporter,
  Runner,
  setTraceProcessors,
  tool,
} from '@openai/agents'
import { z } from 'zod'
import { findOrder, orderTool, question } from './orders.mjs'

const base = process.env.AGENT_BASE_URL
const traced = process.argv[2] === 'traced'
const endpoint = `${base}/v1/traces/ingest`
setTraceProcessors(
  traced ? [new BatchTraceProcessor(new OpenAITracingExporter({ apiKey: 'none', endpoint }))] : [],
)

const { name, description } = orderTool
const orders = new Agent({
  name: 'Orders',
  instructions: 'You answer about orders.',
  handoffDescription: 'Knows where orders are',
  tools: [
    tool({ name, description, parameters: z.object({ id: z.string() }), execute: findOrder }),
  ],
})
const triage = Agent.create({
  name: 'Triage',
  instructions: 'You hand over to whoever knows.',
  handoffs: [orders],
})
const runner = new Runner({
  model: 'gpt-5-mini',
  modelProvider: new OpenAIProvider({ apiKey: 'none', baseURL: `${base}/v1` }),
  tracingDisabled: !traced,
})

const result = await runner.run(triage, question)
for (const item of result.newItems) console.log(item.type, item.agent?.name ?? '')
console.log(result.lastAgent.name, result.finalOutput, result.state.usage.totalTokens)

const streamed = await runner.run(orders, question, { stream: true })
for await (const event of streamed) console.log(event.type, event.name ?? event.data?.type ?? '')
await streamed.completed
console.log(streamed.finalOutput)
if (traced) await getGlobalTraceProvider().forceFlush()
