import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'

/** Folder of tapes, unless one is given. */
const DEFAULT_FOLDER = path.join('.retake', 'runs')

/**
 * Creates the folder for tapes and returns its absolute path. The default folder is ignored by
 * version control, because tapes contain whole conversations.
 */
export function prepareRunsFolder(given: string | undefined): string {
  const folder = path.resolve(given ?? DEFAULT_FOLDER)
  makeFolder(folder)
  if (given !== undefined) return folder
  const ignore = path.join(path.dirname(folder), '.gitignore')
  if (!existsSync(ignore)) writeFileSync(ignore, '*\n')
  return folder
}

/** Not `recursive`: if a folder cannot be created, as in /proc, Node would retry forever. */
function makeFolder(folder: string): void {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return
  const parent = path.dirname(folder)
  if (parent !== folder) makeFolder(parent)
  try {
    mkdirSync(folder)
  } catch (error) {
    // Another process was faster.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !statSync(folder).isDirectory())
      throw error
  }
}

/** Folder for the tapes of child processes, next to the run's own tape. */
export const childrenFolder = (tape: string): string => tape.replace(/\.tape$/, '.children')

/** The tape of the process that a run started as event `op`. Its name is its id. */
export const childTapePath = (tape: string, op: number): string =>
  path.join(childrenFolder(tape), `${path.basename(tape, '.tape')}-${op}.tape`)

/** The report of a process that continues on a child tape. */
export const childReportPath = (childTape: string): string =>
  childTape.replace(/\.tape$/, '.report.json')
