import { rebuildError, recordError } from '@retake/tape/format'
import { OWN_PREFIXES } from '../call-site.js'

const CONTEXT = /\(node:(?:async_hooks|internal\/async_local_storage)/

/** About the number of frames between the agent's call and Node's function. */
export const OWN_FRAMES = 18

/**
 * An error as the agent gets it while recording: such that the one rebuilt on
 * replay looks the same, whole and in print.
 */
export function repeatable(error: unknown, changeStack: (stack: string) => string): unknown {
  if (!(error instanceof Error)) return error
  // Node's system errors compute their properties; rebuilt ones hold them.
  const settled = hasGetters(error) ? (rebuildError(recordError(error)) as Error) : error
  if (typeof settled.stack === 'string') {
    Object.defineProperty(settled, 'stack', {
      value: changeStack(settled.stack),
      writable: true,
      configurable: true,
    })
  }
  return settled
}

function hasGetters(error: Error): boolean {
  return Object.entries(Object.getOwnPropertyDescriptors(error)).some(
    ([key, { get }]) => key !== 'stack' && get !== undefined,
  )
}

/** What a plain Node would show: neither Retake nor the way through its async context. */
export function withoutOwnFrames(stack: string, limit: number): string {
  let frames = 0
  const ownLines = stack.split('\n').filter((line) => {
    if (!line.startsWith('    at ')) return true
    if (CONTEXT.test(line) || OWN_PREFIXES.some((own) => line.includes(own))) return false
    frames += 1
    return frames <= limit
  })
  return ownLines.join('\n')
}

/** An error that comes from the thread pool has no stack: it gets the line that asked. */
export function withSite(stack: string, site: string | undefined): string {
  return site === undefined || stack.includes('\n    at ')
    ? stack
    : `${stack}\n    at async ${site}`
}
