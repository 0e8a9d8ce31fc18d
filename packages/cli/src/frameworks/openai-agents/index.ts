/** `retake/openai-agents`: names for the steps, and a guard for the tools, of the OpenAI Agents SDK. */
export { guardTools } from './guard-tools.js'
export type { GuardToolsOptions } from '../../guard/guard-tools-options.js'
export { nameSteps } from './name-steps.js'
export type { AgentsContext, AgentsSpan } from './name-steps.js'
