import type { Mismatch } from '../signature.js'

const MOST = 20

/**
 * Where two bodies differ, in the reader's terms: paths when both are JSON,
 * lines when both are text, else sizes. At most twenty places.
 */
export function bodyMismatches(recorded: Uint8Array, current: Uint8Array): Mismatch[] {
  const before = readable(recorded)
  const now = readable(current)
  if (before === undefined || now === undefined) {
    return [
      {
        field: 'body',
        recorded: `${recorded.length} bytes`,
        current: `${current.length} other bytes`,
      },
    ]
  }
  const found: Mismatch[] = []
  try {
    compareJson('body', JSON.parse(before), JSON.parse(now), found)
  } catch {
    compareLines(before, now, found)
  }
  if (found.length === 0) found.push({ field: 'body', recorded: before, current: now })
  return found
}

function readable(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

function compareJson(path: string, recorded: unknown, current: unknown, found: Mismatch[]): void {
  if (found.length >= MOST || Object.is(recorded, current)) return
  if (
    !isContainer(recorded) ||
    !isContainer(current) ||
    Array.isArray(recorded) !== Array.isArray(current)
  ) {
    found.push({ field: path, recorded, current })
    return
  }
  for (const key of new Set([...Object.keys(recorded), ...Object.keys(current)])) {
    const inner = Array.isArray(recorded) ? `${path}[${key}]` : `${path}.${key}`
    compareJson(inner, recorded[key], current[key], found)
  }
}

const isContainer = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null

function compareLines(recorded: string, current: string, found: Mismatch[]): void {
  const before = recorded.split('\n')
  const now = current.split('\n')
  const length = Math.max(before.length, now.length)
  for (let line = 0; line < length && found.length < MOST; line += 1) {
    if (before[line] !== now[line]) {
      found.push({ field: `line ${line + 1}`, recorded: before[line], current: now[line] })
    }
  }
}
