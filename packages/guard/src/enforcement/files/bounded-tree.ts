import path from 'node:path'
import { disk, outsideRuns } from '@retake/engine/hook'
import { lookAt } from '../../bounds/resolve-place.js'
import type { AskedBounds } from './asked-bounds.js'

/**
 * Asks about all that `cp` may read and write: every file below the source, where links in
 * it lead, and the place that each gets. Something that is put there while it copies is not seen.
 */
export function askTree(asked: AskedBounds, from: string, to: string): void {
  const pending: [from: string, to: string][] = [[from, to]]
  for (let pair = pending.pop(); pair !== undefined; pair = pending.pop()) {
    const [source, target] = pair
    asked.ask('read', source)
    asked.ask('write', target)
    const stats = lookAt(source)
    // The copy is a link to the same place.
    if (stats?.isSymbolicLink() === true) asked.ask('write', source)
    if (stats?.isDirectory() !== true) continue
    for (const name of outsideRuns(() => disk.readdirSync(source)))
      pending.push([path.join(source, name), path.join(target, name)])
  }
}
