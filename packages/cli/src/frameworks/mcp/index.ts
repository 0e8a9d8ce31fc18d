/** `retake/mcp`: names for the steps, and a guard for the tools, of MCP clients, of both generations of the SDK. */
export { guardTools } from './guard-tools.js'
export type { GuardToolsOptions } from '../../guard/framework-tool.js'
export { nameMcpClient } from './guard-tools.js'
export type { McpClient } from './guard-tools.js'
