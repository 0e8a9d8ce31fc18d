/** `retake/langchain`: names for the steps, and a guard for the tools, of LangChain agents and LangGraph graphs. */
export { guardTools } from './guard-tools.js'
export type { GuardToolsOptions } from '../../guard/framework-tool.js'
export { nameSteps } from './guard-tools.js'
export { nameTools } from './guard-tools.js'
