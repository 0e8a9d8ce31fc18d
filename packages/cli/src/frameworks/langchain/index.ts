/** `retake/langchain`: names for the steps, and a guard for the tools, of LangChain agents and LangGraph graphs. */
export { guardTools } from './guard-tools.js'
export type { GuardToolsOptions } from '../../guard/guard-tools-options.js'
export { nameSteps } from './name-steps.js'
export { nameTools } from './name-tools.js'
