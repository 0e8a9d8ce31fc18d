import type { RunView } from '../read-model/run-view.js'
import { isRecord } from '../format/values/json-shape.js'
import { diffJson, type ValueDiff } from './json-diff.js'

/** A tool that both servers offer, with its changes: description, input schema, annotations. */
export interface ChangedTool {
  readonly name: string
  /** Paths relative to the tool: `description`, `inputSchema.properties.query.type`. */
  readonly fields: readonly ValueDiff[]
}

/** Differences between the tools that one MCP server offers in two runs. */
export interface ToolListDiff {
  readonly server: string
  readonly added: readonly string[]
  readonly removed: readonly string[]
  readonly changed: readonly ChangedTool[]
}

/**
 * Compares the tools of servers with the same name in two runs, by their last `tools/list`. Ignores
 * order. A server in only one run is not reported here, but its steps are.
 */
export const diffToolLists = (a: RunView, b: RunView): ToolListDiff[] => {
  const others = toolLists(b)
  return [...toolLists(a)].flatMap(([server, left]) => {
    const right = others.get(server)
    if (right === undefined) return []
    const added = [...right.keys()].filter((name) => !left.has(name))
    const removed = [...left.keys()].filter((name) => !right.has(name))
    const changed = [...left.keys()]
      .filter((name) => right.has(name))
      .map((name) => ({ name, fields: diffJson(left.get(name), right.get(name)) }))
      .filter(({ fields }) => fields.length > 0)
    const isSame = added.length === 0 && removed.length === 0 && changed.length === 0
    return isSame ? [] : [{ server, added, removed, changed }]
  })
}

/** The last list of each server, by name. Pages of one list are joined. */
const toolLists = (view: RunView): Map<string, ReadonlyMap<string, unknown>> => {
  const lists = new Map<string, Map<string, unknown>>()
  for (const step of view.recordedSteps) {
    if (step.kind !== 'mcp') continue
    const { method, server = 'server', params, result } = step.mcp() ?? {}
    if (method !== 'tools/list' || !isRecord(result)) continue
    const isNextPage = isRecord(params) && params['cursor'] !== undefined
    const list = (isNextPage ? lists.get(server) : undefined) ?? new Map<string, unknown>()
    for (const [name, tool] of toolsByName(result['tools'])) list.set(name, tool)
    lists.set(server, list)
  }
  return lists
}

/** Tools of a list by name; the name is removed from the value. */
export const toolsByName = (tools: unknown): [name: string, tool: unknown][] =>
  (Array.isArray(tools) ? (tools as unknown[]) : []).filter(isRecord).map((tool) => {
    const { name, ...rest } = tool
    return [String(name), rest]
  })
