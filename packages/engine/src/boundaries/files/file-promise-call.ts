import type { Session } from '../../sessions/session.js'
import { fileCall } from './file-arguments.js'
import { checkArguments } from './file-checks.js'
import { promiseCall } from '../captured-call.js'
import type { Answer } from '../captured-call.js'
import { shapeOf } from './file-functions.js'
import { nativeFs, nativeFunction } from './file-natives.js'
import type { FileFunction } from './file-natives.js'
import { outputWrite, passOutput } from './file-output.js'
import { startLive } from './live-call.js'

/** One call of a function of the table as a promise, under the name `label`. */
export async function callPromise(
  session: Session,
  label: string,
  name: string,
  args: readonly unknown[],
): Promise<unknown> {
  const shape = shapeOf(name)
  checkArguments(shape, args, nativeFs[`${name}Sync`])
  const output = outputWrite(session, shape, args)
  if (output) return new Promise<void>((resolve) => passOutput(session, output, resolve))
  const call = fileCall(session, label, name, args)
  const start = (done: Answer): void => startLive(session, name, nativeOf(name), args, done)
  return promiseCall(session, call, start)
}

function nativeOf(name: string): FileFunction {
  const native = nativeFunction(name)
  // `promises.realpath` asks the operating system; `fs.realpath` does not.
  return (native as { native?: FileFunction }).native ?? native
}
