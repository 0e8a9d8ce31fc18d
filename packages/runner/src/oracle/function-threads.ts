import { Deadline } from '@retake/tape/format'
import { usageError } from '../command-line/verb.js'
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { undecided, type OracleCheck, type Judge, type Judgement } from './oracle.js'
import type { FunctionLocation, RunOutcome } from '../config/oracle-source.js'
import { fromHere } from '../terminal/terminal.js'
import { hashOfCode } from '../sources/source-code.js'
import { runnerEntry } from '../package-root.js'

export interface ToThread {
  readonly outcome: RunOutcome
}
export type FromThread =
  | { readonly ready: true }
  | { readonly judgement: Judgement }
  | { readonly threw: string }
/** `gone`: how a thread ended, or was abandoned, instead of answering. */
type ThreadSaid = FromThread | { readonly gone: string }

/** A file that takes longer than this to load is stuck. */
const LOAD_MS = 30_000
/** More threads would only take turns. */
const THREADS_MAX = Math.max(2, availableParallelism())

/** Threads that run a user's function, one call at a time each, so that every call can be ended. */
class FunctionThreads {
  readonly #idle: Worker[] = []
  readonly #waiting: (() => void)[] = []
  #count = 0

  constructor(readonly location: FunctionLocation) {}

  /** A thread that has loaded the function, for one call; or why it cannot be loaded. */
  async take(): Promise<Worker | { readonly broken: string }> {
    while (this.#idle.length === 0 && this.#count >= THREADS_MAX)
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    const idle = this.#idle.pop()
    if (idle !== undefined) {
      idle.ref()
      return idle
    }
    this.#count++
    const worker = new Worker(runnerEntry('function-thread'), {
      workerData: this.location,
      execArgv: [],
    })
    // An idle thread may also break.
    worker.on('error', () => {})
    worker.on('exit', () => {
      this.#count--
      const at = this.#idle.indexOf(worker)
      if (at >= 0) this.#idle.splice(at, 1)
      this.#waiting.shift()?.()
    })
    using deadline = new Deadline({ ms: LOAD_MS })
    const said = await threadAnswer(worker, deadline.signal)
    if ('ready' in said) return worker
    await worker.terminate()
    return { broken: 'threw' in said ? said.threw : 'gone' in said ? said.gone : '' }
  }

  /** Returns the thread to the pool. An idle thread does not keep the process alive. */
  release(worker: Worker): void {
    worker.unref()
    this.#idle.push(worker)
    this.#waiting.shift()?.()
  }
}

function threadAnswer(worker: Worker, signal: AbortSignal): Promise<ThreadSaid> {
  return new Promise((resolve) => {
    const end = (said: ThreadSaid): void => {
      worker.off('message', end)
      worker.off('error', failed)
      worker.off('exit', ended)
      signal.removeEventListener('abort', stopped)
      resolve(said)
    }
    const failed = (error: Error): void => end({ gone: `${error.name}: ${error.message}` })
    const ended = (): void => end({ gone: 'it ended its thread' })
    const stopped = (): void => end({ gone: 'it was stopped' })
    worker.on('message', end)
    worker.on('error', failed)
    worker.on('exit', ended)
    signal.addEventListener('abort', stopped)
    if (signal.aborted) stopped()
  })
}

/**
 * An oracle that is a function: `(outcome) => boolean`. Each call has its own thread, so that it
 * can be ended even in an infinite loop. Its output goes to stderr.
 */
export async function functionCheck(location: FunctionLocation): Promise<OracleCheck> {
  const threads = new FunctionThreads(location)
  const take = async (): Promise<Worker> => {
    const worker = await threads.take()
    if ('broken' in worker)
      throw usageError(`The oracle ${fromHere(location.file)} cannot be used.`, worker.broken)
    return worker
  }
  // Mistakes are reported before anything runs.
  threads.release(await take())
  const prepare = async (): Promise<Judge> => {
    const worker = await take()
    return async (outcome, signal) => {
      const answer = threadAnswer(worker, signal)
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
      worker.postMessage({ outcome } satisfies ToThread)
      const said = await answer
      if ('gone' in said) {
        await worker.terminate()
        return undecided(`the oracle broke: ${said.gone}`)
      }
      threads.release(worker)
      if ('judgement' in said) return said.judgement
      return undecided(`the oracle threw: ${'threw' in said ? said.threw : 'nothing'}`)
    }
  }
  const judge: Judge = async (outcome, signal) => (await prepare())(outcome, signal)
  return { key: hashOfCode([location.file]), prepare, judge }
}
