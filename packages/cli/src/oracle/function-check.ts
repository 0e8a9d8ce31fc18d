import type { Worker } from 'node:worker_threads'
import { fromHere } from '../from-here.js'
import { hashOfCode } from '../hash-of-code.js'
import type { Check, Judge, WrongOracle } from './check.js'
import { FunctionThreads, threadAnswer } from './function-threads.js'
import type { FunctionPlace, ToThread } from './function-threads.js'
import { cannotTell } from './oracle.js'

/**
 * An oracle that is a function: `(outcome) => boolean`. Each call has a thread to itself
 * while it lasts, so that one that hangs, even in a loop, can be ended. What it prints
 * goes to stderr.
 */
export async function functionCheck(place: FunctionPlace, wrong: WrongOracle): Promise<Check> {
  const threads = new FunctionThreads(place)
  const take = async (): Promise<Worker> => {
    const worker = await threads.take()
    if ('broken' in worker)
      throw wrong(`The oracle ${fromHere(place.file)} cannot be used.`, worker.broken)
    return worker
  }
  // A mistake is told before anything is run.
  threads.release(await take())
  return {
    key: hashOfCode([place.file]),
    async prepare(): Promise<Judge> {
      const worker = await take()
      return async (outcome, signal) => {
        const answer = threadAnswer(worker, signal)
        // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
        worker.postMessage({ outcome } satisfies ToThread)
        const said = await answer
        if ('gone' in said) {
          await worker.terminate()
          return cannotTell(`the oracle broke: ${said.gone}`)
        }
        threads.release(worker)
        if ('judgement' in said) return said.judgement
        return cannotTell(`the oracle threw: ${'threw' in said ? said.threw : 'nothing'}`)
      }
    },
  }
}
