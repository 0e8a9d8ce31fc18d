import { existsSync } from 'node:fs'
import path from 'node:path'

/** The folder of the nearest package.json at or above a file; the folder of the file when there is none. */
export function projectRoot(file: string): string {
  const start = path.dirname(path.resolve(file))
  for (let folder = start; ; folder = path.dirname(folder)) {
    if (existsSync(path.join(folder, 'package.json'))) return folder
    if (path.dirname(folder) === folder) return start
  }
}
