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
  const wire = stableStringify(toWire(portable(policies, folder)))
  return createHash('sha256').update(wire).digest('hex').slice(0, 16)
}

/** A copy whose objects are plain and whose paths are relative. What is set to undefined is not set. */
function portable(data: unknown, folder: string): unknown {
  if (typeof data === 'string') return portablePath(data, folder)
  if (Array.isArray(data)) return data.map((each) => portable(each, folder))
  if (typeof data !== 'object' || data === null) return data
  const prototype: unknown = Object.getPrototypeOf(data)
  if (prototype !== null && prototype !== Object.prototype) return data
  return Object.fromEntries(
    Object.entries(data)
      .filter(([, value]) => value !== undefined)
      .map(([key, value]) => [key, portable(value, folder)]),
  )
}

function portablePath(text: string, folder: string): string {
  if (text === folder) return '.'
  if (!text.startsWith(folder)) return text
  const rest = text.slice(folder.length)
  const isBelow = folder.endsWith(path.sep) || rest.startsWith(path.sep) || rest.startsWith('/')
  if (!isBelow) return text
  const relative = rest.replace(/^[/\\]+/, '').replaceAll(path.sep, '/')
  return relative === '' ? '.' : relative
}
