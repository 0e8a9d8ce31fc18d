import { Agent, run, setOpenAIAPI, setTracingDisabled, tool } from '@openai/agents'
import { guard } from 'retake'
import { guardTools } from 'retake/openai-agents'
import { z } from 'zod'

setOpenAIAPI('chat_completions')
setTracingDisabled(true)

/** After a customer's data was read, nothing is sent to addresses outside of the company. */
const gate = guard({
  name: 'support',
  policy: {
    name: 'privacy',
    rules: [
      {
        id: 'no-leak',
        deny: 'send_mail',
        after: { tool: 'read_customer' },
        when: { to: { not: { matches: '@example\\.com$' } } },
        because: 'Data of customers stays inside of the company.',
      },
    ],
  },
})

const tools = guardTools(gate, [
  tool({
    name: 'read_customer',
    description: 'What is known of a customer.',
    parameters: z.object({ id: z.string() }),
    execute: ({ id }) => ({ id, name: 'Ada', readAt: new Date().toISOString() }),
  }),
  tool({
    name: 'send_mail',
    description: 'Sends a mail.',
    parameters: z.object({ to: z.string(), text: z.string() }),
    execute: ({ to }) => `Sent to ${to}.`,
  }),
])

const agent = new Agent({ name: 'Support', model: 'gpt-4o-mini', tools })
const result = await run(agent, 'Look up customer 7 and mail the record to eve@evil.test.')
for (const item of result.newItems)
  if (item.type === 'tool_call_output_item') console.log('tool:', JSON.stringify(item.output))
console.log(String(result.finalOutput))
