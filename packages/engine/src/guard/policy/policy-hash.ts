import { createHash } from 'node:crypto'
import path from 'node:path'
import { stableStringify, toWire } from '@retake/tape'
import type { Policy } from './policy.js'

/**
 * The first 16 hex digits of a sha256 over policies as data. It is the same whatever
 * the order of keys and wherever the project lies: paths below the working directory
 * count as relative ones.
 */
export function policyHash(policies: readonly Policy[], folder = process.cwd()): string {
  const portable = JSON.stringify(toWire(policies), (_, value: unknown) => {
    if (typeof value === 'string') return portablePath(value, folder)
    return isUndefined(value) ? undefined : value
  })
  return createHash('sha256')
    .update(stableStringify(JSON.parse(portable)))
    .digest('hex')
    .slice(0, 16)
}

/** What is set to undefined is not set. */
const isUndefined = (wire: unknown): boolean =>
  typeof wire === 'object' && wire !== null && '$' in wire && wire.$ === 'undefined'

function portablePath(text: string, folder: string): string {
  if (text === folder) return '.'
  if (!text.startsWith(folder)) return text
  const rest = text.slice(folder.length)
  const isBelow = folder.endsWith(path.sep) || rest.startsWith(path.sep) || rest.startsWith('/')
  if (!isBelow) return text
  const relative = rest.replace(/^[/\\]+/, '').replaceAll(path.sep, '/')
  return relative === '' ? '.' : relative
}
