// Asks a server a little: `MCP_GENERATION` and `MCP_SERVER` say how and whom.
import { connect } from './connect.mjs'

const client = await connect(process.env.MCP_GENERATION, process.env.MCP_SERVER)
const { content } = await client.callTool({ name: 'search_docs', arguments: { query: 'refunds' } })
console.log(content[0].text)
await client.close()
