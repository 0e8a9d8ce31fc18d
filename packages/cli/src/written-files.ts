import { readdirSync, statSync } from 'node:fs'
import path from 'node:path'

/** Folders of tools, where programs do not store their data. */
const SKIPPED = new Set(['node_modules', '__pycache__', 'venv', 'target', 'dist', 'build'])

/** Limits the search, so that it is fast in a project of any size. */
const ENTRIES_MAX = 20_000

/**
 * Files in a folder that were written since a moment, as paths relative to it. Hidden folders
 * and those of tools are left out, and so is everything after the first 20,000 entries.
 */
export function writtenFiles(folder: string, sinceMs: number): string[] {
  const written: string[] = []
  const folders = ['']
  let entries = 0
  for (const below of folders) {
    for (const entry of readFolder(path.join(folder, below))) {
      if (++entries > ENTRIES_MAX) return written
      const name = path.join(below, entry.name)
      if (entry.isDirectory() && !SKIPPED.has(entry.name) && !entry.name.startsWith('.'))
        folders.push(name)
      else if (entry.isFile() && wasWritten(path.join(folder, name), sinceMs)) written.push(name)
    }
  }
  return written
}

function readFolder(folder: string): ReturnType<typeof list> {
  try {
    return list(folder)
  } catch {
    return []
  }
}

const list = (folder: string) => readdirSync(folder, { withFileTypes: true })

function wasWritten(file: string, sinceMs: number): boolean {
  const { mtimeMs } = statSync(file, { throwIfNoEntry: false }) ?? { mtimeMs: 0 }
  return mtimeMs >= sinceMs
}
