import type { Explained } from '../../model/run-head.js'
import type { RunSource } from '../../model/run-source.js'

/** The data of a report as the page has it: compressed, in base64. */
export interface ReportData {
  readonly run: string
  /** From the root to the run itself. */
  readonly tapes: readonly string[]
  readonly parts: string
}

/** A call of a method of `RunSource`, without its signal. */
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

/** An answer is any number of pieces and an end; one without pieces is `undefined`. */
export type FromWorker =
  | { readonly type: 'piece'; readonly id: number; readonly value: unknown }
  | { readonly type: 'end'; readonly id: number }
  | { readonly type: 'failed'; readonly id: number; readonly error: Explained }
