import { natives } from '../../natives.js'
import type { Session } from '../../sessions/session.js'
import { encodeData, encodingOf } from './file-data.js'
import { outputDescriptor } from './file-descriptors.js'
import type { FileShape } from './file-functions.js'

/** A write whose bytes end up on stdout or stderr. */
export interface OutputWrite {
  readonly fd: 1 | 2
  readonly bytes: Uint8Array
}

/** Whether a `writeFile` or `appendFile` with these arguments is one. */
export function outputWrite(
  session: Session,
  { inputs }: FileShape,
  [file, data, options]: readonly unknown[],
): OutputWrite | undefined {
  const fd = inputs[1] === 'data' ? outputDescriptor(session, file) : undefined
  return fd && { fd, bytes: encodeData(data, encodingOf(options)).body ?? new Uint8Array(0) }
}

/** Notes the bytes as output; the caller passes them on, on replay too. */
export function noteOutput(session: Session, { fd, bytes }: OutputWrite): void {
  session.output(fd === 1 ? 'stdout' : 'stderr', bytes)
}

/**
 * The same for a write that answers later. The bytes go out at once, in line with
 * everything else that is printed; only the answer waits for its turn.
 */
export function passOutput(session: Session, write: OutputWrite, answer: () => void): void {
  noteOutput(session, write)
  if (write.fd === 1) natives.stdoutWrite(write.bytes)
  else natives.stderrWrite(write.bytes)
  const operation = session.perform({
    event: { type: 'work', name: 'output' },
    reexecuted: true,
    start: (live) => live.complete({ type: 'deliver', part: 'fire' }),
    deliver: () => {
      operation.close()
      answer()
    },
  })
}
