import { existsSync } from 'node:fs'
import type { Tape } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { cliErrors } from '../../errors.js'
import { isRecording, type RunStore } from '../../runs/run-store.js'

/** Ids hold nothing with which one could leave the folder. */
const ID = /^[\w-][\w.-]*$/

/** The tape of a run that a page named, as it is now. Only whole ids: nothing outside of the folder is opened. */
export function openStored(store: RunStore, id: string): Tape {
  const file = store.pathOf(id)
  if (!ID.test(id) || !existsSync(file)) throw cliErrors.UNKNOWN_RUN(id, store.folder)
  return openTape(file)
}

/** The same, for those who run the program again: a tape that still grows is no ground to stand on. */
export function openFinished(store: RunStore, id: string): Tape {
  const tape = openStored(store, id)
  if (tape.status === 'truncated' && isRecording(tape.path, tape.run.scope))
    throw cliErrors.RUN_STILL_RECORDING(id)
  return tape
}
