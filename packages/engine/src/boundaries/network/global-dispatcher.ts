import { outsideRuns } from '../../kernel/scope.js'
import type { Undo } from '../patching/patch.js'

export type Dispatcher = NonNullable<RequestInit['dispatcher']>

/** In stack traces: the file of Node's own fetch, WebSocket and EventSource. */
export const NODES_UNDICI = 'node:internal/deps/undici'

/** Node's fetch and every copy of the npm package undici share their dispatcher here. */
const KEYS = [Symbol.for('undici.globalDispatcher.2'), Symbol.for('undici.globalDispatcher.1')]
const shared = globalThis as unknown as Record<symbol, Dispatcher | undefined>

export function globalDispatcher(): Dispatcher | undefined {
  for (const key of KEYS) if (shared[key] !== undefined) return shared[key]
  return undefined
}

export type AgentClass = new (options?: object) => Dispatcher

/** Node 22 and later load fetch with `node:http`, which is before this file. */
let nodesAgent = [globalDispatcher()?.constructor as AgentClass | undefined].find(isNodes)
const awaiting = new Set<(agent: AgentClass) => void>()

/** Calls `found` with the agent class of Node's own fetch, when that is loaded. */
export function whenNodesAgent(found: (agent: AgentClass) => void): Undo {
  if (nodesAgent !== undefined) found(nodesAgent)
  awaiting.add(found)
  return () => void awaiting.delete(found)
}

/** True for the agent class of Node itself; false for that of the npm package. */
function isNodes(Agent: AgentClass | undefined): boolean {
  if (Agent?.name !== 'Agent') return false
  let stack: unknown
  try {
    // Throws; only the stack of the error names the file of the class.
    Reflect.construct(Agent, [{ factory: 'not a function' }])
  } catch (error) {
    stack = (error as Error).stack
  }
  return String(stack).includes(NODES_UNDICI)
}

/** The property of a dispatcher that is stored with a symbol of this name. */
export function symbolProperty(dispatcher: object, name: string): unknown {
  const key = Object.getOwnPropertySymbols(dispatcher).find(
    ({ description }) => description === name,
  )
  return key && (dispatcher as Record<symbol, unknown>)[key]
}

/** The agent class of Node's own fetch. Undefined if fetch was loaded before Retake, or has not been used. */
export const nodesAgentClass = (): AgentClass | undefined => nodesAgent

/**
 * Loads Node's fetch, outside runs. It creates an agent only if there is no global dispatcher, so
 * the npm package's dispatcher is hidden in the meantime.
 */
export function loadNodesFetch<T>(load: () => T): T {
  if (nodesAgent !== undefined) return outsideRuns(load)
  const hidden = KEYS.flatMap((key) =>
    shared[key] === undefined ? [] : [[key, shared[key]] as const],
  )
  for (const [key] of hidden) Reflect.set(shared, key, undefined)
  try {
    const loaded = outsideRuns(load)
    const own = globalDispatcher()?.constructor
    if (own?.name === 'Agent') {
      nodesAgent = own as AgentClass
      for (const found of awaiting) found(nodesAgent)
    }
    return loaded
  } finally {
    for (const [key, dispatcher] of hidden) Reflect.set(shared, key, dispatcher)
  }
}
