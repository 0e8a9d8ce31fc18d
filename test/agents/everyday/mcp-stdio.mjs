import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { ask } from './model.mjs'

const client = new Client({ name: 'agent', version: '0.1.0' })
await client.connect(
  new StdioClientTransport({ command: process.execPath, args: ['mcp-server.mjs'] }),
)
console.log((await client.listTools()).tools.map(({ name }) => name))
const { content } = await client.callTool({ name: 'roll', arguments: { sides: 6 } })
console.log(await ask(content[0].text))
await client.close()
