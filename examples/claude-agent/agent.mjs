import path from 'node:path'
import { createSdkMcpServer, query, tool } from '@anthropic-ai/claude-agent-sdk'
import { recordedClaude } from 'retake/claude-agent'
import { z } from 'zod'

/** Claude Code as an agent, with a tool of this program. */
const lookUpOrder = tool('look_up_order', 'The state of an order.', { id: z.string() }, ({ id }) =>
  Promise.resolve({ content: [{ type: 'text', text: `Order ${id} is on its way.` }] }),
)

const messages = query({
  prompt: 'Where is order 1182?',
  options: recordedClaude({
    model: 'claude-sonnet-4-5',
    maxTurns: 3,
    settingSources: [],
    allowedTools: ['mcp__shop__look_up_order'],
    mcpServers: { shop: createSdkMcpServer({ name: 'shop', tools: [lookUpOrder] }) },
    env: {
      ...process.env,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      // Its settings and transcripts stay out of your own.
      CLAUDE_CONFIG_DIR: path.resolve('.claude-example'),
    },
  }),
})
for await (const message of messages) {
  if (message.type === 'result') console.log(`${message.subtype}: ${message.result}`)
  if (message.type !== 'assistant') continue
  for (const part of message.message.content)
    if (part.type === 'tool_use') console.log(`${part.name}(${JSON.stringify(part.input)})`)
}
