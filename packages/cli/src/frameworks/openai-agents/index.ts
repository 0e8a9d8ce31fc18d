/** `retake/openai-agents`: names for the steps of the OpenAI Agents SDK. */
export { nameSteps } from './name-steps.js'
export type { AgentsContext, AgentsSpan } from './name-steps.js'
