import { within } from '@retake/engine'
import { wrapCalls } from '../wrap-calls.js'
import { requireMastra } from './supported.js'

/** What is used of an agent of Mastra. */
export interface MastraAgent {
  readonly id: string
  readonly name?: string
}

/** Calls of an agent that may ask a model. */
const CALLS = ['generate', 'stream', 'network', 'resumeGenerate', 'resumeStream', 'resumeNetwork']

/**
 * Lets the steps of an agent carry its name, which is its own unless one is given.
 * Changes the agent itself and hands it back: `const helper = nameAgent(new Agent({ … }))`.
 */
export function nameAgent<A extends MastraAgent>(agent: A, name = agent.name ?? agent.id): A {
  requireMastra()
  wrapCalls(agent, CALLS, (call) => within({ kind: 'agent', name }, call))
  return agent
}
