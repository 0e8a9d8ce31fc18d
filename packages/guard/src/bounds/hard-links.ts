import path from 'node:path'
import type { Dirent, Stats } from 'node:fs'
import { disk, outsideRuns } from '@retake/engine/hook'
import { statOf } from './resolve-path.js'

/** How many entries are looked at before a search is given up. */
const ENTRIES = 20_000

/**
 * True if a file may have a name outside of these folders. A file with two names
 * is one file: through the name inside, what is outside would be read and changed. Only
 * when every one of its names is found inside is it certain that nothing outside is touched.
 */
export function mayHaveNameOutside(file: Stats, folders: readonly string[]): boolean {
  if (!file.isFile() || file.nlink <= 1) return false
  if (folders.includes(path.parse(process.cwd()).root)) return false
  let names = file.nlink
  let left = ENTRIES
  const pending = [...new Set(folders)].filter(
    (folder, _, all) =>
      !all.some((other) => other !== folder && folder.startsWith(other + path.sep)),
  )
  for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
    for (const entry of listOf(folder)) {
      left -= 1
      if (left < 0) return true
      const location = path.join(folder, entry.name)
      if (entry.isDirectory()) pending.push(location)
      else if (entry.isFile() && isSame(statOf(location), file)) names -= 1
      if (names === 0) return false
    }
  }
  return true
}

const isSame = (one: Stats | undefined, other: Stats): boolean =>
  one !== undefined && one.ino === other.ino && one.dev === other.dev

function listOf(folder: string): Dirent[] {
  try {
    return outsideRuns(() => disk.readdirSync(folder, { withFileTypes: true }))
  } catch {
    return []
  }
}
