/** Runs a function of the user's in a thread of its own, where it can be stopped whatever it does. */
import { parentPort, workerData } from 'node:worker_threads'
import { importDefault } from '../import-default.js'
import { functionAnswer } from './function-answer.js'
import type { FunctionPlace, ToThread, FromThread } from './function-threads.js'
import type { OracleFunction } from './oracle.js'

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
const tell = (said: FromThread): void => parentPort?.postMessage(said)

const messageOf = (error: unknown): string =>
  error instanceof Error ? `${error.name}: ${error.message}` : String(error)

async function load({ file, member }: FunctionPlace): Promise<OracleFunction> {
  let found = await importDefault(file)
  for (const key of member) found = (found as Record<string, unknown>)[key]
  if (typeof found !== 'function') throw new TypeError('Its default export is no function.')
  return found as OracleFunction
}

// stdout is for what Retake answers. (Read by the parent, it would keep the program going.)
process.stdout.write = process.stderr.write.bind(process.stderr)

try {
  const ask = await load(workerData as FunctionPlace)
  parentPort?.on('message', ({ outcome }: ToThread) => {
    Promise.resolve()
      .then(() => ask(outcome))
      .then(
        (answer) => tell({ judgement: functionAnswer(answer) }),
        (error: unknown) => tell({ threw: messageOf(error) }),
      )
  })
  tell({ ready: true })
} catch (error) {
  tell({ threw: messageOf(error) })
}
