import { writeFileSync } from 'node:fs'
import { outsideRuns } from '../scope.js'

/** Captured before the file boundary is patched. */
const write = writeFileSync

/** Leaves a file for the process that started this one; no run knows of it. */
export function writeJson(file: string, value: unknown): void {
  outsideRuns(() => write(file, JSON.stringify(value)))
}
