/** `retake/mcp`: names for the steps, and a guard for the tools, of MCP clients, of both generations of the SDK. */
export { guardTools } from './guard-tools.js'
export type { GuardToolsOptions } from '../../guard/guard-tools-options.js'
export { nameMcpClient } from './name-mcp-client.js'
export type { McpClient } from './name-mcp-client.js'
