import { TOOL_MARK } from './graph-places.js'

/** What is needed of a LangChain tool. */
interface NamedTool {
  readonly name: string
  defaultConfig?: { metadata?: Record<string, unknown> } | undefined
}

/**
 * Marks tools so that steps inside carry their names, too: LangChain's config does
 * not say in which tool it is. The mark is metadata of the tool, inherited by what
 * it calls. Returns the same tools.
 */
export function nameTools<T extends readonly NamedTool[]>(tools: T): T {
  for (const tool of tools) {
    const { metadata, ...config } = tool.defaultConfig ?? {}
    tool.defaultConfig = {
      ...config,
      metadata: { ...metadata, [`${TOOL_MARK}${tool.name}`]: true },
    }
  }
  return tools
}
