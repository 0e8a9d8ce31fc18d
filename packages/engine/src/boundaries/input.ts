import tty from 'node:tty'
import { currentProcessRun, currentSession } from '../scope.js'
import type { Session } from '../sessions/session.js'
import { describeInput, TapeInput } from './input-stream.js'
import type { InputFacts } from './input-stream.js'
import { dressLike, replace, replaceGetter, undoAll } from './patch.js'
import type { Undo } from './patch.js'

/**
 * `process.stdin`: inside a run, a stream whose chunks come through the gate, from
 * the real one while recording and from the tape on replay. Nothing happens, and
 * nothing goes on tape, until the agent reads.
 */
export function patchInput(): Undo {
  return undoAll([patchStream(), patchIsatty()])
}

function patchStream(): Undo {
  const streams = new WeakMap<Session, TapeInput>()
  return replaceGetter(process, 'stdin', () => {
    const session = currentSession()
    if (session === undefined) return nativeInput()
    let stream = streams.get(session)
    if (stream === undefined) {
      stream = new TapeInput(session, recordedFacts ?? describeInput(), nativeInput)
      streams.set(session, stream)
    }
    return stream
  })
}

/**
 * Whether a descriptor is a terminal is a fact about a recorded process. In the
 * run of a function it is not: libraries ask once per process, in whichever run
 * happens to use them first.
 */
function patchIsatty(): Undo {
  const { isatty } = tty
  const patched = (fd: number): boolean =>
    currentProcessRun()?.draw('tty.isatty', () => isatty(fd)) ?? isatty(fd)
  return replace(tty, 'isatty', dressLike(patched, isatty))
}

const getter = Object.getOwnPropertyDescriptor(process, 'stdin')?.get
const nativeInput = (): NodeJS.ReadStream => getter?.call(process) as NodeJS.ReadStream

let recordedFacts: InputFacts | undefined

/** Makes the stdin of this process look like that of the recorded one. */
export function imitateInput(facts: InputFacts): void {
  recordedFacts = facts
}
