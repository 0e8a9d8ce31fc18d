import {
  Agent,
  getCurrentSpan,
  getCurrentTrace,
  run,
  setOpenAIAPI,
  setTracingDisabled,
  tool,
} from '@openai/agents'
import { nameSteps } from 'retake/openai-agents'
import { z } from 'zod'

nameSteps({ getCurrentSpan, getCurrentTrace })
setOpenAIAPI('chat_completions')
setTracingDisabled(true)

/** A triage agent that hands refunds over to a specialist with a tool. */
const lookUpOrder = tool({
  name: 'look_up_order',
  description: 'The state of an order.',
  parameters: z.object({ id: z.string() }),
  execute: ({ id }) => ({ id, state: 'delivered', askedAt: new Date().toISOString() }),
})
const refunds = new Agent({
  name: 'Refunds',
  instructions: 'You decide about refunds.',
  model: 'gpt-4o-mini',
  tools: [lookUpOrder],
})
const triage = Agent.create({
  name: 'Triage',
  instructions: 'You find the right colleague.',
  model: 'gpt-4o-mini',
  handoffs: [refunds],
})

const result = await run(triage, 'I want my money back for order 1182.')
console.log(`${result.lastAgent?.name}: ${String(result.finalOutput)}`)
