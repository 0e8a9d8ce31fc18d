import { EventEmitter } from 'node:events'
import { isProcessRun, outsideRuns } from '../../kernel/scope.js'
import type { Session } from '../../kernel/session.js'
import type { Undo } from '../patching/patch.js'
import { noteBoundary } from '../patching/note-boundary.js'

/** True if writes to a log that was opened outside this run are not part of the run. */
export const ignoresOutsideLogs = (session: Session): boolean =>
  session.owner === undefined && !isProcessRun(session)

/** True if the run may change something outside: it is recorded, and works directly on the disk. */
export const mayWriteLogs = ({ local, overlay }: Session): boolean =>
  local === 'live' && overlay === undefined

/** Files that loggers run in a thread. */
const threadFiles = new Set<RegExp>()

export const isLogThread = (file: string): boolean =>
  [...threadFiles].some((each) => each.test(file))

/** Declares a file that a logger runs in a thread, to write lines of the whole process. */
export function declareLogThread(file: RegExp): Undo {
  threadFiles.add(file)
  return () => void threadFiles.delete(file)
}

/** Starts the thread of a log that a run opens; a run that may not write gets none. */
export function startLogThread(session: Session, start: () => object): object {
  if (!mayWriteLogs(session)) return new NoThread()
  noteBoundary(session, {
    name: 'log transport in a thread',
    text: 'what the thread of a logger writes is not captured',
    consequence: 'lines-missing',
  })
  return outsideRuns(start)
}

class NoThread extends EventEmitter {
  postMessage(): void {}
  ref(): void {}
  unref(): void {}
  terminate(): Promise<number> {
    return Promise.resolve(0)
  }
}
