import { closeSync, openSync, readSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { REPORT_MARK } from '@retake/web'
import { runReportNotWritable, reportWouldOverwrite } from '../errors/reports.js'

/** Refuses a file that is something else than a report, before any work is done. */
export function checkReportFile(file: string, { force }: { readonly force: boolean }): void {
  const found = statSync(file, { throwIfNoEntry: false })
  if (found === undefined) return
  if (found.isDirectory()) throw runReportNotWritable(file, 'it is a folder')
  if (!force && found.size > 0 && !isReport(file)) throw reportWouldOverwrite(file)
}

/** Whole or not at all. Only the user may read it, like the tape: it holds what the agent was told. */
export function writeReport(file: string, html: string): void {
  const partial = `${file}.${process.pid}.partial`
  try {
    writeFileSync(partial, html, { mode: 0o600 })
    renameSync(partial, file)
  } catch (error) {
    throw runReportNotWritable(file, error)
  } finally {
    rmSync(partial, { force: true })
  }
}

function isReport(file: string): boolean {
  const start = Buffer.alloc(512)
  const fd = openSync(file, 'r')
  try {
    readSync(fd, start)
    return start.toString('latin1').includes(REPORT_MARK)
  } finally {
    closeSync(fd)
  }
}
