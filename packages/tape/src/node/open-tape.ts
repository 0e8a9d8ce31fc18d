import path from 'node:path'
import { TapeError, tapeErrors } from '../format/errors.js'
import { openLayout } from '../format/layout.js'
import { Tape } from '../format/tape.js'
import { openFileSource } from './file-source.js'
import { nodePlatform } from './node-platform.js'

/**
 * Opens a tape for reading. A tape that is still being written can be opened: it shows the events
 * that are complete at this moment. A branch is opened together with the run it continues. Throws
 * `TapeError`.
 */
export function openTape(file: string): Tape {
  const layout = openLayout(nodePlatform, openFileSource(file), file)
  const own = new Tape(nodePlatform, layout, file)
  const link = own.run.parent
  if (link === undefined) return own
  return new Tape(nodePlatform, layout, file, { parent: openParent(file, link.run) })
}

/** Opens only this tape: for a branch, the part after the fork. */
export const openOwnTape = (file: string): Tape =>
  Tape.open(nodePlatform, openFileSource(file), file)

function openParent(file: string, run: string): Tape {
  const parent = path.join(path.dirname(file), `${run}.tape`)
  try {
    return openTape(parent)
  } catch (error) {
    if (error instanceof TapeError && error.code === 'TAPE_MISSING')
      throw tapeErrors.BRANCH_PARENT_MISSING(file, parent, error)
    throw error
  }
}
