import { readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { cliErrors } from '../errors.js'
import type { RunStore } from '../runs/run-store.js'

/** Throws `REPORT_NOT_WRITABLE`. */
export function writeOrReport(file: string, write: () => void): void {
  try {
    write()
  } catch (error) {
    throw cliErrors.REPORT_NOT_WRITABLE(file, error)
  }
}

export function tapesOf(name: string, store: RunStore): string[] {
  if (!statSync(name, { throwIfNoEntry: false })?.isDirectory()) return [store.find(name)]
  const files = readdirSync(name)
    .filter((file) => file.endsWith('.tape'))
    .toSorted()
  if (files.length === 0) throw cliErrors.NO_RUNS(path.resolve(name))
  return files.map((file) => path.join(name, file))
}
