import { placeText, type ArgumentPath } from './argument-path.js'
import { eachLeaf, type TaintSource, type TaintTracker } from './taint-tracker.js'

/** Untrusted text among the arguments. */
export interface TaintFound {
  /** Where, as people read it. */
  readonly at: string
  readonly text: string
  /** Missing when more untrusted text came in than can be followed. */
  readonly source: TaintSource | undefined
}

/** Looks for untrusted text at these paths, or everywhere when there are none. */
export function taintIn(
  args: unknown,
  paths: readonly ArgumentPath[],
  tracker: TaintTracker,
): TaintFound | undefined {
  const look = (value: unknown, at: readonly (string | number)[]): TaintFound | undefined =>
    eachLeaf(value, (text) => {
      const source = tracker.find(text)
      if (source !== undefined) return { at: placeText(at), text, source }
      return tracker.isFull && text.length >= tracker.minLength
        ? { at: placeText(at), text, source: undefined }
        : undefined
    })
  if (paths.length > 0) {
    for (const path of paths) {
      const found = path.each(args, look)
      if (found !== undefined) return found
    }
    return undefined
  }
  if (!isOpen(args)) return look(args, [])
  const entries: Iterable<[unknown, unknown]> = args instanceof Map ? args : Object.entries(args)
  for (const [key, value] of entries) {
    const found = look(value, [String(key)]) ?? look(key, [String(key)])
    if (found !== undefined) return found
  }
  return undefined
}

/** Whether each member has a place of its own that can be told. */
const isOpen = (args: unknown): args is object =>
  typeof args === 'object' &&
  args !== null &&
  (Array.isArray(args) || args instanceof Map || Object.getPrototypeOf(args) === Object.prototype)
