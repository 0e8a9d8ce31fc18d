import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { z } from 'zod'

const server = new McpServer({ name: 'dice', version: '0.1.0' })
server.registerTool(
  'roll',
  { description: 'Rolls a die', inputSchema: { sides: z.number() } },
  ({ sides }) => ({
    content: [{ type: 'text', text: `rolled ${Math.ceil(Math.random() * sides)}` }],
  }),
)
await server.connect(new StdioServerTransport())
