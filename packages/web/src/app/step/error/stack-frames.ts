/** One line of a stack that names a place. */
export interface StackFrame {
  readonly text: string
  /** `file:line:column`, where it can be read. */
  readonly site: string | undefined
  /** Neither of Node nor of a package: the user's own code. */
  readonly isOwn: boolean
}

const PLACE = /\(?((?:file:\/\/)?(?:\/|[A-Za-z]:[\\/])[^()]*:\d+:\d+|node:[^()]*:\d+:\d+)\)?$/

/** The frames of a stack; the message above them is left out. */
export function stackFrames(stack: string): StackFrame[] {
  return stack
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.startsWith('at '))
    .map((line) => {
      const found = PLACE.exec(line)?.[1]
      const site = found?.startsWith('node:') ? undefined : found?.replace(/^file:\/\//, '')
      const isOwn = site !== undefined && !/[\\/]node_modules[\\/]/.test(site)
      return { text: line.slice(3), site, isOwn }
    })
}
