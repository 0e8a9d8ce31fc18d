/** `retake/langchain`: names for the steps of LangChain agents and LangGraph graphs. */
export { nameSteps } from './name-steps.js'
export { nameTools } from './name-tools.js'
