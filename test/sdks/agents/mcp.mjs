// A client of the first MCP SDK generation: over stdio, or over streamable HTTP when AGENT_MCP_URL says where.
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

const { AGENT_MCP_URL: url } = process.env
const server = fileURLToPath(new URL('mcp-server.mjs', import.meta.url))
const transport = url
  ? new StreamableHTTPClientTransport(new URL(url))
  : new StdioClientTransport({ command: process.execPath, args: [server] })

const client = new Client({ name: 'agent', version: '1.0.0' })
await client.connect(transport)
const { tools } = await client.listTools()
console.log(tools.map(({ name, description }) => `${name}: ${description}`))
for (const id of ['1182', '1183']) {
  const { content } = await client.callTool({ name: 'find_order', arguments: { id } })
  console.log(Date.now(), content)
}
const both = await Promise.all(
  ['7', '8'].map((id) => client.callTool({ name: 'find_order', arguments: { id } })),
)
console.log(both.map(({ content }) => content[0].text))
console.log(await client.callTool({ name: 'no_such_tool', arguments: {} }).catch(String))
if (url) await transport.terminateSession()
await client.close()
