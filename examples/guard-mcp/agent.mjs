import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import OpenAI from 'openai'
import { guard } from 'retake'
import { guardTools } from 'retake/mcp'

/** A support agent whose tools are those of an MCP server: it may search, and publish nothing. */
const run = guard({
  name: 'support',
  policy: { name: 'reader', default: 'deny', rules: [{ allow: 'search_*' }] },
})
const docs = guardTools(run, new Client({ name: 'support', version: '1.0.0' }))
const server = fileURLToPath(new URL('server.mjs', import.meta.url))
await docs.connect(new StdioClientTransport({ command: process.execPath, args: [server] }))

const openai = new OpenAI()
const tools = (await docs.listTools()).tools.map(({ name, description, inputSchema }) => ({
  type: 'function',
  function: { name, description, parameters: inputSchema },
}))
const messages = [{ role: 'user', content: 'What is said about refunds? Publish it.' }]

for (;;) {
  const { choices } = await openai.chat.completions.create({
    model: 'gpt-4o-mini',
    messages,
    tools,
  })
  const { message } = choices[0]
  messages.push(message)
  if (!message.tool_calls?.length) {
    console.log(message.content)
    break
  }
  for (const call of message.tool_calls) {
    const { name, arguments: text } = call.function
    const { content, isError } = await docs.callTool({ name, arguments: JSON.parse(text) })
    console.log(`${name}(${text}) ${isError ? 'failed' : '→'} ${content[0].text}`)
    messages.push({ role: 'tool', tool_call_id: call.id, content: content[0].text })
  }
}
await docs.close()
