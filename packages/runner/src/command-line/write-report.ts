import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { cliErrors } from '../errors.js'

/** Writes atomically. Only the user may read the file, like the tape. */
export function writeReport(file: string, html: string): void {
  const partial = `${file}.${process.pid}.partial`
  try {
    writeFileSync(partial, html, { mode: 0o600 })
    renameSync(partial, file)
  } catch (error) {
    throw cliErrors.REPORT_NOT_WRITABLE(file, error)
  } finally {
    rmSync(partial, { force: true })
  }
}
