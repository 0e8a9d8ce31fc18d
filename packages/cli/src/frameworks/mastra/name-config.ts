import { nameAgent } from './name-agent.js'
import type { MastraAgent } from './name-agent.js'
import { quietObservability } from './quiet-observability.js'
import { requireMastra } from './supported.js'

/** What is used of the configuration of `Mastra`. */
export interface MastraConfig {
  readonly agents?: Readonly<Record<string, MastraAgent>>
  readonly observability?: unknown
  /** Here so that `false` keeps its type. */
  readonly logger?: false | object
}

/**
 * Lets steps carry the agent, tool, workflow and workflow step of Mastra that they
 * happen in: `new Mastra(nameConfig({ agents, workflows }))`. Agents that are not
 * registered there, such as those below another agent, take `nameAgent`.
 *
 * Tools and workflows are seen through Mastra's observability. Where the program
 * has its own, that stays as it is, and only agents are named.
 */
export function nameConfig<C extends MastraConfig>(config: C): C {
  requireMastra()
  for (const agent of Object.values(config.agents ?? {})) nameAgent(agent)
  return config.observability === undefined
    ? { ...config, observability: quietObservability() }
    : config
}
