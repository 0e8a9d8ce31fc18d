import type { RecordedError } from '@retake/tape'

/** Maximum number of causes searched for a location in the agent's code. */
const CAUSES = 8
const FRAMES = 100

/**
 * The first location of the agent's own code in a stack, as `file:line:column`; undefined if
 * there is none. An error of Node itself has none, but its cause may.
 */
export function siteInStack(error: RecordedError | undefined): string | undefined {
  for (let at = error, depth = 0; at !== undefined && depth < CAUSES; at = at.cause, depth++) {
    const site = firstUserFrame(typeof at.stack === 'string' ? at.stack : '')
    if (site !== undefined) return site
  }
  return undefined
}

function firstUserFrame(stack: string): string | undefined {
  for (const line of stack.slice(0, 100_000).split('\n').slice(0, FRAMES)) {
    const site = siteIn(line)
    if (site !== undefined) return site
  }
  return undefined
}

/** `    at Agent.run (file:///app/agent.ts:12:5)`, `    at async /app/agent.ts:12:5`. */
function siteIn(line: string): string | undefined {
  const [, location] = /^\s*at (?:.*\()?((?:file:\/\/)?[^()]+:\d+:\d+)\)?\s*$/.exec(line) ?? []
  const site = location?.replace(/^async /, '')
  if (site === undefined || /^node:|[/\\]node_modules[/\\]|^<|^eval /.test(site)) return undefined
  return site.startsWith('file://') ? pathOf(site) : site
}

/** The path of a `file:` URL, in the notation of its platform. */
export function pathOf(url: string): string {
  const path = url.slice('file://'.length).replace(/^\/([A-Za-z]:)/, '$1')
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
