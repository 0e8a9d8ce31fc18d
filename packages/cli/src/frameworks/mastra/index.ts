/** `retake/mastra`: names for the steps of Mastra's agents and workflows. */
export { nameAgent } from './name-agent.js'
export type { MastraAgent } from './name-agent.js'
export { nameConfig } from './name-config.js'
export type { MastraConfig } from './name-config.js'
