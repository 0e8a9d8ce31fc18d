import vm from 'node:vm'
import { outsideRuns } from '@retake/engine/hook'

/** How long the synchronous part of a schema may take: it blocks the whole program. */
const SYNC_MS = 1000
/** How long an asynchronous schema may take. */
const ASYNC_MS = 10_000

interface Bounded {
  readonly context: { work: (() => unknown) | undefined }
  readonly script: vm.Script
}

let bounded: Bounded | undefined

/** Made by the first check, and not by the program that is recorded. */
const makeBounded = (): Bounded =>
  outsideRuns(() => ({
    context: vm.createContext({ work: undefined }) as Bounded['context'],
    script: new vm.Script('work()'),
  }))

/**
 * Runs a check that code of others decides about, and ends it if it does not return: a regular
 * expression can take years for a text of forty characters, and the model chooses the text.
 *
 * Not promised: an end for synchronous work that starts after an `await`.
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

/** Rejects when an asynchronous check takes too long. */
export function boundedWait<T>(checking: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = new Error(`it took longer than ${ASYNC_MS} ms`)
    const timer = setTimeout(() => reject(late), ASYNC_MS)
    checking.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
