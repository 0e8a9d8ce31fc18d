import type { RecordedError } from '@retake/tape'

/** Maximum number of causes and frames to search. */
const CAUSES = 8
const FRAMES = 100

export interface PrintedFrame {
  readonly text: string
  readonly site: string | undefined
  readonly isOwn: boolean
}

const LOCATION = /\(?((?:file:\/\/)?(?:\/|[A-Za-z]:[\\/])[^()]*:\d+:\d+|node:[^()]*:\d+:\d+)\)?$/

export const stackFrames = (stack: string): PrintedFrame[] =>
  stack
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.startsWith('at '))
    .map((line) => {
      const found = LOCATION.exec(line)?.[1]
      const site = found?.startsWith('file://') ? pathOf(found) : found
      const isOwn = site !== undefined && !/^node:|[\\/]node_modules[\\/]/.test(site)
      return { text: line.slice(3), site: site?.startsWith('node:') ? undefined : site, isOwn }
    })

/**
 * The first location of the agent's own code in the stack of an error or its causes, as
 * `file:line:column`; undefined if there is none.
 */
export function siteInStack(error: RecordedError | undefined): string | undefined {
  for (let at = error, depth = 0; at !== undefined && depth < CAUSES; at = at.cause, depth++) {
    const stack = typeof at.stack === 'string' ? at.stack.slice(0, 100_000) : ''
    const own = stackFrames(stack)
      .slice(0, FRAMES)
      .find(({ isOwn }) => isOwn)
    if (own !== undefined) return own.site
  }
  return undefined
}

/** The path of a `file:` URL, in the notation of the platform that recorded it. */
export function pathOf(url: string): string {
  const path = url.slice('file://'.length).replace(/^\/([A-Za-z]:)/, '$1')
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
