import type { Denial } from '../guard-error.js'
import { guardErrors } from '../guard-errors.js'

/** What a tool is told that goes on after its call; the same words each time. */
export function callOver(tool: string): Denial {
  const known = told.get(tool)
  if (known !== undefined) return known
  if (told.size >= TOLD_MAX) told.clear()
  const denial = guardErrors.callOver(tool)
  told.set(tool, denial)
  return denial
}

const TOLD_MAX = 1000
const told = new Map<string, Denial>()
