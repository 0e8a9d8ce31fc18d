/**
 * Whether a model means this tool. Clients put the name of the server before the
 * names of its tools: `docs__search`, `mcp__docs__search`, `docs.search`.
 */
export const isSameTool = (called: string, tool: string): boolean =>
  called === tool ||
  (tool !== '' && called.endsWith(tool) && /[_.:/-]$/.test(called.slice(0, -tool.length)))
