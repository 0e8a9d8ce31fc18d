import { BackendError } from './backend-error.js'
import type { Explained, RunSource } from '../../model/run-source.js'

/** The part of a `Worker` that is used, so that tests can replace it. */
interface WorkerLike {
  postMessage(message: ToWorker, transfer: []): void
  addEventListener(type: 'message', listener: (event: MessageEvent<FromWorker>) => void): void
  addEventListener(type: 'error', listener: (event: ErrorEvent) => void): void
}

interface Open {
  readonly pieces: unknown[]
  wake: () => void
  ended: boolean
  error: Error | undefined
}

export interface Answerer {
  pieces(call: SourceCall, signal?: AbortSignal): AsyncGenerator
  one<T>(call: SourceCall): Promise<T>
}

/** Calls the worker of a report. Many calls may be open, and answers arrive in pieces. */
export class WorkerClient implements Answerer {
  readonly #worker: WorkerLike
  readonly #open = new Map<number, Open>()
  #last = 0
  #broken: Error | undefined

  constructor(worker: WorkerLike) {
    this.#worker = worker
    worker.addEventListener('message', ({ data }) => {
      const open = this.#open.get(data.id)
      if (open === undefined) return
      if (data.type === 'piece') open.pieces.push(data.value)
      else open.ended = true
      if (data.type === 'failed') open.error = new BackendError(data.error)
      open.wake()
    })
    worker.addEventListener('error', ({ message: why }) => {
      this.#broken = new BackendError({
        code: 'REPORT_FAILED',
        what: 'This browser could not start the part of the report that reads the tape.',
        why,
        fix: 'Open the report in another browser, or the run itself with `retake ui`.',
      })
      for (const open of this.#open.values()) {
        open.error = this.#broken
        open.ended = true
        open.wake()
      }
    })
  }

  open(data: ReportData): void {
    this.#worker.postMessage({ type: 'open', data }, [])
  }

  /** A reader that stops or aborts cancels the call. */
  async *pieces(call: SourceCall, signal?: AbortSignal): AsyncGenerator {
    signal?.throwIfAborted()
    if (this.#broken) throw this.#broken
    const id = ++this.#last
    const open: Open = { pieces: [], wake: () => {}, ended: false, error: undefined }
    this.#open.set(id, open)
    const abort = (): void => open.wake()
    signal?.addEventListener('abort', abort)
    this.#worker.postMessage({ type: 'call', id, call }, [])
    try {
      for (;;) {
        signal?.throwIfAborted()
        if (open.pieces.length > 0) yield open.pieces.shift()
        else if (open.error) throw open.error
        else if (open.ended) return
        else await new Promise<void>((resolve) => (open.wake = resolve))
      }
    } finally {
      signal?.removeEventListener('abort', abort)
      this.#open.delete(id)
      if (!open.ended) this.#worker.postMessage({ type: 'cancel', id }, [])
    }
  }

  async one<T>(call: SourceCall): Promise<T> {
    let found: unknown
    for await (const piece of this.pieces(call)) found = piece
    return found as T
  }
}

/** The data of a report as embedded in the page: compressed, in base64. */
export interface ReportData {
  readonly run: string
  /** From the root to the run itself. */
  readonly tapes: readonly string[]
  readonly parts: string
}

/** A method call of `RunSource`, without its signal. */
export type SourceCall = {
  readonly [Method in keyof RunSource]: {
    readonly method: Method
    readonly args: Parameters<RunSource[Method]> | []
  }
}[keyof RunSource]

export type ToWorker =
  | { readonly type: 'open'; readonly data: ReportData }
  | { readonly type: 'call'; readonly id: number; readonly call: SourceCall }
  /** The rest of this answer is no longer needed. */
  | { readonly type: 'cancel'; readonly id: number }

/** An answer is any number of pieces and an end. Without pieces, it is `undefined`. */
export type FromWorker =
  | { readonly type: 'piece'; readonly id: number; readonly value: unknown }
  | { readonly type: 'end'; readonly id: number }
  | { readonly type: 'failed'; readonly id: number; readonly error: Explained }
