import { parentPort, workerData } from 'node:worker_threads'
import { reason, RetakeError } from '@retake/engine/errors'
import { type PriceTable, TapeError } from '@retake/tape'
import { project, useProject } from '@retake/runner/config'
import { readPushedTape, type TapeReading } from './read-pushed-tape.js'

export interface TapeThreadData {
  readonly prices: PriceTable
}

export interface TapeThreadTask {
  readonly work: keyof TapeReading
  readonly file: string
}

export type TapeThreadAnswer<Name extends keyof TapeReading> =
  | { readonly done: TapeReading[Name] }
  | { readonly failed: string }

/** The error of a tape names its path, which concerns nobody but the operator. */
function failureText(error: unknown): string {
  if (error instanceof TapeError)
    return error.seq === undefined ? error.why : `It is corrupt at event ${error.seq}. ${error.why}`
  return error instanceof RetakeError ? `${error.what} ${error.why}` : reason(error)
}

useProject({ ...project(), prices: (workerData as TapeThreadData).prices })
parentPort?.on('message', ({ work, file }: TapeThreadTask) => {
  let answer: TapeThreadAnswer<keyof TapeReading>
  try {
    answer = { done: readPushedTape[work](file) }
  } catch (error) {
    answer = { failed: failureText(error) }
  }
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  parentPort?.postMessage(answer)
})
