import { encodeBody, rebuildError, recordError } from '@retake/tape/format'
import { currentSession } from '../../scope.js'
import { dressLike, replace } from '../patch.js'
import type { Undo } from '../patch.js'

/** `process.kill`: sends a signal while recording, none on replay. */
export function patchProcessKill(): Undo {
  const native = process.kill
  const kill = (pid: number, signal?: string | number): true => {
    const session = currentSession()
    if (session === undefined) return native.call(process, pid, signal)
    const { body } = encodeBody({ signal: signal ?? 'SIGTERM' })
    const { event, native: failure } = session.performSync({
      event: { type: 'call', kind: 'process', name: 'process.kill', as: 'json', sync: true },
      body,
      durable: true,
      run: () => {
        try {
          native.call(process, pid, signal)
          return { event: { type: 'result' } }
        } catch (error) {
          return { event: { type: 'result', error: recordError(error) }, native: error }
        }
      },
    })
    if (event.type === 'result' && event.error) throw failure ?? rebuildError(event.error)
    return true
  }
  return replace(process, 'kill', dressLike(kill, native))
}
