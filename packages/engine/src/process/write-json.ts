import { writeFileSync } from 'node:fs'
import { outsideRuns } from '../scope.js'

/** Captured before the file boundary is patched. */
const write = writeFileSync

/** Writes a file for the parent process, outside of any run. */
export function writeJson(file: string, value: unknown): void {
  outsideRuns(() => write(file, JSON.stringify(value)))
}
