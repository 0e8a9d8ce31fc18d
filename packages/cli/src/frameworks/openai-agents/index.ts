/** `retake/openai-agents`: names for the steps, and a guard for the tools, of the OpenAI Agents SDK. */
export { guardTools } from './guard-tools.js'
export type { GuardToolsOptions } from '../../guard/framework-tool.js'
export { nameSteps } from './guard-tools.js'
export type { AgentsContext, AgentsSpan } from './guard-tools.js'
