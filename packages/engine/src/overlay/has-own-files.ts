import path from 'node:path'
import type { Tape } from '@retake/tape/format'
import { openOwnTape } from '@retake/tape/node'

/**
 * Whether what a run wrote went to an overlay: that of forks and reruns does, and
 * that of runs which resume one.
 */
export function hasOwnFiles({ details, run, path: file }: Tape): boolean {
  if (details.branch === undefined || run.parent === undefined) return false
  if (details.branch.kind !== 'resume') return true
  const parent = path.join(path.dirname(file), `${run.parent.run}.tape`)
  return hasOwnFiles(openOwnTape(parent))
}
