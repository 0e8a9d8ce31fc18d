import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { fromHere } from '../from-here.js'
import type { Check, WrongOracle } from './check.js'
import { cannotTell } from './oracle.js'
import type { Judgement, RunOutcome } from './oracle.js'

/** Where a function of the user's is: the default export of a file, or a member of it. */
export interface FunctionPlace {
  /** Absolute. */
  readonly file: string
  /** Empty for the default export itself; `['oracle']` in a configuration. */
  readonly member: readonly string[]
}

export interface ToThread {
  readonly outcome: RunOutcome
}
export type FromThread =
  | { readonly ready: true }
  | { readonly judgement: Judgement }
  | { readonly threw: string }

/** A file that takes longer than this to load is stuck. */
const LOAD_MS = 30_000

/**
 * An oracle that is a function: `(outcome) => boolean`. Each call has a thread to itself
 * while it lasts, so that several forks are judged at once and one that hangs, even in
 * a loop, can be ended. What it prints goes to stderr.
 */
export async function functionCheck(place: FunctionPlace, wrong: WrongOracle): Promise<Check> {
  const idle: Worker[] = []
  const start = async (): Promise<Worker> => {
    const worker = new Worker(new URL('./function-thread.js', import.meta.url), {
      workerData: place,
      stdout: true,
      execArgv: [],
    })
    worker.stdout.on('data', (chunk: Buffer) => process.stderr.write(chunk))
    // It may also break while nobody asks it.
    worker.on('error', () => {})
    worker.on('exit', () => {
      const at = idle.indexOf(worker)
      if (at >= 0) idle.splice(at, 1)
    })
    const said = await answerOf(worker, AbortSignal.timeout(LOAD_MS))
    if ('ready' in said) return worker
    await worker.terminate()
    const why = 'threw' in said ? said.threw : 'gone' in said ? said.gone : ''
    throw wrong(`The oracle ${fromHere(place.file)} cannot be used.`, why)
  }
  // The first mistake is told before anything is run.
  idle.push(rest(await start()))
  return {
    key: createHash('sha256').update(readFileSync(place.file)).digest('hex'),
    async judge(outcome, signal) {
      const worker = idle.pop() ?? (await start())
      worker.ref()
      const answer = answerOf(worker, signal)
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
      worker.postMessage({ outcome } satisfies ToThread)
      const said = await answer
      if ('gone' in said) {
        await worker.terminate()
        return cannotTell(`the oracle broke: ${said.gone}`)
      }
      idle.push(rest(worker))
      if ('judgement' in said) return said.judgement
      return cannotTell(`the oracle threw: ${'threw' in said ? said.threw : 'nothing'}`)
    },
  }
}

/** A thread without work does not keep the program going. */
function rest(worker: Worker): Worker {
  worker.unref()
  return worker
}

/** How the thread came to its end, or was given up on, instead of an answer. */
interface Gone {
  readonly gone: string
}

/** What a thread says next. */
function answerOf(worker: Worker, signal: AbortSignal): Promise<FromThread | Gone> {
  return new Promise((resolve) => {
    const end = (said: FromThread | Gone): void => {
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
