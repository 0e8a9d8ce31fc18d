// The Claude Agent SDK with its real subprocess: a tool of Claude Code that this program allows,
// a tool of this program over MCP, a hook, and a sub-agent; then two queries at once.
import { createSdkMcpServer, query, tool } from '@anthropic-ai/claude-agent-sdk'
import { z } from 'zod'

// Replaced by the test where model calls are to be seen.
const { recordedClaude = (options) => options } = globalThis

const home = process.env.CLAUDE_HOME
const env = {
  PATH: process.env.PATH,
  HOME: home,
  ANTHROPIC_BASE_URL: process.env.AGENT_BASE_URL,
  ANTHROPIC_API_KEY: ['made', 'up', 'key'].join('-'),
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  DISABLE_TELEMETRY: '1',
  DISABLE_AUTOUPDATER: '1',
  DISABLE_ERROR_REPORTING: '1',
}
const findOrder = tool('find_order', 'finds an order', { id: z.string() }, async ({ id }) => ({
  content: [{ type: 'text', text: `order ${id} is on its way` }],
}))
async function logToolUse({ tool_name: name }) {
  console.log('will use', name, Math.random() < 2)
  return {}
}
const options = () =>
  recordedClaude({
    env,
    cwd: home,
    model: 'claude-sonnet-4-5',
    maxTurns: 5,
    settingSources: [],
    allowedTools: ['Agent', 'mcp__shop__find_order'],
    canUseTool: async (name, input) => {
      console.log('may use', name, input.command)
      return { behavior: 'allow', updatedInput: input }
    },
    hooks: { PreToolUse: [{ hooks: [logToolUse] }] },
    mcpServers: { shop: createSdkMcpServer({ name: 'shop', tools: [findOrder] }) },
    agents: {
      checker: { description: 'checks', prompt: 'You are the checker.', tools: ['Bash'] },
    },
  })

async function ask(prompt) {
  const said = []
  for await (const message of query({ prompt, options: options() })) {
    if (message.type !== 'assistant' && message.type !== 'result') continue
    if (message.type === 'result') said.push(`result ${message.result}`)
    else
      for (const { type, text, name } of message.message.content)
        said.push(`${type} ${text ?? name}`)
  }
  return said
}

console.log(await ask('say hello with bash'))
if (process.env.CLAUDE_STORY === 'short') process.exit(0)
console.log(await ask('find order 7'))
console.log(await ask('let the checker check'))
const both = await Promise.all([ask('say hello with bash'), ask('find order 8')])
for (const said of both) console.log(said)
