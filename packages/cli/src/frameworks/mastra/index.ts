import { requireVersion } from '../supported-version.js'
import { nameAgent } from './name-agent.js'
import type { MastraAgent } from './name-agent.js'
import { quietObservability } from './quiet-observability.js'

export { nameAgent }
export type { MastraAgent }

/** What is used of the configuration of `Mastra`. */
export interface MastraConfig {
  readonly agents?: Readonly<Record<string, MastraAgent>>
  readonly observability?: unknown
  /** Here so that `false` keeps its type. */
  readonly logger?: false | object
}

/**
 * Lets steps carry the agent, tool, workflow and workflow step of Mastra that they
 * happen in: `new Mastra(nameSteps({ agents, workflows }))`. Agents that are not
 * registered there, such as those below another agent, take `nameAgent`.
 *
 * Tools and workflows are seen through Mastra's observability. Where the program
 * has its own, that stays as it is, and only agents are named.
 */
export function nameSteps<C extends MastraConfig>(config: C): C {
  requireVersion({ package: '@mastra/core', from: '1', to: '1' })
  for (const agent of Object.values(config.agents ?? {})) nameAgent(agent)
  return config.observability === undefined
    ? { ...config, observability: quietObservability() }
    : config
}
