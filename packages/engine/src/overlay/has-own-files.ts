import path from 'node:path'
import type { Tape } from '@retake/tape/format'
import { openOwnTape } from '@retake/tape/node'

/** True if the writes of a run went to an overlay: forks, reruns, and runs that resume one. */
export function hasOwnFiles({ details, run, path: file }: Tape): boolean {
  if (details.branch === undefined || run.parent === undefined) return false
  if (details.branch.kind !== 'resume') return true
  const parent = path.join(path.dirname(file), `${run.parent.run}.tape`)
  return hasOwnFiles(openOwnTape(parent))
}
