import { within } from '@retake/engine'
import { wrapCalls } from '../wrap-calls.js'
import { requireAiSdk } from './supported.js'

/** An agent of the AI SDK, such as `ToolLoopAgent`. */
export interface AiSdkAgent {
  readonly id?: string | undefined
  generate(...args: never[]): unknown
  stream(...args: never[]): unknown
}

/**
 * Lets the steps of an agent carry its name, which is its id unless one is given.
 * Changes the agent itself and hands it back. What its tools do is told apart by
 * `retakeTelemetry` and `retakeTracer`, not by this.
 */
export function nameAgent<A extends AiSdkAgent>(agent: A, name = agent.id ?? 'agent'): A {
  requireAiSdk()
  wrapCalls(agent, ['generate', 'stream'], (call) => within({ kind: 'agent', name }, call))
  return agent
}
