/** `retake/mcp`: names for the steps of MCP clients, of both generations of the SDK. */
export { nameMcpClient } from './name-mcp-client.js'
export type { McpClient } from './name-mcp-client.js'
