import { within } from '@retake/engine'
import { requireAiSdk } from './supported.js'

/** An agent of the AI SDK, such as `ToolLoopAgent`. */
export interface NamedAgent {
  readonly id?: string | undefined
  generate(...args: never[]): unknown
  stream(...args: never[]): unknown
}

/**
 * The same agent; steps of its calls carry its name, which is its id unless one
 * is given. What its tools do is told apart by `retakeTelemetry` and
 * `retakeTracer`, not by this.
 */
export function named<A extends NamedAgent>(agent: A, name = agent.id ?? 'agent'): A {
  requireAiSdk()
  return new Proxy(agent, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target)
      if ((key !== 'generate' && key !== 'stream') || typeof value !== 'function') return value
      return (...args: unknown[]): unknown =>
        within({ kind: 'agent', name }, () => Reflect.apply(value, target, args) as unknown)
    },
  })
}
