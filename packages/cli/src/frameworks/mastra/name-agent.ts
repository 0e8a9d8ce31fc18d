import { within } from '@retake/engine'

/** What is used of an agent of Mastra. */
export interface MastraAgent {
  readonly id: string
  readonly name?: string
}

/** Calls of an agent that may ask a model. */
const CALLS = ['generate', 'stream', 'network', 'resumeGenerate', 'resumeStream', 'resumeNetwork']

/**
 * Lets the steps of an agent carry its name. Changes the agent itself and hands
 * it back: `const helper = nameAgent(new Agent({ … }))`.
 */
export function nameAgent<A extends MastraAgent>(agent: A): A {
  const place = { kind: 'agent', name: agent.name ?? agent.id } as const
  for (const call of CALLS) {
    const original: unknown = Reflect.get(agent, call)
    if (typeof original !== 'function' || Object.hasOwn(agent, call)) continue
    Object.defineProperty(agent, call, {
      value: (...args: unknown[]): unknown =>
        within(place, () => Reflect.apply(original, agent, args) as unknown),
      configurable: true,
      writable: true,
    })
  }
  return agent
}
