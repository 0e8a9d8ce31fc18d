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
export const openTape = (file: string): Tape => openWithParents(file, [])

/** `children`: the tapes of the runs that continue this one. */
function openWithParents(file: string, children: readonly string[]): Tape {
  const layout = openLayout(nodePlatform, openFileSource(file), file)
  const own = new Tape(nodePlatform, layout, file)
  const link = own.run.parent
  if (link === undefined) return own
  const line = [...children, path.resolve(file)]
  if (line.includes(path.resolve(parentOf(file, link.run))))
    throw tapeErrors.TAPE_CORRUPT(file, { seq: 0 }, `Run ${link.run} continues itself.`)
  return new Tape(nodePlatform, layout, file, { parent: openParent(file, link.run, line) })
}

/** Opens only this tape: for a branch, the part after the fork. */
export const openOwnTape = (file: string): Tape =>
  Tape.open(nodePlatform, openFileSource(file), file)

const parentOf = (file: string, run: string): string =>
  path.join(path.dirname(file), `${run}.tape`)

function openParent(file: string, run: string, children: readonly string[]): Tape {
  const parent = parentOf(file, run)
  try {
    return openWithParents(parent, children)
  } catch (error) {
    if (error instanceof TapeError && error.code === 'TAPE_MISSING')
      throw tapeErrors.BRANCH_PARENT_MISSING(file, parent, error)
    throw error
  }
}
