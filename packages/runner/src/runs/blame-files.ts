import { attempt } from '@retake/tape'
import { readdirSync } from 'node:fs'
import path from 'node:path'
import { folderBesideRuns } from './run-store.js'

/** The folder for findings about the runs of a folder: `.retake/blame` for `.retake/runs`. */
export const blameFolder = (tapeFile: string): string =>
  folderBesideRuns(path.dirname(tapeFile), 'blame')

export const findingsPath = (tapeFile: string, run: string): string =>
  path.join(blameFolder(tapeFile), `${run}.json`)

/** Findings, stored forks with their tapes, and stored answers of models. */
const BLAME_FILE = /^(?<run>.*)\.(?:json|samples\.jsonl|[0-9a-f]{12}(?:\.jsonl)?)$/s

/** Everything that searches stored about the runs of a folder, by run. */
export function blameFiles(tapeFile: string): ReadonlyMap<string, readonly string[]> {
  const folder = blameFolder(tapeFile)
  const byRun = new Map<string, string[]>()
  for (const name of attempt(() => readdirSync(folder), [])) {
    const run = BLAME_FILE.exec(name)?.groups?.['run']
    if (run === undefined) continue
    const file = path.join(folder, name)
    const files = byRun.get(run)
    if (files === undefined) byRun.set(run, [file])
    else files.push(file)
  }
  return byRun
}
