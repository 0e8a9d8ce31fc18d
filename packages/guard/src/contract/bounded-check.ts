import vm from 'node:vm'
import { outsideRuns } from '@retake/engine/hook'

/** Time for the synchronous part of a schema, which blocks the program. */
const SYNC_MS = 1000
const ASYNC_MS = 10_000

interface Bounded {
  readonly context: { work: (() => unknown) | undefined }
  readonly script: vm.Script
}

let bounded: Bounded | undefined

/** Created by the first check, outside of any recording. */
const makeBounded = (): Bounded =>
  outsideRuns(() => ({
    context: vm.createContext({ work: undefined }) as Bounded['context'],
    script: new vm.Script('work()'),
  }))

/**
 * Runs a check and ends it if it does not return: some regular expressions take forever on a text
 * that the model chooses. Not promised: an end for synchronous work that starts after an `await`.
 */
export function boundedCheck<T>(check: () => T): T {
  const { context, script } = (bounded ??= makeBounded())
  const around = context.work
  context.work = check
  try {
    return script.runInContext(context, { timeout: SYNC_MS }) as T
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error
    throw new Error(`it took longer than ${SYNC_MS} ms`, { cause: error })
  } finally {
    context.work = around
  }
}

/** Rejects if an asynchronous check takes too long. */
export function boundedWait<T>(checking: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = new Error(`it took longer than ${ASYNC_MS} ms`)
    const timer = setTimeout(() => reject(late), ASYNC_MS)
    checking.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
