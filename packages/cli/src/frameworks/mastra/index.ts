/** `retake/mastra`: names for the steps of Mastra's agents and workflows. */
export { nameAgent } from './name-config.js'
export type { MastraAgent } from './name-config.js'
export { nameConfig } from './name-config.js'
export type { MastraConfig } from './name-config.js'
