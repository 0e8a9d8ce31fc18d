import { existsSync } from 'node:fs'
import path from 'node:path'
import type { MovedRoot } from '@retake/engine'
import type { Tape } from '@retake/tape'

/**
 * A tape that was recorded in a folder that this machine does not have, in
 * another checkout: if its program is here, seen from the working directory, it
 * is run here.
 */
export function movedHere({ details: { cwd, entry } }: Tape): MovedRoot | undefined {
  if (cwd === undefined || entry === undefined || existsSync(cwd)) return undefined
  const current = process.cwd()
  const here = path.resolve(current, path.relative(cwd, path.resolve(cwd, entry)))
  return existsSync(here) ? { recorded: cwd, current } : undefined
}
