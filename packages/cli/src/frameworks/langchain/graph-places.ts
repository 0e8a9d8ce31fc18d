import type { Place } from '@retake/tape'

/** What a runnable's config says about where it runs; the part that is looked at. */
export interface WhereConfig {
  readonly metadata?: Readonly<Record<string, unknown>>
}

/** A place, and how many graphs deep it lies: agents outside the node they run, tools inside. */
interface Frame {
  readonly place: Place
  readonly depth: number
}

/** Where a runnable runs, with all that is around it. */
export interface GraphPlaces {
  /** Nodes from the outermost graph to the innermost, each as `name:task`. */
  readonly path: readonly string[]
  readonly frames: readonly Frame[]
}

export const NOWHERE: GraphPlaces = { path: [], frames: [] }

/** Metadata that marks a tool ends in its name, so that a tool inside a tool adds to it. */
export const TOOL_MARK = 'retake_tool:'

/**
 * Where a config leads, coming from `around`. LangGraph's own config names the
 * nodes of all graphs around it, but only the innermost agent, and does not say
 * inside which of the nodes a tool runs: that follows from where we come from.
 */
export function placesIn({ metadata = {} }: WhereConfig, around: GraphPlaces): GraphPlaces {
  const path = nodesOf(metadata['langgraph_checkpoint_ns'])
  const agent = metadata['lc_agent_name']
  const tools = Object.keys(metadata)
    .filter((key) => key.startsWith(TOOL_MARK))
    .map((key) => key.slice(TOOL_MARK.length))
  const shared = sharedLength(path, around.path)
  const kept = around.frames.filter(({ depth }) => depth <= shared)
  const frames = leaveOthers(kept, { agent, tools, depth: path.length })
  const isNewAgent = typeof agent === 'string' && lastOf('agent', frames) !== agent
  // The nodes of an agent lie directly in it, also where the agent itself is a node.
  const agentAt = Math.max(shared, path.length - 1)
  for (let index = shared; index <= path.length; index += 1) {
    if (isNewAgent && index === agentAt)
      frames.push({ place: { kind: 'agent', name: agent }, depth: index })
    const node = path[index]
    if (node !== undefined) frames.push({ place: placeOfNode(node), depth: index + 1 })
  }
  for (const name of tools)
    if (!frames.some(({ place }) => place.kind === 'tool' && place.name === name))
      frames.push({ place: { kind: 'tool', name }, depth: path.length })
  return { path, frames }
}

/**
 * Cuts off what the config is no longer inside of. A graph does not inherit the
 * metadata around it, so one that runs deeper than a tool need not mention it.
 */
function leaveOthers(
  frames: readonly Frame[],
  config: { readonly agent: unknown; readonly tools: readonly string[]; readonly depth: number },
): Frame[] {
  const { agent, tools } = config
  const isKnown = frames.some(({ place }) => place.kind === 'agent' && place.name === agent)
  const isLeft = ({ place, depth }: Frame, index: number): boolean =>
    (place.kind === 'tool' && depth === config.depth && !tools.includes(place.name)) ||
    (place.kind === 'agent' && place.name !== agent && isKnown && isAfter(agent, frames, index))
  const end = frames.findIndex(isLeft)
  return end < 0 ? [...frames] : frames.slice(0, end)
}

/** Whether the agent's last frame comes before this one. */
const isAfter = (agent: unknown, frames: readonly Frame[], index: number): boolean =>
  frames.findLastIndex(({ place }) => place.kind === 'agent' && place.name === agent) < index

const lastOf = (kind: Place['kind'], frames: readonly Frame[]): string | undefined =>
  frames.findLast(({ place }) => place.kind === kind)?.place.name

/** `tools:8f0c…|model_request:1b2d…`; a number between counts calls of one graph in one node. */
function nodesOf(namespace: unknown): string[] {
  if (typeof namespace !== 'string') return []
  return namespace.split('|').filter((part) => part !== '' && !/^\d+$/.test(part))
}

function placeOfNode(node: string): Place {
  const at = node.lastIndexOf(':')
  if (at < 0) return { kind: 'node', name: node }
  return { kind: 'node', name: node.slice(0, at), id: node.slice(at + 1, at + 9) }
}

function sharedLength(a: readonly string[], b: readonly string[]): number {
  const different = a.findIndex((part, index) => part !== b[index])
  return different < 0 ? a.length : different
}
