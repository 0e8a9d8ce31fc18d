import path from 'node:path'
import { TapeError, tapeErrors } from '../format/errors.js'
import { openIntactLayout, openLayout } from '../format/layout.js'
import { Tape } from '../format/tape.js'
import { openFileSource } from './file-source.js'
import { nodePlatform } from './node-platform.js'

/**
 * Opens a tape for reading. A tape that is still being written can be opened: it shows the events
 * that are complete at this moment. A branch is opened together with the run it continues. Throws
 * `TapeError`.
 */
export const openTape = (file: string): Tape => openWithParents(file, [])

/**
 * Opens a tape to look at. Verifies every byte and link; of a damaged tape, the events before the
 * damage are shown, and `damage` says what is wrong. Throws if not even the run record is intact.
 * Never for anything that runs an agent: a replay must refuse a damaged tape.
 */
export const openIntactTape = (file: string): Tape => openIntactPart(file, [])

type Open = (file: string, children: readonly string[]) => Tape

/** `children`: the tapes of the runs that continue this one. */
function openWithParents(file: string, children: readonly string[]): Tape {
  const layout = openLayout(nodePlatform, openFileSource(file), file)
  const own = new Tape(nodePlatform, layout, file)
  const parent = openParent(own, children, openWithParents)
  return parent === undefined ? own : new Tape(nodePlatform, layout, file, { parent })
}

function openIntactPart(file: string, children: readonly string[]): Tape {
  const { layout, damage: torn } = openIntactLayout(nodePlatform, openFileSource(file), file)
  const own = new Tape(nodePlatform, layout, file)
  const parent = openParent(own, children, openIntactPart)
  const inherited = own.run.parent === undefined ? 0 : own.run.parent.seq - 1
  if (parent?.damage !== undefined && parent.damage.seq <= inherited)
    return new Tape(nodePlatform, layout, file, { parent, damage: parent.damage })
  const whole = new Tape(nodePlatform, layout, file, parent && { parent })
  const { problem } = whole.verify()
  if (problem?.seq === 0) throw tapeErrors.TAPE_CORRUPT(file, problem, problem.message)
  if (problem === undefined && torn === undefined) return whole
  const damage = problem
    ? { seq: problem.seq, why: problem.message }
    : torn && { seq: torn.seq + inherited, why: torn.why.replace(/\.$/, '') }
  return new Tape(nodePlatform, layout, file, { ...(parent && { parent }), damage })
}

/** Opens only this tape: for a branch, the part after the fork. */
export const openOwnTape = (file: string): Tape =>
  Tape.open(nodePlatform, openFileSource(file), file)

function openParent(
  { path: file, run }: Tape,
  children: readonly string[],
  open: Open,
): Tape | undefined {
  if (run.parent === undefined) return undefined
  const parent = path.join(path.dirname(file), `${run.parent.run}.tape`)
  const line = [...children, path.resolve(file)]
  if (line.includes(path.resolve(parent)))
    throw tapeErrors.TAPE_CORRUPT(file, { seq: 0 }, `Run ${run.parent.run} continues itself.`)
  try {
    return open(parent, line)
  } catch (error) {
    if (error instanceof TapeError && error.code === 'TAPE_MISSING')
      throw tapeErrors.BRANCH_PARENT_MISSING(file, parent, error)
    throw error
  }
}
