/** Runs a user's function in its own thread, where it can always be stopped. */
import { writeSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { importDefault } from '../load-config.js'
import type { FunctionLocation, OracleFunction } from '../config/oracle-source.js'
import type { FromThread, ToThread } from './function-threads.js'
import { functionAnswer } from './oracle.js'

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
const send = (said: FromThread): void => parentPort?.postMessage(said)

const messageOf = (error: unknown): string =>
  error instanceof Error ? `${error.name}: ${error.message}` : String(error)

/** Synchronous, because pending messages are lost when the program ends. */
const writeNow: typeof process.stderr.write = (chunk: Uint8Array | string, ...rest: unknown[]) => {
  const [encoding] = rest
  const bytes =
    typeof chunk === 'string'
      ? Buffer.from(chunk, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8')
      : chunk
  for (let written = 0; written < bytes.length;) {
    try {
      written += writeSync(2, bytes, written)
    } catch (error) {
      // A pipe without a reader never drains.
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') break
      Atomics.wait(PAUSE, 0, 0, 5)
    }
  }
  const done: unknown = rest.at(-1)
  if (typeof done === 'function') queueMicrotask(done as () => void)
  return true
}

const PAUSE = new Int32Array(new SharedArrayBuffer(4))

// stdout belongs to Retake. (If the parent read it, it would keep the process alive.)
process.stdout.write = writeNow
process.stderr.write = writeNow

try {
  const { file, member } = workerData as FunctionLocation
  let found = await importDefault(file)
  for (const key of member) found = (found as Record<string, unknown>)[key]
  if (typeof found !== 'function') throw new TypeError('Its default export is not a function.')
  const oracle = found as OracleFunction
  parentPort?.on('message', ({ outcome }: ToThread) => {
    Promise.resolve()
      .then(() => oracle(outcome))
      .then(
        (answer) => send({ judgement: functionAnswer(answer) }),
        (error: unknown) => send({ threw: messageOf(error) }),
      )
  })
  send({ ready: true })
} catch (error) {
  send({ threw: messageOf(error) })
}
